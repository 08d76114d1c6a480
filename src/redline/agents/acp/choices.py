"""What there is to choose from about an agent, in its own words, and what a user chose of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user chose about an agent; empty: its own default."""

    mode: str = ""
    model: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.mode or self.model or self.options)


@dataclass(slots=True)
class Offers:
    """What an agent has to choose from, as it said so for a session."""

    modes: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    options: Sequence[Mapping[str, Any]] = ()
    others: Mapping[str, Any] = field(default_factory=dict)
    """What else its answer holds."""

    @classmethod
    def of(cls, answer: object) -> Offers:
        held = answer if isinstance(answer, Mapping) else {}
        options = held.get("configOptions")
        known = ("sessionId", "modes", "models", "configOptions")
        return cls(
            _mapping(held.get("modes")),
            _mapping(held.get("models")),
            [one for one in options if isinstance(one, Mapping)] if isinstance(options, list) else [],
            {name: value for name, value in held.items() if name not in known},
        )

    @property
    def mode(self) -> str:
        return str(self.modes.get("currentModeId") or self._current("mode"))

    @property
    def model(self) -> str:
        return str(self.models.get("currentModelId") or self._current("model"))

    def option(self, name: str) -> Mapping[str, Any] | None:
        """By its id, else by its category."""
        named = [one for one in self.options if one.get("id") == name]
        return next(iter(named or [one for one in self.options if one.get("category") == name]), None)

    def _current(self, category: str) -> str:
        found = self.option(category)
        value = found.get("currentValue") if found is not None else None
        return value if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
