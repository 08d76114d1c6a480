"""`read`: numbered lines, bounded, with everything said that a model must know to edit what it saw."""

from __future__ import annotations

import asyncio
import os
import socket

from redline.tools.read import BYTES, LINES, Read
from redline.tools.tool import ToolResult, text_block
from redline.views import GenericCall, GenericResult, Location


async def test_lines_come_with_number_and_arrow_and_keep_their_tabs(bench):
    """Public reports: F66."""
    bench.put("main.go", "\tif x {\n\t}\n")
    done = await bench.call("read", path="main.go")
    assert done.text == "1→\tif x {\n2→\t}\n\n[All 2 lines.]"


async def test_what_was_read_can_be_edited_as_shown(bench):
    """Public reports: F66."""
    bench.put("main.go", "\tif x {\n\t}\n")
    shown = (await bench.call("read", path="main.go")).text.split("\n")[0].split("→", 1)[1]
    done = await bench.call("edit", path="main.go", old_string=shown, new_string="\tif y {")
    assert done.code is None
    assert bench.bytes_of("main.go") == b"\tif y {\n\t}\n"


async def test_meta_says_what_was_shown(bench):
    path = bench.put("a.py", "".join(f"{n}\n" for n in range(1, 11)))
    done = await bench.call("read", path="a.py", offset=3, limit=4)
    assert done.logged["meta"] == {"path": str(path), "offset": 3, "lines": 4, "total": 10, "language": "python"}
    assert done.text == "3→3\n4→4\n5→5\n6→6\n\n[Lines 3 to 6 of 10. More follow: read on with offset 7.]"
    assert done.call_view == GenericCall("Read a.py (lines 3 to 6)", "read", locations=[Location("a.py", 3)])
    assert isinstance(done.view, GenericResult)
    assert done.view.title == "Read a.py (lines 3 to 6 of 10)"
    for count, said in ((0, "0 lines"), (1, "1 line"), (2, "2 lines")):
        bench.put("b.py", "x\n" * count)
        done = await bench.call("read", path="b.py")
        assert done.view.title == f"Read b.py ({said})"


async def test_a_long_file_stops_at_the_line_limit_and_says_where_to_go_on(bench):
    bench.put("long.txt", "x\n" * (LINES + 5))
    done = await bench.call("read", path="long.txt")
    assert done.text.endswith(f"[Lines 1 to {LINES} of {LINES + 5}. More follow: read on with offset {LINES + 1}.]")
    rest = await bench.call("read", path="long.txt", offset=LINES + 1)
    assert rest.logged["meta"]["lines"] == 5


async def test_wide_lines_stop_at_the_byte_limit_and_long_ones_are_cut(bench):
    bench.put("wide.txt", ("word " * 180 + "\n") * 100 + "y" * 5000 + "\n")
    done = await bench.call("read", path="wide.txt")
    assert len(done.text.encode()) < BYTES + 500
    assert "KiB are shown at once" in done.text
    last = await bench.call("read", path="wide.txt", offset=101)
    assert "more characters]" in last.text
    assert "1 line is cut after 2000 characters." in last.text


async def test_a_long_line_is_cut_between_words_so_that_no_half_of_a_secret_is_shown(bench):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    bench.put("long.txt", "x " * 990 + token + " tail" * 10 + "\n")
    done = await bench.call("read", path="long.txt")
    assert "ghp_" not in done.text


async def test_a_window_never_starts_inside_a_private_key_which_the_log_could_not_know_for_one(bench):
    body = [f"{n:02}" + "MIIEpAIBAAKCAQEA7bq0Y4Xn1hZ3vQ9sJ8kLmNoPqRsTuVwXyZaBcDeFgHiJkL" for n in range(20)]
    key = ["-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----"]
    bench.put("id_rsa", "\n".join(["# mine", *key]) + "\n")
    done = await bench.call("read", path="id_rsa", offset=8, limit=5)
    assert done.text.startswith("2→-----BEGIN RSA PRIVATE KEY-----\n3→00MII")
    assert "Lines 2 to 6 of 23." in done.text
    assert "MIIEpAIB" not in str(done.logged)
    found = await bench.call("grep", pattern="^0[5-7]", context=1)
    assert "MIIEpAIB" not in str(found.logged)
    assert found.logged["meta"]["matches"] == 3


async def test_a_bom_is_not_shown_and_the_first_line_is_editable(bench):
    """Public reports: F63."""
    bench.put("bom.txt", b"\xef\xbb\xbfa\n")
    done = await bench.call("read", path="bom.txt")
    assert done.text.startswith("1→a\n")
    await bench.call("edit", path="bom.txt", old_string="a", new_string="b")
    assert bench.bytes_of("bom.txt") == b"\xef\xbb\xbfb\n"


async def test_line_ends_are_said_and_not_shown(bench):
    bench.put("crlf.txt", b"a\r\nb\r\n")
    bench.put("mixed.txt", b"a\r\nb\nc")
    crlf = await bench.call("read", path="crlf.txt")
    mixed = await bench.call("read", path="mixed.txt")
    assert "\r" not in crlf.text
    assert "Line ends: CRLF." in crlf.text
    assert "Line ends: mixed, 1 CRLF and 1 LF." in mixed.text
    assert "No newline at the end of the file." in mixed.text


async def test_separators_that_are_no_newline_stay_inside_their_line(bench):
    bench.put("odd.txt", "a\rb\u2028c\x0cd\n")
    done = await bench.call("read", path="odd.txt")
    assert done.text.startswith("1→a\rb\u2028c\x0cd\n\n")


async def test_bytes_that_are_not_utf8_are_escaped_and_the_rest_can_be_edited(bench):
    """Public reports: F64."""
    bench.put("latin.py", b"x = 1\n# caf\xe9\n")
    done = await bench.call("read", path="latin.py")
    assert "2→# caf\\xE9\n" in done.text
    assert "Not UTF-8" in done.text
    edited = await bench.call("edit", path="latin.py", old_string="x = 1", new_string="x = 2")
    assert bench.bytes_of("latin.py") == b"x = 2\n# caf\xe9\n"
    assert (edited.change.removed, edited.change.added) == (1, 1)


async def test_an_empty_file_and_an_offset_past_the_end(bench):
    bench.put("empty.txt", "")
    bench.put("one.txt", "a\n")
    assert (await bench.call("read", path="empty.txt")).text == "[The file is empty.]"
    past = await bench.call("read", path="one.txt", offset=2)
    assert past.code == "OUT_OF_RANGE"
    assert "has 1 line;" in past.text


async def test_binary_files_are_refused_with_their_size(bench):
    bench.put("a.bin", b"\x7fELF\0\0")
    done = await bench.call("read", path="a.bin")
    assert done.code == "NOT_TEXT"
    assert "6 bytes" in done.text


async def test_a_file_over_the_bound_is_refused_with_a_way_on(tmp_path):
    from tool_bench import Bench

    bench = await Bench.open(tmp_path, basis_limit=1000)
    bench.put("big.txt", "x" * 2000)
    done = await bench.call("read", path="big.txt")
    assert done.code == "TOO_LARGE"
    assert "grep" in done.text
    await bench.store.close()


async def test_pipes_sockets_and_folders_are_refused_at_once(bench, monkeypatch):
    """Public reports: I97."""
    os.mkfifo(bench.workspace / "pipe")
    (bench.workspace / "folder").mkdir()
    server = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(bench.workspace)  # the name of a socket is short
    server.bind("sock")
    for name in ("pipe", "folder", "sock"):
        done = await asyncio.wait_for(bench.call("read", path=name), 5)
        assert done.code == "NOT_REGULAR", name
    server.close()


async def test_paths_out_of_the_workspace_are_refused(bench):
    """Public reports: I96."""
    (bench.workspace.parent / "workspace-secret").mkdir()
    for path in ("../workspace-secret/x", "/etc/passwd", "a/../../x"):
        assert (await bench.call("read", path=path)).code == "OUTSIDE_WORKSPACE", path


async def test_a_missing_file_is_named(bench):
    done = await bench.call("read", path="gone.txt")
    assert done.code == "NOT_FOUND"
    assert "gone.txt" in done.text


async def test_a_word_for_a_number_is_refused_and_so_is_an_unknown_name(bench):
    bench.put("a.txt", "a\n")
    for wrong in ({"offset": "1"}, {"offset": True}, {"offset": 1.0}, {"offset": 0}, {"lines": 1}):
        done = await bench.call("read", path="a.txt", **wrong)
        assert done.result.is_error, wrong
    assert (await bench.call("read", path="a\0b")).result.is_error


def test_a_malformed_meta_costs_only_the_title():
    content = [text_block("1→a")]
    for meta in (None, [], "x", {}, {"offset": "1", "lines": 1, "total": 1}, {"offset": True, "lines": 1, "total": 1}):
        assert Read().present_result({"path": "a"}, ToolResult(content, False, (), meta)) is None
    assert Read().present_call({}, ()) == GenericCall("Read", "read", locations=[])
