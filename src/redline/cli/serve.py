"""`redline serve`: the gateway with its dashboard, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from redline.cli.chats import chats as served_chats
from redline.cli.chats import wanted as wanted_chats
from redline.cli.config import load
from redline.cli.failure import Failure
from redline.cli.house import opened
from redline.cli.interrupts import carry_out, take_no_more
from redline.cli.roster import ConfiguredRoster
from redline.gateway.gateway import Gateway
from redline.gateway.roster import GatewayError
from redline.surfaces.dashboard import site
from redline.surfaces.dashboard.guard import Access
from redline.surfaces.dashboard.server import address, check, listen
from redline.surfaces.dashboard.server import serve as serve_dashboard
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from typing import Any

    from redline.cli.config import Config

TOKEN_FILE = "dashboard.token"
"""In the data folder: the address stays the same from start to start, and open tabs stay let in. Delete it to shut
everybody out."""
_SHORTEST_TOKEN = 16


def serve(
    flags: Mapping[str, Any],
    *,
    host: str,
    port: int,
    token: bool = True,
    browse: bool = False,
    names: tuple[str, ...] = (),
    begin: Callable[[Gateway], Awaitable[str]] | None = None,
    chats: Collection[str] = (),
) -> int:
    """Serve until told to stop; the exit code. `names`: other host names under which the server is reached. `begin`
    is run first, and says which session the address opens. `chats`: platforms that are served, too."""
    config = load(flags).config
    platforms = wanted_chats(config, chats)
    wanted = Access(port, host, None, tuple(name.lower() for name in names))
    try:
        carry_out(_serve(config, wanted, platforms, token=token, browse=browse, begin=begin))
    except GatewayError as error:
        raise Failure(2, error.code, error.message, error.remedy) from error
    take_no_more()  # it ended because it was told to
    return 0


async def _serve(
    config: Config,
    wanted: Access,
    platforms: Collection[str],
    *,
    token: bool,
    browse: bool,
    begin: Callable[[Gateway], Awaitable[str]] | None,
) -> None:
    check(wanted.host, token=token)
    async with opened(config) as archive:
        bound = listen(wanted.host, wanted.port)
        kept = _token(config.data / TOKEN_FILE) if token else None
        access = replace(wanted, port=bound.getsockname()[1], token=kept)
        where = address(bound, access)
        gateway = Gateway(archive, ConfiguredRoster(config), builtin_toolset().by_name)
        if begin is not None:
            try:
                where += site.place(await begin(gateway))
            except BaseException:
                await gateway.close()
                raise

        def ready() -> None:
            typer.echo(f"Redline's dashboard: {where}")
            if not site.is_built():
                typer.echo("Its page has not been built: the server works, the page does not. Build it with: make web")
            if browse:
                asyncio.get_running_loop().run_in_executor(None, webbrowser.open, where)

        try:
            async with served_chats(config, gateway, platforms):
                await serve_dashboard(gateway, bound, access, here=Path.cwd(), ready=ready)
        finally:
            await gateway.close()


def somebody_sits_here() -> bool:
    """A person looks at this terminal, on a machine with a screen for a browser."""
    has_screen = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return has_screen and sys.stdout.isatty()


def _token(file: Path) -> str:
    """The one that is kept, or a new one; only the user can read it."""
    try:
        with contextlib.suppress(FileNotFoundError):
            file.chmod(0o600)
            kept = file.read_text(encoding="ascii").strip()
            if len(kept) >= _SHORTEST_TOKEN and kept.isprintable() and " " not in kept:
                return kept
        token = secrets.token_urlsafe(32)
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="ascii") as opened_file:  # noqa: PTH123 - of a descriptor
            opened_file.write(f"{token}\n")
    except (OSError, ValueError) as error:
        raise Failure(4, "PERMISSION", f"{file} cannot be used: {error}.", "Check who owns the data folder.") from error
    return token
