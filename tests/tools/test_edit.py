"""`edit`, `multi_edit` and `insert`: literal, counted as people count, all or nothing, bytes outside untouched."""

from __future__ import annotations

import pytest

from redline.views import DiffCall, Location


async def test_one_hunk_a_changed_site_with_three_lines_of_context(bench):
    bench.put("a.txt", "".join(f"line {n}\n" for n in range(1, 41)))
    done = await bench.read_first(
        "a.txt",
        "multi_edit",
        edits=[
            {"old_string": "line 10\n", "new_string": "LINE 10\n"},
            {"old_string": "line 30\n", "new_string": "LINE 30\n"},
        ],
    )
    assert [(hunk.old_start, hunk.old_lines) for hunk in done.change.hunks] == [(7, 7), (27, 7)]
    assert done.call_view == DiffCall(
        "Edit a.txt",
        done.proposed,
        [Location(done.change.path, 7), Location(done.change.path, 27)],
    )
    assert done.proposed[0].hunks == done.change.hunks


async def test_replace_all_in_five_scattered_places_gives_five_hunks(bench):
    lines = [f"line {n}" for n in range(1, 61)]
    for at in (3, 15, 27, 39, 51):
        lines[at] = "old_name()"
    bench.put("a.txt", "\n".join(lines) + "\n")
    done = await bench.read_first("a.txt", "edit", old_string="old_name", new_string="new_name", replace_all=True)
    assert len(done.change.hunks) == 5
    assert done.text == "Edited a.txt (5 places)."


async def test_removing_one_line_is_one_removed_line(bench):
    bench.put("a.txt", "".join(f"l{n}\n" for n in range(1, 56)))
    done = await bench.read_first("a.txt", "edit", old_string="l7\nl8\n", new_string="l8\n")
    assert (done.change.removed, done.change.added) == (1, 0)


async def test_an_ambiguous_text_is_refused_with_count_and_lines(bench):
    bench.put("a.txt", "foo\nbar\nfoo\n")
    done = await bench.read_first("a.txt", "edit", old_string="foo", new_string="x")
    assert done.code == "AMBIGUOUS"
    assert "2 places" in done.text
    assert "1, 3" in done.text
    assert bench.bytes_of("a.txt") == b"foo\nbar\nfoo\n"


async def test_overlapping_places_count_as_people_count_them(bench):
    """Public reports: G72, G73."""
    bench.put("a.txt", "foo\nfoo\nfoo\n")
    done = await bench.read_first("a.txt", "edit", old_string="foo\nfoo\n", new_string="z\n")
    assert done.code == "AMBIGUOUS"
    bench.put("b.txt", "aaaa")
    done = await bench.read_first("b.txt", "edit", old_string="aa", new_string="b", replace_all=True)
    assert bench.bytes_of("b.txt") == b"bb"
    assert "(2 places)" in done.text


async def test_a_failed_edit_keeps_its_error_and_claims_no_change(bench):
    bench.put("a.txt", "a\n")
    done = await bench.read_first("a.txt", "edit", old_string="zzz", new_string="y")
    assert done.code == "NO_MATCH"
    assert done.result.changes == ()
    assert done.view is None
    assert done.logged["status"] == "failed"
    assert done.logged["error"]["remedy"]
    assert bench.requests == []


async def test_an_empty_old_string_is_only_for_a_missing_or_empty_file(bench):
    """Public reports: G75."""
    bench.put("full.txt", "a\n")
    bench.put("empty.txt", "")
    done = await bench.read_first("full.txt", "edit", old_string="", new_string="x\n")
    assert done.code == "NO_MATCH"
    assert bench.bytes_of("full.txt") == b"a\n"
    done = await bench.read_first("empty.txt", "edit", old_string="", new_string="x\n")
    assert done.change.operation == "modify"
    done = await bench.call("edit", path="new.txt", old_string="", new_string="x\n")
    assert done.change.operation == "add"
    assert done.text == "Created new.txt."


async def test_edits_that_cancel_out_are_no_change(bench):
    """Public reports: G79."""
    bench.put("a.txt", "A\n")
    done = await bench.read_first(
        "a.txt",
        "multi_edit",
        edits=[{"old_string": "A", "new_string": "B"}, {"old_string": "B", "new_string": "A"}],
    )
    assert done.code == "NO_CHANGE"
    assert done.view is None
    assert bench.requests == []


async def test_several_edits_are_all_or_nothing(bench):
    bench.put("a.txt", "a\nb\n")
    done = await bench.read_first(
        "a.txt",
        "multi_edit",
        edits=[{"old_string": "a", "new_string": "A"}, {"old_string": "zzz", "new_string": "Z"}],
    )
    assert done.code == "NO_MATCH"
    assert "Edit 2 of 2" in done.text
    assert bench.bytes_of("a.txt") == b"a\nb\n"


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\r\nb\nc", "c", "C", b"a\r\nb\nC"),
        (b"alpha\nbeta\r\ngamma\n", "alpha\nbeta", "A\nbeta", b"A\nbeta\r\ngamma\n"),
        (b"alpha\nbeta\r\ngamma\n", "beta\ngamma", "B\ngamma", b"alpha\nB\r\ngamma\n"),
        (b"a\nb\n", "b\n", "c", b"a\nc"),
        (b"a\nb\n", "b", "c", b"a\nc\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        ("It’s\n".encode(), "’", "'", b"It's\n"),
        (b"It's\n", "'", "’", "It’s\n".encode()),
        ("caf\u00e9\n".encode(), "\u00e9", "e\u0301", "cafe\u0301\n".encode()),
        (b"a\rb\nc\n", "c", "C", b"a\rb\nC\n"),
        (b"key = *****\n", "*****", "****", b"key = ****\n"),
        (b"price\n", "price", r"\1 $& \g<0>", rb"\1 $& \g<0>" + b"\n"),
    ],
)
async def test_bytes_outside_the_match_stay_and_the_new_text_is_literal(bench, data, old, new, expected):
    """Public reports: F58, F61, F63, F67, F70."""
    bench.put("a.txt", data)
    done = await bench.read_first("a.txt", "edit", old_string=old, new_string=new)
    assert done.code is None, done.text
    assert bench.bytes_of("a.txt") == expected
    assert (done.change.removed, done.change.added) == (1, 1)


async def test_a_touched_file_with_the_same_bytes_is_still_known(bench):
    """Public reports: H85."""
    path = bench.put("a.txt", "a\n")
    await bench.call("read", path="a.txt")
    path.touch()
    assert (await bench.call("edit", path="a.txt", old_string="a", new_string="b")).code is None


async def test_a_file_that_moved_on_since_it_was_read_is_stale(bench):
    path = bench.put("a.txt", "a\n")
    await bench.call("read", path="a.txt")
    path.write_text("a\nmore\n")
    assert (await bench.call("edit", path="a.txt", old_string="a\n", new_string="b\n")).code == "STALE"


async def test_two_edits_of_one_file_in_one_message_both_land(bench):
    """Public reports: H83."""
    bench.put("a.txt", "one\ntwo\n")
    await bench.call("read", path="a.txt")
    first, second = await bench.calls(
        ("edit", {"path": "a.txt", "old_string": "one", "new_string": "ONE"}),
        ("edit", {"path": "a.txt", "old_string": "two", "new_string": "TWO"}),
    )
    assert bench.bytes_of("a.txt") == b"ONE\nTWO\n"
    assert first.change.hunks[0].lines == ("-one", "+ONE", " two")
    assert second.change.hunks[0].lines == (" ONE", "-two", "+TWO")


async def test_lines_can_be_replaced_and_removed_without_showing_them(bench):
    """Public reports: O159."""
    secret = "KEY = ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    bench.put("conf.py", f"a = 1\n{secret}\nb = 2\n")
    done = await bench.read_first("conf.py", "edit", first_line=2, last_line=2, new_string="KEY = env('KEY')")
    assert bench.bytes_of("conf.py") == b"a = 1\nKEY = env('KEY')\nb = 2\n"
    assert "ghp_" not in str(done.logged)
    done = await bench.call("edit", path="conf.py", first_line=2, last_line=3, new_string="")
    assert bench.bytes_of("conf.py") == b"a = 1\n"


async def test_replaced_lines_take_the_endings_of_what_they_replace(bench):
    bench.put("a.txt", b"a\r\nb\r\nc\r\n")
    await bench.read_first("a.txt", "edit", first_line=2, last_line=2, new_string="x\ny")
    assert bench.bytes_of("a.txt") == b"a\r\nx\r\ny\r\nc\r\n"


async def test_replacing_the_last_line_of_a_file_without_a_final_newline_adds_none(bench):
    bench.put("a.txt", b"a\nb")
    await bench.read_first("a.txt", "edit", first_line=2, last_line=2, new_string="B")
    assert bench.bytes_of("a.txt") == b"a\nB"


@pytest.mark.parametrize(
    "edit",
    [
        {"new_string": "x"},
        {"old_string": "a", "first_line": 1, "last_line": 1, "new_string": "x"},
        {"first_line": 1, "new_string": "x"},
        {"first_line": 2, "last_line": 1, "new_string": "x"},
        {"first_line": 1, "last_line": 1, "new_string": "x", "replace_all": True},
        {"first_line": "1", "last_line": 1, "new_string": "x"},
        {"old_string": "a", "new_string": "x", "replace_all": "true"},
        {"old_string": "a", "new_string": "x", "regex": True},
        {"old_string": "a"},
    ],
)
async def test_forms_that_do_not_fit_together_are_refused(bench, edit):
    bench.put("a.txt", "a\n")
    done = await bench.read_first("a.txt", "edit", **edit)
    assert done.result.is_error
    assert bench.bytes_of("a.txt") == b"a\n"


async def test_insert_adds_whole_lines_after_a_line(bench):
    bench.put("a.txt", "a\nb\n")
    done = await bench.read_first("a.txt", "insert", line=0, text="top")
    assert bench.bytes_of("a.txt") == b"top\na\nb\n"
    assert done.call_view.title == "Insert into a.txt"
    await bench.call("insert", path="a.txt", line=3, text="end\n")
    assert bench.bytes_of("a.txt") == b"top\na\nb\nend\n"
    past = await bench.call("insert", path="a.txt", line=9, text="x\n")
    assert past.result.is_error
    assert "9" in past.text


async def test_the_mode_and_the_link_stay(bench):
    """Public reports: I92, I94."""
    path = bench.put("run.sh", "a\n")
    path.chmod(0o755)
    (bench.workspace / "link.sh").symlink_to("run.sh")
    await bench.read_first("link.sh", "edit", old_string="a", new_string="b")
    assert (bench.workspace / "link.sh").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o755
    assert path.read_bytes() == b"b\n"


async def test_a_link_out_of_the_workspace_is_refused(bench):
    """Public reports: I93."""
    outside = bench.workspace.parent / "outside"
    outside.mkdir()
    (bench.workspace / "out").symlink_to(outside)
    done = await bench.call("edit", path="out/new.txt", old_string="", new_string="x")
    assert done.code == "OUTSIDE_WORKSPACE"
    assert list(outside.iterdir()) == []


async def test_a_secret_in_a_text_that_does_not_match_is_not_half_shown_in_the_error(bench):
    """Public reports: O160."""
    bench.put("conf.py", "a = 1\n")
    for blanks in range(30, 80, 7):
        old = "x" * blanks + " ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 and more"
        done = await bench.read_first("conf.py", "edit", old_string=old, new_string="b")
        assert done.code == "NO_MATCH"
        assert "ghp_" not in str(done.logged)


async def test_a_text_that_almost_matches_is_told_by_its_line_and_not_by_what_it_holds(bench):
    """Public reports: O160."""
    bench.put("conf.py", "a = 1\n\tpassword = 'correct horse battery'\n")
    done = await bench.read_first("conf.py", "edit", old_string="    password = 'correct horse battery'", new_string="")
    assert done.code == "NO_MATCH"
    assert "line 2" in done.text
    assert "horse" not in done.logged["error"]["remedy"]
