"""Word marks where a line stands beside the one that it replaced, and none in a block too large for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser.house import Story
from redline.changes.compare import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser.house import House
    from browser.visitor import Visitor


@pytest.mark.parametrize(("lines", "marked"), [(20, True), (2_200, False)], ids=["small", "large"])
def test_words_are_marked_in_a_small_block_and_a_large_one_is_shown_without(
    visit: Callable[..., Visitor], house: House, lines: int, marked: bool
) -> None:
    """J108: as many lines as there were, every one of them another."""
    workspace = house.workspace()
    before, after = (b"".join(b"value %d is %s\n" % (at, word) for at in range(lines)) for word in (b"old", b"new"))
    story = Story(workspace)
    story.call("write", [describe(str(workspace / "a.txt"), before, after)])
    visitor = visit()
    page = visitor.open(house.written(story.end().events, workspace))
    file = visitor.file("a.txt")
    if not marked:
        file.locator("[data-part=card-details]").click()
        file = page.locator("[data-part=panel] [data-file]")
    parts = file.locator("[data-diff-part]")
    expect(parts).to_have_count(1 if marked else 37)
    for at in range(parts.count()):
        parts.nth(at).scroll_into_view_if_needed()
        part = parts.nth(at)
        expect(part).to_have_attribute("data-drawn", "true")
        words = part.locator("diffs-container [data-diff-span]").all_text_contents()
        assert words == (["old"] * lines + ["new"] * lines if marked else [])
    expect(parts.last.locator("diffs-container")).to_contain_text(f"value {lines - 1} is new")
