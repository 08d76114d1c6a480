"""`redline config`: what is in force, and why."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from redline.cli.config import config_file, load, template
from redline.cli.failure import Failure


def show(*, as_json: bool, path: bool, init: bool) -> None:
    """Print the settings, or only the file's path, or write a file to start from."""
    if path:
        typer.echo(str(config_file()))
        return
    if init:
        _write_template()
        return
    settings = load()
    if as_json:
        rows = [{"name": s.name, "value": _plain(s.value), "source": s.source} for s in settings.settings]
        typer.echo(json.dumps({"file": str(settings.file), "settings": rows}, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "value", "from", "what it is for"):
        table.add_column(heading, overflow="fold")
    for setting in settings.settings:
        value = _plain(setting.value)
        table.add_row(
            setting.name,
            Text("(empty)" if value in ("", None, {}) else str(value)),
            Text(setting.source),
            Text(setting.description),
        )
    console = Console()
    console.print(table)
    state = "" if settings.file.exists() else " (does not exist; `redline config --init` writes one)"
    console.print(Text(f"\nFile: {settings.file}{state}"))
    console.print(
        "A value comes from the file, from REDLINE_<NAME> in the environment, or from a flag; the last one wins."
    )


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
