"""The bytes of closed sessions are compressed behind everybody's back, and never lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from redline.workspace.compaction import Compaction
from redline.workspace.disk import NEW_PREFIX
from redline.workspace.store import ByteStore

COMPACT = (
    "import sys; from pathlib import Path; from redline.workspace.store import ByteStore; print('on', flush=True);"
)
COMPACT += "ByteStore(Path(sys.argv[1])).compact('s')"


def texts(count: int) -> list[bytes]:
    return [f"line {number} of a text\n".encode() * 3_000 for number in range(count)]


def test_every_session_that_was_closed_is_compressed(tmp_path: Path) -> None:
    store = ByteStore(tmp_path)
    for session in ("a", "b"):
        store.put(session, *texts(3))
    before = store.size()
    compaction = Compaction(store)
    for session in ("a", "b", "never there"):
        compaction.add(session)
    compaction.close(60)
    assert store.size() < before / 10


def test_an_exit_does_not_wait_for_it(tmp_path: Path) -> None:
    class Slow(ByteStore):
        def compact(self, session: str, stop: threading.Event | None = None) -> int:
            begun.set()
            assert stop is not None
            stopped.append(stop.wait(60))
            return 0

    begun = threading.Event()
    stopped: list[bool] = []
    compaction = Compaction(Slow(tmp_path))
    compaction.add("a")
    begun.wait(60)
    compaction.add("b")
    compaction.close(0)
    for thread in threading.enumerate():
        if thread.name == "redline-compaction":
            assert thread.daemon
            thread.join(60)
    assert stopped == [True], "told to stop, and nothing new is begun"


def test_a_kill_in_its_middle_loses_no_byte(tmp_path: Path) -> None:
    kept = texts(60)
    blobs = ByteStore(tmp_path).put("s", *kept)
    for pause in (0.0, 0.003, 0.01, 0.02, 0.03):
        process = subprocess.Popen([sys.executable, "-c", COMPACT, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        store = ByteStore(tmp_path)
        assert [store.get("s", str(blob)) for blob in blobs] == kept
    ByteStore(tmp_path).compact("s")
    assert [ByteStore(tmp_path).get("s", str(blob)) for blob in blobs] == kept


@pytest.mark.parametrize("blobs", [1, 100], ids=["of an object", "of a pack"])
def test_what_a_killed_process_left_half_written_goes(tmp_path: Path, blobs: int) -> None:
    store = ByteStore(tmp_path)
    store.put("s", *(b"%d" % number for number in range(blobs)))
    [folder] = [each for each in (tmp_path / "s" / "objects").iterdir() if each.is_dir()]
    old, fresh = folder / f"{NEW_PREFIX}1-2-3", folder / f"{NEW_PREFIX}4-5-6"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    store.compact("s")
    assert not old.exists()
    assert fresh.exists(), "it may be another process's, at work"
