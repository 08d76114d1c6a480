"""The page itself: the files that the build of `web/` leaves in `static/`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from starlette.responses import FileResponse, HTMLResponse, Response

STATIC = Path(__file__).parent / "static"
_UNBUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Redline</title><body>
<h1>The page has not been built</h1>
<p>The server works; the files of its page are missing. In a checkout, build them with <code>make web</code>.
An installed Redline has them: install it again.</p></body></html>"""


def is_built(folder: Path = STATIC) -> bool:
    return (folder / "index.html").is_file()


def place(session: str) -> str:
    """What is added to the page's address to open a session."""
    return f"#/s/{quote(session, safe='')}"


def page(folder: Path = STATIC) -> Response:
    """`index.html`, for every address of the page."""
    if not is_built(folder):
        return HTMLResponse(_UNBUILT, status_code=503)
    return FileResponse(folder / "index.html", headers={"cache-control": "no-cache"})


def asset(path: str, folder: Path = STATIC) -> Response | None:
    """A file of the build. Those below `assets/` have a hash in their name and never change. None: there is none."""
    file = folder / path
    if ".." in Path(path).parts or "\0" in path or "\\" in path or not file.is_file():
        return None
    if folder.resolve() not in file.resolve().parents:
        return None
    kept = "public, max-age=31536000, immutable" if path.startswith("assets/") else "no-cache"
    return FileResponse(file, headers={"cache-control": kept})
