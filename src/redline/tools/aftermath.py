"""What the mutations of a session that broke off have come to: which are on the disk, and what changes they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from redline.files.seam import Content, Files, Outcome
from redline.tools.landed import net
from redline.tools.verdict import Found, Place, Verdict, judge, look
from redline.workspace.error import BytesError

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.tools.intent import CallKey, Intent, IntentSide
    from redline.tools.recorder import Recorder
    from redline.workspace.store import ByteStore

Judged = tuple["Intent", Verdict]
"""An intent, and whether what it was about is on the disk."""


class Aftermath:
    """Of one session. Nothing is written."""

    def __init__(
        self, intents: Sequence[Intent], files: Files, store: ByteStore, session: str, recorder: Recorder
    ) -> None:
        """`intents`: all that may touch the same files, in the order of the log."""
        self._intents = intents
        self._files = files
        self._store = store
        self._session = session
        self._recorder = recorder

    async def of_call(self, key: CallKey) -> list[Judged]:
        return await self.of([intent for intent in self._intents if intent.key == key])

    async def of(self, intents: Sequence[Intent]) -> list[Judged]:
        return [(intent, await self._judge(intent)) for intent in intents]

    async def changes(self, judged: Sequence[Judged]) -> list[FileChange]:
        """The changes that landed; several to one file as one."""
        outcomes: list[Outcome] = []
        changes: list[FileChange] = []
        for intent, verdict in judged:
            if verdict == "applied":
                outcomes.append(self._outcome(intent))
                changes.append(intent.change or await self._recorder.change(outcomes[-1], "result"))
            elif verdict == "unknown" and (copied := await self._copied(intent)) is not None:
                outcomes.append(copied)
                changes.append(await self._recorder.change(copied, "result"))
        return await net(outcomes, changes, self._recorder)

    async def _judge(self, intent: Intent) -> Verdict:
        return judge(intent.places, [await self._after(intent, place) for place in intent.places])

    async def _after(self, intent: Intent, place: Place) -> Found:
        """What a place held once this intent's moment had passed: what the next intent found there, or the disk."""
        intents = self._intents
        position = next(number for number, other in enumerate(intents) if other is intent)
        for later in intents[position + 1 :]:
            for other in later.places:
                if other.key == place.key:
                    return other.before
        return await look(self._files, place)

    async def _copied(self, intent: Intent) -> Outcome | None:
        """A move that was cut in two: the new file is there and the old one still is. None: it was not that."""
        if intent.moved_to is None:
            return None
        source, target = intent.places
        if judge([target], [await self._after(intent, target)]) != "applied":
            return None
        if judge([source], [await self._after(intent, source)]) != "not applied":
            return None
        return Outcome(intent.moved_to, "create", None, self._content(intent.after))

    def _outcome(self, intent: Intent) -> Outcome:
        before, after = self._content(intent.before), self._content(intent.after)
        return Outcome(intent.target, intent.operation, before, after, moved_to=intent.moved_to)

    def _content(self, side: IntentSide | None) -> Content | None:
        if side is None:
            return None
        try:
            return side.content(self._store.get(self._session, side.blob))
        except BytesError:
            return side.content(None)
