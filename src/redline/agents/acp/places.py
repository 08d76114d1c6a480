"""Paths as agents name them, and as the disk knows them."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit


def absolute(path: str, workspace: str) -> str:
    """The path made absolute: relative ones start at the workspace, `~` is the user's home, `file:` addresses are read.

    Some agents have a root of their own: `/f.py` is the workspace's `f.py`. It is taken so where no such place exists
    outside and one does within. Others leave out the first slash: `home/me/project/f.py` is read with it where that is
    a place in the workspace, and without it none is there.
    """
    if path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    if path.startswith("~"):
        path = os.path.expanduser(path)  # noqa: PTH111 - pathlib refuses what names no user
    joined = os.path.normpath(Path(workspace, path))
    rooted = os.path.normpath(f"/{path}")
    if not Path(path).is_absolute() and is_within(rooted, workspace) and not os.path.lexists(joined):
        return rooted
    if Path(path).is_absolute() and not is_within(joined, workspace) and not os.path.lexists(joined):
        inner = os.path.normpath(Path(workspace, path.lstrip("/")))
        outer_folder, inner_folder = Path(joined).parent, Path(inner).parent
        if (not outer_folder.is_dir() or outer_folder == Path("/")) and inner_folder.is_dir():
            return inner
    return joined


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def key(path: str) -> str:
    """What makes two names of one file equal: links in its folders are followed, the last step is not."""
    folder, name = os.path.split(path)
    return str(Path(os.path.realpath(folder), name))
