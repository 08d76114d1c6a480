"""Taking in an agent's updates: the whole way into the log and the rows, beside the SDK's client that only counts them.

    python benchmarks/acp_updates.py [--updates 20000] [--json]

An agent process writes as fast as its pipe lets it: text in pieces, and updates of one call. Ours reads, orders, folds
and logs them; the SDK validates each and calls a handler that counts. `order` says whether every piece came in its
place; `growth` is the resident memory after the second half of the updates less that after the first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from agents.acp.puppetry import PUPPET
from captures.recorded import stage

TEXT = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "{n} "}}
CALL = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Write {n}", "rawInput": {"text": "{n}" * 300}}
START = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Write", "kind": "edit"}


def script(folder: Path, update: dict[str, Any], count: int) -> Path:
    path = folder / "script.json"
    half = {"flood": count // 2, "update": update}
    path.write_text(json.dumps({"prompts": [[{"send": START}, half], [{"send": START}, half]]}))
    return path


async def ours(update: dict[str, Any], count: int) -> dict[str, Any]:
    """Updates a second through everything, order, and growth in MiB."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, str(PUPPET), str(script(folder, update, count))]
        async with stage(folder, command) as live:
            await live.agent.connect(1)
            began = time.perf_counter()
            await live.conversation.prompt("Go.", source="terminal")
            between = _resident()
            await live.conversation.prompt("Go on.", source="terminal")
            took = time.perf_counter() - began
            growth = _resident() - between
            text = "".join(row.text for row in live.conversation.transcript.rows if row.kind == "agent")
        expected = "".join(f"{number} " for number in range(count // 2)) * 2 if update is TEXT else ""
        return {"per_second": round(count / took), "order": text == expected, "growth_mib": round(growth, 1)}


async def sdk(update: dict[str, Any], count: int) -> float:
    """Updates a second through the SDK's client."""
    import acp

    class Counter(acp.Client):  # type: ignore[misc]
        taken = 0

        async def session_update(self, *_: Any, **__: Any) -> None:
            Counter.taken += 1

        async def request_permission(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("this agent asks for nothing")

    with tempfile.TemporaryDirectory() as name:
        path = script(Path(name), update, count)
        async with acp.spawn_agent_process(Counter(), sys.executable, str(PUPPET), str(path)) as (connection, _):
            await connection.initialize(protocol_version=1)
            session = await connection.new_session(cwd=name, mcp_servers=[])
            began = time.perf_counter()
            for _ in range(2):
                await connection.prompt(
                    session_id=session.session_id, prompt=[acp.schema.TextContentBlock(type="text", text="Go.")]
                )
            while Counter.taken < count:  # noqa: ASYNC110 - the SDK tells nobody
                await asyncio.sleep(0.001)
            return count / (time.perf_counter() - began)


def _resident() -> float:
    """MiB."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def measure(count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, update in (("text", TEXT), ("call", CALL)):
        mine = await ours(update, count)
        theirs = await sdk(update, count)
        found[name] = {**mine, "sdk_per_second": round(theirs), "ratio": round(mine["per_second"] / theirs, 2)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = asyncio.run(measure(arguments.updates))
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{'updates of':<12}{'ours/s':>10}{'SDK/s':>10}{'ratio':>8}{'in order':>10}{'growth MiB':>12}")
    for name, row in found.items():
        print(
            f"{name:<12}{row['per_second']:>10}{row['sdk_per_second']:>10}{row['ratio']:>8}"
            f"{row['order']!s:>10}{row['growth_mib']:>12}"
        )


if __name__ == "__main__":
    main()
