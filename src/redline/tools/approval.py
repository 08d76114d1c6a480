"""What of one call was proposed and allowed: an answer holds for the change that was shown, and for no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redline.changes.codec import to_json
from redline.files.error import FileError
from redline.files.seam import Move, WriteBytes
from redline.tools.ending import REFUSALS, named
from redline.tools.permission import Permission, PermissionOutcome, PermissionRequest
from redline.tools.proposal import Proposal, needs_a_person, propose

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.files.seam import Action
    from redline.tools.knowledge import Knowledge
    from redline.tools.mutation import Journal
    from redline.tools.tool import Step, Tool, ToolError

_MOVED_ON = ("NO_MATCH", "AMBIGUOUS", "NOT_FOUND", "NOT_TEXT", "NOT_REGULAR", "NO_CHANGE")

ASK_AGAIN = 5
"""Times that a file may change between the answer and the write before the call gives up."""


class NotApprovedError(Exception):
    """Somebody, or nobody, said no."""

    def __init__(self, outcome: PermissionOutcome) -> None:
        super().__init__(outcome)
        self.outcome: PermissionOutcome = outcome


class Approval:
    """Of one call."""

    def __init__(
        self,
        *,
        turn: int,
        call: str,
        tool: Tool[Any],
        given: Any,
        journal: Journal,
        knowledge: Knowledge,
        permission: Permission,
        warnings: list[str],
    ) -> None:
        """`given`: the arguments as the model sent them: JSON. `warnings`: those of the call, to add to."""
        self._turn = turn
        self._call = call
        self._tool = tool
        self._arguments = given if isinstance(given, Mapping) else None
        self._journal = journal
        self._knowledge = knowledge
        self._permission = permission
        self._warnings = warnings
        self._proposals: list[Proposal] = []
        """Not carried out yet."""
        self._shown: dict[str, FileChange] = {}
        """The newest proposal of the whole call, by file."""

    async def propose(self, steps: Sequence[Step]) -> list[FileChange]:
        """The proposal of the whole call, against the files as they are now. Raises `FileError`."""
        return await self._hold(steps, self._knowledge)

    async def record(self, changes: list[Any]) -> None:
        """A proposal that is newer than the one in `tool/call`, as events hold it."""
        await self._journal.log.append("tool/update", {"turn": self._turn, "call": self._call, "changes": changes})

    async def ask(self) -> None:
        """For the call as proposed, if there is anything to ask about. Raises `NotApprovedError`."""
        if self._tool.asks or any(proposal.change is not None for proposal in self._proposals):
            await self._ask(self._proposals)

    async def outdated(self) -> Proposal | None:
        """One that was approved and whose file has changed since, of a call that computed its new bytes beforehand:
        they cannot be fitted to what is there now, so such a call has to be planned once more. None: there is none."""
        if not any(is_computed(proposal.step.action) for proposal in self._proposals):
            return None
        for proposal in self._proposals:
            if proposal.change is not None and await self._blob_of(proposal.step) != proposal.expected:
                return proposal
        return None

    async def ask_again(self, steps: Sequence[Step]) -> None:
        """For the whole call, planned anew after it was approved in another state. Raises `FileError`,
        `NotApprovedError`."""
        changes = await self._hold(steps, None)
        await self.record([to_json(change) for change in changes])
        if changes:
            await self._ask(self._proposals, again=True)

    def take(self, step: Step) -> Proposal | None:
        """The proposal that was approved for this very step, once; None: there is none."""
        for proposal in self._proposals:
            if proposal.step == step:
                self._proposals.remove(proposal)
                return proposal
        return None

    async def ask_anew(self, step: Step, *, asked: bool) -> Proposal:
        """Of a step that was not approved as it now stands: record what it would do now, and ask.

        `asked`: it was approved in another state, so the answer does not rest on what the model has seen. Raises
        `FileError`, `NotApprovedError`.
        """
        try:
            proposal = await self._proposal(step, None if asked else self._knowledge)
        except FileError as error:
            if not asked or not has_moved_on(error):
                raise
            raise no_longer_fits(step) from error
        if proposal.change is not None:
            self._shown[step.target.key] = proposal.change
            await self.record([to_json(change) for change in self._shown.values()])
            await self._ask([proposal], again=asked)
        return proposal

    async def _hold(self, steps: Sequence[Step], knowledge: Knowledge | None) -> list[FileChange]:
        """Let these be what the call proposes."""
        proposals: dict[str, Proposal] = {}
        for step in steps:
            # Of two steps on one file the second depends on what the first does: it is proposed when its turn comes.
            if step.target.key not in proposals:
                proposals[step.target.key] = await self._proposal(step, knowledge)
        self._proposals = list(proposals.values())
        self._shown = {key: one.change for key, one in proposals.items() if one.change is not None}
        return list(self._shown.values())

    async def _blob_of(self, step: Step) -> str:
        """Empty: there is no file. Raises `FileError`."""
        files = self._journal.files
        return "" if await files.stat(step.target) is None else (await files.read(step.target)).blob

    async def _proposal(self, step: Step, knowledge: Knowledge | None) -> Proposal:
        journal = self._journal
        return await propose(step, journal.files, knowledge, journal.recorder, keep_limit=journal.store.file_limit)

    async def _ask(self, proposals: Sequence[Proposal], *, again: bool = False) -> None:
        changes = [proposal.change for proposal in proposals if proposal.change is not None]
        notes = [note for proposal in proposals for note in (*proposal.notes, *proposal.links)]
        if again:
            notes.insert(0, "The file changed since the last answer; this is the change as it would be made now.")
        request = PermissionRequest(
            turn=self._turn,
            call=self._call,
            tool=self._tool.name,
            title=self._title(changes),
            changes=changes,
            # Not of links, which may lead elsewhere tomorrow.
            paths=list(dict.fromkeys(key for proposal in proposals for key in proposal.step.keys)),
            arguments=self._arguments,
            note=" ".join(notes) or None,
            allow_session=not again and not needs_a_person(proposals),
        )
        try:
            outcome = await self._permission(request)
        except Exception as fault:
            self._warnings.append(f"The permission could not be asked for ({named(fault)}).")
            outcome = "unavailable"
        if outcome not in ("allow_once", "allow_session"):
            raise NotApprovedError(outcome if outcome in REFUSALS else "unavailable")

    def _title(self, changes: Sequence[FileChange]) -> str:
        try:
            view = self._tool.present_call(self._arguments or {}, changes)
        except Exception as fault:
            self._warnings.append(f"The tool's card could not be drawn ({named(fault)}); the plain one is shown.")
            view = None
        names = [self._tool.name, *(change.path for change in changes[:3])]
        title = view.title if view is not None else " ".join(names)
        return title.split("\n", 1)[0]


def is_computed(action: Action) -> bool:
    """Its new bytes were made from what the file held when the call was planned: on another content they would undo
    what somebody else has done there."""
    return isinstance(action, WriteBytes) or (isinstance(action, Move) and action.data is not None)


def has_moved_on(error: FileError | ToolError) -> bool:
    """What a change meets where a file is no longer what it was made for."""
    return error.code in _MOVED_ON


def no_longer_fits(step: Step) -> FileError:
    return FileError(
        "STALE",
        f"{step.target.path} changed while the approval was open, and the change no longer fits.",
        "Read it again and make the change on what is there now.",
    )


def keeps_changing(step: Step) -> FileError:
    return FileError("STALE", f"{step.target.path} keeps changing.", "Wait for whatever writes it, then read it again.")
