"""What every real agent is put through: the files before, what the model does, the answer to each question, the files
after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from interop.operations import Create, Delete, Edit, EditAll, Look, Overwrite, Say, Shell, Step

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Scenario:
    name: str
    what: str
    before: Files
    steps: Sequence[Step]
    after: Files
    answer: Literal["allow", "reject"] = "allow"


def _lines(count: int = 60, sites: Sequence[int] = (5, 17, 29, 41, 55)) -> str:
    return "".join(
        f"price_{n:02d} = NETTO * {n}\n" if n in sites else f"row_{n:02d} = total({n}, 'net')\n"
        for n in range(1, count + 1)
    )


_TEXT = _lines()
_OLD = "row_32 = total(32, 'net')"
_NEW = "row_32 = total(32, 'gross')  # with tax"
_EDITED = _TEXT.replace(_OLD, _NEW)
_FILES: Files = {"f.py": _TEXT.encode(), "other.txt": b"stays as it is\n"}


def _with(**changed: str | None) -> Files:
    after = {
        **_FILES,
        **{name.replace("_py", ".py"): text.encode() for name, text in changed.items() if text is not None},
    }
    for name, text in changed.items():
        if text is None:
            del after[name.replace("_py", ".py")]
    return after


_MADE = "def greet(name):\n    return f'hello {name}'\n"
_REWRITTEN = "# written anew\n" + _lines(20, (3,))
_OTHER_OLD, _OTHER_NEW = "row_58 = total(58, 'net')", "row_58 = total(58, 'last')"

SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "create",
            "create a file",
            _FILES,
            [[Say("I make the file."), Create("made.py", _MADE)]],
            _with(made_py=_MADE),
        ),
        Scenario(
            "edit",
            "edit one place of 60 lines",
            _FILES,
            [[Look("f.py")], [Say("I edit one place."), Edit("f.py", _OLD, _NEW)]],
            _with(f_py=_EDITED),
        ),
        Scenario(
            "five-places",
            "change a token in five places",
            _FILES,
            [[Look("f.py")], [Say("I rename it everywhere."), EditAll("f.py", "NETTO", "BRUTTO", _TEXT)]],
            _with(f_py=_TEXT.replace("NETTO", "BRUTTO")),
        ),
        Scenario(
            "overwrite",
            "write a whole file anew",
            _FILES,
            [[Look("f.py")], [Say("I write it anew."), Overwrite("f.py", _REWRITTEN)]],
            _with(f_py=_REWRITTEN),
        ),
        Scenario(
            "delete",
            "delete a file",
            _FILES,
            [[Look("f.py")], [Say("I delete it."), Delete("f.py", _TEXT)]],
            _with(f_py=None),
        ),
        Scenario(
            "shell",
            "edit by sed -i in a shell command",
            _FILES,
            [[Look("f.py")], [Say("I use sed."), Shell("sed -i 's/NETTO/BRUTTO/' f.py")]],
            _with(f_py=_TEXT.replace("NETTO", "BRUTTO")),
        ),
        Scenario(
            "rejected",
            "edit one place, and the user says no",
            _FILES,
            [[Look("f.py")], [Say("I edit one place."), Edit("f.py", _OLD, _NEW)]],
            _FILES,
            answer="reject",
        ),
        Scenario(
            "two-edits",
            "edit two places by two calls of one reply",
            _FILES,
            [
                [Look("f.py")],
                [Say("I edit two places."), Edit("f.py", _OLD, _NEW), Edit("f.py", _OTHER_OLD, _OTHER_NEW)],
            ],
            _with(f_py=_EDITED.replace(_OTHER_OLD, _OTHER_NEW)),
        ),
    )
}
