"""What can be typed to see changes again, for every platform: typed after `diff`, and what it must show."""

from __future__ import annotations

from redline.surfaces.chat.cards import short
from redline.surfaces.visible import visible
from surfaces.chat.office import call, step

TURNS = [
    [
        step("", call("write", path="a.py", content="one = 1\n")),
        step("", call("write", path="my notes.md", content="with spaces\n")),
        step("Done."),
    ],
    [step("", call("write", path="b_file/__init__.py", content="two = 2\n")), step("Done.")],
    [step("Nothing.")],
]
"""Three turns of a model: two changes, one, none."""

FORMS = [
    ("", "+two = 2"),
    ("a.py", "+one = 1"),
    ("my notes.md", "+with spaces"),
    ('"my notes.md"', "+with spaces"),
    ("b_file/__init__.py", "+two = 2"),
    ("turn", "No change on disk in turn 3."),
    ("turn 2", "+two = 2"),
    ("turn 1", "+with spaces"),
    ("nowhere.py", "No change on disk in the file nowhere.py."),
    ("nowhere.py file", "No change on disk in the file nowhere.py."),
    ("turn 9", "Its turns are 1 to 3."),
    ("turn x", "is no number of a turn"),
    ("turn 3 file", "No change on disk in turn 3."),
]

FILES = [
    ("file", "__init__.py.diff", [b"+two = 2"]),
    ("a.py file", "a.py.diff", [b"+one = 1"]),
    ("my notes.md file", "my_notes.md.diff", [b"+with spaces"]),
    ("turn 1 file", "2-changes.diff", [b"+one = 1", b"+with spaces"]),
    ("turn 2 file", "__init__.py.diff", [b"+two = 2"]),
]
"""With the name of the file that is shown, and what is in it."""

ODD = [
    "👩\u200d💻.py",
    "שלום عالم.txt",
    "a\u202egnp.exe",
    "`x` ```y.md",
    "*b*_c_~~d~~||e||.md",
    "<@U1> <!channel> @everyone.md",
    "# h > q.md",
    "-- x.md",
    "e\u0301" * 20 + ".md",
    "n" * 200 + ".md",
]
"""Names that a platform or a terminal could take for something else."""

ODD_TURN = [
    *(step("", call("write", path=name, content=f"number {number}.\n")) for number, name in enumerate(ODD)),
    step("Done."),
]


def shown(name: str) -> str:
    """As its card shows it, on one line."""
    return short(visible(name))
