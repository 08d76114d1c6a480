"""What the README and the pages tell a reader to type, open or run is there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer.main

from redline.cli.commands import app

HOUSE = Path(__file__).parents[2]
PAGES = [HOUSE / "README.md", HOUSE / "CONTRIBUTING.md", *sorted((HOUSE / "docs").rglob("*.md"))]
COMMANDS: dict[str, click.Command] = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

_CODE = re.compile(r"```(?:sh|console|toml|json|lua|)\n(.*?)```|`([^`\n]+)`", re.DOTALL)
_CALL = re.compile(r"(?:^|[\s(|;&$])redline ([a-z]+)\b([^|\n;#]*)")
_LINK = re.compile(r"\]\(([^)#\s]+?)(?:#[^)]*)?\)")


def page_id(page: Path) -> str:
    return str(page.relative_to(HOUSE))


def codes(page: Path) -> Iterator[str]:
    for fence, span in _CODE.findall(page.read_text("utf-8")):
        yield (fence or span).replace("\\|", "|")


def flags(words: str) -> list[str]:
    try:
        parts = shlex.split(words)
    except ValueError:  # an ellipsis of quotes
        parts = words.split()
    return [part.split("=")[0] for part in parts if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", part)]


def known_flags(command: click.Command) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_each_command_and_flag_exists(page: Path) -> None:
    missing = [
        f"redline {name} {flag}".strip()
        for code in codes(page)
        for name, words in _CALL.findall(code)
        for flag in (["", *flags(words)])
        if name not in COMMANDS or (flag and flag not in known_flags(COMMANDS[name]))
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_each_local_link_leads_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if not re.match(r"[a-z]+:", link)]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_each_make_target_and_script_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (HOUSE / "Makefile").read_text(), re.MULTILINE))
    asked = {name for code in codes(page) for name in re.findall(r"(?:^|[\s(])make ([a-z-]+)", code)}
    assert asked - targets == set()
    scripts = re.findall(r"\bpython ((?:benchmarks|tests|docs)/[\w/.-]+\.py)", text)
    assert [script for script in scripts if not (HOUSE / script).exists()] == []


def test_each_benchmark_that_the_readme_quotes_is_there() -> None:
    table = (HOUSE / "README.md").read_text("utf-8").partition("## How fast")[2].partition("\n## ")[0]
    quoted = re.findall(r"`([a-z_]+\.py)\b", table)
    assert quoted
    assert [name for name in quoted if not (HOUSE / "benchmarks" / name).exists()] == []
