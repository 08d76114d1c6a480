from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from redline.sessions.lease import Lease, is_running
from redline.sessions.store import StoreError

HOLD = """
import sys
from pathlib import Path
from redline.sessions.lease import Lease
lease = Lease.take(Path(sys.argv[1]), sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    with Lease.take(tmp_path, "s"):
        assert is_running(tmp_path, "s")
        assert not is_running(tmp_path, "t")
        with pytest.raises(StoreError) as refused:
            Lease.take(tmp_path, "s")
        assert refused.value.code == "BUSY"
        assert f"process {os.getpid()}" in refused.value.message
        Lease.take(tmp_path, "t").release()
    assert not is_running(tmp_path, "s")
    Lease.take(tmp_path, "s").release()


def test_releasing_twice_takes_nothing_from_the_next_holder(tmp_path: Path) -> None:
    first = Lease.take(tmp_path, "s")
    first.release()
    second = Lease.take(tmp_path, "s")
    first.release()
    assert is_running(tmp_path, "s")
    second.release()


def test_nothing_stays_behind_and_the_file_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "leases"
    lease = Lease.take(folder, "s")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "s.lock").stat().st_mode) == 0o600
    lease.release()
    assert list(folder.iterdir()) == []


def test_on_a_full_disk_a_lease_is_taken_without_the_number_of_its_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("redline.sessions.lease.os.write", full)
        lease = Lease.take(tmp_path, "s")
    with pytest.raises(StoreError, match="in use by another process"):
        Lease.take(tmp_path, "s")
    lease.release()
    assert list(tmp_path.iterdir()) == []


def test_the_death_of_the_holder_gives_it_back(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), "s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == b"held\n"
    assert is_running(tmp_path, "s")
    with pytest.raises(StoreError, match=f"process {holder.pid}"):
        Lease.take(tmp_path, "s")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    assert not is_running(tmp_path, "s")
    Lease.take(tmp_path, "s").release()


def test_a_file_deleted_under_a_holder_does_not_make_two(tmp_path: Path) -> None:
    first = Lease.take(tmp_path, "s")
    (tmp_path / "s.lock").unlink()
    second = Lease.take(tmp_path, "s")
    first.release()
    assert is_running(tmp_path, "s")
    with pytest.raises(StoreError):
        Lease.take(tmp_path, "s")
    second.release()


def test_many_that_take_and_release_never_hold_it_together(tmp_path: Path) -> None:
    holders: list[int] = []
    together: list[int] = []
    taken = 0

    def work(number: int) -> None:
        nonlocal taken
        for _ in range(60):
            is_running(tmp_path, "s")
            try:
                lease = Lease.take(tmp_path, "s")
            except StoreError:
                continue
            holders.append(number)
            taken += 1
            if len(holders) > 1:
                together.append(number)
            holders.remove(number)
            lease.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == []
    assert taken > 0


def test_asking_whether_it_runs_makes_no_file(tmp_path: Path) -> None:
    assert not is_running(tmp_path / "none", "s")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "a\x00b"])
def test_a_name_that_is_a_path_is_refused(tmp_path: Path, name: str) -> None:
    for use in (Lease.take, is_running):
        with pytest.raises(StoreError) as refused:
            use(tmp_path, name)
        assert refused.value.code == "NO_SESSION"


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("precious")
    (tmp_path / "s.lock").symlink_to(tmp_path / "other")
    with pytest.raises(StoreError):
        Lease.take(tmp_path, "s")
    assert (tmp_path / "other").read_text() == "precious"
