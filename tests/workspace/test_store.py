from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.compare import blob_id
from redline.sessions.store import StoreError
from redline.workspace import disk, loose
from redline.workspace.store import BytesError, ByteStore

WRITER = Path(__file__).with_name("bytes_writer.py")


@pytest.fixture
def store(tmp_path: Path) -> ByteStore:
    return ByteStore(tmp_path / "data" / "bytes")


def _git(repository: Path, *arguments: str) -> bytes:
    ran = subprocess.run(["git", "--git-dir", str(repository), *arguments], capture_output=True, check=True)
    return ran.stdout


def _object(store: ByteStore, session: str, blob: str | None) -> Path:
    assert blob is not None
    return store.root / session / "objects" / blob[:2] / blob[2:]


def test_what_is_put_comes_back_under_gits_own_id(store: ByteStore) -> None:
    texts = [b"", b"a\n", b"a\r\nb\r\n", b"\xff\xfe\0", b"x" * 100_000]
    blobs = store.put("s", *texts)
    assert blobs == [str(pygit2.hash(text)) for text in texts]
    assert [store.get("s", blob) for blob in blobs if blob] == texts


def test_git_reads_the_store_and_finds_nothing_wrong(store: ByteStore) -> None:
    [before, after] = store.put("s", b"before\r\n", b"after\n")
    assert _git(store.root / "s", "cat-file", "blob", str(before)) == b"before\r\n"
    assert pygit2.Repository(str(store.root / "s")).get(str(after)).data == b"after\n"
    _git(store.root / "s", "fsck", "--strict")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=2_000), max_size=5))
def test_any_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, texts: list[bytes]) -> None:
    store = ByteStore(tmp_path_factory.mktemp("bytes"))
    blobs = store.put("s", *texts)
    assert [ByteStore(store.root).get("s", str(blob)) for blob in blobs] == texts


def test_the_same_bytes_are_written_once(store: ByteStore) -> None:
    flushes: list[str] = []
    counting = ByteStore(store.root, on_flush=lambda name, seconds: flushes.append(name))
    [first] = counting.put("s", b"text")
    assert set(flushes) == {"bytes"}
    written = len(flushes)
    assert counting.put("s", b"text", b"text") == [first, first]
    assert len(flushes) == written


def test_sessions_do_not_share_bytes(store: ByteStore) -> None:
    [blob] = store.put("one", b"text")
    assert store.get("two", str(blob)) is None


def test_only_the_user_can_read_it(store: ByteStore) -> None:
    was = os.umask(0)
    try:
        [blob] = store.put("s", b"secret")
    finally:
        os.umask(was)
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.root / "s").stat().st_mode) == 0o700
    assert stat.S_IMODE(_object(store, "s", blob).stat().st_mode) & 0o077 == 0


def test_a_file_over_the_bound_is_not_kept_and_the_rest_is(store: ByteStore) -> None:
    small = ByteStore(store.root, file_limit=10)
    kept, refused = small.put("s", b"0123456789", b"0123456789a")
    assert refused is None
    assert small.get("s", str(kept)) == b"0123456789"


def test_a_full_store_keeps_what_it_has_and_refuses_the_new(store: ByteStore) -> None:
    small = ByteStore(store.root, cap=100_000)
    [old] = small.put("closed", b"a" * 60_000)
    assert small.put("new", b"b" * 60_000, b"c") == [None, blob_id(b"c")]
    assert small.put("new", b"b" * 60_000) == [None]
    assert small.get("closed", str(old)) == b"a" * 60_000
    assert small.put("closed", b"a" * 60_000) == [old]
    assert small.delete("closed")
    assert small.put("new", b"b" * 60_000) == [blob_id(b"b" * 60_000)]


def test_the_cap_counts_what_other_processes_kept(store: ByteStore) -> None:
    mine, other = ByteStore(store.root, cap=100_000), ByteStore(store.root, cap=100_000)
    mine.put("mine", b"a" * 30_000)
    other.put("other", b"b" * 60_000)
    assert mine.put("mine", b"c" * 90_000) == [None]


def test_the_cap_counts_what_was_kept_many_at_once(store: ByteStore) -> None:
    full = ByteStore(store.root, cap=1_000_000)
    for _ in range(2):
        full.put("s", *(os.urandom(7_500) for _ in range(64)))
    refused = full.put("s", *(os.urandom(7_500) for _ in range(64)))
    assert refused.count(None) >= 60
    assert full.size() <= 1_000_000


def test_its_size_is_what_lies_on_the_disk(store: ByteStore) -> None:
    assert store.size() == 0
    store.put("s", b"x" * 50_000)
    assert 50_000 < store.size() < 51_000
    store.delete("s")
    assert store.size() == 0


@pytest.mark.parametrize("damage", [b"", b"not an object", b"\x78\x01\x01", None])
def test_a_damaged_object_gives_nothing_and_is_mended_by_the_next_put(store: ByteStore, damage: bytes | None) -> None:
    [blob] = store.put("s", b"true bytes")
    path = _object(store, "s", blob)
    whole = path.read_bytes()
    if damage is None:  # another object's bytes under this name
        [other] = store.put("s", b"other bytes")
        damage = _object(store, "s", other).read_bytes()
    path.chmod(0o600)
    path.write_bytes(damage)
    fresh = ByteStore(store.root)
    assert fresh.get("s", str(blob)) is None
    assert fresh.put("s", b"true bytes") == [blob]
    assert fresh.get("s", str(blob)) == b"true bytes"
    path.chmod(0o600)
    path.write_bytes(whole[:-3])
    assert fresh.get("s", str(blob)) is None
    assert fresh.put("s", b"true bytes") == [blob]
    assert fresh.get("s", str(blob)) == b"true bytes"


@pytest.mark.parametrize("blob", ["", "../../etc/passwd", "a" * 39, "A" * 40, "g" * 40, "aa/" + "a" * 37, "é" * 40])
def test_what_is_no_blob_id_gives_nothing(store: ByteStore, blob: str) -> None:
    store.put("s", b"x")
    assert store.get("s", blob) is None


@pytest.mark.parametrize("session", ["", ".", "..", "../x", "a/b", "/a", ".deleted-x", "a\0b", "a" * 129, "é"])
def test_what_is_no_session_name_is_refused(store: ByteStore, session: str) -> None:
    for attempt in (
        lambda: store.put(session, b"x"),
        lambda: store.get(session, blob_id(b"x")),
        lambda: store.delete(session),
    ):
        with pytest.raises(BytesError) as caught:
            attempt()
        assert caught.value.code == "BAD_SESSION"
    assert not store.root.exists() or list(store.root.iterdir()) == []


def test_a_session_is_deleted_whole_and_alone(store: ByteStore) -> None:
    [gone] = store.put("gone", b"x")
    [kept] = store.put("kept", b"x")
    assert store.delete("gone")
    assert not store.delete("gone")
    assert store.get("gone", str(gone)) is None
    assert store.get("kept", str(kept)) == b"x"
    assert sorted(path.name for path in store.root.iterdir()) == ["kept"]
    assert store.put("gone", b"x") == [gone]
    assert store.get("gone", str(gone)) == b"x"


def test_what_a_crash_left_of_a_deletion_goes_with_the_next(store: ByteStore) -> None:
    store.put("a", b"x")
    store.put("b", b"x")
    (store.root / "a").rename(store.root / ".deleted-a-1-2")
    assert store.delete("b")
    assert list(store.root.iterdir()) == []


def test_a_session_whose_making_was_cut_off_is_finished(store: ByteStore) -> None:
    (store.root / "s").mkdir(parents=True, mode=0o700)
    [blob] = store.put("s", b"x")
    assert _git(store.root / "s", "cat-file", "blob", str(blob)) == b"x"


def test_no_git_configuration_reaches_the_bytes(
    tmp_path: Path, store: ByteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text('[core]\n\tautocrlf = true\n\tcompression = 9\n[filter "x"]\n\tclean = false\n[broken\n')
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "elsewhere"))
    [blob] = store.put("s", b"a\r\nb\n")
    assert store.get("s", str(blob)) == b"a\r\nb\n"
    assert not (tmp_path / "elsewhere").exists()


def test_files_and_folders_are_flushed_before_it_returns(store: ByteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []

    def flush(descriptor: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink() if sys.platform == "linux" else Path())
        os.fsync(descriptor)

    monkeypatch.setattr(disk, "flush", flush)
    blobs = store.put("s", b"before", b"after")
    if sys.platform == "linux":
        folders = {_object(store, "s", blob).parent for blob in blobs}
        assert sum(path.parent in folders for path in flushed) >= len(blobs)
        assert {*folders, store.root / "s" / "objects", store.root / "s", store.root} <= set(flushed)


def test_a_full_disk_is_told_and_leaves_what_was_there(store: ByteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is real but for its last write, which fails as on a full one, half done."""
    [old] = store.put("s", b"old")

    new = os.urandom(100_000)

    def write(descriptor: int, data: memoryview) -> int:
        if len(data) < len(new):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:500])

    real = os.write
    monkeypatch.setattr(disk.os, "write", write)
    with pytest.raises(BytesError) as caught:
        store.put("s", new)
    assert caught.value.code == "NO_SPACE"
    assert "redline delete" in caught.value.remedy
    monkeypatch.undo()
    assert store.get("s", str(old)) == b"old"
    assert store.get("s", blob_id(new)) is None
    assert list(store.root.rglob(".new-*")) == []
    assert store.put("s", new) == [blob_id(new)]


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EROFS, "PERMISSION"), (errno.EACCES, "PERMISSION"), (errno.EDQUOT, "NO_SPACE"), (errno.EIO, "IO")],
)
def test_a_folder_that_cannot_be_written_is_told(
    store: ByteStore, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    """Who runs as root may write anywhere, so the refusal comes from a stand-in for `open`."""
    [old] = store.put("s", b"old")

    def refuse(path: object, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, mode)  # type: ignore[arg-type]

    real = os.open
    monkeypatch.setattr(disk.os, "open", refuse)
    with pytest.raises(BytesError) as caught:
        store.put("s", b"new")
    assert caught.value.code == code
    assert str(store.root) in str(caught.value)
    assert caught.value.remedy
    assert store.get("s", str(old)) == b"old"


def test_a_file_in_the_place_of_the_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"a file")
    store = ByteStore(tmp_path / "bytes")
    with pytest.raises(BytesError) as caught:
        store.put("s", b"x")
    assert caught.value.code == "IO"
    assert store.get("s", blob_id(b"x")) is None
    assert (tmp_path / "bytes").read_bytes() == b"a file"


def test_compressing_a_closed_session_keeps_every_byte(store: ByteStore) -> None:
    texts = [b"line %d of a text\n" % number * 2_000 for number in range(3)] + [os.urandom(1_000)]
    blobs = store.put("s", *texts)
    before = store.size()
    saved = store.compact("s")
    assert saved > 50_000
    assert store.size() == before - saved
    assert [store.get("s", str(blob)) for blob in blobs] == texts
    _git(store.root / "s", "fsck", "--strict")
    assert store.compact("s") == 0


async def test_a_log_puts_large_things_through_its_own_side_of_the_store(store: ByteStore) -> None:
    sink = store.sink("s")
    blob = await sink.put(b"large")
    assert blob is not None
    assert store.get("s", blob) == b"large"
    assert await ByteStore(store.root, file_limit=3).sink("s").put(b"large") is None
    with pytest.raises(StoreError) as refused:  # what a log can tell from a fault of its own
        await store.sink("no/session").put(b"large")
    assert refused.value.code == "BAD_SESSION"


def test_threads_keep_everything_that_they_are_promised(store: ByteStore) -> None:
    promised: list[tuple[str, bytes]] = []
    faults: list[BaseException] = []

    def keep(number: int) -> None:
        try:
            for turn in range(12):
                data = [b"shared %d" % turn, b"thread %d, %d" % (number, turn)]
                promised.extend(zip(map(str, store.put(f"s{number % 2}", *data)), data, strict=True))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    for blob, data in promised:
        assert data in (store.get("s0", blob), store.get("s1", blob))


def test_several_processes_killed_at_any_moment_lose_nothing_that_was_promised(store: ByteStore) -> None:
    told = []
    for turn in range(8):
        writers = [
            subprocess.Popen(
                [sys.executable, str(WRITER), str(store.root), "s", str(turn * 2 + number)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(2)
        ]
        assert writers[0].stdout is not None
        writers[0].stdout.readline()
        time.sleep(0.03 * turn)
        for writer in writers:
            writer.kill()
        for writer in writers:
            said, _ = writer.communicate()
            told += said.rpartition("\n")[0].split()
    fresh = ByteStore(store.root)
    assert len(told) > 8
    for blob in told:
        data = fresh.get("s", blob)
        assert data is not None
        assert blob_id(data) == blob


@pytest.mark.parametrize("size", [0, 1, 65_525, 65_526, 65_527, 65_535, 65_536, 131_061, 131_062, 200_000])
def test_an_object_that_is_stored_plain_reads_as_one_that_is_compressed(size: int) -> None:
    data = os.urandom(size)
    assert zlib.decompress(loose.stored(data)) == zlib.decompress(loose.compressed(data)) == loose.header(data) + data
    assert loose.unpacked(loose.stored(data)) == data
    assert loose.unpacked(loose.stored(data)[:-1]) is None
