"""Images of a session: beside the log, and in the protocol's words."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Stored


def image(blob: str, stored: Stored) -> str | None:
    """An image's bytes as the protocol has them; None: they are not kept any more."""
    data = stored(blob) if blob else None
    return None if data is None else base64.b64encode(data).decode("ascii")
