"""What can still be typed when the disk of the data folder has not a byte left."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from cli.command_line import EDIT, CommandLine, call, wait_for
from small_disk import fill, small_disk


@pytest.fixture
def full(redline: CommandLine) -> Iterator[CommandLine]:
    """An edit, then a turn that was killed while its command ran; and then the disk is full."""
    redline.data.mkdir()
    with small_disk(redline.data, 32 * 2**20):
        done = redline("run", "shout", "--model", redline.script(EDIT), "--approval", "all")
        assert done.returncode == 0, done.stderr
        lasting = redline.script([{"call": [call("bash", command="touch began; sleep 300")]}])
        process = redline.start("run", "wait", "--model", lasting, "--approval", "all")
        wait_for(redline.workspace / "began")
        process.kill()
        process.communicate()
        fill(redline.data / "filling")
        yield redline


def test_sessions_are_listed_and_drawn_and_one_that_is_deleted_makes_room(full: CommandLine) -> None:
    def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
        fill(full.data / "filling")  # a command that ends gives back what its write-ahead log took
        done = full(*arguments)
        assert done.returncode == 0, done.stderr
        return done

    listed = json.loads(typed("sessions", "--json").stdout)
    cut_off, edited = (one["session"] for one in listed)
    drawn = typed("show", cut_off)
    assert "sleep 300" in drawn.stdout
    assert "was cut off" in drawn.stderr
    assert "NO_SPACE" in drawn.stderr
    assert "was cut off" in typed("diff", cut_off).stderr
    assert "+TWO" in typed("diff", edited).stdout
    typed("delete", edited, "--yes")
    assert shutil.disk_usage(full.data).free > 0
    assert [one["session"] for one in json.loads(typed("sessions", "--json").stdout)] == [cut_off]
