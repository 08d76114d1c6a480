"""Whether the last change that the model made to a file is still there when it reads the file again.

An editor that saves an old buffer, a checkout or a person may have put back what was there before. The model then reads
a text without its own work in it, after a call that succeeded, and should hear that it has not misread.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from redline.changes.reverse import Conflict, take_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from redline.files.seam import Blob, Content
    from redline.tools.knowledge import Written

GONE = "{path} no longer holds the change that this session made to it last: something has put back what was there."


async def is_gone(content: Content, written: Written | None, kept: Callable[[Blob], bytes | None]) -> bool:
    """`written`: the session's last change there, if there is one. `kept`: gives the bytes of a blob, where they are
    kept; else only the very state of before counts. A change whose lines were changed once more is not gone."""
    if written is None:
        return False
    if content.blob in (written.before, written.after):
        return content.blob == written.before
    if content.data is None:
        return False
    return await asyncio.to_thread(_is_put_back, content.data, written, kept)


def _is_put_back(current: bytes, written: Written, kept: Callable[[Blob], bytes | None]) -> bool:
    before, after = kept(written.before), kept(written.after)
    if before is None or after is None:
        return False
    try:
        return take_back(current, before, after) == current
    except Conflict:
        return False
