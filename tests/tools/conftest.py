from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tool_bench import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = await Bench.open(tmp_path)
    yield made
    await made.store.close()
