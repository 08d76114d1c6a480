"""A small disk that tests may fill: a tmpfs of its own, which only the superuser may mount."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A disk of `size` bytes on an empty folder; skips the test where it may not be mounted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    may = os.geteuid() == 0 and shutil.which("mount") is not None
    if not may or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only the superuser may mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(file: Path) -> None:
    """Let the file grow until its disk has not a byte left."""
    with file.open("ab", buffering=0) as filling:
        for size in (2**16, 1):
            try:
                while True:
                    filling.write(b"x" * size)
            except OSError:
                pass
    assert shutil.disk_usage(file.parent).free == 0
