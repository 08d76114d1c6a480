"""The built-in agent: asks the model, shows what it says while it says it, runs its calls, and asks again.

The loop drives pydantic-ai's models directly. One answer's calls go to the runner as one batch, so parallelism, order
and locks are decided in one place; retries of a request are the provider's client's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redline.agents.agent import Stop
from redline.agents.builtin import faults
from redline.agents.builtin.cost import usage_of
from redline.agents.builtin.history import Images, Prompt, prompt_part, read_history, return_part, to_messages
from redline.agents.builtin.mcp import McpServers
from redline.agents.builtin.model import ModelChoiceError, load_model
from redline.agents.builtin.prompt import PromptError, system_prompt, workspace_guide
from redline.agents.builtin.speech import Speech
from redline.tools.mutation import to_its_end
from redline.tools.runner import Call, CallResult, Runner

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from redline.agents.builtin.factory import BuiltinOptions
    from redline.sessions.log import SessionLog
    from redline.tools.tool import Toolset

NAME = "builtin"

_WITHOUT = "The turn goes on without it. Mend its settings and open the session anew."

_SETTINGS: ModelSettings = {"cache": True}
"""A turn sends its beginning again with every request; providers that ask for it are told to keep it."""


class BuiltinAgent:
    """One built-in agent in one session. It is quick to make: the model is loaded at the first prompt."""

    name = NAME
    observes = True
    """What a shell command changes is found and shown."""

    def __init__(
        self,
        options: BuiltinOptions,
        log: SessionLog,
        runner: Runner,
        toolset: Toolset,
        images: Images,
        workspace: Path,
        servers: McpServers | None = None,
    ) -> None:
        self.model = options.model
        self._options = options
        self._log = log
        self._runner = runner
        self._toolset = toolset
        self._images = images
        self._workspace = workspace
        self._servers = servers or McpServers((), workspace)
        self._served = False
        self._loaded: Model | None = None
        self._messages: list[ModelMessage] | None = None
        """True text, signatures and all, while this process lives and turns end well; None: read the log."""
        self._heard = 0
        """The last event that the messages know of."""
        self._restored = False

    async def take_up(self) -> None:
        """Look at the workspace for the first time, in the background; see `agents.agent.ObservingAgent`."""
        if self._runner.sight is not None:
            self._runner.sight.begin()

    async def prompt(self, turn: int, content: Sequence[Mapping[str, Any]], rule: str) -> Stop:
        """Work through one turn. `Agent.prompt` says what is promised."""
        try:
            model = await self._model()
            system = system_prompt(self._options.prompt)
        except (ModelChoiceError, PromptError) as problem:
            return Stop("failed", problem.code, problem.message, problem.remedy)
        await self._take_servers(turn)
        if not self._restored:
            await self._runner.restore()
            self._restored = True
        messages = await self._history(turn, content)
        self._messages = None  # until this turn has ended well: a broken one is read back from the log
        sight = self._runner.sight
        if sight is not None:
            await sight.start_turn()
        try:
            stop = await self._work(turn, model, messages, self._parameters(system, rule))
        finally:
            if sight is not None:
                await to_its_end(sight.end_turn(turn))
        if stop.reason == "completed":
            self._messages, self._heard = messages, self._log.seq
        return stop

    async def use(self, model: str) -> None:
        """Work with another model from the next request on. Raises `ModelChoiceError`."""
        loaded = await load_model(model, workspace=self._workspace, base_url=self._options.base_url)
        self.model, self._loaded = model, loaded

    async def close(self) -> None:
        """Forget the model; its HTTP client is shared and is pydantic-ai's to close."""
        self._loaded = None
        self._messages = None
        await self._servers.close()
        if self._runner.sight is not None:
            await self._runner.sight.close()

    async def _work(
        self, turn: int, model: Model, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> Stop:
        from pydantic_ai.messages import ModelRequest

        taken: set[str] = set()
        for _ in range(self._options.step_limit):
            response = await self._ask(turn, model, messages, parameters)
            if isinstance(response, Stop):
                return response
            calls = _own_ids(response, taken)
            broken = self._broken(response)
            if broken is not None:
                return broken
            messages.append(response)
            if not calls:
                return Stop("completed")
            results = await self._runner.run(
                turn, [Call(part.tool_call_id, part.tool_name, part.args or {}) for part in calls]
            )
            messages.append(ModelRequest([_heard_result(result) for result in results]))
        return faults.out_of_steps(self._options.step_limit)

    async def _ask(
        self, turn: int, model: Model, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> ModelResponse | Stop:
        """One request: shown while it streams, committed at its end, whatever the end is."""
        from pydantic_ai.direct import model_request_stream

        prepared = model.prepare_messages(list(messages), parameters)
        speech = Speech(self._log, turn)
        stream: StreamedResponse | None = None
        try:
            async with (
                aclosing(speech),
                model_request_stream(
                    model, prepared, model_settings=_SETTINGS, model_request_parameters=parameters
                ) as stream,
            ):
                async for event in stream:
                    await speech.hear(event)
                return stream.get()
        except Exception as error:
            if not _is_model_fault(error):
                raise
            return faults.stop_for(error, self.model)
        finally:
            if stream is not None and stream.usage.has_values():  # an answer that broke off is paid for, too
                await self._log.append("usage/updated", {"turn": turn, **usage_of(stream.get(), self.model)})

    def _broken(self, response: ModelResponse) -> Stop | None:
        """Why an answer is not whole; None: it is. The scripted model gives no reason for its ends and needs none."""
        if response.state != "complete" or (response.finish_reason is None and response.provider_name is not None):
            return faults.cut_off(self.model)
        if response.finish_reason == "length":
            return faults.too_long_answer(self.model)
        if response.finish_reason == "content_filter":
            return faults.filtered(self.model)
        return None

    async def _take_servers(self, turn: int) -> None:
        """Once: the tools of the MCP servers join ours."""
        if self._served:
            return
        self._served = True
        self._toolset = self._runner.add(await self._servers.tools())
        for fault in self._servers.faults:
            notice = {"level": "warning", "code": "MCP_SERVER", "message": fault}
            await self._log.append("notice/raised", {"turn": turn, **notice, "remedy": _WITHOUT})

    async def _model(self) -> Model:
        if self._loaded is None:
            self._loaded = await load_model(self.model, workspace=self._workspace, base_url=self._options.base_url)
        return self._loaded

    async def _history(self, turn: int, content: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
        """The messages up to and including this prompt, with what happened since the last one."""
        from pydantic_ai.messages import ModelRequest

        after = 0 if self._messages is None else self._heard
        events = [event async for event in self._log.events(after=after) if event.data.get("turn") != turn]
        history = read_history(events)
        messages = to_messages(history, self._images) if self._messages is None else list(self._messages)
        messages.append(ModelRequest([prompt_part(Prompt(content, history.notes), self._images)]))
        return messages

    def _parameters(self, system: str, rule: str) -> ModelRequestParameters:
        """The instructions and tools of a request. What may differ from turn to turn stands last, so that a provider's
        cache keeps the rest."""
        from pydantic_ai.messages import InstructionPart
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        guide = workspace_guide(self._workspace)
        place = f"The workspace is {self._workspace}. Relative paths start there."
        steady = [system, place] if guide is None else [system, place, guide]
        instructions = [InstructionPart(text) for text in steady]
        if rule:
            instructions.append(InstructionPart(rule, dynamic=True))
        tools = [
            ToolDefinition(
                name=tool.name,
                parameters_json_schema=dict(tool.schema()),
                description=tool.description,
            )
            for tool in self._toolset.tools
        ]
        return ModelRequestParameters(function_tools=tools, instruction_parts=instructions)


def _own_ids(response: ModelResponse, taken: set[str]) -> list[ToolCallPart]:
    """The answer's calls, each with an id of its own in the turn: some servers count from 0 in every answer."""
    from pydantic_ai.messages import ToolCallPart

    calls: list[ToolCallPart] = []
    parts = list(response.parts)
    for index, part in enumerate(parts):
        if not isinstance(part, ToolCallPart):
            continue
        number, own = 2, part.tool_call_id
        while own in taken:
            own, number = f"{part.tool_call_id}-{number}", number + 1
        taken.add(own)
        parts[index] = call = part if own == part.tool_call_id else replace(part, tool_call_id=own)
        calls.append(call)
    response.parts = parts
    return calls


def _heard_result(result: CallResult) -> Any:
    return return_part(result.call.name, result.call.id, result.content, result.status)


def _is_model_fault(error: Exception) -> bool:
    """A fault of the model, its provider or the way to it, rather than of ours or of the log."""
    from pydantic_ai.exceptions import AgentRunError, UserError

    from redline.agents.builtin.script import ScriptError

    foreign = type(error).__module__.partition(".")[0] in ("openai", "anthropic", "httpx", "httpx2", "httpcore2", "ssl")
    return foreign or isinstance(error, (AgentRunError, UserError, ScriptError, ConnectionError))
