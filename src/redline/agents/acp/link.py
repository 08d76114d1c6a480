"""An agent's process and the way to it: started, greeted, asked, ended.

Every fault is a `LinkError` in words that say what to do; what the agent said on stderr stands beside it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import redline
from redline.agents.acp.process import Child
from redline.protocol import adapter
from redline.protocol.connection import AUTH_REQUIRED, Connection, ConnectionClosed, RpcError

if TYPE_CHECKING:
    from pathlib import Path

    from redline.protocol.connection import Peer

GREETING_SECONDS = 60.0
"""For the answer to `initialize`: some agents load for a long time."""
_SETTLE_SECONDS = 1.0


class LinkError(Exception):
    """The agent cannot be used as asked."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(f"{code}: {message} {remedy}".rstrip())
        self.code = code
        self.message = message
        self.remedy = remedy


class Link:
    """A running agent that has been greeted. Made by `open`."""

    def __init__(self, child: Child, connection: Connection, shown: str) -> None:
        self.child = child
        self.connection = connection
        self.greeting: Mapping[str, Any] = {}
        """Its whole answer to `initialize`."""
        self.info: Mapping[str, Any] = {}
        self.capabilities: Mapping[str, Any] = {}
        self.login: Sequence[Mapping[str, Any]] = ()
        self.shown = shown
        """The command line, for messages."""

    @classmethod
    async def open(
        cls,
        command: Sequence[str],
        workspace: Path,
        peer: Peer,
        *,
        environment: Mapping[str, str] | None = None,
        seconds: float = GREETING_SECONDS,
    ) -> Link:
        """Start the agent; `greet` is next."""
        shown = " ".join(command)
        try:
            child = await Child.start(command, folder=workspace, environment={**os.environ, **(environment or {})})
        except (OSError, ValueError) as error:
            raise LinkError(
                "AGENT_START", f"The agent could not be started ({shown}): {error}.", "Check the command."
            ) from error
        link = cls(child, Connection(child.stdout, child.stdin, peer), shown)
        link._seconds = seconds
        return link

    _seconds: float = GREETING_SECONDS

    async def greet(self, declared: Mapping[str, Any] | None = None, beside: Mapping[str, Any] | None = None) -> None:
        """`initialize`; the connection is being read by then. `declared`: what the client behind us can do, beside
        files and terminals, which are ours to serve. `beside`: what else it says, such as who it is."""
        params = adapter.initialize("redline", redline.__version__, files=True, terminals=True)
        params |= {**(beside or {}), "clientCapabilities": {**(declared or {}), **params["clientCapabilities"]}}
        answer = await self.ask("initialize", params, self._seconds)
        self.greeting = held = _mapping(answer)
        self.info = _mapping(held.get("agentInfo"))
        self.capabilities = _mapping(held.get("agentCapabilities"))
        login = held.get("authMethods")
        self.login = [one for one in login if isinstance(one, Mapping)] if isinstance(login, list) else []
        version = held.get("protocolVersion")
        if version != adapter.VERSION:
            raise LinkError(
                "PROTOCOL",
                f"The agent speaks version {version!r} of the protocol; Redline speaks {adapter.VERSION}.",
                "Update the agent, or Redline.",
            )

    @property
    def name(self) -> str:
        return str(self.info.get("name") or "")

    @property
    def version(self) -> str:
        return str(self.info.get("version") or "")

    @property
    def can_load(self) -> bool:
        return self.capabilities.get("loadSession") is True

    @property
    def can_resume(self) -> bool:
        """It takes up a session without telling it again."""
        return _mapping(self.capabilities.get("sessionCapabilities")).get("resume") is not None

    async def ask(self, method: str, params: Mapping[str, Any], seconds: float | None = None) -> Any:
        """A request, with its faults in words. Raises `LinkError`."""
        try:
            return await self.connection.request(method, params, seconds=seconds)
        except TimeoutError:
            raise LinkError(
                "AGENT_SILENT",
                f"The agent did not answer {method} within {seconds:g} s ({self.shown}).{self._stderr()}",
                "Start it by itself to see what it waits for: a login, a download, a question.",
            ) from None
        except ConnectionClosed:
            raise await self.death() from None
        except RpcError as error:
            raise self._refusal(method, error) from error

    async def death(self) -> LinkError:
        """Why the agent is gone."""
        await self.child.settled(_SETTLE_SECONDS)
        code = self.child.exit_code
        how = "closed its output" if code is None else f"ended with exit code {code}" if code >= 0 else (
            f"was ended by signal {-code}"
        )  # fmt: skip
        return LinkError(
            "AGENT_EXITED",
            f"The agent {how} ({self.shown}).{self._stderr()}",
            "What it did is kept. Say “continue” to start it again."
            if self.greeting
            else "Check the command: started by itself, it should wait for messages on its standard input.",
        )

    def hang_up(self) -> None:
        """Nothing more is asked of it: most agents say what they still have to say, and end."""
        with suppress(OSError, RuntimeError):
            self.child.stdin.close()

    async def close(self) -> None:
        self.connection.abort()
        await self.child.end()

    def _refusal(self, method: str, error: RpcError) -> LinkError:
        detail = ""
        if isinstance(error.data, Mapping):
            detail = str(error.data.get("details") or error.data.get("message") or "")
        elif isinstance(error.data, str):
            detail = error.data
        message = error.message if not detail or detail == error.message else f"{error.message}: {detail}"
        if error.code == AUTH_REQUIRED:
            ways = "; ".join(str(one.get("description") or one.get("name") or one.get("id")) for one in self.login)
            remedy = f"Log in with the agent itself. {ways}".strip()
            return LinkError("AUTH_REQUIRED", f"The agent wants a login: {message}", remedy)
        return LinkError("AGENT_REFUSED", f"The agent refused {method}: {message} ({error.code}).", "")

    def _stderr(self) -> str:
        said = self.child.stderr
        return f" It said: {said[-2000:]}" if said else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
