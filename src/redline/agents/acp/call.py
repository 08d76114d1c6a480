"""One call of a foreign agent: what it has said of it, what was allowed, and what was found of it on the disk."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from redline.agents.acp.command import from_a_line_on, is_same
from redline.agents.acp.evidence import Evidence, evidence, has_diff
from redline.agents.acp.normalise import FURTHER
from redline.agents.acp.places import key
from redline.agents.acp.step import Step
from redline.changes.codec import kept_to_json, to_json

if TYPE_CHECKING:
    from redline.agents.acp.normalise import CallSaid
    from redline.agents.acp.shown import Shown
    from redline.changes.record import FileChange

Answer = Literal["asking", "allowed", "rejected", "cancelled"]
Claim = Literal["completed", "failed"]

_CLAIMS: Mapping[str, Claim] = {"completed": "completed", "failed": "failed", "error": "failed", "cancelled": "failed"}
_PIECES = ("terminal_info", "terminal_output", "terminal_exit")
_TELLING = 4
"""Characters of a line that is not to be found in a text by chance."""
_DEPTH = 20
_OUTPUT_KEPT = 64 * 1024
"""Characters of a command's output that are kept of a call."""


@dataclass(slots=True, eq=False)
class ForeignCall:
    """Known by its turn and its id; agents repeat ids from turn to turn."""

    turn: int
    id: str
    workspace: str
    fields: dict[str, Any] = field(default_factory=dict)
    """The last value of each field that the agent has sent."""
    diffs: list[Any] = field(default_factory=list)
    """The last diff blocks: a later content without any does not take them back."""
    output: str = ""
    """Of a command, where the agent sends it piece by piece."""
    exit: Mapping[str, Any] | None = None
    started: float = 0.0
    ended: float | None = None
    """When it was last said to have ended, by the clock of the event loop; None: it runs."""
    claim: Claim | None = None
    answer: Answer | None = None
    """To the last question about it; None: nobody was asked."""
    approved: dict[str, Shown] = field(default_factory=dict)
    """What was shown and allowed, by path (links followed)."""
    unseen: bool = False
    """It was allowed although no preview could be built."""
    only_asked: bool = False
    """Nothing is known of it but a permission request."""
    made_up: bool = False
    """It stands for one thing that the agent had us do and named no call for: no other such thing is its."""
    terminals: list[str] = field(default_factory=list)
    """Of ours, those that its commands run in."""
    steps: list[Step] = field(default_factory=list)
    changes: tuple[FileChange, ...] = ()
    """What the steps amount to."""
    logged: dict[Hashable, bool] = field(default_factory=dict)
    """Which changes its last event told, in their order, and whether a result has counted them."""
    closed: bool = False
    """Its result is in the log."""
    stale: bool = False
    """Something was found of it since its result was logged."""
    shared: set[str] = field(default_factory=set)
    """Paths that it and others have changed, nobody knows which of them how (links followed)."""
    beside: list[str] = field(default_factory=list)
    """Files that changed while it ran and that it is not known to have changed."""
    warnings: list[str] = field(default_factory=list)
    heard: dict[str, int] = field(default_factory=dict)
    """What the fields were that were forgotten, so that a repetition can be told from another call."""
    told: dict[str, Any] = field(default_factory=dict)
    """What the log holds of it, by field, so that nothing is said twice."""
    due: float = 0.0
    """Not before then is a mere progress of it logged again."""
    pause: float = 1.0
    _evidence: Evidence | None = None
    _keys: tuple[frozenset[str], frozenset[str]] | None = None
    _left: dict[str, str | None] = field(default_factory=dict)
    """By path, the blob that its own changes have left there."""

    def take(self, said: CallSaid, now: float) -> bool:
        """Take what a message says. True: something decisive changed, so it should be logged at once."""
        decisive = not self.fields
        content = said.fields.get("content")
        if isinstance(content, list) and has_diff(content):
            self.diffs = [block for block in content if isinstance(block, Mapping) and block.get("type") == "diff"]
        elif content is not None and has_diff(self.fields.get("content")):
            decisive = True
        if said.fields.get("status") not in (None, self.fields.get("status")):
            decisive = True
        late = said.starts and self.ended is not None
        for name, value in said.fields.items():
            if late and (not value or name == "status"):
                continue  # a start that comes after the end wipes nothing
            if name == FURTHER:
                value = {**self.fields.get(name, {}), **value}
            self.fields[name] = _joined(self.fields.get(name), value) if name == "_meta" else value
        self._take_terminal(said.fields.get("_meta"))
        self._evidence = None
        claim = _CLAIMS.get(str(said.fields.get("status")))
        if claim is not None:
            self.claim, self.ended = claim, now
        self.only_asked = False
        return decisive

    def failed(self, why: str, now: float) -> None:
        """Of a call that was made up here: it came to nothing."""
        self.claim, self.ended = "failed", now
        self.holds({"type": "content", "content": {"type": "text", "text": why}})

    def runs_now(self, command: str) -> None:
        """A command is run for it, and it has not said which."""
        given = self.fields.get("rawInput")
        self.fields["rawInput"] = {**(given if isinstance(given, Mapping) else {}), "command": command}
        self._evidence = None

    def holds(self, *content: dict[str, Any]) -> None:
        """The same: what its content is."""
        self.fields["content"], self._evidence = list(content), None

    @property
    def evidence(self) -> Evidence:
        if self._evidence is None:
            self._evidence = evidence(self.fields, self.workspace, self.diffs)
            self._keys = None
        return self._evidence

    def add(self, step: Step) -> None:
        """A change of its own is on the disk."""
        self.steps.append(step)
        self._left |= step.left

    def continues(self, step: Step) -> bool:
        """The change began with what this call had left in its files."""
        return all(self._left.get(path, blob) == blob for path, blob in step.taken.items())

    def has_logged(self, change: FileChange) -> bool:
        return _identity(change) in self.logged

    @property
    def is_behind(self) -> bool:
        """The log does not hold all that was found of it."""
        return [_identity(change) for change in self.changes] != list(self.logged)

    def held(self, changes: Sequence[FileChange], *, counted: bool = False) -> list[dict[str, Any]]:
        """These changes as its next event holds them: what the one before holds is not said again. `counted`: the event
        is a result, so that each counts among what the session changed, once."""
        places = {identity: place for place, identity in enumerate(self.logged)}
        entries, logged = [], {}
        for change in changes:
            identity = _identity(change)
            was_counted = self.logged.get(identity, False)
            if identity in places:
                entries.append(kept_to_json(places[identity], change if counted and not was_counted else None))
            else:
                entries.append(to_json(change))
            logged[identity] = counted or was_counted
        self.logged = logged
        return entries

    @property
    def may_run(self) -> bool:
        """Nothing keeps it from changing files at the moment: it is not waiting for an answer, and none said no."""
        return self.answer in (None, "allowed")

    @property
    def _files(self) -> tuple[frozenset[str], frozenset[str]]:
        """Those that it means to change, and those that it names, links followed."""
        seen = self.evidence
        if self._keys is None:
            self._keys = frozenset(map(key, seen.intended)), frozenset(map(key, seen.named))
        return self._keys

    @property
    def is_open_ended(self) -> bool:
        """It says neither which files it is about nor that it only looks: nothing is known of what it may change."""
        return not self.evidence.named and not self.evidence.only_looks

    def runs(self, command: str) -> bool:
        """It is this call's command, bare or inside the shell that the agent puts around it; or it has none yet."""
        own = (self.evidence.command or "").strip()
        if not self.evidence.is_shell or not own:
            return self.evidence.is_shell
        return is_same(own, command)

    def runs_a_part(self, command: str) -> bool:
        """What it says that it runs is a part of that command, or holds it: it is likely to be its."""
        own = (self.evidence.command or "").strip()
        return self.evidence.is_shell and bool(own) and (own in command or command in own)

    def means(self, step: Step) -> bool:
        """It means to change a path of that change."""
        return not step.paths.isdisjoint(self._files[0])

    def mentions(self, step: Step) -> bool:
        return not step.paths.isdisjoint(self._files[1])

    def titles(self, names: Iterable[str]) -> bool:
        """Its title holds the name of one of these files, as a word of its own."""
        return any(_is_in(name, self.evidence.title) for name in names)

    def commands_on(self, names: Iterable[str]) -> bool:
        """The same of its command."""
        return any(_is_in(name, self.evidence.command or "") for name in names)

    def foretold(self, step: Step) -> bool:
        """A line that it proposed to add, or to remove, is one that was."""
        lines = {line for change in self.evidence.proposed for hunk in change.hunks for line in hunk.lines}
        signed = {line.rstrip("\r") for line in lines if line[0] != " " and line[1:].strip()}
        return any(line.rstrip("\r") in signed for hunk in step.change.hunks for line in hunk.lines)

    def words(self, step: Step) -> bool:
        """It holds a line that came, somewhere in its arguments or its text: some tell a preview, and no path."""
        text = "\n".join([*_strings(self.fields.get("rawInput")), self.evidence.text])
        lines = (line[1:].strip() for hunk in step.change.hunks for line in hunk.lines if line[0] == "+")
        return any(len(line) >= _TELLING and line in text for line in lines)

    def forget(self) -> None:
        """It is over and logged: keep what identifies it, not the texts that were sent, nor the bytes."""
        self.heard |= {name: _digest(self.fields[name]) for name in ("rawInput", "content") if self.fields.get(name)}
        keep = ("title", "kind", "status", "name")
        evidence_kept = self.evidence
        self.fields = {name: self.fields[name] for name in keep if name in self.fields}
        self.diffs = []
        self.output = ""
        self.steps = [Step(step.change, None, None) for step in self.steps]
        self._evidence = evidence_kept

    def differs(self, said: CallSaid) -> bool:
        """Of a call that is over: a start with its id says other things, so it is another call."""
        others = [name for name in self.heard if said.fields.get(name)]
        return any(_digest(said.fields[name]) != self.heard[name] for name in others)

    def _take_terminal(self, meta: object) -> None:
        """Output of a command as some agents send it: piece by piece, beside the fields of the protocol."""
        if not isinstance(meta, Mapping):
            return
        piece, ending = meta.get("terminal_output"), meta.get("terminal_exit")
        if isinstance(piece, Mapping) and isinstance(piece.get("data"), str):
            self.output += piece["data"]
            if len(self.output) > _OUTPUT_KEPT:
                self.output = from_a_line_on(self.output[-_OUTPUT_KEPT:])
        if isinstance(ending, Mapping):
            self.exit = {"exit_code": ending.get("exit_code"), "signal": ending.get("signal")}


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list) and depth < _DEPTH:
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(one, depth + 1)


def _is_in(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _joined(known: Any, new: Any) -> Any:
    """Notes on a call add up: each message has its own. What passes piece by piece is no note."""
    if not isinstance(known, Mapping) or not isinstance(new, Mapping):
        return {name: one for name, one in new.items() if name not in _PIECES} if isinstance(new, Mapping) else new
    return {**known, **{name: _joined(known.get(name), one) for name, one in new.items() if name not in _PIECES}}


def _digest(value: Any) -> int:
    return hash(json.dumps(value, sort_keys=True))


def _identity(change: FileChange) -> Hashable:
    sides = (side and (side.blob, side.executable) for side in (change.before, change.after))
    return (change.path, change.old_path, change.operation, *sides)
