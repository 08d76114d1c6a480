"""The configuration: a file, over it the environment, over it flags; each value knows where it is from."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from redline.cli.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

ENVIRONMENT_PREFIX = "REDLINE_"


def config_file() -> Path:
    """`REDLINE_CONFIG`, or `config.toml` in the platform's folder for configuration."""
    named = os.environ.get(ENVIRONMENT_PREFIX + "CONFIG")
    return Path(named).expanduser() if named else Path(platformdirs.user_config_path("redline")) / "config.toml"


class Config(BaseModel):
    """What can be set. The descriptions are what `redline config` and a new configuration file say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(
        "",
        description="Model of the built-in agent, as provider:name, for example anthropic:claude-sonnet-4-5, "
        "openai:gpt-5.5, deepseek:deepseek-chat, or script:FILE for a scripted one.",
    )
    base_url: str = Field(
        "",
        description="Address of an OpenAI-compatible server, used with a model openai:NAME; empty: the provider's.",
    )
    agent: str = Field("", description="Who works: a name of `redline agents`, or builtin; empty: the built-in agent.")
    agent_command: str = Field(
        "", description="Any other agent of the Agent Client Protocol, as a command line; wins over agent."
    )
    data: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_path("redline")),
        description="Folder of the session logs and of the bytes before and after each change.",
    )
    prompt: Path | None = Field(None, description="A file that replaces the built-in agent's system prompt.")
    approval: Literal["ask", "edits", "all"] = Field(
        "ask",
        description="ask: before every change and command; edits: changes inside the workspace need no question, but "
        "commands do, and so does emptying a file or cutting most of it; all: nothing is asked.",
    )
    max_steps: int = Field(100, ge=1, description="Model requests in one turn before it is stopped.")
    file_limit: int = Field(
        32 * 2**20, ge=2**20, description="Bytes of a file up to which its states are kept for undo and patches."
    )
    store_limit: int = Field(2 * 2**30, ge=2**20, description="Bytes of all kept states together.")
    formatters: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default_factory=dict,
        description='Commands that format what the built-in agent has changed, by pattern of paths, as in { "*.py" = '
        '["ruff", "format", "--stdin-filename", "{path}", "-"] }; in the environment as JSON.',
    )

    @field_validator("formatters", mode="before")
    @classmethod
    def _from_environment(cls, value: object) -> object:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except ValueError as error:
            raise ValueError(f"it is no JSON: {error}") from error

    @field_validator("formatters")
    @classmethod
    def _with_patterns(cls, value: dict[str, list[str]]) -> dict[str, list[str]]:
        if value:
            from redline.tools.formatter import Formatters  # the matcher of paths takes long to load
            from redline.tools.tool import ToolError

            try:
                Formatters(value, Path.cwd())
            except ToolError as error:
                raise ValueError(error.message) from error
        return value


@dataclass(frozen=True, slots=True)
class Setting:
    """One value in force."""

    name: str
    value: Any
    source: str
    """"default", the file's path, the variable's name, or "flag"."""
    description: str


@dataclass(frozen=True, slots=True)
class Settings:
    config: Config
    file: Path
    settings: tuple[Setting, ...]


def load(flags: Mapping[str, Any] | None = None) -> Settings:
    """The configuration in force. `flags`: what was given on the command line; None values were not given.

    Raises `Failure` (exit code 2) for a file that is not TOML, an unknown name or a value that does not fit.
    """
    path = config_file()
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for name, value in _read_file(path).items():
        values[name], sources[name] = value, str(path)
    for name, value in _read_environment().items():
        values[name], sources[name] = value, ENVIRONMENT_PREFIX + name.upper()
    for name, value in given.items():
        values[name], sources[name] = value, "flag"
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        raise _refusal(error, sources) from error
    settings = tuple(
        Setting(name, getattr(config, name), sources.get(name, "default"), field.description or "")
        for name, field in Config.model_fields.items()
    )
    return Settings(config, path, settings)


def template() -> str:
    """A configuration file that sets nothing: every name with what it is for, commented out."""
    lines = ["# Configuration of Redline. `redline config` shows what is in force and why.", ""]
    for name, field in Config.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = '""' if default is None else f'"{default}"' if isinstance(default, (str, Path)) else str(default)
        lines += [f"# {field.description}", f"# {name} = {shown}", ""]
    return "\n".join(lines)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Failure(
            2, "CONFIG", f"{path} cannot be read: {error.strerror}.", "Mend its permissions, or set REDLINE_CONFIG."
        ) from error
    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(
            2, "CONFIG", f"{path} is not TOML: {error}.", "Mend that place, or move the file away."
        ) from error


def _read_environment() -> dict[str, str]:
    values = {name: os.environ.get(ENVIRONMENT_PREFIX + name.upper()) for name in Config.model_fields}
    return {name: value for name, value in values.items() if value is not None}


def _refusal(error: ValidationError, sources: Mapping[str, str]) -> Failure:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    source = sources.get(str(first["loc"][0]), "") if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return Failure(
            2, "CONFIG", f"{source} sets {name!r}, which does not exist.", f"Known: {', '.join(Config.model_fields)}."
        )
    return Failure(
        2,
        "CONFIG",
        f"{name} = {first['input']!r} (from {source}): {first['msg']}.",
        "`redline config` describes each value.",
    )
