"""What can be set of the chat platforms: one table each in the configuration."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr


def _listed(value: Any) -> Any:
    """From the environment: names with commas between them. Ids are names, although many look like numbers."""
    if isinstance(value, list) and (number := next((one for one in value if type(one) is int), None)) is not None:
        raise ValueError(f'each id stands in quotes, as in ["{number}"]')
    return [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else value


def _named(value: Any) -> Any:
    """From the environment: JSON, as in {"app": "~/src/app"}."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from error


class ChatConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = Field(default=False, description="Whether `redline serve` goes there without being told to.")
    bot_token: SecretStr = Field(default=SecretStr(""), description="The token of the bot.")
    allow: Annotated[list[str], BeforeValidator(_listed)] = Field(
        default_factory=list, description="Ids of those who may talk to it; nobody else is listened to."
    )
    folders: Annotated[dict[str, str], BeforeValidator(_named)] = Field(
        default_factory=dict,
        description='Where sessions may work, by name, as in { app = "~/src/app" }; the first is the usual one.',
    )
    agent: str = Field(
        default="", description="The agent of new sessions there; empty: that of the whole configuration."
    )
    changes: Literal["none", "summary", "full"] = Field(
        default="full",
        description="full: heads and lines of changes; summary: heads, and one .diff a turn; none: only the net list "
        "of a turn.",
    )
    change_limit: int = Field(
        default=6000, ge=0, description="Characters of one change's lines in messages; a longer one comes as a file."
    )
    turn_limit: int = Field(
        default=12000,
        ge=0,
        description="Characters of all lines of a turn in messages; what is over it comes as a file.",
    )
    answer_minutes: float = Field(
        default=60,
        gt=0,
        description="Minutes after which a question of a turn that was prompted there is a no, everywhere.",
    )
    base_url: str = Field(default="", description="Another address of the platform's API, such as a proxy's.")


class SlackConfig(ChatConfig):
    bot_token: SecretStr = Field(default=SecretStr(""), description="The bot token of the app, xoxb-…")
    app_token: SecretStr = Field(
        default=SecretStr(""), description="The app-level token, xapp-…, with the scope connections:write."
    )


class DiscordConfig(ChatConfig):
    turn_limit: int = Field(
        default=8000,
        ge=0,
        description="Characters of all lines of a turn in messages; what is over it comes as a file.",
    )


class TelegramConfig(ChatConfig):
    bot_token: SecretStr = Field(default=SecretStr(""), description="The token of the bot, from @BotFather.")
