"""The diff rule follows from the surface that a turn comes from."""

from __future__ import annotations

import pytest

from redline.gateway.rule import (
    CARDS_AND_OBSERVATION,
    CARDS_ONLY,
    REPEATED,
    RULES,
    TEXT_ONLY,
    neutralised,
    relaxes,
    rule_for,
    turn_text,
)

KNOWN = {"terminal": True, "dashboard": True, "slack": False}


def test_a_surface_that_shows_cards_relaxes_the_rule() -> None:
    assert rule_for("terminal", shows_changes=KNOWN) is CARDS_ONLY
    assert rule_for(" Terminal ", shows_changes=KNOWN) is CARDS_ONLY


def test_with_observation_no_change_is_ever_restated() -> None:
    assert rule_for("terminal", shows_changes=KNOWN, observation=True) is CARDS_AND_OBSERVATION
    assert rule_for("slack", shows_changes=KNOWN, observation=True) is TEXT_ONLY


@pytest.mark.parametrize("source", ["slack", "cron", "", None, "terminal2", "dashboard:1"])
def test_whatever_is_text_only_or_unknown_gets_the_strict_rule(source: str | None) -> None:
    assert rule_for(source, shows_changes=KNOWN) is TEXT_ONLY


def test_an_explicit_source_wins_over_the_guess_from_the_session_key() -> None:
    assert rule_for("slack", "dashboard:7", shows_changes=KNOWN) is TEXT_ONLY
    assert rule_for("dashboard", "slack:C1", shows_changes=KNOWN) is CARDS_ONLY
    assert rule_for(None, "dashboard:7", shows_changes=KNOWN) is CARDS_ONLY
    assert rule_for(None, "dashboards:7", shows_changes=KNOWN) is TEXT_ONLY


def test_a_session_that_moves_from_cards_to_text_hears_the_rule_again_on_each_such_turn() -> None:
    assert turn_text(TEXT_ONLY, cards_before=True) == f"{TEXT_ONLY.text}\n\n{REPEATED}"


def test_the_other_way_nothing_is_repeated() -> None:
    assert turn_text(CARDS_ONLY, cards_before=True) == CARDS_ONLY.text
    assert turn_text(CARDS_ONLY, cards_before=False) == CARDS_ONLY.text
    assert turn_text(TEXT_ONLY, cards_before=False) == TEXT_ONLY.text


def test_which_rules_relax() -> None:
    assert [rule.name for rule in RULES.values() if relaxes(rule.name)] == ["cards_and_observation", "cards_only"]
    assert not relaxes("")
    assert not relaxes(None)


def test_the_rules_are_fixed_texts_between_markers_that_nobody_else_can_write() -> None:
    assert len(RULES) == 3
    for rule in RULES.values():
        assert rule.text.startswith("[REDLINE-RULE]")
        assert "[REDLINE-RULE]" not in neutralised(rule.text)
