"""What things look like: the glyphs of a card, and the few styles that are readable on every background.

Only palette colours are used, and only the two that a user's own theme makes readable on its own background by habit,
red and green; all else is said by words, signs, bold and dim. So a dark, a light and a colourless terminal all work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import ConsoleOptions

ADDED = "green"
REMOVED = "red"
QUIET = "dim"
STRONG = "bold"
FAULT = "bold red"
CHANGED_PART = "underline"
"""The part of a line in which it differs from its partner."""
HIDDEN = "reverse"
"""What stands for a character that would not be seen."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    top: str
    side: str
    bottom: str
    loose_top: str
    """The loose forms frame what is not on disk."""
    loose_side: str
    loose_bottom: str
    minus: str
    about: str
    at_least: str
    skip: str
    arrow: str
    bullet: str
    warning: str
    continued: str
    rule: str
    tab: str
    space: str
    done: str
    open: str
    dot: str


PLAIN = Glyphs(
    top="+-", side="|", bottom="+-", loose_top=":.", loose_side=":", loose_bottom=":.", minus="-", about="~",
    at_least=">=", skip="...", arrow="->", bullet="*", warning="!", continued="\\", rule="-", tab=">", space=".",
    done="x", open=" ", dot="-",
)  # fmt: skip
DRAWN = Glyphs(
    top="╭─", side="│", bottom="╰─", loose_top="┌╌", loose_side="┆", loose_bottom="└╌", minus="−", about="≈",
    at_least="≥", skip="⋯", arrow="→", bullet="•", warning="▲", continued="↪", rule="─", tab="→", space="·",
    done="✓", open=" ", dot="·",
)  # fmt: skip


def glyphs(options: ConsoleOptions) -> Glyphs:
    """Drawn ones where the terminal's encoding has them."""
    return PLAIN if options.ascii_only else DRAWN
