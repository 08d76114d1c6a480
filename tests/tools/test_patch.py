"""`apply_patch`: both forms, several files, all or nothing, and never a guess."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.compare import describe
from redline.changes.parse import parse
from redline.changes.patch import PatchItem, git_patch
from redline.files.error import FileError
from redline.tools.fitting import Piece, fitted
from redline.tools.patch import _of_change
from redline.views import DiffCall, DiffResult

LINES = "".join(f"line {n}\n" for n in range(1, 21))


async def know(bench, *names):
    for name in names:
        assert (await bench.call("read", path=name)).code is None


async def test_a_unified_patch_of_one_file(bench):
    bench.put("a.txt", LINES)
    await know(bench, "a.txt")
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -2,3 +2,3 @@\n line 2\n-line 3\n+LINE 3\n line 4\n"
    done = await bench.call("apply_patch", patch=patch)
    assert done.code is None, done.text
    assert bench.bytes_of("a.txt") == LINES.replace("line 3\n", "LINE 3\n").encode()
    assert (done.change.removed, done.change.added) == (1, 1)
    assert isinstance(done.call_view, DiffCall)
    assert done.view == DiffResult("Patch a.txt", [done.change], None)


async def test_an_envelope_of_several_files_in_every_way(bench):
    bench.put("a.txt", LINES)
    bench.put("b.txt", "one\ntwo\n")
    bench.put("gone.txt", "x\n")
    await know(bench, "a.txt", "b.txt", "gone.txt")
    done = await bench.call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: a.txt\n@@\n line 9\n-line 10\n+LINE 10\n"
        "*** Update File: b.txt\n*** Move to: deep/c.txt\n@@\n-two\n+TWO\n"
        "*** Add File: new.txt\n+hello\n*** Delete File: gone.txt\n*** End Patch\n",
    )
    assert done.code is None, done.text
    assert bench.bytes_of("a.txt") == LINES.replace("line 10\n", "LINE 10\n").encode()
    assert bench.bytes_of("deep/c.txt") == b"one\nTWO\n"
    assert bench.bytes_of("new.txt") == b"hello\n"
    assert not (bench.workspace / "gone.txt").exists()
    assert not (bench.workspace / "b.txt").exists()
    assert [change.operation for change in done.result.changes] == ["modify", "move", "add", "delete"]
    assert done.view.title == "Patch 4 files"
    [request] = bench.requests
    assert len(request.changes) == 4


async def test_one_hunk_that_does_not_fit_leaves_every_file_alone(bench):
    bench.put("a.txt", LINES)
    bench.put("b.txt", "one\n")
    await know(bench, "a.txt", "b.txt")
    done = await bench.call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: a.txt\n@@\n-line 3\n+x\n"
        "*** Update File: b.txt\n@@\n-nothing\n+x\n*** End Patch\n",
    )
    assert done.code == "NO_MATCH"
    assert "b.txt, hunk 1" in done.text
    assert bench.bytes_of("a.txt") == LINES.encode()
    assert bench.requests == []
    assert done.view is None


async def test_a_file_that_fails_on_the_way_takes_the_others_back(bench):
    """Public reports: G78."""
    bench.put("a.txt", "a\n")
    locked = bench.put("locked/b.txt", "b\n")
    await know(bench, "a.txt", "locked/b.txt")
    done_something: list[str] = []

    def answer(request):
        done_something.append("asked")
        locked.unlink()
        locked.mkdir()
        return "allow_once"

    bench.answer = answer
    done = await bench.call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n"
        "*** Update File: locked/b.txt\n@@\n-b\n+B\n*** End Patch\n",
    )
    assert done.result.is_error
    assert bench.bytes_of("a.txt") == b"a\n"
    assert list(done.result.changes) == []


async def test_delete_and_create_of_one_path_is_one_change_against_the_original(bench):
    """Public reports: C30."""
    bench.put("notes.md", "".join(f"old {n}\n" for n in range(100)))
    await know(bench, "notes.md")
    added = "".join(f"+new {n}\n" for n in range(30))
    done = await bench.call(
        "apply_patch",
        patch=f"*** Begin Patch\n*** Delete File: notes.md\n*** Add File: notes.md\n{added}*** End Patch\n",
    )
    assert done.change.operation == "modify"
    assert (done.change.removed, done.change.added) == (100, 30)


async def test_a_move_onto_itself_with_an_edit_keeps_the_file_with_the_edit(bench):
    """Public reports: C31."""
    bench.put("a.txt", "a\n")
    (bench.workspace / "same").symlink_to(".")
    for to, old, new in (("./a.txt", "a", "b"), ("same/a.txt", "b", "c")):
        await know(bench, "a.txt")
        done = await bench.call(
            "apply_patch",
            patch=f"*** Begin Patch\n*** Update File: a.txt\n*** Move to: {to}\n@@\n-{old}\n+{new}\n*** End Patch\n",
        )
        assert done.code is None, done.text
        assert bench.bytes_of("a.txt") == f"{new}\n".encode()


async def test_two_sections_on_one_file_are_one_change(bench):
    bench.put("a.txt", LINES)
    await know(bench, "a.txt")
    done = await bench.call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: a.txt\n@@\n-line 3\n+x\n"
        "*** Update File: ./a.txt\n@@\n-line 15\n+y\n*** End Patch\n",
    )
    assert len(done.change.hunks) == 2


async def test_a_file_that_was_not_read_is_not_patched(bench):
    bench.put("a.txt", "a\n")
    done = await bench.call("apply_patch", patch="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n")
    assert done.code == "NOT_OBSERVED"
    assert bench.bytes_of("a.txt") == b"a\n"


async def test_adding_over_a_file_and_changing_a_missing_one_are_refused(bench):
    bench.put("a.txt", "a\n")
    add = "*** Begin Patch\n*** Add File: a.txt\n+b\n*** End Patch\n"
    assert (await bench.call("apply_patch", patch=add)).code == "EXISTS"
    change = "*** Begin Patch\n*** Update File: gone.txt\n@@\n-a\n+b\n*** End Patch\n"
    assert (await bench.call("apply_patch", patch=change)).code == "NOT_FOUND"
    outside = "*** Begin Patch\n*** Add File: ../b.txt\n+b\n*** End Patch\n"
    assert (await bench.call("apply_patch", patch=outside)).code == "OUTSIDE_WORKSPACE"


@pytest.mark.parametrize(
    "patch",
    [
        "no patch at all",
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n",
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n",
        "diff --git a/x.bin b/x.bin\nindex 1..2\nBinary files a/x.bin and b/x.bin differ\n",
        "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n\\ diff truncated\n",
    ],
)
async def test_a_patch_that_is_cut_off_or_cannot_be_read_is_refused(bench, patch):
    done = await bench.call("apply_patch", patch=patch)
    assert done.code == "INVALID_PATCH"


async def test_a_git_patch_sets_the_executable_bit_and_creates_a_script(bench):
    bench.put("run.sh", "a\n")
    await know(bench, "run.sh")
    done = await bench.call(
        "apply_patch",
        patch="diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
        "diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+x\n",
    )
    assert done.code is None, done.text
    for name in ("run.sh", "new.sh"):
        assert (bench.workspace / name).stat().st_mode & 0o111, name


def fit(before: str, lines: str, start: int | None = None, **more: object) -> str:
    piece = Piece(tuple(lines.split("\n")), start, **more)
    return fitted("a", before.encode(), [piece], None).decode()


def test_a_wrong_line_number_is_corrected_only_where_one_place_fits():
    assert fit(LINES, " line 9\n-line 10\n+x", 2) == LINES.replace("line 10\n", "x\n")
    with pytest.raises(FileError) as error:
        fit("a\nb\na\nb\n", "-a\n+x", 7)
    assert error.value.code == "AMBIGUOUS"
    assert fit("a\nb\na\nb\n", "-a\n+x", 2) == "a\nb\nx\nb\n"


def test_a_hunk_of_additions_goes_where_it_says_or_nowhere():
    """Public reports: J111."""
    assert fit(LINES, "+x", 2) == LINES.replace("line 2\n", "line 2\nx\n")
    for start, code in ((21, "NO_MATCH"), (None, "AMBIGUOUS")):
        with pytest.raises(FileError) as error:
            fit(LINES, "+x", start)
        assert error.value.code == code
    assert fit(LINES, "+x", None, at_end=True) == LINES + "x\n"
    assert fit(LINES, "+x", None, anchors=("line 3",)) == LINES.replace("line 3\n", "line 3\nx\n")


def test_an_anchor_picks_the_first_place_below_it():
    text = "def f():\n    return 1\ndef g():\n    return 1\n"
    assert fit(text, "-    return 1\n+    return 2", None, anchors=("def g():",)) == text[:-2] + "2\n"
    with pytest.raises(FileError):
        fit(text, "-    return 1\n+    return 2", None)


def test_blanks_count():
    with pytest.raises(FileError):
        fit("\tx\n", "-    x\n+    y", 0)


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        (b"a\r\nb\r\n", "-b\n+B\n+C", b"a\r\nB\r\nC\r\n"),
        (b"a\r\nb\nc\r\n", " a\n-b\n+B\n c", b"a\r\nB\nc\r\n"),
        (b"\xef\xbb\xbfa\nb\n", "-a\n+A", b"\xef\xbb\xbfA\nb\n"),
        (b"x\n# caf\xe9\n", "-x\n+y", b"y\n# caf\xe9\n"),
        (b"a\nb", "-b\n+B", b"a\nB"),
        (b"a\r\n", "-a\r\n+a", b"a\n"),
    ],
)
def test_bytes_outside_the_hunks_stay_and_new_lines_take_the_ending_of_what_they_follow(before, lines, after):
    assert fitted("a", before, [Piece(tuple(lines.split("\n")), None)], None) == after


text_of_lines = st.lists(st.sampled_from(["a", "b", "-- c", "++ d", "", "e\r", "\x0c", "é", "\\ x"]), max_size=30)


@settings(max_examples=150, deadline=None)
@given(text_of_lines, text_of_lines, st.booleans(), st.booleans())
def test_our_own_patch_of_any_two_texts_gives_the_second_from_the_first(old, new, old_ends, new_ends):
    before = ("\n".join(old) + "\n" * (old_ends and bool(old))).encode()
    after = ("\n".join(new) + "\n" * (new_ends and bool(new))).encode()
    if before == after:
        return
    change = describe("/w/x", before, after)
    printed = git_patch([PatchItem(change, before, after)], root="/w")
    [read] = parse(printed)
    wish = _of_change(read)
    assert fitted("x", before, wish.pieces, wish.final_newline) == after
