"""Events on their way through the door: those of one turn of the event loop pass together.

Nearly all events are clean, and one look at all their strings costs a fraction of one look at each. Only where that
look finds something is each event masked by itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakKeyDictionary, ref

from redline.sessions.gate import Admitted
from redline.sessions.redaction import Redactor
from redline.sessions.store import Store

_NAMES_A_SECRET = re.compile("pass|pwd|secret|token|credential|auth|key", re.IGNORECASE).search
"""Under such a key a value is judged by more than itself, so the door is always asked."""


class Entrant(Protocol):
    """An event that enters."""

    redactor: Redactor
    admitted: Admitted
    passed: bool
    """It has been masked already, and only keeps its place."""
    store: Store
    """Where it goes; told to go on when all have come through."""

    def through(self, data: Any, error: BaseException | None) -> None:
        """Called with the masked value, or with what went wrong."""
        ...


class Door:
    """One for each running loop; see `door`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._waiting: list[Entrant] = []
        self._is_to_open = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        return self._loop()

    def enter(self, entrant: Entrant) -> None:
        """Let it through at the end of this turn of the loop, after those that entered before it."""
        if not self._is_to_open:
            self._is_to_open = True
            asyncio.get_running_loop().call_soon(self._open)
        self._waiting.append(entrant)

    def _open(self) -> None:
        if not self._waiting:
            self._is_to_open = False
            return
        # Whoever is told now that its event is committed will often have the next one, and then stands before us in
        # the same turn of the loop: a turn costs more than a look.
        try:
            self._pass_through()
        finally:
            asyncio.get_running_loop().call_soon(self._open)

    def _pass_through(self) -> None:
        waiting, self._waiting = self._waiting, []
        clean = _clean(waiting)
        for entrant in waiting:
            value, error = entrant.admitted.value, None
            if not entrant.passed and entrant.redactor not in clean:
                try:
                    value = masked(entrant.redactor, entrant.admitted)
                except Exception as fault:
                    error = fault
            entrant.through(value, error)
        for store in {entrant.store for entrant in waiting}:
            store.flush()


def _clean(waiting: list[Entrant]) -> set[Redactor]:
    """Those who find nothing in all that waits for them."""
    if len(waiting) == 1:
        return set()
    clean = set()
    for redactor in {entrant.redactor for entrant in waiting}:
        theirs = [each.admitted for each in waiting if each.redactor is redactor and not each.passed]
        # Where looking fails each is asked by itself, and its fault is told to its own appender.
        with suppress(Exception):
            if is_clean(redactor, theirs):
                clean.add(redactor)
    return clean


_doors: WeakKeyDictionary[asyncio.AbstractEventLoop, Door] = WeakKeyDictionary()


def door() -> Door:
    """That of the running loop."""
    loop = asyncio.get_running_loop()
    found = _doors.get(loop)
    if found is None:
        found = _doors[loop] = Door(loop)
    return found


def masked(redactor: Redactor, admitted: Admitted) -> Any:
    """The value with its secrets masked."""
    return admitted.value if is_clean(redactor, [admitted]) else redactor.mask_json(admitted.value)[0]


def is_clean(redactor: Redactor, all_admitted: Sequence[Admitted]) -> bool:
    """No string or key in any of them holds a secret; False where only a closer look can tell."""
    keys = "\n".join(set().union(*(admitted.keys for admitted in all_admitted)))
    if _NAMES_A_SECRET(keys):
        return False
    strings = [string for admitted in all_admitted for string in admitted.strings]
    together = "\n".join([keys, *strings])
    return redactor.mask(together) is together
