"""The title of a session, from the prompt that it begins with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Sequence

ATTACHED = "attached"
"""The key beside a block of a prompt that was made of a file which the user gave: the file's name."""
_LIMIT = 80
"""Characters."""


def title_of(blocks: Sequence[Mapping[str, Any]]) -> str:
    """What the user has typed first, else the name of the first file that was given; empty: there is neither. A longer
    one is cut."""
    typed = [str(one.get("text", "")) for one in blocks if one.get("type") == "text" and ATTACHED not in one]
    given = [str(one.get(ATTACHED) or one.get("name") or _address(one).rpartition("/")[2]) for one in blocks]
    title = next((title for title in (" ".join(text.split()) for text in [*typed, *given]) if title), "")
    return title if len(title) <= _LIMIT else title[: _LIMIT - 1].rstrip() + "…"


def _address(block: Mapping[str, Any]) -> str:
    """Of a file that a foreign agent is given as it was sent."""
    resource = block.get("resource")
    return unquote(str(resource.get("uri", ""))) if isinstance(resource, Mapping) else ""
