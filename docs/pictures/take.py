"""Photographs of a real terminal and a real browser, for the documentation and for looking with one's own eyes.

    python docs/pictures/take.py                        all pictures (the dashboard, a turn, the demo, every card)
    python docs/pictures/page.py                        those of the dashboard
    python docs/pictures/take.py out.png --theme light --columns 60 --lines 50 --command "redline demo --terminal"

Those of the dashboard need a Chromium (tests/browser/chromium.py); the others need Xvfb, xterm and ImageMagick's
`import` (Debian: `apt-get install xvfb xterm imagemagick`) and a monospaced font with box-drawing characters.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from page import take_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
GALLERY = f"{shlex.quote(sys.executable)} {shlex.quote(str(HERE / 'gallery.py'))}"
THEMES = {
    "dark": ["-bg", "#1e1e1e", "-fg", "#d4d4d4"],
    "light": ["-bg", "#ffffff", "-fg", "#1f1f1f"],
    "no-color": ["-bg", "#1e1e1e", "-fg", "#d4d4d4"],
}
REDLINE = f"{shlex.quote(sys.executable)} -m redline"
DEMO = f'D=$(mktemp -d); {REDLINE} demo --terminal --fast --data "$D"'
TURN = f'{DEMO} > /dev/null; clear; {REDLINE} show last --data "$D" --turn 1'
PICTURES = {
    "turn": ("dark", 100, 82, TURN),
    "demo-dark": ("dark", 100, 204, DEMO),
    "demo-light": ("light", 100, 204, DEMO),
    "demo-no-color": ("no-color", 100, 204, DEMO),
    "cards-dark": ("dark", 100, 168, GALLERY),
    "cards-light": ("light", 100, 168, GALLERY),
    "cards-no-color": ("no-color", 100, 168, GALLERY),
    "cards-narrow": ("dark", 60, 195, GALLERY),
    "cards-wide": ("light", 160, 168, GALLERY),
}
SECONDS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description="Take pictures of a terminal.")
    parser.add_argument("out", nargs="?", type=Path, help="where to; without it, all pictures")
    parser.add_argument("--theme", choices=THEMES, default="dark")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--lines", type=int, default=50)
    parser.add_argument("--command", default=GALLERY, help="what runs in the terminal")
    asked = parser.parse_args()
    for tool in ("Xvfb", "xterm", "import"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed; see the top of {Path(__file__).name} for what is needed")
    if asked.out is not None:
        take(asked.out, asked.theme, asked.columns, asked.lines, asked.command)
        return
    take_pages()
    for name, (theme, columns, lines, command) in PICTURES.items():
        take(HERE / f"{name}.png", theme, columns, lines, command)


def take(out: Path, theme: str, columns: int, lines: int, command: str) -> None:
    """Run a command in a terminal of that size and keep what it shows once it has ended."""
    with tempfile.TemporaryDirectory() as folder, screen(columns * 9 + 40, lines * 18 + 40) as display:
        done = Path(folder) / "done"
        script = f"{command}; printf '\\033[?25l'; touch {shlex.quote(str(done))}; sleep {SECONDS}"
        environment = {**os.environ, "DISPLAY": display, "LC_ALL": "C.UTF-8"}
        environment.pop("NO_COLOR", None)
        if theme == "no-color":
            environment["NO_COLOR"] = "1"
        size = ["-geometry", f"{columns}x{lines}+0+0", "-b", "8", "+sb"]
        font = ["-fa", "DejaVu Sans Mono", "-fs", "10"]
        terminal = subprocess.Popen(["xterm", *size, *font, *THEMES[theme], "-e", "sh", "-c", script], env=environment)
        try:
            _wait(done)
            time.sleep(0.7)  # the last lines still have to be painted
            subprocess.run(
                ["import", "-window", "root", "-trim", "+dither", "-colors", "64", f"PNG8:{out}"],
                env=environment,
                check=True,
            )
        finally:
            terminal.terminate()
            terminal.wait()
    print(out)


def _wait(done: Path) -> None:
    until = time.monotonic() + SECONDS
    while not done.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"the command did not end within {SECONDS} s")
        time.sleep(0.1)


@contextmanager
def screen(width: int, height: int) -> Iterator[str]:
    """A display that nobody sees, of that many pixels."""
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    try:
        os.close(write)
        yield f":{os.read(read, 16).decode().strip()}"
    finally:
        server.terminate()
        server.wait()
        os.close(read)


if __name__ == "__main__":
    main()
