"""Packs that Redline writes are read by git, and by the store of bytes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.compare import blob_id
from redline.workspace.packs import Packs, PackWriter
from redline.workspace.store import BytesError, ByteStore


def test_git_verifies_and_reads_a_pack(tmp_path: Path) -> None:
    store = ByteStore(tmp_path)
    data = [b"", b"x", b"y" * 15, b"z" * 16, os.urandom(70_000), b"line\n" * 100_000]
    with store.pack("s") as pack:
        for one in data:
            pack.add(bytes.fromhex(blob_id(one)), one)
            pack.add(bytes.fromhex(blob_id(one)), one)
    folder = tmp_path / "s"
    [index] = (folder / "objects/pack").glob("*.idx")
    subprocess.run(["git", "verify-pack", str(index)], check=True)
    for one in data:
        shown = subprocess.run(["git", "cat-file", "blob", blob_id(one)], cwd=folder, capture_output=True, check=True)
        assert shown.stdout == one
        assert ByteStore(tmp_path).get("s", blob_id(one)) == one
    assert store.get("s", blob_id(b"not there")) is None


def test_many_blobs_at_once_go_into_one_pack(tmp_path: Path) -> None:
    store = ByteStore(tmp_path)
    data = [b"%d" % number for number in range(200)]
    assert store.put("s", *data) == [blob_id(one) for one in data]
    assert store.put("s", *data) == [blob_id(one) for one in data]
    assert len(list((tmp_path / "s/objects").rglob("*"))) == 3
    assert [store.get("s", blob_id(one)) for one in data] == data
    assert store.delete("s")
    assert store.get("s", blob_id(b"1")) is None


def test_a_pack_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = ByteStore(tmp_path)

    def fill() -> None:
        with store.pack("s") as pack:
            pack.add(bytes.fromhex(blob_id(b"x")), b"x")
            raise OSError(28, "No space left on device")

    with pytest.raises(BytesError, match="NO_SPACE"):
        fill()
    assert list((tmp_path / "s/objects/pack").iterdir()) == []


def test_damage_is_never_given_out(tmp_path: Path) -> None:
    data = os.urandom(5000)
    with PackWriter(tmp_path) as writer:
        writer.add(bytes.fromhex(blob_id(data)), data, 0)
        writer.finish()
    [path] = tmp_path.glob("*.pack")
    path.chmod(0o600)
    raw = bytearray(path.read_bytes())
    raw[2000] ^= 1
    path.write_bytes(raw)
    assert Packs(tmp_path).read(bytes.fromhex(blob_id(data))) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=30))
def test_what_goes_in_comes_out(tmp_path_factory: pytest.TempPathFactory, data: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("pack")
    with PackWriter(folder) as writer:
        for one in data:
            writer.add(bytes.fromhex(blob_id(one)), one)
        writer.finish()
    packs = Packs(folder)
    assert [packs.read(bytes.fromhex(blob_id(one))) for one in data] == data
