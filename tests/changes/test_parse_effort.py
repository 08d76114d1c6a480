"""How much work the reading of a patch is: bounded by its length for any text at all, and counted, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.arguments import from_arguments
from redline.changes.envelope import parse_envelope
from redline.changes.parse import parse

STEPS_A_LINE = 400
"""A line of a patch costs some thirty executed lines, the first of a file's section about two hundred."""

VALID = [
    "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n@@ -9 +9 @@\n-e\n\\ No newline at end of file\n+f\n",
    "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-a\n+b\n\\ diff truncated\n--- /dev/null\n+++ /w/n\n@@ -0,0 +1,2 @@\n+a\n+b\n",
    "diff --git a/x b/x\nold mode 100644\nnew mode 100755\ndiff --git a/p b/q\nrename from p\nrename to q\n"
    "diff --git a/y b/y\nindex 1..2 100644\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n",
    "--- /w/s\n+++ /w/s\n@@ @@\n-a\n+b\n@@ @@\n c\n+d\n--- /w/b\n+++ /w/b\n\\ binary file\n\nMoved to: /w/c\n",
    "diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,2 -1,2 +1,3 @@@\n- a\n -b\n++c\n",
    "*** Begin Patch\n*** Update File: a\n@@ f\n x\n-y\n+z\n*** End of File\n*** Delete File: b\n*** End Patch\n",
]


class TooManySteps(BaseException):
    """No ValueError, so that nothing takes it for a refusal."""


def steps(call: Callable[[], Any], limit: int) -> int:
    """Lines of Python that `call` executes, a refusal included; ends it with `TooManySteps` at the limit."""
    count = 0

    def trace(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal count
        count += 1
        if count > limit:
            raise TooManySteps(f"still at work after {limit} steps")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except ValueError:
        pass
    finally:
        sys.settrace(before)
    return count


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A valid patch, or two in a row, with lines dropped, repeated and swapped, and cut anywhere."""
    lines = "".join(draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=2))).splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 6))):
        if not lines:
            break
        at, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match draw(st.sampled_from(["drop", "repeat", "swap", "move"])):
            case "drop":
                del lines[at]
            case "repeat":
                lines.insert(other, lines[at])
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case _:
                lines.insert(other, lines.pop(at))
    text = "".join(lines)
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@settings(max_examples=500, deadline=None)
@given(mangled())
def test_whatever_became_of_a_patch_it_is_read_or_refused_after_so_many_steps(text: str) -> None:
    limit = STEPS_A_LINE * (text.count("\n") + 2)
    assert steps(lambda: parse(text), limit) <= limit
    assert steps(lambda: parse_envelope(text), limit) <= limit


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", "line 4"),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\n+b\n\\ diff truncated\n", "line 6: the patch was cut"),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n\\ diff truncated\n", "line 4: the patch was cut"),
    ],
)
def test_a_marker_at_a_place_where_none_belongs_is_refused_with_its_line(text: str, line: str) -> None:
    assert steps(lambda: parse(text), 5_000) < 5_000
    with pytest.raises(ValueError, match=line):
        parse(text)


@pytest.mark.parametrize(
    ("read", "section"),
    [
        (parse, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
        (parse, "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
        (parse, "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"),
        (parse, "--- /w/x\n+++ /w/x\n\\ binary file\n"),
        (parse_envelope, "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n"),
        (lambda text: from_arguments("apply_patch", {"patch": text}), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
    ],
)
def test_twice_as_many_files_are_twice_the_work(read: Callable[[str], Any], section: str) -> None:
    few, many = (steps(lambda text=section * count: read(text), 10**7) for count in (100, 200))
    assert few < many <= 2 * few
