"""Recordings of agents that we have seen, told as agents might that we have not: the cards stay true.

A few of the pairs of a recording and a mutation are run here, the same in every run; others by hand:
`python tests/agents/acp/fuzz.py --help` says how.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from agents.acp.mutations import MUTATIONS
from agents.acp.retold import retold
from captures.recorded import names

if TYPE_CHECKING:
    from pathlib import Path

_SINGLE = 32
_PAIRS = 5
"""So many mutations are run, and so many pairs of two at once."""
_AT_ONCE = 8


async def test_however_a_turn_is_told_the_cards_are_true(tmp_path: Path) -> None:
    """Each mutation on a recording to which it applies."""
    gate = asyncio.Semaphore(_AT_ONCE)
    plans = [(Random(name), [name]) for name in Random(20).sample(list(MUTATIONS), _SINGLE)]
    for number in range(_PAIRS):
        random = Random(number)
        plans.append((random, random.sample(list(MUTATIONS), 2)))

    async def wrong(number: int, random: Random, mutations: list[str]) -> list[str]:
        async with gate:
            for recording in random.sample(names(), len(names())):
                base = tmp_path / f"{number}-{recording.replace('/', '-')}"
                base.mkdir()
                told = await retold(recording, mutations, random, base)
                if told is not None:
                    return [f"{recording}, {' and '.join(mutations)}: {one}" for one in told.wrong]
        return [f"{' and '.join(mutations)}: no recording has what it takes"] if len(mutations) == 1 else []

    found = await asyncio.gather(*(wrong(number, *plan) for number, plan in enumerate(plans)))
    assert [one for each in found for one in each] == []
