from __future__ import annotations

from typing import Any

import pytest

from redline.gateway.title import ATTACHED, title_of


def typed(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def attached(name: str) -> dict[str, Any]:
    return {"type": "text", "text": f"{name}:\nits content", ATTACHED: name}


@pytest.mark.parametrize(
    ("blocks", "title"),
    [
        ([typed("Mend  the\nparser.")], "Mend the parser."),
        ([attached("a.py"), typed("Mend it.")], "Mend it."),
        ([typed(" \n"), attached("a.py")], "a.py"),
        ([{"type": "resource_link", "name": "b.py", "uri": "file:///w/b.py"}], "b.py"),
        ([{"type": "resource", "resource": {"uri": "file:///w/my%20file.py", "text": ""}}], "my file.py"),
        ([{"type": "image", "blob": "b1"}], ""),
        ([], ""),
    ],
)
def test_it_is_what_was_typed_or_else_the_first_file(blocks: list[dict[str, Any]], title: str) -> None:
    assert title_of(blocks) == title


def test_a_long_one_is_cut_to_eighty_characters() -> None:
    assert title_of([typed("x" * 80)]) == "x" * 80
    assert title_of([typed("x" * 81)]) == "x" * 79 + "…"
    assert title_of([typed("word " * 40)]) == " ".join(["word"] * 16) + "…"
