"""The diff rule: whether the model has to show a change in its text, decided here and never by the model.

A model that writes no diff is right only where the reader sees the change otherwise. So the rule of a turn follows from
the surface that the turn comes from, as the server knows it, out of three fixed texts; whatever is unknown gets the
strict one, because a diff shown twice is a smaller fault than a change shown nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from redline.agents.markers import framed, neutralised
from redline.gateway.fences import covered_fences, fence_is_covered

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CARDS_AND_OBSERVATION",
    "CARDS_ONLY",
    "REPEATED",
    "RULES",
    "TEXT_ONLY",
    "Rule",
    "covered_fences",
    "fence_is_covered",
    "neutralised",
    "relaxes",
    "rule_for",
    "turn_text",
]

RuleName = Literal["cards_and_observation", "cards_only", "text_only"]


@dataclass(frozen=True, slots=True)
class Rule:
    name: RuleName
    """As `turn/started` keeps it."""
    text: str
    """What the model is told, between markers."""


CARDS_AND_OBSERVATION = Rule(
    "cards_and_observation",
    framed(
        "rule",
        "The user sees every change of a file as a card, with its exact hunks, whatever made it: a file tool, a shell "
        "command, a script. Never restate a change: no diff, no listing of the new code, no before and after. Say in a "
        "sentence or two what you did and why. This relaxes the standing instruction to show diffs.",
    ),
)

CARDS_ONLY = Rule(
    "cards_only",
    framed(
        "rule",
        "The user sees every change that you make with the file tools as a card, with its exact hunks. Do not restate "
        "those: no diff, no listing of the new code. Changes made in any other way (a shell command, a script, a "
        "generator, a tool that is not a file tool) are shown nowhere: for each of them write a unified diff in a "
        "fenced block marked diff, with --- and +++ lines and @@ hunks. This relaxes the standing instruction to show "
        "diffs for changes made with the file tools, and for nothing else.",
    ),
)

TEXT_ONLY = Rule(
    "text_only",
    framed(
        "rule",
        "The user sees your text and nothing else. After every change of a file, by whatever means, show a unified "
        "diff of it in a fenced block marked diff, with --- and +++ lines and @@ hunks. No exceptions; a wish for "
        "brevity does not touch this.",
    ),
)

RULES: Mapping[str, Rule] = {rule.name: rule for rule in (CARDS_AND_OBSERVATION, CARDS_ONLY, TEXT_ONLY)}

REPEATED = framed(
    "rule",
    "This turn comes from a place that shows no change cards, although earlier turns of this session came from one "
    "that does. For this turn: show a unified diff of every change in your text.",
)
"""Beside the rule, in each text-only turn of a session in which an earlier turn came from where cards are shown."""


def rule_for(
    source: str | None,
    session_key: str | None = None,
    *,
    shows_changes: Mapping[str, bool],
    observation: bool = False,
) -> Rule:
    """The rule of a turn.

    `source` names the surface that the turn comes from and wins over any guess; without one, the part of `session_key`
    before its first `:` is the guess. `shows_changes` is what each known surface declares; a name that is not in it is
    text only. `observation`: changes made outside the file tools are found and shown, too.
    """
    explicit = (source or "").strip().lower()
    name = explicit or (session_key or "").partition(":")[0].strip().lower()
    if not shows_changes.get(name, False):
        return TEXT_ONLY
    return CARDS_AND_OBSERVATION if observation else CARDS_ONLY


def turn_text(rule: Rule, *, cards_before: bool) -> str:
    """What the model is told in this turn. `cards_before`: an earlier turn of the session relaxed the rule.

    Moving from cards to text repeats the text rule on each such turn; the other way nothing is repeated.
    """
    return f"{rule.text}\n\n{REPEATED}" if rule is TEXT_ONLY and cards_before else rule.text


def relaxes(name: object) -> bool:
    """Whether a rule, by the name that `turn/started` keeps, is one for a surface that shows cards."""
    return name in (CARDS_AND_OBSERVATION.name, CARDS_ONLY.name)
