"""The patch form between `*** Begin Patch` and `*** End Patch`."""

from __future__ import annotations

import pytest

from redline.changes.envelope import Chunk, Section, is_envelope, parse_envelope, read_envelope

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
