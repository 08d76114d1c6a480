"""The search for a smallest change between two middles: git's own, through libgit2.

Two readers of one libgit2 trap list: text goes in as bytes with `FORCE_TEXT` (else a NUL silently gives no diff), never
with `MINIMAL` (it removes the bound on work), and hunk headers are read as numbers only (after the second `@@` stands
text of the file).
"""

from __future__ import annotations

from redline.changes.record import Hunk

CONTEXT = 3
"""Lines of context around a change; sites at most twice as many lines apart share a hunk, as in git."""


def patch_text(before: bytes, after: bytes) -> bytes:
    """The hunks of a unified patch, from the first `@@` on; empty for equal sides."""
    from pygit2 import Patch
    from pygit2.enums import DiffOption

    flags = DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC
    patch = Patch.create_from(before, after, flag=flags, context_lines=CONTEXT)
    data: bytes = patch.data
    start = data.find(b"\n@@ ") + 1
    return data[start:] if start else b""


def hunks_of(text: bytes, lines_before: int) -> list[Hunk]:
    """Read the engine's patch. `lines_before`: lines of the file that were cut off above the middle."""
    if not text:
        return []
    patch = str(text, "utf-8", "surrogateescape")
    hunks = []
    at = 0
    while at >= 0:
        body = patch.index("\n", at) + 1
        following = patch.find("\n@@ ", body - 1)
        if following < 0:
            lines = _without_markers(patch[body:].split("\n"))
        else:
            lines = patch[body:following].split("\n")
        old_start, old_lines, new_start, new_lines = _numbers(patch[at:body])
        hunks.append(Hunk(old_start + lines_before, old_lines, new_start + lines_before, new_lines, tuple(lines)))
        at = following + 1 if following >= 0 else -1
    return hunks


def _without_markers(lines: list[str]) -> list[str]:
    """Only the last hunk can hold the two markers of a missing final newline, and only near its ends of runs."""
    if lines[-1] == "":
        lines.pop()
    return [line for line in lines if line[:1] != "\\"]


def _numbers(header: str) -> tuple[int, int, int, int]:
    _, old, new, _ = header.split(" ", 3)
    old_start, _, old_lines = old[1:].partition(",")
    new_start, _, new_lines = new[1:].partition(",")
    return int(old_start), int(old_lines or 1), int(new_start), int(new_lines or 1)
