"""The patch form between `*** Begin Patch` and `*** End Patch`."""

from __future__ import annotations

import pytest

from redline.changes.envelope import Chunk, Section, is_envelope, parse_envelope, read_envelope
from redline.changes.parse import parse

WHOLE = """*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ class A
@@ def f():
 context

-old
+new
@@
-last
*** End of File
*** Add File: docs/My Notes.md
+*** Begin Patch
+
+line
*** Delete File: gone.txt
*** End Patch
"""


def test_every_kind_of_section_is_read():
    assert read_envelope(WHOLE) == [
        Section(
            "update",
            "src/a.py",
            (
                Chunk(("class A", "def f():"), (" context", " ", "-old", "+new")),
                Chunk((), ("-last",), at_end=True),
            ),
            "src/b.py",
        ),
        Section("add", "docs/My Notes.md", (Chunk((), ("+*** Begin Patch", "+", "+line")),)),
        Section("delete", "gone.txt"),
    ]


def test_what_stands_around_it_is_passed_over_and_crlf_is_read():
    assert read_envelope(f"Here it is:\n```\n{WHOLE}```\n") == read_envelope(WHOLE)
    assert read_envelope(WHOLE.replace("\n", "\r\n")) == read_envelope(WHOLE)


def test_which_texts_are_of_this_form():
    assert is_envelope(WHOLE)
    assert not is_envelope("--- a\n+++ b\n@@ -1 +1 @@\n-*** Begin Patch\n+x\n")
    assert not is_envelope("--- a\n+++ b\n@@ -1 +1 @@\n*** Begin Patch\n")
    assert not is_envelope("nothing")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*** Begin Patch\n",
        "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n",
        "*** Begin Patch\n*** Update File: a\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: a\n@@\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: a\nno sign\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: a\n no plus\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: \n+x\n*** End Patch\n",
        "*** Begin Patch\n*** Rename File: a\n*** End Patch\n",
    ],
)
def test_what_is_cut_off_or_belongs_nowhere_is_refused(text):
    with pytest.raises(ValueError, match=r"line|cut off"):
        read_envelope(text)


def test_an_empty_line_between_sections_is_no_context():
    text = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n\n\n*** Update File: b\n@@\n-x\n\n+y\n\n*** End Patch"
    first, second = read_envelope(text.replace("*** Update File: b", "*** Add File: c\n+z\n\n*** Update File: b"))[::2]
    assert first.chunks == (Chunk((), ("-x", "+y")),)
    assert second.chunks == (Chunk((), ("-x", " ", "+y")),)


def test_as_a_change_it_is_reported_and_has_no_place():
    moved, added, deleted = parse_envelope(f"apply_patch '{WHOLE}'")
    assert (moved.operation, moved.old_path, moved.path) == ("move", "src/a.py", "src/b.py")
    assert (moved.removed, moved.added, moved.anchored, moved.provenance) == (2, 1, False, "reported")
    assert (added.operation, added.added) == ("add", 3)
    assert (deleted.operation, deleted.file_type) == ("delete", "unknown")


SECOND = "*** Begin Patch\n*** Delete File: z\n*** End Patch\n"


@pytest.mark.parametrize("between", ["", "\nand then\n", "EOF\napply_patch <<'EOF'\n", "' && apply_patch '"])
def test_every_envelope_of_a_text_is_read(between):
    for text in (WHOLE + between + SECOND, f"apply_patch '{WHOLE}{between}{SECOND}'"):
        assert is_envelope(text)
        assert read_envelope(text) == [*read_envelope(WHOLE), Section("delete", "z")]
        assert [change.path for change in parse_envelope(text)] == ["src/b.py", "docs/My Notes.md", "gone.txt", "z"]


def test_words_about_the_form_open_nothing():
    assert read_envelope(f"I begin with *** Begin Patch\n\n{SECOND}It ended, as did *** Begin Patch\n") == [
        Section("delete", "z")
    ]


@pytest.mark.parametrize(
    "second",
    [
        "*** Begin Patch\n*** Delete File: y\n",
        "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n",
        "diff --git a/x b/x\nold mode 1\n",
    ],
)
def test_what_follows_an_envelope_is_refused_where_it_cannot_be_read(second):
    with pytest.raises(ValueError, match=r"cut off|another form"):
        read_envelope(SECOND + second)
    with pytest.raises(ValueError, match="another form"):
        parse("--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n" + SECOND)
