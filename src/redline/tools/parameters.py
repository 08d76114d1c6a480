"""The base of every built-in tool's parameters.

Strict: a value must have the JSON type that the schema names. `"5"` for a number, `5.0` for a line and `1` for a yes or
no are refused, in every tool alike, and so is a name that the tool does not know; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Path = Annotated[
    str,
    Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$", description="Relative to the workspace, or absolute."),
]


def logged_text(arguments: Mapping[str, Any], name: str) -> str | None:
    """A string of logged arguments, which may be masked or malformed: None for whatever else stands there."""
    value = arguments.get(name) if isinstance(arguments, Mapping) else None
    return value if isinstance(value, str) and value else None


def logged_number(source: Any, name: str) -> int | None:
    """A whole number of logged arguments or `meta`; None for whatever else stands there (True is no number)."""
    value = source.get(name) if isinstance(source, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
