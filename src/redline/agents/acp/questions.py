"""An agent's permission requests: compared with the disk, asked by the host, answered in the agent's own options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redline.agents.acp.normalise import call_said
from redline.agents.acp.preview import preview
from redline.protocol.adapter import permission_answer
from redline.protocol.connection import INVALID_PARAMS, RpcError
from redline.tools.permission import PermissionOutcome, PermissionRequest
from redline.tools.proposal import cautions

if TYPE_CHECKING:
    from redline.agents.acp.call import ForeignCall
    from redline.agents.acp.calls import Calls
    from redline.agents.acp.watch import Watch
    from redline.agents.agent import Host
    from redline.files.seam import Files
    from redline.tools.recorder import Recorder

_FOR_GOOD = "The agent offers no answer for this once only: allowing it allows it for good."
_UNREAD = "A part of what is asked for could not be read, and is not shown ({})."
_NO_PREVIEW = "The agent did not say what this will change."
Options = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Asked:
    """An open question as the agent put it, for a surface that speaks the agent's own protocol."""

    params: Mapping[str, Any]
    chosen: str | None = None
    """The id of the agent's option that such a surface was given."""
    said: Mapping[str, Any] | None = None
    """Its whole answer."""

    @property
    def options(self) -> list[Mapping[str, Any]]:
        listed = self.params.get("options")
        return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []

    def answer(self, outcome: PermissionOutcome) -> str | None:
        """The option that was chosen, where it says what was decided, else one that does."""
        kind = next((str(one.get("kind")) for one in self.options if one.get("optionId") == self.chosen), "")
        if kind.startswith("allow" if outcome in ("allow_once", "allow_session") else "reject"):
            return None if outcome == "cancelled" else self.chosen
        return chosen(self.options, outcome)

    def result(self, outcome: PermissionOutcome) -> dict[str, Any]:
        """What the agent is answered: that surface's own words, where they say what was decided."""
        option = self.answer(outcome)
        own = self.said is not None and option == self.chosen
        return dict(self.said) if own and self.said is not None else permission_answer(option)


class Questions:
    """Puts the questions of one agent to its host."""

    def __init__(self, agent: str, host: Host, calls: Calls, watch: Watch, files: Files, recorder: Recorder) -> None:
        self._agent = agent
        self._host = host
        self._calls = calls
        self._watch = watch
        self._files = files
        self._recorder = recorder
        self.open: dict[tuple[int, str], Asked] = {}
        """By turn and call."""

    async def ask(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one `session/request_permission`."""
        said = call_said(params.get("toolCall") or {}, starts=False)
        asked = Asked(params)
        if said is None:
            raise RpcError(INVALID_PARAMS, "toolCall.toolCallId is missing")
        if not self._calls.running:
            return permission_answer(None)  # nobody waits for this any more
        call = self._calls.linked(said)
        only_asked = call.only_asked
        if call.id.partition("#")[0] != said.call:  # asked under an id of its own, it may add to the call, not alter it
            said = replace(said, fields={n: one for n, one in said.fields.items() if not call.fields.get(n)})
        call.take(said, 0.0)
        call.only_asked = only_asked
        call.ended = None if call.claim is None else call.ended
        # What was done before belongs to others: nothing of this call has happened yet.
        call.answer = "asking"
        await self._calls.tell(call, whole=True)
        await self._watch.up_to_date()
        self.open[(call.turn, call.id)] = asked
        try:
            outcome = await self._put(call, asked.options)
        finally:
            self.open.pop((call.turn, call.id), None)
        return asked.result(outcome)

    async def _put(self, call: ForeignCall, options: Options) -> PermissionOutcome:
        seen = call.evidence
        shown = await preview(call, self._files, self._recorder)
        edits = not seen.is_shell and seen.kind in ("edit", "delete", "move")
        paths = shown.paths or (sorted(seen.named) if edits else [])
        unclear = bool(shown.faults or seen.malformed)
        notes = [shown.note or "", *(_UNREAD.format(fault) for fault in seen.malformed)]
        notes.append(_NO_PREVIEW if edits and not shown.changes else "")
        notes += [caution for change in shown.changes for caution in cautions(change)]
        kinds = {str(one.get("kind")) for one in options}
        notes.append(_FOR_GOOD if "allow_once" not in kinds and "allow_always" in kinds else "")
        request = PermissionRequest(
            turn=call.turn,
            call=call.id,
            tool=f"{self._agent}:{seen.name or seen.kind}",
            title=seen.title,
            changes=tuple(shown.changes),
            paths=tuple(paths),
            arguments=None if seen.command is None else {"command": seen.command},
            note=" ".join(note for note in notes if note) or None,
            allow_session=not unclear and bool(shown.changes or seen.command),
        )
        try:
            outcome = await self._host.permission(request)
            if outcome in ("allow_once", "allow_session"):
                await self._watch.up_to_date()  # what a user did while this waited is no work of the agent
        except BaseException:
            call.answer = "cancelled"
            raise
        if outcome in ("allow_once", "allow_session"):
            call.answer, call.approved, call.unseen = "allowed", dict(shown.expected), unclear
            await self._watch.note(call)
        else:
            call.answer = "cancelled" if outcome == "cancelled" else "rejected"
        return outcome


def chosen(options: Options, outcome: PermissionOutcome) -> str | None:
    """The id of the option that says what was decided; None: the question is withdrawn.

    Options are told by their kind alone. What was allowed for the session is allowed once each time, so that the next
    one is compared with the disk, too. A no is never answered by an option that allows.
    """
    if outcome == "cancelled":
        return None
    allowed = outcome in ("allow_once", "allow_session")
    wanted = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
    for kind in wanted:
        for option in options:
            if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                return str(option["optionId"])
    return None
