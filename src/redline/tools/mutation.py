"""One journalled mutation: bytes stored, intent committed, file replaced.

The order is what makes a crash recoverable. Under the lock of the path, with both states known and the file not yet
touched, the bytes go to the store, durably; then the intent goes to the log, durably; then the file is replaced. So
whatever is found on the disk later, the log says what was about to happen there, and the store can give either side.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from redline.sessions.gate import GateError
from redline.sessions.store import StoreError
from redline.tools.intent import to_event
from redline.tools.landed import targets_of
from redline.tools.proposal import refuse_masks, unkept
from redline.tools.tool import Step, ToolError
from redline.tools.verdict import Verdict, judge, look_at, places
from redline.workspace.store import BytesError, ByteStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from redline.changes.record import FileChange
    from redline.files.seam import Blob, Content, Files, Outcome
    from redline.sessions.log import SessionLog
    from redline.tools.recorder import Recorder

T = TypeVar("T")
_Storing: TypeAlias = "asyncio.Future[list[Blob | None]]"

_MEDDLED = "{path} was changed by another program right after this call wrote it; read it again before editing it."


@dataclass(frozen=True, slots=True)
class Landed:
    """One mutation that is on the disk."""

    outcome: Outcome
    change: FileChange
    """As the intent keeps it."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Journal:
    """Applies mutations of one session."""

    files: Files
    store: ByteStore
    log: SessionLog
    recorder: Recorder
    told: Callable[[Outcome], None] | None = None
    """Hears of every mutation that is on the disk."""

    def kept(self, blob: Blob) -> bytes | None:
        """The bytes of a state that a mutation led from or to. None: not kept, or the store cannot be read."""
        try:
            return self.store.get(self.log.session, blob)
        except BytesError:
            return None

    async def apply(
        self,
        step: Step,
        *,
        turn: int,
        call: str,
        expected: Blob | None,
        landed: Callable[[Landed], None],
        foreseen: Outcome | None = None,
        facts: Mapping[str, Any] | None = None,
        check_masks: bool = True,
    ) -> Outcome:
        """Do one step and tell `landed` once it is on the disk, even where the caller is cancelled meanwhile.

        `expected`: as for `Files.apply`. `foreseen`: the preview; its bytes are stored while the new file is written,
        so that the two flushes need not wait for each other. `facts`: what the intent keeps beside its own. A step that
        changes nothing tells nobody. Raises `FileError`, or `ToolError` with the code of the log's or the store's
        fault; the file is then as it was.
        """

        def heard(done: Landed) -> None:
            if self.told is not None:
                self.told(done.outcome)
            landed(done)

        return await to_its_end(self._apply(step, turn, call, expected, heard, foreseen, facts or {}, check_masks))

    async def _apply(
        self,
        step: Step,
        turn: int,
        call: str,
        expected: Blob | None,
        landed: Callable[[Landed], None],
        foreseen: Outcome | None,
        facts: Mapping[str, Any],
        check_masks: bool,
    ) -> Outcome:
        intents: list[_Intent] = []
        unrecorded: list[str] = []
        early = _Early(foreseen, self._storing(foreseen)) if foreseen is not None else None

        async def before_commit(outcome: Outcome) -> None:
            if intents:  # what an editor has made of it stands already: it can be recorded, and not be refused
                try:
                    intents.append(_Intent(outcome, *await self._record(outcome, turn, call, facts, None)))
                except ToolError as error:
                    unrecorded.append(f"{error.code}: what the editor made of it as it saved it could not be recorded.")
                return
            if check_masks:
                refuse_masks(step.action, outcome)
            intents.append(_Intent(outcome, *await self._record(outcome, turn, call, facts, early)))

        try:
            outcome = await self.files.apply(step.target, step.action, expected=expected, before_commit=before_commit)
        except Exception:
            # What raises after the file was replaced, such as a flush of its folder, does not unmake the change. Here
            # only the bytes tell: a failure may leave a third state, of any size.
            if await self._settled(intents, by_size=False) == "applied":
                for intent in intents:
                    landed(intent.landed())
            raise
        finally:
            if early is not None:
                await early.over()
        if not intents:
            return outcome
        verdict = await self._settled(intents)
        if verdict == "not applied":
            raise ToolError(
                "NOT_APPLIED",
                f"{outcome.target.path} was written without an error, but still holds what it held before.",
                "Check what the path leads to (an overlay, another mount) before trying again.",
            )
        meddled = [] if verdict == "applied" else [_MEDDLED.format(path=outcome.target.path)]
        *first, last = intents
        for intent in first:
            landed(intent.landed())
        noted = replace(last, outcome=replace(last.outcome, notes=outcome.notes))
        landed(noted.landed(*meddled, *unrecorded, *outcome.notes))
        return outcome

    async def _settled(self, intents: list[_Intent], *, by_size: bool = True) -> Verdict:
        """Of the last of the mutations that came about; those after it are dropped. `by_size`: where sizes tell both
        sides apart, they are enough."""
        while intents:
            verdict = await self._verdict(intents[-1].outcome, by_size=by_size)
            if verdict != "not applied":
                return verdict
            intents.pop()
        return "not applied"

    async def _verdict(self, outcome: Outcome, *, by_size: bool) -> Verdict:
        """Whether the places of a mutation that has just been made hold what it put there. Sizes tell in most cases;
        where they do not, the bytes are read."""
        targets = targets_of(outcome)
        touched = places(outcome)
        if by_size and _sizes_tell(outcome):
            wanted = outcome.after.size if outcome.after is not None else None
            there = await self.files.stat(targets[-1])
            if (None if there is None or there.kind != "file" else there.size) == wanted and len(targets) == 1:
                return "applied"
        # The bytes are at hand: a file that is read whole is recognised by them, which is quicker than to hash it.
        limit = outcome.after.size if outcome.after is not None and outcome.after.data is not None else 0
        return judge(touched, [await look_at(self.files, target, limit) for target in targets])

    async def _record(
        self, outcome: Outcome, turn: int, call: str, facts: Mapping[str, Any], early: _Early | None
    ) -> tuple[FileChange, str | None]:
        """Make the mutation recoverable: when this returns, bytes and intent are on the disk. The second of the result:
        what cannot be done with the change, because bytes of it are not kept."""
        try:
            storing = (early.of(outcome) if early is not None else None) or self._storing(outcome)
            try:
                change = await self.recorder.change(outcome, "result")
            finally:
                lost = unkept(outcome, await _kept(storing))
            data = to_event(outcome, change, turn, call, kept=lost is None, facts=facts)
            await self.log.append("file/intent", data, durable=True)
        except StoreError as error:
            raise ToolError(error.code, f"{error.message} The file is untouched.", error.remedy) from error
        except GateError as error:
            raise ToolError("REFUSED", f"The log cannot keep the change: {error}. The file is untouched.") from error
        return change, lost

    def _storing(self, outcome: Outcome) -> _Storing:
        """Begin to keep both sides durably. One is not kept that is over the store's bound, or over the one of the diff
        basis."""
        sides = [side for side in (outcome.before, outcome.after) if side is not None and side.data is not None]
        put = partial(
            self.store.put,
            self.log.session,
            *(side.data for side in sides if side.data is not None),
            known=[side.blob for side in sides],
        )
        return asyncio.get_running_loop().run_in_executor(None, put)


async def _kept(storing: _Storing) -> frozenset[Blob]:
    """The sides that are kept, once they are."""
    try:
        return frozenset(blob for blob in await storing if blob is not None)
    except BytesError as error:
        raise ToolError(error.code, f"{error.message} The file is untouched.", error.remedy) from error


def _sizes_tell(outcome: Outcome) -> bool:
    before, after = outcome.before, outcome.after
    return before is None or after is None or before.size != after.size


@dataclass(frozen=True, slots=True)
class _Early:
    """Bytes that are being stored before it is certain that they are the ones."""

    foreseen: Outcome
    storing: _Storing

    def of(self, outcome: Outcome) -> _Storing | None:
        """What to wait for, if this is the mutation that was foreseen."""
        before, after = _blob(self.foreseen.before), _blob(self.foreseen.after)
        return self.storing if (_blob(outcome.before), _blob(outcome.after)) == (before, after) else None

    async def over(self) -> None:
        await asyncio.wait({self.storing})
        if not self.storing.cancelled():
            self.storing.exception()  # seen; where it mattered it was raised


@dataclass(frozen=True, slots=True)
class _Intent:
    """What was committed, once it was."""

    outcome: Outcome
    change: FileChange
    unkept: str | None

    def landed(self, *warnings: str) -> Landed:
        return Landed(self.outcome, self.change, tuple(filter(None, (self.unkept, *warnings))))


def _blob(content: Content | None) -> Blob | None:
    return None if content is None else content.blob


async def to_its_end(work: Awaitable[T]) -> T:
    """Wait for work that must not be torn. A cancellation that comes meanwhile is raised once it has ended."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # seen: the cancellation is what the caller is told
        raise cancelled
    return task.result()
