"""`delete` and `move`."""

from __future__ import annotations

from redline.views import DiffResult


async def test_a_delete_shows_every_line_that_went(bench):
    bench.put("a.txt", "a\nb\n")
    done = await bench.read_first("a.txt", "delete")
    assert not (bench.workspace / "a.txt").exists()
    assert done.change.operation == "delete"
    assert done.change.hunks[0].lines == ("-a", "-b")
    assert done.view == DiffResult("Delete a.txt", [done.change], None)
    assert done.logged["kind"] == "delete"


async def test_folders_and_missing_files_are_refused(bench):
    (bench.workspace / "folder").mkdir()
    assert (await bench.call("delete", path="folder")).code == "NOT_REGULAR"
    assert (await bench.call("delete", path="gone")).code == "NOT_FOUND"


async def test_an_unread_file_is_not_deleted(bench):
    bench.put("a.txt", "a\n")
    assert (await bench.call("delete", path="a.txt")).code == "NOT_OBSERVED"
    assert (bench.workspace / "a.txt").exists()


async def test_a_move_names_both_paths(bench):
    bench.put("a.txt", "a\n")
    done = await bench.read_first("a.txt", "move", to="deep/b.txt")
    assert bench.bytes_of("deep/b.txt") == b"a\n"
    assert done.change.operation == "move"
    assert done.change.old_path.endswith("/a.txt")
    assert done.call_view.title == "Move a.txt → deep/b.txt"
    assert done.view.title == "Move a.txt → deep/b.txt"


async def test_a_moved_file_stays_known_under_its_new_path(bench):
    bench.put("a.txt", "a\n")
    await bench.read_first("a.txt", "move", to="b.txt")
    assert (await bench.call("edit", path="b.txt", old_string="a", new_string="b")).code is None


async def test_moving_a_file_onto_itself_keeps_it(bench):
    bench.put("a.txt", "a\n")
    (bench.workspace / "same").symlink_to(".")
    for to in ("a.txt", "./a.txt", "same/a.txt"):
        done = await bench.read_first("a.txt", "move", to=to)
        assert done.code == "NO_CHANGE", to
        assert bench.bytes_of("a.txt") == b"a\n"


async def test_a_move_onto_another_file_is_refused(bench):
    bench.put("a.txt", "a\n")
    bench.put("b.txt", "b\n")
    done = await bench.read_first("a.txt", "move", to="b.txt")
    assert done.code == "EXISTS"
    assert bench.bytes_of("b.txt") == b"b\n"


async def test_a_move_out_of_the_workspace_is_refused(bench):
    bench.put("a.txt", "a\n")
    assert (await bench.read_first("a.txt", "move", to="../b.txt")).code == "OUTSIDE_WORKSPACE"
    assert bench.bytes_of("a.txt") == b"a\n"
