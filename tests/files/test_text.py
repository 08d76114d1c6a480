"""What counts as text, and what a reader sees of it."""

from __future__ import annotations

import subprocess

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.files.blob import git_blob, git_blob_of
from redline.files.error import FileError
from redline.files.seam import Content
from redline.files.text import encoded, view


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\r\nb\nc", "a\nb\nc"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        (b"\xef\xbb\xbf", ""),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", "\ufeffa"),
        (b"a\rb\x0cc\x0bd\xc2\x85e\xe2\x80\xa8f\xe2\x80\xa9g\n", "a\rb\x0cc\x0bd\x85e\u2028f\u2029g\n"),
        (b"\tif x {\n\t}\n", "\tif x {\n\t}\n"),
        (b"a\r\r\nb", "a\r\nb"),
        (b"caf\xe9\n", None),
        (b"\xed\xa0\x80", None),
        (b"PK\x00\x01", None),
        (b"x" * 7999 + b"\0", None),
        (b"x" * 8000 + b"\0", "x" * 8000 + "\0"),
    ],
)
def test_the_view_drops_one_bom_and_reads_crlf_as_lf_and_folds_nothing_else(data: bytes, text: str | None) -> None:
    assert view(data) == text
    assert Content(git_blob(data), len(data), data=data).text == text


def test_content_that_was_not_kept_has_no_text() -> None:
    assert Content("0" * 40, 1 << 30).text is None


@pytest.mark.parametrize("half", ["\ud83d", "caf\udce9"])
def test_half_a_character_is_refused_and_named(half: str) -> None:
    with pytest.raises(FileError, match=r"lone surrogate \(\\ud") as caught:
        encoded(half, "content")
    assert caught.value.code == "NOT_TEXT"


@given(st.binary())
def test_a_blob_is_named_as_git_names_it(data: bytes) -> None:
    assert git_blob(data) == str(pygit2.hash(data))
    assert git_blob_of(len(data), (data[:5], data[5:])) == git_blob(data)


def test_a_blob_is_named_as_the_git_command_names_it() -> None:
    run = subprocess.run(["git", "hash-object", "--stdin"], input=b"a\r\nb", capture_output=True, check=True)
    assert git_blob(b"a\r\nb") == run.stdout.decode().strip()
