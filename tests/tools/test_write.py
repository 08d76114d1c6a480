"""`write`: a create shows the whole file, an overwrite what changed, and nothing ever pretends to be new."""

from __future__ import annotations

import pytest

from redline.changes.record import FileChange
from redline.tools.tool import ToolResult, text_block
from redline.tools.write import Write
from redline.views import DiffCall, DiffResult, GenericCall
from tool_bench import Bench


async def test_a_create_completes_with_the_whole_file(bench):
    done = await bench.call("write", path="src/new.py", content="a\nb\n")
    assert done.text == "Created src/new.py (2 lines)."
    assert done.change.operation == "add"
    assert [hunk.lines for hunk in done.change.hunks] == [("+a", "+b")]
    assert isinstance(done.call_view, DiffCall)
    assert done.call_view.title == "Write src/new.py"
    assert done.view == DiffResult("Write src/new.py", [done.change], None)


async def test_an_overwrite_completes_with_hunks_against_what_was_there(bench):
    bench.put("a.txt", "a\nb\nc\n")
    done = await bench.read_first("a.txt", "write", content="a\nB\nc\n")
    assert done.change.operation == "modify"
    assert done.change.hunks[0].lines == (" a", "-b", "+B", " c")
    assert (done.change.removed, done.change.added) == (1, 1)


async def test_an_existing_empty_file_is_modified_not_created(bench):
    bench.put("a.txt", "")
    done = await bench.read_first("a.txt", "write", content="x\n")
    assert done.change.operation == "modify"
    assert done.text.startswith("Replaced")


async def test_an_identical_overwrite_says_unchanged(bench):
    path = bench.put("a.txt", "a\n")
    stamp = path.stat().st_mtime_ns
    done = await bench.read_first("a.txt", "write", content="a\n")
    assert done.code is None
    assert done.result.changes == []
    assert done.text == "Unchanged: a.txt already held exactly this text."
    assert done.view == DiffResult("Write a.txt", (), "unchanged")
    assert path.stat().st_mtime_ns == stamp


async def test_a_file_that_was_not_read_is_not_overwritten(bench):
    bench.put("a.txt", "a\n")
    done = await bench.call("write", path="a.txt", content="b\n")
    assert done.code == "NOT_OBSERVED"
    assert bench.bytes_of("a.txt") == b"a\n"
    assert done.view is None
    assert done.result.changes == ()


async def test_a_binary_file_has_no_text_basis_and_says_so(bench):
    bench.put("a.bin", b"\0\1\2")
    bench.runner.knowledge.see(str(bench.workspace / "a.bin"), _blob(b"\0\1\2"))
    done = await bench.call("write", path="a.bin", content="text\n")
    assert done.change.operation == "modify"
    assert done.change.hunks == ()
    assert done.view is not None
    assert done.view.note == "no text basis (binary): 3 B became 5 B"


async def test_a_file_over_the_bound_is_replaced_and_says_why_there_is_no_hunk(tmp_path):
    bench = await Bench.open(tmp_path, basis_limit=1000)
    bench.put("big.txt", "x\n" * 1000)
    bench.runner.knowledge.see(str(bench.workspace / "big.txt"), _blob(b"x\n" * 1000))
    done = await bench.call("write", path="big.txt", content="small\n")
    assert bench.bytes_of("big.txt") == b"small\n"
    assert done.change.operation == "modify"
    assert done.change.file_type == "unknown"
    assert "no text basis (too large to compare" in done.view.note
    assert "large cut" in done.view.note
    await bench.store.close()


async def test_a_file_that_is_not_utf8_shows_its_bytes_as_escapes(bench):
    bench.put("latin.txt", b"caf\xe9\n")
    done = await bench.read_first("latin.txt", "write", content="café\n")
    assert done.change.operation == "modify"
    assert (done.change.removed, done.change.added) == (1, 1)
    assert done.view.note == "not UTF-8: odd bytes are shown as escapes"


async def test_emptying_a_file_is_flagged_on_the_proposal_and_the_result_and_asks_a_person(bench):
    """Public reports: G76."""
    bench.put("a.py", "x = 1\n" * 100)
    done = await bench.read_first("a.py", "write", content="")
    assert done.call_view.title == "Write a.py · empties the file −100 +0"
    assert done.view.note == "empties the file −100 +0"
    assert "Large cut" in done.text
    [request] = bench.requests
    assert request.allow_session is False


async def test_a_placeholder_for_real_code_is_flagged_as_a_large_cut(bench):
    """Public reports: G82."""
    bench.put("a.py", "".join(f"line_{n} = {n}\n" for n in range(300)))
    kept = "".join(f"line_{n} = {n}\n" for n in range(19)) + "# … rest unchanged …\n"
    done = await bench.read_first("a.py", "write", content=kept)
    assert (done.change.removed, done.change.added) == (281, 1)
    assert "large cut −281 +1" in done.view.note
    assert "large cut −281 +1" in done.call_view.title
    assert "300 lines before, 20 now" in done.text
    assert "write them back" in done.text


async def test_a_small_rewrite_is_no_large_cut(bench):
    bench.put("a.py", "".join(f"line {n}\n" for n in range(30)))
    done = await bench.read_first("a.py", "write", content="".join(f"line {n}\n" for n in range(25)))
    assert done.view.note is None


async def test_a_rejected_write_changes_nothing_and_keeps_its_proposal(bench):
    bench.answer = "reject"
    done = await bench.call("write", path="new.txt", content="a\n")
    assert done.result.status == "rejected"
    assert not (bench.workspace / "new.txt").exists()
    assert done.proposed[0].added == 1
    assert done.view is None


async def test_a_link_stays_and_the_card_names_both(bench):
    """Public reports: I92."""
    bench.put("real.md", "a\n")
    (bench.workspace / "link.md").symlink_to("real.md")
    done = await bench.read_first("link.md", "write", content="b\n")
    assert (bench.workspace / "link.md").is_symlink()
    assert bench.bytes_of("real.md") == b"b\n"
    link, real = bench.workspace / "link.md", bench.workspace / "real.md"
    assert done.change.path == str(real)
    assert done.view.note == f"through a link: {link} leads to {real}"


async def test_a_masked_secret_is_not_written_back(bench):
    bench.put("key.env", "a\n")
    done = await bench.read_first("key.env", "write", content="KEY=⟦redacted github-token⟧\n")
    assert done.code == "MASKED"
    assert bench.bytes_of("key.env") == b"a\n"


async def test_a_folder_and_a_path_below_a_file_are_refused(bench):
    (bench.workspace / "folder").mkdir()
    bench.put("file", "a\n")
    assert (await bench.call("write", path="folder", content="x")).code == "NOT_REGULAR"
    assert (await bench.call("write", path="file/x", content="x")).result.is_error
    assert bench.bytes_of("file") == b"a\n"


@pytest.mark.parametrize("meta", [None, [], "unchanged", {"unchanged": 1}, {"links": 3}, {"links": {"/a": 5}}, 7])
def test_a_malformed_meta_never_raises_and_claims_nothing(meta):
    change = FileChange("/a", "add", added=1)
    with_changes = Write().present_result({"path": "a"}, ToolResult([text_block("x")], False, [change], meta))
    assert with_changes == DiffResult("Write a", [change], None)
    assert Write().present_result({"path": "a"}, ToolResult([text_block("x")], False, (), meta)) is None


@pytest.mark.parametrize("arguments", [{}, {"path": 5}, {"path": None}, {"content": "x"}])
def test_malformed_arguments_cost_only_the_title(arguments):
    assert Write().present_call(arguments, ()) == GenericCall("Write", "edit", raw_input=arguments, locations=[])


def _blob(data: bytes) -> str:
    from redline.changes.compare import blob_id

    return blob_id(data)


@pytest.mark.parametrize("half", [0xD800, 0xDCFF])
async def test_half_a_character_is_named_as_the_matter_whether_the_file_is_there_or_not(bench, half):
    text = f"a{chr(half)}b"
    done = await bench.call("write", path="sub/new.txt", content=text)
    assert done.logged["error"]["code"] == "NOT_TEXT"
    assert not (bench.workspace / "sub").exists()
    path = bench.put("old.txt", "old\n")
    done = await bench.read_first("old.txt", "write", content=text)
    assert (done.logged["error"]["code"], path.read_text()) == ("NOT_TEXT", "old\n")
