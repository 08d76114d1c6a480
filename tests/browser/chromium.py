"""The Chromium that the browser tests drive, the benchmarks measure in and the pictures are taken with.

    python tests/browser/chromium.py     finds one, or installs one, and prints its path

`make test` runs this first. It takes the system's; on Debian and Ubuntu it installs the distribution's package where
it may (as root, or with a sudo that asks for no password), elsewhere it tries Playwright's own download. It never
fails the run by itself: where neither works, the browser tests fail and name the command to type.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MACOS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Its own sandbox does not start as root, nor in most containers.
    *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
]
REMEDY = (
    "No Chromium was found, and none could be installed. Install one and run the tests again: "
    "`sudo apt-get install chromium` on Debian, `.venv/bin/playwright install --with-deps chromium` elsewhere, "
    "or name yours: REDLINE_CHROMIUM=/path/to/chromium make test"
)


def find() -> str | None:
    """The path of a Chromium; None: there is none."""
    named = os.environ.get("REDLINE_CHROMIUM")
    if named:
        return shutil.which(named)
    for name in NAMES:
        if found := shutil.which(name):
            return found
    for path in (*MACOS, _downloaded()):
        if Path(path).exists():
            return path
    return None


def install() -> None:
    """Debian's package, or else Playwright's download. Says on standard error what it does."""
    as_root = _as_root()
    if shutil.which("apt-get") and as_root is not None:
        apt = [*as_root, "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
        _run([*apt, "update"])
        _run([*apt, "install", "-y", "--no-install-recommends", "chromium"])
    if find() is None:
        _run([sys.executable, "-m", "playwright", "install", "chromium"])


def _downloaded() -> str:
    """Where Playwright's own download of Chromium is, or would be."""
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def _as_root() -> list[str] | None:
    if os.geteuid() == 0:
        return []
    if (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        return ["sudo", "-n"]
    return None


def _run(command: list[str]) -> None:
    print(" ".join(command), file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=900, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    if find() is None:
        install()
    print(find() or REMEDY)
