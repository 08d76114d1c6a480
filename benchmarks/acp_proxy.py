"""What `redline acp` costs between an editor and an agent, beside a bare pipe to the same agent in the same run.

    python benchmarks/acp_proxy.py [--samples 300] [--updates 20000] [--json]

`passed on`: from the agent's writing of an update that Redline does not know to the client's reading of it; `text`: the
same of a piece of a message, which goes through the log. `hunks`: from the end of an edit in a file of 5,000 lines to
the client's reading of its applied hunks; `read` is reading and hashing that file alone. `flood`: updates a second, as
fast as the agent writes them. `initialize`: from the start of the process to its answer, beside `python -c "import
acp"`. Milliseconds are medians.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redline.files.blob import git_blob_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LINES = 5_000
AGENT = Path(__file__).parent / "agents" / "stamped.py"


class Client:
    """Reads lines and knows when each arrived."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.count = 0

    def ask(self, method: str, **params: Any) -> tuple[Any, list[tuple[int, dict[str, Any]]]]:
        """The answer, and what came before it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        heard = []
        for line in self.process.stdout:
            at, one = time.clock_gettime_ns(time.CLOCK_MONOTONIC), json.loads(line)
            if one.get("id") == self.count and "method" not in one:
                return one["result"], heard
            heard.append((at, one))
        raise SystemExit("the agent is gone")


@contextmanager
def client(command: list[str], folder: Path) -> Iterator[tuple[Client, str]]:
    (folder / "work").mkdir()
    (folder / "work" / "big.py").write_text("".join(f"line {number} 0\n" for number in range(LINES)))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "REDLINE_DATA": str(folder / "data")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment
    ) as process:
        one = Client(process)
        one.ask("initialize", protocolVersion=1, clientCapabilities={})
        session = one.ask("session/new", cwd=str(folder / "work"), mcpServers=[])[0]["sessionId"]
        yield one, session
        assert process.stdin is not None
        process.stdin.close()


def measure(command: list[str], samples: int, updates: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name, client(command, Path(name)) as (one, session):

        def prompt(kind: str, count: int) -> tuple[float, list[tuple[int, dict[str, Any]]]]:
            began = time.perf_counter()
            words = [{"type": "text", "text": f"{kind} {count}"}]
            _, heard = one.ask("session/prompt", sessionId=session, prompt=words)
            return time.perf_counter() - began, heard

        prompt("text", 20)  # warm
        passed = [(at - one["params"]["sent"]) / 1e6 for at, one in prompt("passed", samples)[1] if _is_passed(one)]
        text = [
            (at - int(piece)) / 1e6
            for at, one in prompt("text", samples)[1]
            for piece in _text(one).split()
            if piece.isdigit()
        ]
        ended = {
            update["toolCallId"]: (at - update["rawOutput"]["sent"]) / 1e6
            for at, one in reversed(prompt("hunks", 40)[1])
            if (update := _update(one)).get("status") == "completed" and isinstance(update.get("rawOutput"), dict)
        }
        took, heard = prompt("flood", updates)
        whole = "".join(_text(one) for _, one in heard)
        assert whole.split() == [str(number) for number in range(updates)], "not all, or not in order"
    assert len(passed) == samples
    assert len(ended) == 40
    median = statistics.median
    return {"passed_on": median(passed), "text": median(text), "hunks": median(ended.values()), "flood": updates / took}


def _is_passed(message: Mapping[str, Any]) -> bool:
    return message.get("method") == "_bench/passed"


def _update(message: Mapping[str, Any]) -> Mapping[str, Any]:
    found = (message.get("params") or {}).get("update")
    return found if isinstance(found, dict) else {}


def _text(message: Mapping[str, Any]) -> str:
    update = _update(message)
    return str(update["content"]["text"]) if update.get("sessionUpdate") == "agent_message_chunk" else ""


def initialize() -> tuple[float, float]:
    """Milliseconds of both, each at the median of five."""
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}

    def ours() -> float:
        began = time.perf_counter()
        command = [sys.executable, "-m", "redline", "acp"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(greeting).encode() + b"\n")
            process.stdin.flush()
            process.stdout.readline()
            took = time.perf_counter() - began
            process.kill()
        return took * 1000

    def theirs() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import acp"], check=True)
        return (time.perf_counter() - began) * 1000

    pairs = [(ours(), theirs()) for _ in range(5)]
    return statistics.median(one for one, _ in pairs), statistics.median(two for _, two in pairs)


def reading() -> float:
    """Milliseconds to read and hash the file of the edits."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "big.py")
        path.write_text("".join(f"line {number} 0\n" for number in range(LINES)))
        took = []
        for _ in range(40):
            began = time.perf_counter()
            data = path.read_bytes()
            git_blob_of(len(data), (data,))
            took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    command = [sys.executable, str(AGENT)]
    bare = measure(command, arguments.samples, arguments.updates)
    through = [sys.executable, "-m", "redline", "acp", "--agent-command", shlex.join(command)]
    ours = measure(through, arguments.samples, arguments.updates)
    greeted, imported = initialize()
    found = {
        "bare": bare, "redline": ours, "read_ms": reading(),
        "added_ms": {name: ours[name] - bare[name] for name in ("passed_on", "text", "hunks")},
        "initialize_ms": greeted, "import_acp_ms": imported,
    }  # fmt: skip
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{'':<12}{'bare pipe':>12}{'redline acp':>14}{'added':>10}")
    for name in ("passed_on", "text", "hunks"):
        print(f"{name:<12}{bare[name]:>9.2f} ms{ours[name]:>11.2f} ms{ours[name] - bare[name]:>7.2f} ms")
    print(f"{'flood':<12}{bare['flood']:>10.0f}/s{ours['flood']:>12.0f}/s")
    print(f"reading the file of the edits: {found['read_ms']:.2f} ms")
    print(f"initialize: {greeted:.0f} ms, import acp: {imported:.0f} ms")


if __name__ == "__main__":
    main()
