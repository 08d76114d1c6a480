"""`kill -9` at every step of a mutation, over and over, in real processes on one real disk.

    python tests/tools/kill_loop.py --kills 2000

One warm process forks children. Each child is a start of the session: it recovers what the one before left, checks
that log and disk agree, tells the parent what it found, and then changes files until it is killed at the step that was
chosen for it (or by the parent, at a random moment). The checks:

- every event that was shown before the kill is in the log, the same;
- no file is torn: each holds a whole version, which carries its own checksum;
- the changes that the log claims, applied to what was there before, give exactly the files that are there;
- no call, turn or intent is left open, and no temporary file is left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from power_cut import STEPS, Power
from redline.changes.codec import from_json
from redline.changes.compare import compare
from redline.sessions.events import Event
from redline.sessions.redaction import Redactor
from redline.tools.recovery import recover
from redline.tools.undo import UndoRefused, undo
from runner_bench import RunnerBench

MOMENTS = (
    *STEPS,
    "within an append",
    "before the draft goes",
    "in recovery, before an event",
    "in recovery, after an event",
    "at a random time",
)
NAMES = [f"f{number}.txt" for number in range(4)] + ["sub/g.txt"]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RESTART = 25
"""Kills after which a new workspace and a new log begin, so that each stays small."""
UNWRITTEN: dict[str, Any] = {"session": None, "seq": 0, "files": {}, "shown": []}
AT_REST = "never"
PATIENCE = 60.0
"""Seconds that a child may be silent."""


class BrokenPromiseError(Exception):
    """What the loop is there to find."""


def version(rng: random.Random) -> str:
    """A whole text that knows its own checksum; some hold a secret."""
    lines = [f"line {rng.randrange(10**6)}" for _ in range(rng.choice((1, 5, 40, 400)))]
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines) + 1), f"token = {SECRET}")
    return sealed("\n".join(lines) + "\n")


def sealed(body: str) -> str:
    return body + hashlib.sha256(body.encode()).hexdigest() + "\n"


def is_whole(text: str) -> bool:
    body, _, seal = text.rstrip("\n").rpartition("\n")
    return hashlib.sha256((body + "\n").encode()).hexdigest() == seal


def blob_of(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest(event: Event) -> str:
    return hashlib.sha1(
        json.dumps([event.type, event.data], sort_keys=True).encode(), usedforsecurity=False
    ).hexdigest()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(PATIENCE)  # the signal is on its way


# The child: one start of the session.


class Child:
    def __init__(self, folder: Path, state: dict[str, Any], moment: str, seed: int, pipe: int) -> None:
        self.folder = folder
        self.state = state
        self.moment = moment
        self.rng = random.Random(seed)
        self.pipe = pipe

    def tell(self, kind: str, value: Any) -> None:
        data = json.dumps([kind, value]).encode() + b"\n"
        while data:
            data = data[os.write(self.pipe, data) :]

    async def run(self) -> None:
        bench = await RunnerBench.open(self.folder, session=self.state["session"])
        bench.log.subscribe(lambda event: self.tell("shown", [event.seq, digest(event)]))
        if self.moment.startswith("in recovery"):
            self.arm_recovery(bench)
        recovery = await recover(bench.log, bench.bytes, bench.files)
        self.tell("verified", await self.verify(bench))
        self.tell("closed", [call.status for call in (*recovery.calls, *recovery.undos)])
        await bench.runner.restore()
        self.arm(bench)
        self.tell("working", self.moment)
        for _ in range(12 if self.moment != AT_REST else 0):
            await self.turn(bench)
        await bench.store.close()

    def arm(self, bench: RunnerBench) -> None:
        skip = self.rng.randrange(4)
        if self.moment in STEPS:
            Power(bench, self.moment, skip=skip, cut=die)
        elif self.moment == "within an append":
            words = self.rng.choice(["COMMIT", "INSERT", "BEGIN"])
            left = self.rng.randrange(12)

            def traced(statement: str) -> None:
                nonlocal left
                if statement.lstrip().upper().startswith(words):
                    left -= 1
                    if left < 0:
                        die()

            bench.store._writer._connection.set_trace_callback(traced)
        elif self.moment == "before the draft goes":
            unlink = os.unlink

            def unlinking(path: Any, **rest: Any) -> None:
                if isinstance(path, str) and path.startswith(".redline-"):
                    die()
                unlink(path, **rest)

            os.unlink = unlinking  # type: ignore[assignment]

    def arm_recovery(self, bench: RunnerBench) -> None:
        left = self.rng.randrange(3)
        submit = bench.store.submit

        def submitting(events: Any, *, durable: bool, settled: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0 and self.moment == "in recovery, before an event":
                die()
            submit(events, durable=durable, settled=die_then if left < 0 else settled)

        def die_then(error: Any) -> None:
            die()

        bench.store.submit = submitting  # type: ignore[method-assign]

    async def turn(self, bench: RunnerBench) -> None:
        summary = await bench.store.summary(bench.log.session)
        turn = (summary.turns if summary else 0) + 1
        if self.rng.random() < 0.15:
            try:
                await undo(bench.log, bench.bytes, bench.files, bench.redactor)
            except UndoRefused:
                pass
            else:
                return
        await bench.start_turn(turn)
        there = [path for path in map(bench.workspace.joinpath, NAMES) if path.exists()]
        unread = [path for path in there if bench.runner.knowledge.get(str(path)) is None]
        await bench.run(*(bench.call_of("read", path=str(path)) for path in unread))
        calls = [self.call(bench) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        await bench.run(*calls)
        await bench.end_turn()

    def call(self, bench: RunnerBench) -> Any:
        """A call that will mostly succeed; one that is refused is a part of life too."""
        name = self.rng.choice(NAMES)
        there = (bench.workspace / name).exists()
        kind = self.rng.choice(["write", "edit", "edit", "delete", "move", "several"])
        if kind == "edit" and there:
            text = bench.text(name)
            return bench.call_of("edit", path=name, old=text, new=version(self.rng))
        if kind == "delete" and there:
            return bench.call_of("delete", path=name)
        if kind == "move" and there:
            return bench.call_of("move", path=name, to=self.rng.choice(NAMES))
        if kind == "several":
            chosen = self.rng.sample(NAMES, 2)
            writes = {each: version(self.rng) for each in chosen}
            return bench.call_of("several", writes=writes, all_or_nothing=self.rng.random() < 0.5)
        return bench.call_of("write", path=name, content=version(self.rng))

    # What must hold after every recovery.

    async def verify(self, bench: RunnerBench) -> dict[str, Any]:
        events = [event async for event in bench.log.events(after=self.state["seq"])]
        self.check_shown(events)
        files = self.claimed(events, dict(self.state["files"]))
        found = self.on_disk(bench.workspace)
        if files != found:
            raise BrokenPromiseError(f"the log claims {files}, the disk holds {found}")
        await self.check_closed(bench, events)
        return {"session": bench.log.session, "seq": bench.log.seq, "files": files}

    def check_shown(self, events: list[Event]) -> None:
        for place, event in enumerate(events):
            if event.seq != self.state["seq"] + place + 1:
                raise BrokenPromiseError(f"the log jumps to {event.seq}")
        by_seq = {event.seq: digest(event) for event in events}
        for seq, shown in self.state["shown"]:
            if by_seq.get(seq) != shown:
                raise BrokenPromiseError(f"the event {seq} was shown and is {'other' if seq in by_seq else 'gone'}")

    def claimed(self, events: list[Event], files: dict[str, str]) -> dict[str, str]:
        """The files that the changes in the log lead to; each change must start from what was there."""
        for event in events:
            if event.type not in ("tool/result", "change/reverted"):
                continue
            for value in event.data["changes"]:
                change = from_json(value)
                source = change.old_path or change.path
                was = files.pop(source, None)
                if was != (change.before.blob if change.before else None):
                    raise BrokenPromiseError(f"{source}: a change starts from what was not there, event {event.seq}")
                if change.after is not None:
                    files[change.path] = change.after.blob
        return files

    def on_disk(self, workspace: Path) -> dict[str, str]:
        found = {}
        for path in workspace.rglob("*"):
            if not path.is_file():
                continue
            if path.name.startswith(".redline-"):
                raise BrokenPromiseError(f"{path} was left behind")
            data = path.read_bytes()
            if not is_whole(data.decode()):
                raise BrokenPromiseError(f"{path} is torn")
            found[str(path)] = blob_of(data)
        return found

    async def check_closed(self, bench: RunnerBench, events: list[Event]) -> None:
        if await bench.store.open_intents(bench.log.session):
            raise BrokenPromiseError("an intent is open")
        opened = {(e.data["turn"], e.data["call"]) for e in events if e.type == "tool/call"}
        closed = [(e.data["turn"], e.data["call"]) for e in events if e.type == "tool/result"]
        if opened != set(closed) or len(closed) != len(set(closed)):
            raise BrokenPromiseError(f"calls are open, or closed twice: {opened ^ set(closed)}")
        turns = Counter(e.type for e in events if e.type.startswith("turn/"))
        if turns["turn/started"] != turns["turn/ended"]:
            raise BrokenPromiseError("a turn is open")
        for event in events:
            status = event.data.get("status")
            if event.type == "tool/result" and status not in ("completed", "interrupted", "failed"):
                raise BrokenPromiseError(f"a call ended as {status}: {event.data}")
            if event.type == "file/intent" and not event.data["kept"]:
                raise BrokenPromiseError("an intent stands without its bytes")
            if SECRET in json.dumps(event.data):
                raise BrokenPromiseError("a secret is in the log")


# The parent.


def start(folder: Path, state: dict[str, Any], moment: str, seed: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = 3
    try:
        os.close(reading)
        child = Child(folder, state, moment, seed, writing)
        try:
            asyncio.run(child.run())
            status = 0
        except BaseException:
            child.tell("error", traceback.format_exc())
    finally:
        os._exit(status)


def listen(pid: int, pipe: int, *, kill_after: float | None) -> list[tuple[str, Any]]:
    """What the child said until it died. `kill_after`: seconds after its word that it works."""
    said: list[tuple[str, Any]] = []
    rest = b""
    deadline = time.monotonic() + PATIENCE
    while True:
        readable, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not readable:
            os.kill(pid, signal.SIGKILL)
            if kill_after is None:
                raise BrokenPromiseError(f"a child hangs; it said {said[-3:]}")
            deadline = time.monotonic() + PATIENCE
            continue
        data = os.read(pipe, 1 << 16)
        if not data:
            os.close(pipe)
            return said
        *lines, rest = (rest + data).split(b"\n")
        said += [tuple(json.loads(line)) for line in lines]
        if kill_after is not None and any(kind == "working" for kind, _ in said) and deadline > time.monotonic() + 50:
            deadline = time.monotonic() + kill_after


def warm_up() -> None:
    """Load here, once, what each child would load by itself. Starts no thread: children are forked."""
    Redactor().mask(f"token = {SECRET}")
    compare(b"a\nb\n", b"a\nc\n")
    gc.freeze()


def loop(kills: int, seed: int, folder: Path, *, report: Any = None) -> dict[str, Any]:
    """Run until so many children were killed. Raises `BrokenPromiseError`."""
    rng = random.Random(seed)
    warm_up()
    at: Counter[str] = Counter()
    closed: Counter[str] = Counter()
    state = dict(UNWRITTEN)
    began = time.monotonic()
    since = starts = shown = chapter = 0
    while sum(at.values()) < kills:
        moment = MOMENTS[starts % len(MOMENTS)]
        starts += 1
        pid, pipe = start(folder / str(chapter), state, moment, rng.randrange(2**32))
        said = listen(pid, pipe, kill_after=rng.random() * 0.15 if moment == "at a random time" else None)
        _, status = os.waitpid(pid, 0)
        for kind, value in said:
            if kind == "error":
                raise BrokenPromiseError(f"after a kill {state.get('moment')!r}:\n{value}")
            if kind == "shown":
                state["shown"] = [*state["shown"], value]
                shown += 1
            elif kind == "verified":
                state = {**value, "shown": [], "moment": moment}
            elif kind == "closed":
                closed.update(value)
        if os.WIFSIGNALED(status):
            at[moment] += 1
            since += 1
        if report is not None and sum(at.values()) % 100 == 0 and os.WIFSIGNALED(status):
            report(sum(at.values()), time.monotonic() - began)
        if since >= RESTART:
            settle(folder / str(chapter), state, rng.randrange(2**32))
            state = dict(UNWRITTEN)
            chapter, since = chapter + 1, 0
    settle(folder / str(chapter), state, rng.randrange(2**32))
    return {
        "kills": sum(at.values()), "at": dict(at), "closed": dict(closed), "shown": shown,
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def settle(folder: Path, state: dict[str, Any], seed: int) -> None:
    """The last start of a chapter: recovered and checked, and left alone."""
    pid, pipe = start(folder, state, AT_REST, seed)
    said = listen(pid, pipe, kill_after=None)
    os.waitpid(pid, 0)
    for kind, value in said:
        if kind == "error":
            raise BrokenPromiseError(value)
    if not any(kind == "verified" for kind, _ in said):
        raise BrokenPromiseError("the last start of a chapter said nothing")
    check_no_secret(folder)


def check_no_secret(folder: Path) -> None:
    for path in folder.glob("log.db*"):
        if SECRET.encode() in path.read_bytes():
            raise BrokenPromiseError(f"a secret is in {path.name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kill-loop-"))
    report = None if options.json else lambda count, seconds: print(f"{count} kills, {seconds:.0f} s", flush=True)
    try:
        result = loop(options.kills, options.seed, folder, report=report)
    except BrokenPromiseError as broken:
        print(f"{broken}\nseed {options.seed}; what is left: {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{result['kills']} kills, {result['shown']} events shown before them, none lost, no file torn")
        for moment, count in result["at"].items():
            print(f"  {count:5} {moment}")
        print(f"  calls closed by recovery: {result['closed']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
