"""The protocol's SDK, behind one door: its models build what we send and judge what we get; nothing else imports it.

What arrives is never replaced by a model: a model of one release drops what the next one adds, so messages stay the
JSON values that they are, and the models only say whether a value is well-formed. Importing the SDK takes about half a
second, so it happens at the first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

VERSION = 1
"""Of the protocol, as we speak it."""

Outcome = Literal["selected", "cancelled"]


def initialize(name: str, version: str, *, files: bool, terminals: bool) -> dict[str, Any]:
    """What a client says of itself. `files`, `terminals`: it serves `fs/*` and `terminal/*`."""
    return _built(
        "InitializeRequest",
        protocol_version=VERSION,
        client_info={"name": name, "version": version},
        client_capabilities={"fs": {"read_text_file": files, "write_text_file": files}, "terminal": terminals},
    )


def new_session(folder: str) -> dict[str, Any]:
    return _built("NewSessionRequest", cwd=folder, mcp_servers=[])


def load_session(session: str, folder: str) -> dict[str, Any]:
    return _built("LoadSessionRequest", session_id=session, cwd=folder, mcp_servers=[])


def prompt(session: str, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Blocks go as they are: what the models know of them is less than what an agent may."""
    return {"sessionId": session, "prompt": [dict(block) for block in blocks]}


def set_mode(session: str, mode: str) -> dict[str, Any]:
    return _built("SetSessionModeRequest", session_id=session, mode_id=mode)


def set_option(session: str, option: str, value: str | bool) -> dict[str, Any]:
    if isinstance(value, bool):
        return _built(
            "SetSessionConfigOptionBooleanRequest", session_id=session, config_id=option, value=value, type="boolean"
        )
    return _built("SetSessionConfigOptionSelectRequest", session_id=session, config_id=option, value=value)


def permission_answer(option: str | None) -> dict[str, Any]:
    """`option`: the id of the one that was chosen; None: the question was withdrawn."""
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option}}


def problem(name: str, value: object) -> str | None:
    """What the SDK's model `name` (such as `SessionNotification`) finds wrong with a value; None: nothing."""
    from pydantic import ValidationError

    try:
        _model(name).model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"{where}: {first['msg']}" if where else str(first["msg"])
    return None


def _built(name: str, **fields: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", _model(name)(**fields).model_dump(mode="json", by_alias=True, exclude_none=True))


def _model(name: str) -> Any:
    from acp import schema

    return getattr(schema, name)
