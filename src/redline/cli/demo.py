"""`redline demo --terminal`: every kind of card in a minute, on a scratch workspace, by the real tools and log."""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import as_file
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from redline.agents.builtin.agent import NAME
from redline.agents.builtin.script import load_script
from redline.cli.builtin import builtin_agent
from redline.cli.config import Config, load
from redline.cli.house import myself, opened
from redline.cli.interrupts import carry_out
from redline.cli.run import surface_for
from redline.files.local import LocalFiles
from redline.gateway.conversation import Conversation
from redline.surfaces.dashboard import site
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.surfaces.terminal import PipeSurface, TerminalSurface
    from redline.tools.permission import PermissionOutcome, PermissionRequest

PROMPTS = (
    ("Add a watering schedule and name the sensor functions properly.", "create, five places in one file, overwrite"),
    ("Tidy up the old files.", "delete, move, a shell command"),
    ("Raise the limits and switch the database.", "a failed edit, a rejected one, a secret"),
)
UNDONE: Mapping[str, Any] = {"turn": 1, "path": "sensors.py"}
"""What is taken back in the end: the five places of the first turn, although the file was read since."""

_SENSORS = '''"""The sensors of the greenhouse."""

import random


def read_temp(bed: str) -> float:
    """Degrees Celsius."""
    return 18 + random.random() * 8


def average(beds: list[str]) -> float:
    total = 0.0
    for bed in beds:
        total += read_temp(bed)
    return total / len(beds)


def warmest(beds: list[str]) -> str:
    best, top = beds[0], -99.0
    for bed in beds:
        # Two readings, because one may be a spike.
        value = min(read_temp(bed), 60)
        if value > top:
            best, top = bed, value
    return best


def is_cold(bed: str, limit: float) -> bool:
    """Below the limit right now."""
    now = round(
        read_temp(bed),
        1,
    )
    return now < limit


def log_line(bed: str) -> str:
    """One line of the journal."""
    name = bed.title()
    pad = " " * (12 - len(name))
    unit = "°C"
    return f"{name}{pad}{read_temp(bed):5.1f} {unit}"
'''

FILES = {
    "sensors.py": _SENSORS,
    "limits.json": '{\n  "temperature": {"min": 12, "max": 27},\n  "moisture": {"min": 0.35, "max": 0.8}\n}\n',
    "calc.py": "def fahrenheit(celsius: float) -> float:\n    return celsius * 9 / 5 + 32\n",
    "report.py": "from calc import fahrenheit\n\nprint(fahrenheit(21.5))\n",
    "NOTES.old.md": "# Old notes\n\n- water on Mondays\n- ask about the fan\n",
    "settings.ini": "[database]\nhost = greenhouse-old.example\npassword = tulip-bulb-4471\npool = 4\n",
}


def in_page(asked: bool | None) -> bool:
    """Whether the demo is shown in the dashboard: as asked, or else where somebody sits at a terminal, if the
    installation has the page. A pipe gets patches with remarks, and an end."""
    return sys.stdout.isatty() and site.is_built() if asked is None else asked


def demo(*, data: Path | None, fast: bool) -> int:
    """Run the demo; 0 if everything went as the script says."""
    config = load({"data": data, "approval": "ask"}).config
    return carry_out(_demo(config, fast=fast))


async def _demo(config: Config, *, fast: bool) -> int:
    workspace = scratch()
    console = Console()
    _say(console, f"A scripted model works in {workspace}. Tools, permissions, disk and log are the real ones.")
    with as_file(resources("redline.cli").joinpath("demo.toml")) as script:
        path = hurried(script, workspace) if fast else script
        async with opened(config) as archive:
            model = f"script:{path}"
            local = LocalFiles([workspace])
            surface = _Answering(surface_for(console, workspace), console)
            with await archive.start(workspace, NAME, model=model, surface=surface.name) as session:
                conversation = await Conversation.begin(
                    session,
                    builtin_agent(config, model)(session, local),
                    files=local,
                    workspace=workspace,
                    present=builtin_toolset().by_name,
                )
                subscription = conversation.attach(surface)
                reasons = []
                try:
                    for prompt, shows in PROMPTS:
                        _heading(console, shows)
                        reasons.append((await conversation.prompt(prompt, source=surface.name)).reason)
                    _heading(console, "undo: the five places of the first turn, although the file was read since")
                    await conversation.undo(**UNDONE)
                    await conversation.fanout.drain(5)
                finally:
                    await conversation.close()
                    subscription.close()
                    surface.close()
            name = session.log.session
    _farewell(console, name, workspace)
    return 0 if reasons == ["completed"] * len(PROMPTS) else 1


def scratch() -> Path:
    """A new folder with the demo's files."""
    workspace = Path(tempfile.mkdtemp(prefix="redline-demo-")).resolve()
    for name, text in FILES.items():
        (workspace / name).write_text(text, encoding="utf-8")
    return workspace


def hurried(script: Path, workspace: Path) -> Path:
    """The same script without pauses."""
    load_script(script)
    path = workspace.parent / f"{workspace.name}.toml"
    path.write_text(script.read_text(encoding="utf-8").replace("delay = 0.02", "delay = 0.0"), encoding="utf-8")
    return path


def answer_of(request: PermissionRequest) -> PermissionOutcome:
    """What is answered in your place: no to the raised limit, else yes."""
    if any("45" in line for change in request.changes for hunk in change.hunks for line in hunk.lines):
        return "reject"
    return "allow_once"


class _Answering:
    """The surface of the demo: draws on a real one, and answers in your place."""

    def __init__(self, surface: TerminalSurface | PipeSurface, console: Console) -> None:
        self.name = surface.name
        self.shows_changes = surface.shows_changes
        self.show = surface.show
        self.stream = surface.stream
        self.close = surface.close
        self._console = console

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        """In `redline run` you are shown the whole proposed change here, and asked."""
        return answer_of(request)


def _heading(console: Console, text: str) -> None:
    if console.is_terminal:
        console.print(Rule(Text(text), style="dim"))


def _say(console: Console, text: str) -> None:
    if console.is_terminal:
        console.print(Text(text, style="dim"), soft_wrap=True)
        console.print()
    else:
        print(f"# {text}")


def _farewell(console: Console, session: str, workspace: Path) -> None:
    me = myself()
    lines = [
        "That was all of it, and it is in the log. Look again, from any folder:",
        f"  {me} show {session}          the same cards, from the log",
        f"  {me} diff {session} --patch  the net change, as git apply takes it",
        f"  {me} undo {session} --turn 2 take the second turn back",
        f"  {me} delete {session}        remove the log and the kept bytes",
        f'The files are in {workspace}. With a real model: {me} run --model anthropic:claude-sonnet-4-5 "…"',
    ]
    if console.is_terminal:
        for line in lines:
            console.print(Text(line), soft_wrap=True)
    else:
        print("\n".join(f"# {line}" for line in lines))
    sys.stdout.flush()
