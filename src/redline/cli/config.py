"""The configuration: a file, over it the environment, over it flags; each value knows where it is from."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator

from redline.cli.chat_config import ChatConfig, DiscordConfig, SlackConfig, TelegramConfig
from redline.cli.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

ENVIRONMENT_PREFIX = "REDLINE_"
DESCRIBED = "`redline config` describes each value."


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
        "commands do, and so does deleting or emptying a file or cutting most of it; all: nothing is asked.",
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

    slack: SlackConfig = Field(SlackConfig(), description="Slack; docs/slack.md.")
    discord: DiscordConfig = Field(DiscordConfig(), description="Discord; docs/discord.md.")
    telegram: TelegramConfig = Field(TelegramConfig(), description="Telegram; docs/telegram.md.")

    @field_validator("data", "prompt", mode="before")
    @classmethod
    def _named(cls, value: object, info: ValidationInfo) -> object:
        """What a newly written file says of `prompt`, "", is none; of `data` it would be the current folder."""
        if value != "":
            return value
        if info.field_name == "data":
            raise ValueError("it names no folder")
        return None

    @field_validator("data", "prompt")
    @classmethod
    def _from_home(cls, value: Path | None) -> Path | None:
        try:
            return None if value is None else value.expanduser()
        except RuntimeError as error:
            raise ValueError("there is no user of that name") from error

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
    problem: str = ""
    """Why the value, which is then as it was given, is not in force; empty: it is."""


@dataclass(frozen=True, slots=True)
class Settings:
    config: Config
    file: Path
    settings: tuple[Setting, ...]
    failures: tuple[Failure, ...] = ()
    """What is wrong, each with what to do; none: everything that was set is in force."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """A value that does not fit, or a name that does not exist."""

    name: str
    """Of the setting: the place inside a value stands in `failure` only."""
    value: Any
    problem: str
    failure: Failure


def load(flags: Mapping[str, Any] | None = None) -> Settings:
    """The configuration in force. `flags`: what was given on the command line; None values were not given.

    Raises `Failure` (exit code 2) for a file that is not TOML, an unknown name or a value that does not fit.
    """
    settings = survey(flags)
    if settings.failures:
        raise settings.failures[0]
    return settings


def survey(flags: Mapping[str, Any] | None = None) -> Settings:
    """The same whatever is wrong: what does not fit stands there as wrong, and the rest as if it had not been set."""
    path = config_file()
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    failures: list[Failure] = []
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        written = _read_file(path)
    except Failure as failure:
        written = {}
        failures.append(failure)
    for name, value in written.items():
        values[name], sources[name] = value, str(path)
    for name in _TABLES:
        if isinstance(values.get(name), dict):
            values[name] = dict(values[name])
            sources |= {f"{name}.{key}": str(path) for key in values[name]}
    for name, value in _read_environment().items():
        table, _, key = name.rpartition(".")
        if not table:
            values[name] = value
        elif isinstance(values.setdefault(table, {}), dict):
            values[table][key] = value
        sources[name] = _variable(name)
    for name, value in given.items():
        values[name], sources[name] = value, "flag"
    config, refused = _fitting(values, sources)
    failures += [one.failure for one in refused]
    return Settings(config, path, tuple(_settings(config, sources, refused)), tuple(failures))


def _fitting(values: dict[str, Any], sources: Mapping[str, str]) -> tuple[Config, list[_Refused]]:
    """The configuration without what does not fit, and that. Takes it out of `values`."""
    refused: dict[str, _Refused] = {}
    while True:
        try:
            return Config.model_validate(values), list(refused.values())
        except ValidationError as error:
            for one in error.errors():
                found = _refusal(one, values, sources)
                refused.setdefault(found.name, found)
            for name in refused:
                table, _, key = name.rpartition(".")
                (values[table] if table else values).pop(key, None)


def template() -> str:
    """A configuration file that sets nothing: every name with what it is for, commented out."""
    lines = ["# Configuration of Redline. `redline config` shows what is in force and why.", ""]
    for name, field in Config.model_fields.items():
        if name in _TABLES:
            lines += [f"# {field.description}", f"# [{name}]", ""]
            for key, inner in _TABLES[name].model_fields.items():
                lines += [f"# {inner.description}", f"# {key} = {_toml(inner)}", ""]
        else:
            lines += [f"# {field.description}", f"# {name} = {_toml(field)}", ""]
    return "\n".join(lines)


_TABLES: Mapping[str, type[ChatConfig]] = {"slack": SlackConfig, "discord": DiscordConfig, "telegram": TelegramConfig}
"""Settings with settings of their own: `slack.allow` is `allow` under `[slack]`, and REDLINE_SLACK_ALLOW."""


def _settings(config: Config, sources: Mapping[str, str], refused: Sequence[_Refused]) -> Iterator[Setting]:
    wrong = {one.name: one for one in refused}

    def setting(name: str, value: Any, description: str | None) -> Setting:
        source = sources.get(name, "default")
        if (one := wrong.pop(name, None)) is not None:
            return Setting(name, one.value, source, description or "", one.problem)
        return Setting(name, value, source, description or "")

    for name, field in Config.model_fields.items():
        value = getattr(config, name)
        if name not in _TABLES:
            yield setting(name, value, field.description)
            continue
        for key, inner in _TABLES[name].model_fields.items():
            yield setting(f"{name}.{key}", getattr(value, key), inner.description)
    for name in list(wrong):
        yield setting(name, None, "")


def _toml(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is None or isinstance(default, SecretStr):
        return '""'
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, (str, Path)) else str(default)


def _variable(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.replace(".", "_").upper()


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
    names = [name for name in Config.model_fields if name not in _TABLES]
    names += [f"{table}.{key}" for table, model in _TABLES.items() for key in model.model_fields]
    values = {name: os.environ.get(_variable(name)) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _refusal(error: ErrorDetails, values: Mapping[str, Any], sources: Mapping[str, str]) -> _Refused:
    parts = [str(part) for part in error["loc"]]
    in_table = parts[0] in _TABLES and len(parts) > 1
    name = ".".join(parts[: 2 if in_table else 1])
    source = sources.get(name) or sources.get(parts[0], "")
    fields = _TABLES[parts[0]].model_fields if in_table else Config.model_fields
    field = fields.get(parts[1 if in_table else 0])
    value = values[parts[0]].get(parts[1]) if in_table else values.get(name)
    shown = error["input"]
    if field is not None and isinstance(field.get_default(call_default_factory=True), SecretStr):
        value = shown = "**********"
    if error["type"] == "extra_forbidden":
        message = f"{source} sets {'.'.join(parts)!r}, which does not exist."
        problem, remedy = "there is no such setting", f"Known: {', '.join(fields)}."
    else:
        problem = error["msg"]
        message = f"{'.'.join(parts)} = {shown!r} (from {source}): {problem}."
        remedy = DESCRIBED
    return _Refused(name, value, problem, Failure(2, "CONFIG", message, remedy))
