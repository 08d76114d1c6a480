"""Net changes: first state to last, with bytes and in numbers alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from eventmaker import Log, as_json, change
from redline.changes.apply import apply_hunks
from redline.changes.compare import blob_id
from redline.changes.patch import git_patch
from redline.transcript.net import landed, net_changes, net_items
from redline.transcript.totals import net_totals

if TYPE_CHECKING:
    from redline.changes.record import FileChange


@dataclass
class Disk:
    """Files, their history as changes, and every bytes they ever held."""

    files: dict[str, bytes] = field(default_factory=dict)
    changes: list[FileChange] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def put(self, path: str, data: bytes | None) -> None:
        before = self.files.get(path)
        if before == data:
            return
        self._keep(before, data)
        self.changes.append(change(path, before, data))
        if data is None:
            del self.files[path]
        else:
            self.files[path] = data

    def move(self, path: str, to: str) -> None:
        data = self.files.pop(path)
        self._keep(data)
        self.changes.append(change(to, data, data, old_path=path))
        self.files[to] = data

    def _keep(self, *data: bytes | None) -> None:
        self.blobs.update({blob_id(item): item for item in data if item is not None})

    def net(self) -> list[tuple[str, str, str | None]]:
        found = net_changes(self.changes, self.blobs.get)
        return [(item.operation, item.path[3:], item.old_path and item.old_path[3:]) for item in found]

    def totals(self) -> list[tuple[str, int, int, bool]]:
        return [(total.path[3:], total.removed, total.added, total.exact) for total in net_totals(self.changes)]


class TestNetChanges:
    def test_what_was_changed_back_is_left_out(self) -> None:
        disk = Disk({"a": b"1\n"})
        disk.put("a", b"2\n")
        disk.put("a", b"1\n")
        assert disk.net() == []
        assert disk.totals() == []

    def test_created_and_deleted_vanishes(self) -> None:
        disk = Disk()
        disk.put("a", b"1\n")
        disk.put("a", None)
        assert disk.net() == []
        assert disk.totals() == []

    def test_deleted_and_created_again_is_one_modification_against_the_first(self) -> None:
        disk = Disk({"notes.md": b"line\n" * 100})
        disk.put("notes.md", None)
        disk.put("notes.md", b"new\n" * 30)
        (only,) = net_changes(disk.changes, disk.blobs.get)
        assert (only.operation, only.removed, only.added) == ("modify", 100, 30)
        assert disk.totals() == [("notes.md", 100, 30, True)]

    def test_a_detour_through_other_names_is_one_move(self) -> None:
        disk = Disk({"a": b"1\n2\n3\n"})
        disk.move("a", "b")
        disk.put("b", b"1\n2\nthree\n")
        disk.move("b", "c")
        assert disk.net() == [("move", "c", "a")]
        assert disk.totals() == [("c", 1, 1, True)]

    def test_a_move_back_is_none(self) -> None:
        disk = Disk({"a": b"1\n"})
        disk.move("a", "b")
        disk.move("b", "a")
        assert disk.net() == []
        assert disk.totals() == []

    def test_a_file_made_and_then_moved_was_made_there(self) -> None:
        disk = Disk()
        disk.put("a", b"1\n")
        disk.move("a", "b")
        assert disk.net() == [("add", "b", None)]

    def test_a_new_file_where_one_was_moved_away_is_a_change_of_that_path(self) -> None:
        disk = Disk({"a": b"old\n"})
        disk.move("a", "b")
        disk.put("a", b"new\n")
        assert disk.net() == [("modify", "a", None), ("add", "b", None)]

    def test_a_move_onto_a_deleted_file_is_a_change_of_that_path(self) -> None:
        disk = Disk({"a": b"1\n", "b": b"2\n"})
        disk.put("b", None)
        disk.move("a", "b")
        assert disk.net() == [("delete", "a", None), ("modify", "b", None)]

    def test_where_bytes_are_missing_it_says_so(self) -> None:
        (item,) = net_items([change("a", b"1\n", b"2\n")], lambda blob: None)
        assert (item.change.file_type, item.change.hunks, item.change.exact) == ("unknown", (), False)

    def test_two_edits_that_overlap_count_what_is_there_in_the_end(self) -> None:
        disk = Disk({"a": b"a\n"})
        disk.put("a", b"a\nb\n")
        disk.put("a", b"a\nc\n")
        (only,) = net_changes(disk.changes, disk.blobs.get)
        assert (only.removed, only.added) == (0, 1)
        assert disk.totals() == [("a", 0, 1, True)]

    def test_it_is_a_patch(self) -> None:
        disk = Disk({"a": b"1\n", "gone": b"x\n"})
        disk.put("a", b"2\n")
        disk.put("new", b"n")
        disk.put("gone", None)
        patch = git_patch(net_items(disk.changes, disk.blobs.get), root="/w")
        assert patch.count(b"diff --git") == 3


class TestTotals:
    def test_many_edits_in_one_long_file(self) -> None:
        lines = [b"line %d\n" % number for number in range(5000)]
        disk = Disk({"a": b"".join(lines)})
        for at in (10, 2500, 4990, 2501):
            lines[at] = b"changed\n"
            disk.put("a", b"".join(lines))
        lines.insert(0, b"new\n")
        disk.put("a", b"".join(lines))
        assert disk.totals() == [("a", 4, 5, True)]

    def test_a_final_newline_alone(self) -> None:
        disk = Disk({"a": b"1\n2\n"})
        disk.put("a", b"0\n2\n")
        disk.put("a", b"1\n2")
        assert disk.totals() == [("a", 1, 1, True)]

    def test_a_gap_in_the_history_is_a_bound(self) -> None:
        changes = [change("a", b"1\n", b"2\n"), change("a", b"3\n", b"4\n")]
        (total,) = net_totals(changes)
        assert (total.removed, total.added, total.exact) == (2, 2, False)

    def test_masked_lines_are_a_bound(self) -> None:
        disk = Disk({"a": b"1\n"})
        disk.put("a", b"2\n")
        disk.put("a", b"3\n")
        changes = [replace(item, redacted=True) for item in disk.changes]
        assert not net_totals(changes)[0].exact

    def test_binary_files_are_not_counted(self) -> None:
        (total,) = net_totals([change("a", b"\0", b"\0\0")])
        assert not total.counted


def test_landed_changes_come_from_calls_disk_and_undo_by_turn() -> None:
    log = Log()
    one, two, three = (change(name, None, b"x\n") for name in ("a", "b", "c"))
    log.call("c1", proposed=[one])
    log.result("c1", changes=[one])
    log.call("c2", proposed=[two])
    log.result("c2", status="rejected")
    log.add("workspace/changed", changes=as_json([two]))
    log.turn = 2
    log.add("change/reverted", call="u1", of=[], changes=as_json([three]))
    assert [item.path for item in landed(log.events)] == ["/w/a", "/w/b", "/w/c"]
    assert [item.path for item in landed(log.events, turn=2)] == ["/w/c"]


_text = st.lists(st.sampled_from(["a", "b", "c"]), max_size=6).map("\n".join)
_content = st.builds(lambda text, end: (text + end).encode(), _text, st.sampled_from(["", "\n"]))
_steps = st.lists(
    st.tuples(st.sampled_from("xyz"), st.one_of(_content, st.none(), st.sampled_from("xyz"))), min_size=1, max_size=8
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from("xyz"), _content), _steps)
def test_net_changes_lead_from_the_first_state_to_the_last(
    first: dict[str, bytes], steps: list[tuple[str, bytes | str | None]]
) -> None:
    disk = Disk(dict(first))
    for path, step in steps:
        if isinstance(step, str):
            if path in disk.files and step not in disk.files:
                disk.move(path, step)
        elif step is not None or path in disk.files:
            disk.put(path, step)
    items = net_items(disk.changes, disk.blobs.get)

    replayed = dict(first)
    for item in items:
        if item.change.old_path:
            del replayed[item.change.old_path[3:]]
        elif item.change.operation == "delete":
            del replayed[item.change.path[3:]]
    for item in items:
        if item.change.after is not None:
            before = item.before or b""
            end = item.change.after.final_newline
            replayed[item.change.path[3:]] = apply_hunks(before, item.change.hunks, final_newline=end)
    assert replayed == disk.files

    totals = net_totals(disk.changes)
    assert [(total.operation, total.path, total.old_path) for total in totals] == [
        (item.change.operation, item.change.path, item.change.old_path) for item in items
    ]
    for total in totals:
        lines_first = _lines(first.get((total.old_path or total.path)[3:]))
        lines_last = _lines(disk.files.get(total.path[3:]))
        if total.exact:
            assert total.added - total.removed == lines_last - lines_first


def _lines(data: bytes | None) -> int:
    return 0 if not data else data.count(b"\n") + (not data.endswith(b"\n"))


@settings(max_examples=200, deadline=None)
@given(st.lists(_content, min_size=2, max_size=6))
def test_totals_of_edits_are_those_of_comparing_the_ends_or_say_that_they_are_bounds(contents: list[bytes]) -> None:
    disk = Disk({"a": contents[0]})
    for content in contents[1:]:
        disk.put("a", content)
    (ends,) = net_changes(disk.changes, disk.blobs.get) or (None,)
    totals = net_totals(disk.changes)
    if ends is None:
        assert totals == ()
        return
    (total,) = totals
    assert total.exact
    assert (total.added, total.removed) >= (ends.added, ends.removed)
    assert total.added - total.removed == ends.added - ends.removed


def test_an_executable_bit_alone_is_a_change() -> None:
    only = change("x", b"#!\n", b"#!\n", after_executable=True)
    found = net_changes([only], {blob_id(b"#!\n"): b"#!\n"}.get)
    assert [item.facts for item in found] == [("made_executable",)]
    assert [total.facts for total in net_totals([only])] == [("made_executable",)]
    assert net_totals([only, change("x", b"#!\n", b"#!\n", before_executable=True)]) == ()
