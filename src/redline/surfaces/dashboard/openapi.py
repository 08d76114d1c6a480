"""`python -m redline.surfaces.dashboard.openapi [FILE]`: the OpenAPI document of the dashboard, from which the page's
types are made."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from redline.surfaces.dashboard.app import Dashboard, openapi
from redline.surfaces.dashboard.guard import Access

if TYPE_CHECKING:
    from redline.gateway.gateway import Gateway


def document() -> str:
    """As indented JSON with a line break at its end."""
    nobody = cast("Gateway", None)  # the document is made of the routes' signatures alone
    api = Dashboard(nobody, Access(0), here=Path("/")).api
    return json.dumps(openapi(api), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(document(), encoding="utf-8")
    else:
        sys.stdout.write(document())
