"""Whatever the server composes for a reader of the page, the Chinese page has words for."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from redline.tools.broken_off import NOT_READ, READ

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "redline"
SENTENCES: dict[str, str] = json.loads((ROOT / "web" / "src" / "i18n" / "sentences.zh.json").read_text("utf-8"))
CATALOGUE = (ROOT / "web" / "src" / "i18n" / "zh.ts").read_text("utf-8")
ANSWERS = (
    *(path for path in (SOURCE / "surfaces" / "dashboard").glob("*.py") if path.name != "server.py"),
    *(SOURCE / "gateway" / name for name in ("gateway.py", "room.py", "pages.py", "archive.py")),
    *(SOURCE / "tools" / name for name in ("undo.py", "undo_plan.py", "undo_steps.py", "rewind.py")),
)
"""Modules whose errors answer what a reader of the page did. `server.py` speaks in a terminal, before that."""
ELSEWHERE = ("cli", "surfaces/chat", "surfaces/slack", "surfaces/discord", "surfaces/telegram", "surfaces/editor")
_CODE = re.compile(r"[A-Z][A-Z]+(_[A-Z]+)*")
_RAISED = re.compile(r"(Error|Refused|Problem|Stop|Limit|Missing|_refused|notice|Busy)$")


def template(node: ast.expr) -> str | None:
    """A sentence with `{}` for each of its values; None: it is put together elsewhere."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(one.value if isinstance(one, ast.Constant) else "{}" for one in values)
        case ast.Call(func=ast.Name(id="text"), args=[inner]):
            return template(inner)
        case _:
            return None


def told(path: Path) -> Iterator[tuple[str, list[str], int]]:
    """Code, message and remedy, and the line, of every error, notice and problem that is made in a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not _RAISED.search(ast.unparse(node.func)):
            continue
        named = {one.arg: one.value for one in node.keywords}
        words = [*node.args, *(named[name] for name in ("code", "message", "remedy") if name in named)]
        for at, word in enumerate(words):
            if isinstance(word, ast.Constant) and isinstance(word.value, str) and _CODE.fullmatch(word.value):
                said = [template(one) for one in words[at + 1 : at + 3]]
                yield word.value, [one for one in said if one], node.lineno
                break


def test_every_answer_to_a_reader_is_said_in_both_languages() -> None:
    found = [(path, *one) for path in ANSWERS for one in told(path)]
    assert len(found) > 40
    missing = [
        f"{path.name}:{line}: {sentence}"
        for path, _, sentences, line in found
        for sentence in sentences
        if sentence not in SENTENCES
    ]
    assert missing == [], "to web/src/i18n/sentences.zh.json"


def test_every_code_that_may_reach_the_page_is_in_the_catalogue() -> None:
    known = set(re.findall(r"^    ([A-Z_]+): \"", CATALOGUE, re.MULTILINE))
    missing = set()
    for path in SOURCE.rglob("*.py"):
        if str(path.relative_to(SOURCE)).startswith(ELSEWHERE) or path.name == "server.py":
            continue
        for code, sentences, _ in told(path):
            if code not in known and not (sentences and all(one in SENTENCES for one in sentences)):
                missing.add(code)
    assert missing == set(), "to `problems` in web/src/i18n/zh.ts"


def test_every_warning_on_a_call_is_said_in_both_languages() -> None:
    calls = [
        (path, node)
        for folder in ("tools", "agents/acp")
        for path in sorted((SOURCE / folder).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warnings.append")
    ]
    said = [(path.name, template(node.args[0])) for path, node in calls]
    said += [("broken_off.py", READ), ("broken_off.py", NOT_READ)]
    assert len(said) > 10
    assert [one for one in said if one[1] is not None and one[1] not in SENTENCES] == []


def test_every_title_of_a_row_that_holds_no_event_is_said_in_both_languages() -> None:
    tree = ast.parse((SOURCE / "transcript" / "fold.py").read_text("utf-8"))
    other = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self._standing.other"
    ]
    titles = [template(node.args[1]) for node in other if isinstance(node.args[1], ast.JoinedStr)]
    assert titles
    assert [title for title in titles if title not in SENTENCES] == []


def test_no_sentence_of_the_catalogue_is_empty() -> None:
    assert all(sentence and translation for sentence, translation in SENTENCES.items())
