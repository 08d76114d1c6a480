"""The chat platforms beside the dashboard: which of them, and that each is there as long as the server is."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

from redline.cli.failure import Failure
from redline.gateway.roster import GatewayError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

    from redline.cli.chat_config import ChatConfig
    from redline.cli.config import Config
    from redline.gateway.gateway import Gateway
    from redline.surfaces.chat.desk import Rules
    from redline.surfaces.chat.places import Places

_log = logging.getLogger(__name__)

PLATFORMS = ("slack", "discord", "telegram")
_TITLES = {"slack": "Slack", "discord": "Discord", "telegram": "Telegram"}
_LONGEST_BACK_OFF = 60.0


def wanted(config: Config, named: Collection[str]) -> list[str]:
    """The platforms of this run: those named on the command line and those that are enabled. Raises `Failure` for one
    whose token is not set, whose library is not installed, or of whose folders one is not there."""
    chosen = [name for name in PLATFORMS if name in named or getattr(config, name).enabled]
    for name in chosen:
        settings = getattr(config, name)
        for token in ("bot_token", "app_token"):
            if hasattr(settings, token) and not getattr(settings, token).get_secret_value():
                raise Failure(
                    2,
                    "NO_TOKEN",
                    f"{token} of {_TITLES[name]} is not set.",
                    f"Put it into REDLINE_{name.upper()}_{token.upper()}, or under [{name}] in the configuration; "
                    f"docs/{name}.md says where it comes from.",
                )
        _check_folders(name, settings)
        _check_agent(name, settings, config)
        try:
            importlib.import_module(f"redline.surfaces.{name}.surface")
        except ModuleNotFoundError as error:
            raise Failure(
                2,
                "NOT_INSTALLED",
                f"{_TITLES[name]} needs a library that is not installed ({error.name}).",
                f'Where Redline was installed from: pip install ".[{name}]"',
            ) from error
    return chosen


def _check_folders(platform: str, settings: ChatConfig) -> None:
    from redline.gateway.gateway import existing_folder

    for name, folder in settings.folders.items():
        try:
            existing_folder(folder)
        except GatewayError as error:
            message = f"{name} under [{platform}.folders] cannot be used: {error.message}"
            raise Failure(2, error.code, message, error.remedy) from error


def _check_agent(platform: str, settings: ChatConfig, config: Config) -> None:
    from redline.cli import agents
    from redline.cli.roster import ConfiguredRoster

    if any(offer.default and offer.name == settings.agent for offer in ConfiguredRoster(config).offers()):
        return
    try:
        agents.chosen(settings.agent, "")
    except Failure as failure:
        message = f"agent under [{platform}] cannot be used: {failure.message}"
        raise Failure(2, failure.code, message, failure.remedy) from failure


@contextlib.asynccontextmanager
async def chats(config: Config, gateway: Gateway, names: Collection[str]) -> AsyncIterator[None]:
    """Connect each platform and keep it connected. Raises `GatewayError` where one does not take its token; one that
    cannot be reached is tried again, beside everything else."""
    if not names:
        yield
        return
    from redline.surfaces.chat.places import Places

    try:
        places = Places.open(config.data)
    except sqlite3.Error as error:
        raise Failure(
            4,
            "CHAT_DB",
            f"{config.data / 'chat.db'} cannot be used: {error}.",
            "Mend it, or delete it: then Redline only forgets which messages it posted.",
        ) from error
    tried = {name: asyncio.get_running_loop().create_future() for name in names}
    tasks = [asyncio.create_task(_stay(name, config, gateway, places, tried[name])) for name in names]
    try:
        for name in names:
            await tried[name]
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        places.close()


async def _stay(name: str, config: Config, gateway: Gateway, places: Places, tried: asyncio.Future[None]) -> None:
    """`tried` ends with the first attempt: well, or with what a person has to mend."""
    seconds = 1.0
    was_there = False
    while True:
        try:
            async with _surface(name, config, gateway, places) as surface:
                print(f"Redline listens on {_TITLES[name]}.", file=sys.stderr)
                if not getattr(config, name).allow:
                    print(
                        f"Nobody may talk to it there yet: write to it once, it tells your id, and put that into allow "
                        f"under [{name}] in the configuration.",
                        file=sys.stderr,
                    )
                if not getattr(config, name).folders:
                    print(
                        f"No session can begin there yet: no folder is named under [{name}.folders] in the "
                        f"configuration.",
                        file=sys.stderr,
                    )
                _over(tried)
                was_there = True
                await surface.stay()
            _log.warning("%s is not heard any more; it is connected anew", _TITLES[name])
        except GatewayError as error:
            _over(tried, error)
            _log.error("%s: %s", _TITLES[name], error)
            if was_there:
                _say(f"{_TITLES[name]} is not heard any more. {error.message} {error.remedy}".rstrip())
            return
        except Exception as fault:
            _log.warning("%s cannot be reached", _TITLES[name], exc_info=fault)
            if not tried.done():
                print(f"{_TITLES[name]} cannot be reached ({fault}); it is tried again.", file=sys.stderr)
            _over(tried)
        await asyncio.sleep(seconds)
        seconds = min(seconds * 2, _LONGEST_BACK_OFF)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _over(tried: asyncio.Future[None], error: GatewayError | None = None) -> None:
    if not tried.done():
        if error is None:
            tried.set_result(None)
        else:
            tried.set_exception(error)


def _surface(
    name: str, config: Config, gateway: Gateway, places: Places
) -> contextlib.AbstractAsyncContextManager[Any]:
    settings: ChatConfig = getattr(config, name)
    make: Callable[..., contextlib.AbstractAsyncContextManager[Any]]
    token = settings.bot_token.get_secret_value()
    more = {"base_url": settings.base_url} if settings.base_url else {}
    access: Any
    match name:
        case "slack":
            from redline.surfaces.slack.surface import SlackAccess, SlackSurface

            make, access = SlackSurface, SlackAccess(token, config.slack.app_token.get_secret_value(), **more)
        case "discord":
            from redline.surfaces.discord.surface import DiscordAccess, DiscordSurface

            make, access = DiscordSurface, DiscordAccess(token, **more)
        case _:
            from redline.surfaces.telegram.surface import TelegramAccess, TelegramSurface

            make, access = TelegramSurface, TelegramAccess(token, **more)
    return make(gateway, places, rules(settings), access)


def rules(settings: ChatConfig) -> Rules:
    from redline.surfaces.chat.cards import Setting
    from redline.surfaces.chat.desk import Rules

    return Rules(
        allow=frozenset(settings.allow),
        folders=dict(settings.folders),
        agent=settings.agent,
        setting=Setting(settings.changes, settings.change_limit, settings.turn_limit),
        answer_seconds=settings.answer_minutes * 60,
        tell=_say,
    )
