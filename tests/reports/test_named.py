"""Each public report has a test that names it.

Users of other agent front ends, of editors' agent panels and of edit tools have reported faults in public. Redline
keeps 127 of them as cases, each with a small input and the right outcome, and calls them by a letter and a number;
`ids.txt` lists those ids, one kind of fault a line:

A diffs of an agent that are missing or dropped; B updates that overwrite, double or come in another order; C a wrong
old text, kind, path or line; D what is shown before an approval; E replay, reload and reconnection; F line ends,
encodings and Unicode; G matching and replacing; H stale reads, races and full disks; I links, modes and special
files; J computing and shortening a diff; K parsing and counting; L cards on a page; M cards in a terminal; N chats; O
secrets; P keeping and carrying events; Q the truth of a status, and prose.

A case stands for its whole kind and may have several tests, where its rule lives. The docstring of each begins with
the ids that it holds with their right values: "Public reports: A1, B12." or "A1, B12: in other words". `grep -rw ID
tests` finds them.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[1]
IDS = (TESTS / "reports" / "ids.txt").read_text(encoding="utf-8").split()
BEGINNING = re.compile(r"(?:Public reports: )?([A-Q]\d+(?:, [A-Q]\d+)*)[.:]")


PLACES = {"L": ("browser/",), "N": tuple(f"surfaces/{name}/" for name in ("chat", "slack", "discord", "telegram"))}
"""By kind: the folders of which at least one must name it, because the fault is what is seen there."""


def ids_of(docstring: str) -> list[str]:
    """The ids that a docstring begins with."""
    found = BEGINNING.match(docstring)
    return found[1].split(", ") if found else []


def named() -> dict[str, list[str]]:
    """By id: the tests that name it."""
    tests = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for name in ids_of(ast.get_docstring(node) or ""):
                    tests[name].append(f"{path.relative_to(TESTS)}::{node.name}")
    return tests


def test_the_list_holds_each_id_once() -> None:
    assert len(IDS) == len(set(IDS)) == 127
    assert all(re.fullmatch(r"[A-Q]\d+", name) for name in IDS)


def test_each_report_is_named_by_a_test() -> None:
    tests = named()
    assert [name for name in IDS if name not in tests] == []


def test_what_is_seen_on_a_page_or_in_a_chat_is_tested_there() -> None:
    tests = named()
    for name in IDS:
        if name[0] in PLACES:
            assert any(test.startswith(PLACES[name[0]]) for test in tests[name]), name


def test_no_test_names_a_report_that_is_none() -> None:
    assert {name: tests for name, tests in named().items() if name not in IDS} == {}


def test_how_a_docstring_names_its_reports() -> None:
    assert ids_of("Public reports: A1, B12.") == ["A1", "B12"]
    assert ids_of("E57, P172: a call without an end.") == ["E57", "P172"]
    assert ids_of("G79.") == ["G79"]
    assert ids_of("What A1 says.") == ids_of("") == ids_of("A1 and more") == []
