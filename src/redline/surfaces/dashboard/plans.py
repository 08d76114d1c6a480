"""Undos that were shown and wait to be carried out: exactly what was shown, once."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING

from redline.gateway.roster import GatewayError

if TYPE_CHECKING:
    from redline.tools.undo import UndoPlan

_KEPT = 64


class Plans:
    def __init__(self) -> None:
        self._plans: OrderedDict[str, tuple[str, UndoPlan]] = OrderedDict()

    def keep(self, session: str, plan: UndoPlan) -> str:
        """The name by which it can be taken."""
        name = secrets.token_urlsafe(12)
        self._plans[name] = (session, plan)
        while len(self._plans) > _KEPT:
            self._plans.popitem(last=False)
        return name

    def take(self, session: str, name: str) -> UndoPlan:
        """Raises `GatewayError` NO_PLAN."""
        found = self._plans.get(name)
        if found is None or found[0] != session:
            raise GatewayError("NO_PLAN", "This undo is not waiting any more.", "Look at what it would do again.")
        del self._plans[name]
        return found[1]
