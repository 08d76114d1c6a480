"""The server: the application on a socket, until it is told to stop; then it really stops."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from redline.gateway.roster import GatewayError
from redline.surfaces.dashboard.app import Dashboard
from redline.surfaces.dashboard.guard import Access, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from redline.gateway.gateway import Gateway

_GRACE_SECONDS = 1
"""For requests under way when the server is told to stop; streams end at once."""
_CLOSE_SECONDS = 1.5
"""For turns under way to be closed in the log. One that takes longer is closed as interrupted at the next start."""


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0: any that is free. Raises `GatewayError` PORT_IN_USE, PERMISSION or ADDRESS."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(512)
    except OSError as error:
        bound.close()
        raise _refused(error, host, port) from error
    bound.setblocking(False)
    return bound


def address(bound: socket.socket, access: Access) -> str:
    """What a person opens: with the token, if there is one."""
    host = bound.getsockname()[0]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{access.port}/" + (f"?token={access.token}" if access.token else "")


def check(host: str, *, token: bool) -> None:
    """Raises `GatewayError` NO_TOKEN: without one, only programs of this machine may reach the server."""
    if not token and not is_loopback(host):
        raise GatewayError(
            "NO_TOKEN",
            f"Without a token, the dashboard does not listen on {host}: whoever reaches it could run commands here.",
            "Leave --no-token out, or --host.",
        )


async def serve(
    gateway: Gateway, bound: socket.socket, access: Access, *, here: Path, ready: Callable[[], None] = lambda: None
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP, or until cancelled; the gateway is closed when this returns."""
    dashboard = Dashboard(gateway, access, here=here)
    config = uvicorn.Config(
        dashboard.app, access_log=False, log_level="warning", log_config=None, lifespan="on", ws="none",
        server_header=False, timeout_graceful_shutdown=_GRACE_SECONDS, timeout_keep_alive=30,
    )  # fmt: skip
    server = _Server(config, ready)
    stopping: list[asyncio.Task[None]] = []

    def stop() -> None:
        if stopping:
            return
        server.should_exit = True
        dashboard.end()
        stopping.append(asyncio.get_running_loop().create_task(_closed(gateway)))

    with _told_by_signals(stop):
        serving = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
        try:
            await asyncio.wait({serving})
        finally:
            stop()
            await asyncio.wait({serving, *stopping})
        serving.result()


async def _closed(gateway: Gateway) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(gateway.close(), _CLOSE_SECONDS)


class _Server(uvicorn.Server):
    """uvicorn's, which says when it listens and leaves the signals to us: it would raise them again at its end, before
    the gateway is closed."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def _told_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Once one came, more of them are heard until the loop is closed: they must not break into what ends."""
    came = False

    def take() -> None:
        nonlocal came
        came = True
        stop()

    loop = asyncio.get_running_loop()
    numbers: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    try:
        for number in numbers:
            loop.add_signal_handler(number, take)
    except (RuntimeError, ValueError):  # not in the main thread: whoever started this one stops it
        numbers = ()
    try:
        yield
    finally:
        for number in () if came else numbers:
            loop.remove_signal_handler(number)


def _refused(error: OSError, host: str, port: int) -> GatewayError:
    if error.errno == errno.EADDRINUSE:
        return GatewayError(
            "PORT_IN_USE",
            f"Port {port} of {host} is in use, perhaps by another `redline serve`.",
            "Open the address that it printed, end it, or choose another port with --port (0: any that is free).",
        )
    if error.errno == errno.EACCES:
        return GatewayError("PERMISSION", f"Port {port} may not be used.", "Choose one from 1024 on with --port.")
    return GatewayError("ADDRESS", f"{host} is no address of this machine: {error.strerror}.", "Leave --host out.")
