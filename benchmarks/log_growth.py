"""What a foreign agent's calls leave in the log, beside keeping its messages as they came.

    python benchmarks/log_growth.py [--json]

`large`: a file of 20 MB in which one line is changed; the agent sends both whole texts twice, in the call and in its
end. `cumulative`: one call whose 7,000 updates each repeat all of the text so far, beside a call that says it once.
Sizes are bytes of the events' JSON; the rival is the messages themselves, as some clients store them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from captures.recorded import stage

AGENT = Path(__file__).parent / "agents" / "texts.py"


async def growth(what: str) -> tuple[int, int]:
    """Bytes that the turn's calls left in the log, and how many events."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "workspace").mkdir()
        if what == "large":
            text = "".join(f"line {number} {'x' * 60}\n" for number in range(280_000))
            (folder / "workspace/big.txt").write_text(text)
        async with stage(folder, [sys.executable, str(AGENT), what]) as live:
            stop = await live.conversation.prompt("Go.", source="terminal")
            assert stop.reason == "completed", stop
            events = [event async for event in live.session.log.events() if event.type.startswith("tool/")]
            [row] = [row for row in live.conversation.transcript.rows if row.kind == "tool"]
            assert row.status == "applied", row.status
        return sum(len(json.dumps(event.data)) for event in events), len(events)


async def measure() -> dict[str, Any]:
    large, _ = await growth("large")
    once, _ = await growth("once")
    cumulative, events = await growth("cumulative")
    said = sum(len(f"row {number} of the text that is being written\n") * (7000 - number) for number in range(7000))
    sent = 6 * 280_000 * 73
    return {
        "large": {"log_bytes": large, "sent_bytes": sent, "ratio": round(large / sent, 6)},
        "cumulative": {
            "log_bytes": cumulative, "events": events, "one_call_bytes": once, "sent_bytes": said,
            "of_one_call": round(cumulative / once, 2),
        },
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = asyncio.run(measure())
    if arguments.json:
        print(json.dumps(found))
        return
    large, many = found["large"], found["cumulative"]
    print(f"{'':<12}{'log bytes':>12}{'messages':>16}")
    print(f"{'large':<12}{large['log_bytes']:>12,}{large['sent_bytes']:>16,}")
    print(f"{'cumulative':<12}{many['log_bytes']:>12,}{many['sent_bytes']:>16,}   {many['events']} events")
    print(f"{'said once':<12}{many['one_call_bytes']:>12,}   cumulative is {many['of_one_call']} of it")


if __name__ == "__main__":
    main()
