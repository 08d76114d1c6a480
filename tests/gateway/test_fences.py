"""A diff in a model's text is folded away only where a card shows every line of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redline.changes.compare import describe
from redline.gateway.fences import covered_fences, fence_is_covered

W = Path("/w")
BEFORE = b"".join(b"line %d\n" % number for number in range(1, 31))
AFTER = BEFORE.replace(b"line 5\n", b"line five\n").replace(b"line 20\n", b"")
CHANGE = describe("/w/src/a.py", BEFORE, AFTER)

HUNK = "@@ -4,3 +4,3 @@\n line 4\n-line 5\n+line five\n line 6\n"


def diff(old: str = "src/a.py", new: str = "src/a.py", hunk: str = HUNK) -> str:
    return f"--- {old}\n+++ {new}\n{hunk}"


@pytest.mark.parametrize(
    ("old", "new"), [("src/a.py", "src/a.py"), ("a/src/a.py", "b/src/a.py"), ("/w/src/a.py", "/w/src/a.py")]
)
def test_a_diff_that_repeats_an_applied_change_is_covered(old: str, new: str) -> None:
    assert fence_is_covered(diff(old, new), [CHANGE], W)


@pytest.mark.parametrize(
    "fence",
    [
        diff("src/b.py", "src/b.py"),
        diff("a.py", "a.py"),
        diff(hunk="@@ -4,3 +4,3 @@\n line 4\n-line 5\n+line 5!\n line 6\n"),
        diff(hunk="@@ -4,3 +4,4 @@\n line 4\n-line 5\n+line five\n+and more\n line 6\n"),
        diff(hunk="@@ -4,3 +4,4 @@\n line 4\n-line 5\n+line five\n+line five\n line 6\n"),
        diff(hunk="@@ -4,2 +4,2 @@\n line 4\n line 5\n"),
        HUNK,
        "",
        "just words",
        diff() + diff("src/b.py", "src/b.py"),
    ],
)
def test_anything_less_stays_visible(fence: str) -> None:
    assert not fence_is_covered(fence, [CHANGE], W)


def test_nothing_is_covered_in_a_turn_that_changed_nothing() -> None:
    assert not fence_is_covered(diff(), [], W)


def test_only_diff_fences_are_found_and_only_covered_ones_are_given() -> None:
    text = f"Look:\n\n```diff\n{diff()}```\n\nand\n\n```python\n{diff()}```\n~~~~ patch\n{diff('x', 'x')}~~~~\nend\n"
    [(start, end)] = covered_fences(text, [CHANGE], W)
    assert text[start:end] == f"```diff\n{diff()}```\n"


def test_a_fence_that_is_not_closed_is_left_alone() -> None:
    assert covered_fences(f"```diff\n{diff()}", [CHANGE], W) == []


def test_a_longer_fence_holds_shorter_ones() -> None:
    text = f"````diff\n{diff()}```\n````\n"
    assert covered_fences(text, [CHANGE], W) in ([], [(0, len(text))])
