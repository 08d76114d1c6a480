"""What the log has moved into the private store, put back where it was."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

Stored = Callable[[str], bytes | None]
"""The bytes of a blob of the session; None: they are not kept."""


def image(blob: str, stored: Stored) -> str | None:
    """An image's bytes as the protocol has them."""
    data = stored(blob) if blob else None
    return None if data is None else base64.b64encode(data).decode("ascii")


def whole(value: Any, stored: Stored) -> Any:
    """A JSON value with its large texts back; one that is not kept any more stays the object that stands for it."""
    if isinstance(value, Mapping):
        if value.get("omitted") is True and isinstance(value.get("blob"), str):
            data = stored(value["blob"])
            return dict(value) if data is None else data.decode("utf-8", "surrogatepass")
        return {name: whole(one, stored) for name, one in value.items()}
    if isinstance(value, list):
        return [whole(one, stored) for one in value]
    return value
