"""The bounds on work: large middles, texts made to collide, the process of its own."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes import compare as comparing
from redline.changes import engine, numbering, worker
from redline.changes.apply import apply_hunks
from redline.changes.compare import comparison, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

odd_lines = st.lists(
    st.sampled_from([b"", b" ", b"\t", b"  \t", b"x", b"  x", b"\tx", b"}", b"\x0b", b"a\0\xff"]), max_size=60
)


def rows(count: int, first: int = 0) -> list[bytes]:
    return [b"    value_%d = compute(%d)" % (number, number * 7919) for number in range(first, first + count)]


def joined(lines: list[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n"


@pytest.fixture
def own_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[worker.Worker]:
    fresh = worker.Worker()
    monkeypatch.setattr(worker, "_worker", fresh)
    yield fresh
    fresh.end()


def large_pair() -> tuple[bytes, bytes]:
    lines = rows(60_000)
    changed = list(lines)
    changed[5] = b"first"
    changed[-5] = b"last"
    return joined(lines), joined(changed)


def test_a_large_middle_is_compared_in_the_worker_with_the_same_answer(own_worker: worker.Worker) -> None:
    before, after = large_pair()
    found = own_worker.search(memoryview(before), memoryview(after))
    assert found == engine.search(before, after)
    assert len(comparison(before, after).hunks) == 2


def test_without_an_interpreter_to_start_the_answer_is_the_same(
    own_worker: worker.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before, after = large_pair()
    assert worker.search(memoryview(before), memoryview(after)) == engine.search(before, after)


def test_a_worker_that_was_killed_is_replaced(own_worker: worker.Worker) -> None:
    before, after = large_pair()
    first = own_worker.search(memoryview(before), memoryview(after))
    process = own_worker._process
    assert process is not None
    process.kill()
    process.wait()
    assert own_worker.search(memoryview(before), memoryview(after)) == first
    assert own_worker._process is not process


def test_threads_share_the_worker(own_worker: worker.Worker) -> None:
    before, after = large_pair()
    expected = comparison(before, after)
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(comparison(before, after))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 6


def test_other_threads_run_while_a_large_middle_is_compared(own_worker: worker.Worker) -> None:
    """Public reports: J99."""
    pick = random.Random(3)
    before, after = (joined([pick.choice([b"value = 1", b"value = 2"]) for _ in range(150_000)]) for _ in range(2))
    comparison(before[:1_400_000], after[:1_400_000])  # the worker has started
    thread = threading.Thread(target=comparison, args=(before, after))
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.005)
        turns += 1
    thread.join()
    assert turns >= 3


def test_a_forked_child_starts_a_worker_of_its_own(own_worker: worker.Worker) -> None:
    before, after = large_pair()
    expected = own_worker.search(memoryview(before), memoryview(after))
    mine = own_worker._process
    child = os.fork()
    if child == 0:
        own_worker.forget()  # as the module's own worker is told at every fork
        right = own_worker.search(memoryview(before), memoryview(after)) == expected
        other = own_worker._process
        apart = mine is not None and other is not None and other.pid != mine.pid
        own_worker.end()
        os._exit(0 if right and apart else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert own_worker.search(memoryview(before), memoryview(after)) == expected


def test_the_worker_ends_with_its_parent() -> None:
    program = (
        "import time\n"
        "from redline.changes import worker\n"
        "text = b'row\\n' * 300_000\n"
        "worker.search(memoryview(text), memoryview(text + b'end\\n'))\n"
        "print(worker._worker._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert gone_within(pid, seconds=20)


def test_the_worker_takes_no_module_from_the_current_folder(tmp_path: object) -> None:
    program = (
        "import os\n"
        "from redline.changes import worker\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "open('struct.py', 'w').write('raise SystemExit(3)')\n"
        "text = b'row\\n' * 300_000\n"
        "print(worker._worker.search(memoryview(text), memoryview(text + b'end\\n'))[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd="/")
    assert done.stdout.strip() == "1", done.stderr


def test_the_worker_loads_nothing_heavy() -> None:
    program = "import sys, redline.changes.worker; print(*sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout
    assert not {"pydantic", "rich", "asyncio", "pydantic_ai", "pygit2"} & set(modules.split())


def test_sides_with_too_little_in_common_become_one_honest_block() -> None:
    """Public reports: J99."""
    head, tail = [b"same %d" % number for number in range(10)], [b"end %d" % number for number in range(10)]
    before = joined([*head, *rows(100_001), *tail])
    after = joined([*head, *rows(100_001, 500_000), *tail])
    change = describe("/w/a", before, after)
    assert not change.exact
    (hunk,) = change.hunks
    assert hunk.lines[:3] == (" same 7", " same 8", " same 9")
    assert hunk.lines[-3:] == (" end 0", " end 1", " end 2")
    assert (change.added, change.removed) == (100_001, 100_001)
    assert apply_hunks(before, change.hunks, final_newline=True) == after


def test_a_large_rewrite_below_the_limit_is_exact() -> None:
    change = describe("/w/a", joined(rows(20_000)), joined(rows(20_000, 500_000)))
    assert (change.exact, change.added, change.removed) == (True, 20_000, 20_000)


def test_many_lines_alike_stay_exact_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "UNMATCHED_LIMIT", 100)
    lines = rows(3000)
    changed = list(lines)
    for at in range(0, 3000, 60):
        changed[at] = b"changed %d" % at
    assert comparison(joined(lines), joined(changed)).exact
    random.Random(1).shuffle(changed)
    assert comparison(joined(lines), joined(changed)).exact, "shuffled lines all have their equals"


def test_the_order_of_counting_and_searching_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "UNMATCHED_LIMIT", 50)
    lines = rows(2000)
    for changed_lines in (10, 49, 50, 51, 52, 400):
        changed = [b"new %d" % at if at < changed_lines else line for at, line in enumerate(lines)]
        before, after = joined(lines), joined(changed)
        answers = set()
        for alike in (True, False):
            monkeypatch.setattr(engine, "_look_alike", lambda *_, alike=alike: alike)
            answers.add(engine.search(before, after))
        assert len(answers) == 1
        assert (answers == {None}) == (changed_lines > 50)


@pytest.mark.parametrize(("name", "limit"), [("BYTES_LIMIT", 100), ("LINES_LIMIT", 20)])
def test_what_the_library_cannot_hold_becomes_a_block(monkeypatch: pytest.MonkeyPatch, name: str, limit: int) -> None:
    monkeypatch.setattr(engine, name, limit)
    before, after = joined(rows(2000)), joined(rows(2000, 500_000))
    result = comparison(before, after)
    assert not result.exact
    assert apply_hunks(before, result.hunks, final_newline=True) == after


@settings(max_examples=150, deadline=None)
@given(old=odd_lines, new=odd_lines, ends=st.tuples(st.booleans(), st.booleans()))
def test_a_block_applies_like_any_other_answer(old: list[bytes], new: list[bytes], ends: tuple[bool, bool]) -> None:
    before, after = (b"\n".join(side) + b"\n" * end for side, end in zip((old, new), ends, strict=True))
    if before == after or not before or not after:
        return
    head = comparing.trim.common_head(before, after)
    tail = comparing.trim.common_tail(before, after, head)
    start = before.rfind(b"\n", 0, head) + 1
    end = comparing.trim.tail_start(before, after, start, tail)
    block = comparing._block(before, after, start, end, exact=False)
    finished = not after or after.endswith(b"\n")
    assert apply_hunks(before, block.hunks, final_newline=finished) == after


@settings(max_examples=150, deadline=None)
@given(old=odd_lines, new=odd_lines, ends=st.tuples(st.booleans(), st.booleans()))
def test_numbering_the_lines_first_gives_the_same_hunks(
    old: list[bytes], new: list[bytes], ends: tuple[bool, bool]
) -> None:
    before, after = (b"\n".join(side) + b"\n" * end for side, end in zip((old, new), ends, strict=True))
    numbered = numbering.numbered_patch(before, after, engine.patch_text)
    plain = engine.patch_text(before, after)
    assert engine.hunks_of(numbered, 0, finished=False) == engine.hunks_of(plain, 0, finished=False)


def test_lines_made_to_collide_are_recognised_and_ordinary_ones_are_not() -> None:
    bad = colliding_lines(12)
    before, after = b"".join(bad), b"".join(reversed(bad))
    assert numbering.would_collide(before, after)
    good = joined(rows(20_000))
    assert not any(numbering.would_collide(good, good) for _ in range(20))
    two = b"value = 1\nvalue = 2\n" * 10_000
    assert not any(numbering.would_collide(two, two) for _ in range(20))


def test_lines_made_to_collide_are_compared_all_the_same() -> None:
    bad = colliding_lines(12)
    before, after = b"".join(bad), b"x\n" + b"".join(bad[::-1]) + b"y\n"
    result = comparison(before, after)
    assert apply_hunks(before, result.hunks, final_newline=True) == after


def test_alternating_lines_are_counted_right() -> None:
    """Public reports: J99."""
    before = b"one\ntwo\n" * 1500
    after = before.replace(b"one\n", b"three\n", 1)
    assert (comparison(before, after).added, comparison(before, after).removed) == (1, 1)
    header = b"id,name\n" + b"1,x\n" * 300
    result = comparison(header, header.replace(b"1,x", b"2,y", 1))
    assert (result.added, result.removed) == (1, 1)


def colliding_lines(bits: int) -> list[bytes]:
    """`2 ** bits` different lines with one value of libgit2's line hash: at each place two pieces that lead from the
    same value to the same value."""
    letters = bytes(range(97, 123)) + bytes(range(65, 91)) + b"0123456789 _"
    value, pieces = 5381, []
    for _ in range(bits):
        seen: dict[int, tuple[int, ...]] = {}
        for piece in itertools.product(letters, repeat=3):
            reached = value
            for byte in piece:
                reached = (reached * 33 & (1 << 64) - 1) ^ byte
            if reached in seen:
                pieces.append((bytes(seen[reached]), bytes(piece)))
                value = reached
                break
            seen[reached] = piece
    return [b"".join(pieces[at][number >> at & 1] for at in range(bits)) + b"\n" for number in range(1 << bits)]


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        shown = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
        if not shown.strip() or shown.strip().startswith("Z"):  # a zombie: nobody here reaps orphans
            return True
        time.sleep(0.05)
    return False
