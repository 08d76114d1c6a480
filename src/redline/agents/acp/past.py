"""What the log says of a foreign agent's past: its own session, what was chosen, how the files were left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.agents.acp.choices import Choices
from redline.workspace.last_changes import LastChanges

if TYPE_CHECKING:
    from redline.sessions.events import Event
    from redline.sessions.log import SessionLog


@dataclass(slots=True)
class Past:
    session: str = ""
    """The agent's own id of it; empty: it had none."""
    chosen: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 0.0
    """US dollars of the session, as the agent last told it."""
    _last: LastChanges = field(default_factory=LastChanges)

    @property
    def changes(self) -> LastChanges:
        """The last change of each file."""
        return self._last

    @classmethod
    async def read(cls, log: SessionLog) -> Past:
        past = cls()
        async for event in log.events():
            past._take(event)
        return past

    def choices(self, now: Choices) -> Choices:
        """What holds: what was chosen now, else what was chosen before."""
        options = self.chosen.get("options")
        return Choices(
            now.mode or str(self.chosen.get("mode") or ""),
            now.model or str(self.chosen.get("model") or ""),
            {**(options if isinstance(options, Mapping) else {}), **now.options},
        )

    def _take(self, event: Event) -> None:
        data = event.data
        agent = data.get("agent")
        if event.type == "session/state" and isinstance(agent, Mapping):
            if isinstance(agent.get("session"), str):
                self.session = agent["session"]
            if isinstance(agent.get("chosen"), Mapping):
                self.chosen = agent["chosen"]
        if event.type == "usage/updated" and isinstance(data.get("of_session"), float):
            self.cost = data["of_session"]
        self._last.take(event)
