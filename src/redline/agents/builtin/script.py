"""The scripted model: a file of turns, played like a model's answers. `docs/scripted-model.md` describes the file.

It is a real pydantic-ai model, so everything above it (loop, tools, permissions, log) runs as it does with any other.
Where it stands in the script follows from the messages alone, so a session resumes after a restart where it left off.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model
    from pydantic_core import ErrorDetails


class ScriptError(Exception):
    """A script that cannot be played. `code`: SCRIPT (the file is wrong), SCRIPT_OVER, or SCRIPT_FAULT (a turn asks for
    a model fault)."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code = code
        self.message = message
        self.remedy = remedy


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptedCall(_Part):
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    """`{workspace}` in any string stands for the workspace's absolute path."""


class Step(_Part):
    """One answer of the model: what it thinks and says, then the calls that it makes."""

    thinking: str = ""
    text: str = ""
    call: tuple[ScriptedCall, ...] = ()
    error: str = ""
    """Instead of an end: the model fails with this message."""


class Turn(_Part):
    """What the model does after one prompt: a step, and after its calls' results the next one."""

    step: tuple[Step, ...] = Field(min_length=1)


class Script(_Part):
    turn: tuple[Turn, ...] = Field(min_length=1)
    otherwise: Turn | None = None
    """What follows each prompt for which no turn is left; None: that is an error."""
    delay: float = Field(0.0, ge=0, le=10)
    """Seconds between two pieces of text."""
    piece: int = Field(24, ge=1)
    """Characters of text in a piece."""


@dataclass(frozen=True, slots=True)
class Position:
    """Counted from 0."""

    turn: int
    step: int


def load_script(path: Path) -> Script:
    """Read a script: JSON if the name ends with `.json`, else TOML. Raises `ScriptError`."""
    remedy = "docs/scripted-model.md shows the form of a script."
    try:
        data = path.expanduser().read_bytes()
        text = data.decode("utf-8-sig")
        value = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        return Script.model_validate(value)
    except OSError as error:
        raise ScriptError("SCRIPT", f"The script {path} cannot be read: {error.strerror}.", remedy) from error
    except ValidationError as error:
        raise ScriptError("SCRIPT", f"The script {path} {_fault(error.errors()[0])}.", remedy) from error
    except ValueError as error:  # bad TOML, bad JSON, bad UTF-8
        raise ScriptError("SCRIPT", f"The script {path} cannot be parsed: {error}.", remedy) from error


def _fault(error: ErrorDetails) -> str:
    """What is wrong where, counted from 1 as a reader counts."""
    *inside, name = error["loc"] or ("the file",)
    place = " of ".join(reversed([*_counted(inside)]))
    if error["type"] in ("missing", "too_short"):
        return f"has no {name}" + (f" in {place}" if place else "")
    if error["type"] == "extra_forbidden":
        return f"has {str(name)!r}" + (f" in {place}" if place else "") + ", which means nothing there"
    return f"is wrong at {' of '.join([str(name), place] if place else [str(name)])}: {error['msg']}"


def _counted(place: Sequence[str | int]) -> Iterator[str]:
    """`turn`, 0, `otherwise` as `turn 1`, `otherwise`."""
    for part, following in zip_longest(place, place[1:]):
        if isinstance(part, str):
            yield f"{part} {following + 1}" if isinstance(following, int) else part


def position(messages: Sequence[ModelMessage]) -> Position:
    """Where the script stands: each prompt of the user consumes a turn, each answer since then a step of it."""
    turn, step = -1, 0
    for message in messages:
        if message.kind == "response":
            step += 1
        elif any(part.part_kind == "user-prompt" for part in message.parts):
            turn, step = turn + 1, 0
    return Position(max(turn, 0), step)


def scripted_model(path: Path, workspace: Path) -> Model:
    """The model that plays the script at `path`. Raises `ScriptError` if the file is wrong."""
    from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

    script = load_script(path)

    async def play(
        messages: list[ModelMessage], _: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]]:
        place = position(messages)
        step = step_at(script, place, path)
        for piece in _pieces(step.thinking, script.piece):
            yield {0: DeltaThinkingPart(content=piece)}
            await asyncio.sleep(script.delay)
        for piece in _pieces(step.text, script.piece):
            yield piece
            await asyncio.sleep(script.delay)
        if step.error:
            raise ScriptError("SCRIPT_FAULT", step.error, "The script asks for this fault.")
        for number, call in enumerate(step.call, start=1):
            arguments = json.dumps(with_workspace(call.arguments, workspace))
            identity = f"call_{place.turn + 1}_{place.step + 1}_{number}"
            yield {number: DeltaToolCall(call.tool, arguments, tool_call_id=identity)}
        if not (step.thinking or step.text or step.call):
            yield ""

    return FunctionModel(stream_function=play, model_name=f"script:{path.name}")


def step_at(script: Script, place: Position, path: Path) -> Step:
    """The step at a place; an empty one where a turn's last step made calls and there is nothing more to say."""
    turn = script.turn[place.turn] if place.turn < len(script.turn) else script.otherwise
    if turn is None:
        many = "1 turn" if len(script.turn) == 1 else f"{len(script.turn)} turns"
        raise ScriptError(
            "SCRIPT_OVER",
            f"The script {path.name} is over: it has {many}, and this is prompt {place.turn + 1}.",
            "Add a turn to the script, or start a new session.",
        )
    return turn.step[place.step] if place.step < len(turn.step) else Step()


def with_workspace(value: Any, workspace: Path) -> Any:
    """The value with `{workspace}` filled in, in every string at any depth. Other braces stay as they are."""
    if isinstance(value, str):
        return value.replace("{workspace}", str(workspace))
    if isinstance(value, dict):
        return {key: with_workspace(item, workspace) for key, item in value.items()}
    if isinstance(value, list):
        return [with_workspace(item, workspace) for item in value]
    return value


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
