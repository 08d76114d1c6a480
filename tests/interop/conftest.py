"""Which live agents run when: two in every run of the tests, all with `make interop`. Nothing is left out unsaid."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop import left_out
from interop.endpoint import Endpoint


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "interop: a real agent against the scripted endpoint (make interop runs all)")
    config.addinivalue_line("markers", "everyday: one of the real agents that every run of the tests includes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "interop" in str(config.option.markexpr):
        return
    left = [item for item in items if item.get_closest_marker("interop") and not item.get_closest_marker("everyday")]
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)
        left_out.count(config, len(left))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served
