"""The folder that a run works in: written before, read after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def read(folder: Path) -> dict[str, bytes]:
    """Every file below it, by its path from there."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
