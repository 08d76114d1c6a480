"""What can be set about a session of the built-in agent: how approvals are given (as modes, too), and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from redline.protocol.connection import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from redline.agents.builtin.agent import BuiltinAgent
    from redline.gateway.conversation import Conversation
    from redline.gateway.permissions import Approval

APPROVALS: Mapping[str, tuple[str, str]] = {
    "ask": ("Ask", "Asks before every change and every command."),
    "edits": (
        "Edit freely",
        "Changes files of the workspace unasked; asks before commands, and before a file is deleted, emptied or cut.",
    ),
    "all": ("Ask nothing", "Changes files and runs commands unasked."),
}
APPROVAL = "approval"
MODEL = "model"


class Settings:
    """Of one session."""

    def __init__(self, conversation: Conversation, agent: BuiltinAgent) -> None:
        self._conversation = conversation
        self._agent = agent
        self._models = [agent.model] if agent.model else []

    def told(self) -> dict[str, Any]:
        """As `session/new`, `load` and `resume` answer them."""
        modes = [{"id": mode, "name": name, "description": text} for mode, (name, text) in APPROVALS.items()]
        current = self._conversation.permissions.approval
        return {"modes": {"currentModeId": current, "availableModes": modes}, "configOptions": self.options()}

    def options(self) -> list[dict[str, Any]]:
        approvals = [{"value": mode, "name": name, "description": text} for mode, (name, text) in APPROVALS.items()]
        options = [_option(APPROVAL, "Approval", "mode", self._conversation.permissions.approval, approvals)]
        if self._agent.model:
            models = [{"value": one, "name": one} for one in self._models]
            options.append(_option(MODEL, "Model", "model", self._agent.model, models))
        return options

    async def set_mode(self, mode: object) -> list[dict[str, Any]]:
        """How approvals are given from now on; the updates that say so. Raises `RpcError`."""
        if mode not in APPROVALS:
            raise RpcError(INVALID_PARAMS, f"There is no mode {mode!r}. There are: {', '.join(APPROVALS)}.")
        self._conversation.permissions.approval = cast("Approval", mode)
        await self._conversation.session.log.append("session/state", {"modes": {"approval": mode}})
        changed = {"sessionUpdate": "config_option_update", "configOptions": self.options()}
        return [{"sessionUpdate": "current_mode_update", "currentModeId": mode}, changed]

    async def set_option(self, option: object, value: object) -> list[dict[str, Any]]:
        """Likewise. Any model that can be loaded may be set, listed or not."""
        if option == APPROVAL:
            return await self.set_mode(value)
        if option != MODEL:
            raise RpcError(INVALID_PARAMS, f"There is no option {option!r}. There are: {APPROVAL}, {MODEL}.")
        if not isinstance(value, str):
            raise RpcError(INVALID_PARAMS, f"The value of {MODEL} is no text: {value!r}. Say PROVIDER:NAME.")
        await self._use(value)
        return [{"sessionUpdate": "config_option_update", "configOptions": self.options()}]

    async def _use(self, model: str) -> None:
        from redline.agents.builtin.model import ModelChoiceError

        try:
            await self._agent.use(model)
        except ModelChoiceError as problem:
            told = f"{problem.message} {problem.remedy}"
            raise RpcError(INVALID_PARAMS, told, {"code": problem.code}) from problem
        if model not in self._models:
            self._models.append(model)
        started = {"name": self._agent.name, "model": model}
        await self._conversation.session.log.append("agent/started", started)


def _option(
    identity: str, name: str, category: str, current: str, options: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "id": identity, "name": name, "category": category, "type": "select", "currentValue": current,
        "options": list(options),
    }  # fmt: skip
