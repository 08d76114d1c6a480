"""Random lives of a session, against a small model of files and log.

Mutations through the runner, a user who saves meanwhile, refusals, secrets, undo and redo, restarts, and crashes at
every step. After each step the disk must be what the model says, and the log must lead to it.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from power_cut import STEPS, Power, PowerCut
from redline.changes.apply import apply_hunks
from redline.changes.codec import from_json
from redline.tools.recovery import recover
from redline.tools.undo import UndoRefused, undo
from runner_bench import RunnerBench

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from redline.changes.record import FileChange
    from redline.tools.runner import CallResult

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NAMES = ["a.txt", "b.txt", "sub/c.txt"]
LINES = ["one", "two", "three", "é", "\ttab", "", f"token = {SECRET}", "x\rlone return", "last"]

names = st.sampled_from(NAMES)
texts = st.lists(st.sampled_from(LINES), max_size=12).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n", "\r\n".join(lines) + "\r\n"])
)


class Session(RuleBasedStateMachine):
    """`files` and `seen` are the model: what is on the disk, and what the model of the agent knows of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="session-"))
        self.loop = asyncio.new_event_loop()
        self.files: dict[str, bytes] = {}
        self.seen: dict[str, bytes] = {}
        self.by_hand: set[str] = set()
        """Files that somebody changed beside the log since it last spoke of them."""
        self.checked = 0
        self.logged: dict[str, str | None] = {}
        """What the log leads to, by path: a blob, or None."""
        self.undos: list[tuple[int, dict[str, bytes]]] = []
        """Turns that were undos, with the files as they were before, while nothing has happened since."""

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    @initialize(existing=st.dictionaries(names, texts, max_size=2))
    def begin(self, existing: dict[str, str]) -> None:
        self.bench: RunnerBench = self.run(RunnerBench.open(self.folder))
        self.run(self.bench.start_turn(1))
        for name, text in existing.items():
            self.save(name, text)

    def teardown(self) -> None:
        if hasattr(self, "bench"):
            self.run(self.bench.store.close())
            for path in self.folder.glob("log.db*"):
                assert SECRET.encode() not in path.read_bytes()
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder)

    # What happens.

    @rule(name=names, text=texts)
    def save(self, name: str, text: str) -> None:
        """Somebody writes a file by hand."""
        self.bench.put(name, text)
        self.files[name] = text.encode()
        self.by_hand.add(name)
        self.undos.clear()

    @rule(name=names)
    def read(self, name: str) -> None:
        result = self.call("read", path=name)
        assert result.is_error is (name not in self.files)
        if name in self.files:
            self.seen[name] = self.files[name]

    @rule(name=names, text=texts)
    def write(self, name: str, text: str) -> None:
        was = self.files.get(name)
        result = self.call("write", path=name, content=text)
        if was is not None and self.seen.get(name) != was:
            self.expect_unseen(name, result)
            return
        assert result.status == "completed", result.error
        bom = b"\xef\xbb\xbf" if was is not None and was.startswith(b"\xef\xbb\xbf") else b""
        self.became(name, bom + text.encode(), result)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), new=st.sampled_from(LINES))
    def edit(self, data: st.DataObject, new: str) -> None:
        """Replace one line that stands once; its own ending stays."""
        name = data.draw(st.sampled_from(sorted(self.files)))
        was = self.files[name]
        lines = was.split(b"\n")
        once = [line for line in {one.rstrip(b"\r") for one in lines} if line and was.count(line) == 1]
        if not once or b"\r" in new.encode() or b"\r" in b"".join(once):
            return
        old = data.draw(st.sampled_from(sorted(once)))
        result = self.call("edit", path=name, old=old.decode(), new=new)
        if self.seen.get(name) != was:
            self.expect_unseen(name, result)
        elif old == new.encode():
            assert result.error is not None
            assert result.error.code == "NO_CHANGE"
        else:
            assert result.status == "completed", result.error
            self.became(name, was.replace(old, new.encode()), result)

    @rule(name=names)
    def delete(self, name: str) -> None:
        was = self.files.get(name)
        result = self.call("delete", path=name)
        if was is None:
            assert result.error is not None
            assert result.error.code == "NOT_FOUND"
        elif self.seen.get(name) != was:
            self.expect_unseen(name, result)
        else:
            assert result.status == "completed", result.error
            del self.files[name]
            self.landed(result, name)

    @rule(name=names, to=names)
    def move(self, name: str, to: str) -> None:
        was = self.files.get(name)
        result = self.call("move", path=name, to=to)
        if was is None or to in self.files or self.seen.get(name) != was:
            assert result.status == "failed"
            return
        assert result.status == "completed", result.error
        self.seen[to] = self.files[to] = self.files.pop(name)
        self.landed(result, name, to)

    @rule(first=texts, second=texts, together=st.booleans())
    def several(self, first: str, second: str, together: bool) -> None:
        writes = {"a.txt": first, "b.txt": second}
        known = all(self.files.get(name) in (None, self.seen.get(name)) for name in writes)
        result = self.call("several", writes=writes, all_or_nothing=together)
        if not known:
            assert result.status == "failed"
            assert list(result.changes) == []
            return
        assert result.status == "completed", result.error
        for name, text in writes.items():
            self.seen[name] = self.files[name] = text.encode()
        self.landed(result, *writes)

    @rule(name=names, text=texts)
    def refuse(self, name: str, text: str) -> None:
        """The person says no."""
        self.bench.answer = "reject"
        result = self.call("write", path=name, content=text)
        self.bench.answer = "allow_once"
        assert list(result.changes) == []
        assert result.status in ("rejected", "failed", "completed")

    @rule(name=names, text=texts, saved=texts)
    def save_while_asked(self, name: str, text: str, saved: str) -> None:
        """The user saves the file while the question is open: the second question is about what is there then."""
        self.run(self.bench.call("read", path=name))
        if name in self.files:
            self.seen[name] = self.files[name]
        asked = 0

        def answer(request: object) -> Any:
            nonlocal asked
            asked += 1
            if asked == 1:
                self.save(name, saved)
            return "allow_once"

        self.bench.answer = answer
        result = self.call("write", path=name, content=text)
        self.bench.answer = "allow_once"
        assert result.status == "completed", result.error
        self.became(name, text.encode(), result)

    @rule()
    def take_back(self) -> None:
        """Undo whatever comes; whether it can is judged by what it does: all of a change, or nothing."""
        before = dict(self.files)
        try:
            undone = self.run(undo(self.bench.log, self.bench.bytes, self.bench.files, self.bench.redactor))
        except UndoRefused:
            return
        self.files = self.on_disk()
        touched = {Path(path) for change in undone.changes for path in (change.path, change.old_path) if path}
        for name in NAMES:
            if self.bench.workspace / name not in touched:
                assert self.files.get(name) == before.get(name)
        self.undos.append((undone.turn, before))
        self.next_turn(undone.turn + 1)

    @precondition(lambda self: self.undos)
    @rule()
    def take_the_undo_back(self) -> None:
        """Undoing an undo, with nothing in between, gives the files back exactly."""
        turn, before = self.undos.pop()
        self.undos.clear()
        bench = self.bench
        try:
            undone = self.run(undo(bench.log, bench.bytes, bench.files, bench.redactor, turn=turn))
        except UndoRefused as refused:
            undone, code = None, refused.code
        if undone is None:
            assert code == "NOTHING_TO_UNDO"
            assert self.files == before, "only an undo that had nothing left to do leaves nothing to take back"
            return
        self.files = self.on_disk()
        assert self.files == before
        self.next_turn(undone.turn + 1)

    @rule()
    def restart(self) -> None:
        self.reopen()

    @rule(step=st.sampled_from(STEPS), skip=st.integers(0, 1), first=texts, second=texts, edit_too=st.booleans())
    def crash(self, step: str, skip: int, first: str, second: str, edit_too: bool) -> None:
        """The power goes at some step of some mutations; the next start closes what was open."""
        for name in NAMES[:2]:
            if name in self.files:
                self.run(self.bench.call("read", path=name))
                self.seen[name] = self.files[name]
        calls = [
            self.bench.call_of("several", writes={"a.txt": first, "b.txt": second}),
            self.bench.call_of("write", path="sub/c.txt" if not edit_too else "a.txt", content=second + first),
        ]
        power = Power(self.bench, step, skip=skip)
        try:
            self.run(self.bench.run(*calls))
        except PowerCut:
            self.run(self.settle())
        assert power is not None
        del self.bench.store.submit, self.bench.bytes.put, self.bench.files.apply  # type: ignore[method-assign]
        self.undos.clear()
        self.reopen()
        whole = {"a.txt": {first, second + first}, "b.txt": {second}, "sub/c.txt": {second + first}}
        found = self.on_disk()
        for name in NAMES:
            if found.get(name) != self.files.get(name):
                assert found[name] in {text.encode() for text in whole[name]}, "a file is the old one or a new one"
                self.seen[name] = found[name]
        self.files = found

    # How the model follows.

    def call(self, tool: str, **arguments: Any) -> CallResult:
        result: CallResult = self.run(self.bench.call(tool, **arguments))
        return result

    def became(self, name: str, data: bytes, result: CallResult) -> None:
        was = self.files.get(name)
        self.files[name] = self.seen[name] = data
        if was == data:
            assert list(result.changes) == []
            return
        [change] = result.changes
        if was is not None and not change.redacted:
            final = not data or data.endswith(b"\n")
            assert apply_hunks(was, change.hunks, final_newline=final) == data
        self.landed(result, name)

    def landed(self, result: CallResult, *touched: str) -> None:
        if result.changes:
            self.undos.clear()

    def expect_unseen(self, name: str, result: CallResult) -> None:
        assert result.status == "failed"
        assert result.error is not None
        expected = "STALE" if name in self.seen else "NOT_OBSERVED"
        assert result.error.code == expected

    def next_turn(self, turn: int) -> None:
        self.run(self.bench.start_turn(turn))

    async def settle(self) -> None:
        """Let what the power cut has left of the loop's tasks come to its end."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def reopen(self) -> None:
        self.bench = self.run(self.bench.reopen())
        self.run(recover(self.bench.log, self.bench.bytes, self.bench.files))
        self.run(self.bench.runner.restore())
        summary = self.run(self.bench.store.summary(self.bench.log.session))
        self.next_turn(summary.turns + 1)

    def on_disk(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.bench.workspace)): path.read_bytes()
            for path in self.bench.workspace.rglob("*")
            if path.is_file()
        }

    # What always holds.

    @invariant()
    def the_disk_is_what_the_model_says(self) -> None:
        if hasattr(self, "bench"):
            assert self.on_disk() == self.files

    @invariant()
    def the_log_leads_to_the_disk(self) -> None:
        if not hasattr(self, "bench"):
            return
        events = self.run(self.events())
        assert [event.seq for event in events] == list(range(self.checked + 1, self.checked + 1 + len(events)))
        self.checked += len(events)
        for event in events:
            assert SECRET not in str(event.data)
            if event.type in ("tool/result", "change/reverted"):
                for value in event.data["changes"]:
                    self.follow(from_json(value))
        from redline.changes.compare import blob_id

        for name in set(NAMES) - self.by_hand:
            path = str(self.bench.workspace / name)
            data = self.files.get(name)
            assert self.logged.get(path) == (None if data is None else blob_id(data)), name

    async def events(self) -> list[Any]:
        return [event async for event in self.bench.log.events(after=self.checked)]

    def follow(self, change: FileChange) -> None:
        """A change starts from what the log last said of the file, unless somebody has been at it by hand."""
        for path, before, after in self.sides(change):
            name = str(Path(path).relative_to(self.bench.workspace))
            if name not in self.by_hand:
                assert self.logged.get(path) == before, name
            self.logged[path] = after
            self.by_hand.discard(name)
            for blob in (before, after):
                assert blob is None or self.bench.bytes.get(self.bench.log.session, blob) is not None

    def sides(self, change: FileChange) -> list[tuple[str, str | None, str | None]]:
        before = change.before.blob if change.before else None
        after = change.after.blob if change.after else None
        if change.old_path is None:
            return [(change.path, before, after)]
        return [(change.old_path, before, None), (change.path, None, after)]


SessionTest = Session.TestCase
SessionTest.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
