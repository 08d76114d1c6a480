"""The one error of the file seam."""

from __future__ import annotations

from typing import Literal

FileErrorCode = Literal[
    "NOT_OBSERVED", "STALE", "NOT_FOUND", "NOT_TEXT", "TOO_LARGE", "AMBIGUOUS", "NO_MATCH", "NO_CHANGE",
    "OUTSIDE_WORKSPACE", "NOT_REGULAR", "EXISTS", "PERMISSION", "NO_SPACE", "MASKED", "IO", "UNSAVED",
]  # fmt: skip


class FileError(Exception):
    """A refusal or a failure of one file operation; the file is as it was.

    `code` is stable and for programs; `message` says what was wrong with which value; `remedy` what to do next.
    """

    def __init__(self, code: FileErrorCode, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code: FileErrorCode = code
        self.message = message
        self.remedy = remedy
