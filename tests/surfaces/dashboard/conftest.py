from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from surfaces.dashboard.stage import House, dashboard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with dashboard(tmp_path) as served:
        yield served
