"""`initialize`: what the editor says that it can do, and what we answer. Loads nothing that takes time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redline import __version__

PROTOCOL = 1
"""The version of the protocol that we speak."""
_NEGOTIATED = ("protocolVersion", "clientCapabilities")


@dataclass(frozen=True, slots=True)
class Abilities:
    """Of the editor."""

    buffers: bool = False
    """It serves both `fs/read_text_file` and `fs/write_text_file`."""
    terminal_output: bool = False
    """It draws a terminal that it does not run, from `_meta.terminal_output`, as several editors do."""
    declared: Mapping[str, Any] | None = None
    """Its `clientCapabilities`, untouched."""
    beside: Mapping[str, Any] | None = None
    """What else it says in `initialize`, such as who it is, untouched."""

    @classmethod
    def of(cls, params: object) -> Abilities:
        """From the parameters of `initialize`; what is malformed counts as not offered."""
        declared = _mapping(_mapping(params).get("clientCapabilities"))
        files, meta = _mapping(declared.get("fs")), _mapping(declared.get("_meta"))
        return cls(
            buffers=files.get("readTextFile") is True and files.get("writeTextFile") is True,
            terminal_output=meta.get("terminal_output") is True,
            declared=declared,
            beside={name: one for name, one in _mapping(params).items() if name not in _NEGOTIATED},
        )


def answer() -> dict[str, Any]:
    """Of the built-in agent. A client that speaks another version is told ours, as the protocol says."""
    return {
        "protocolVersion": PROTOCOL,
        "agentInfo": {"name": "redline", "title": "Redline", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": sessions(),
        },
        "authMethods": [],
    }


def sessions() -> dict[str, Any]:
    """What the log supplies, whatever agent works behind it."""
    return {"list": {}, "resume": {}, "close": {}, "delete": {}}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
