"""`redline config`: what is in force, and why."""

from __future__ import annotations

import json
import sys

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from redline.cli.columns import aligned
from redline.cli.config import DESCRIBED, Setting, Settings, config_file, survey, template
from redline.cli.failure import Failure
from redline.surfaces.visible import visible


def show(*, as_json: bool, path: bool, init: bool) -> None:
    """Print the settings, or only the file's path, or write a file to start from."""
    if path:
        typer.echo(str(config_file()))
        return
    if init:
        _write_template()
        return
    settings = survey()
    if as_json:
        typer.echo(json.dumps(_as_json(settings), indent=2, default=str))
    else:
        _print(settings)
    for failure in settings.failures:
        remedy = f" {failure.remedy}" if failure.remedy != DESCRIBED else ""  # that is what was just done
        print(visible(f"redline: {failure.message}{remedy}"), file=sys.stderr)
    if settings.failures:
        raise typer.Exit(settings.failures[0].exit_code)


def _print(settings: Settings) -> None:
    """With what is wrong marked as such: the values that are in force instead are the defaults."""
    rows = [(one.name, _shown(one.value), one.source, _purpose(one)) for one in settings.settings]
    headings = ("setting", "value", "from", "what it is for")
    state = "" if settings.file.exists() else " (does not exist; `redline config --init` writes one)"
    further = (
        f"\nFile: {settings.file}{state}",
        "A value comes from the file, from REDLINE_<NAME> in the environment, or from a flag; the last one wins.",
    )
    console = Console()
    if not console.is_terminal:
        for line in (*aligned(headings, *rows), *further):
            typer.echo(line)
        return
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for setting, row in zip(settings.settings, rows, strict=True):
        table.add_row(*(Text(visible(cell), style="bold red" if setting.problem else "") for cell in row))
    console.print(table)
    for line in further:
        console.print(Text(line))


def _shown(value: object) -> str:
    plain = _plain(value)
    return "(empty)" if plain in ("", None, {}) else str(plain)


def _purpose(setting: Setting) -> str:
    return f"WRONG: {setting.problem}. {setting.description}".rstrip() if setting.problem else setting.description


def _as_json(settings: Settings) -> dict[str, object]:
    rows: list[dict[str, object]] = []
    for one in settings.settings:
        wrong = {"problem": one.problem} if one.problem else {}
        rows.append({"name": one.name, "value": _plain(one.value), "source": one.source, **wrong})
    problems = [{"code": one.code, "message": one.message, "remedy": one.remedy} for one in settings.failures]
    return {"file": str(settings.file), "settings": rows, **({"problems": problems} if problems else {})}


def _write_template() -> None:
    path = config_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError:
        raise Failure(2, "CONFIG", f"{path} exists already.", "Edit it, or move it away first.") from None
    except OSError as error:
        raise Failure(
            2, "CONFIG", f"{path} cannot be written: {error.strerror}.", "Set REDLINE_CONFIG to another place."
        ) from error
    typer.echo(str(path))


def _plain(value: object) -> object:
    return value if isinstance(value, (int, str, bool, dict)) or value is None else str(value)
