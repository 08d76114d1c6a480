"""A buffer's text beside the bytes of its file: the editor has one kind of line end, and shows no BOM."""

from __future__ import annotations

from redline.files.text import BOM


def plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def same(first: str | None, second: str | None) -> bool:
    """Whether two plain texts say the same: a newline at the end is what many editors set or hide by themselves."""
    return first is not None and second is not None and first.removesuffix("\n") == second.removesuffix("\n")


def as_bytes(text: str, disk: bytes) -> bytes:
    """A buffer's text with the line ends and the BOM of the file: lines that stand unchanged at the beginning and the
    end keep their own, those between take the one that most lines have."""
    bom = BOM if disk.startswith(BOM) else b""
    old = disk.removeprefix(BOM).split(b"\n")
    new = text.encode("utf-8", "surrogatepass").split(b"\n")
    crlf = sum(line.endswith(b"\r") for line in old[:-1])
    ending = b"\r" if crlf * 2 > len(old) - 1 else b""
    bare = [line.removesuffix(b"\r") for line in old[:-1]]
    most = min(len(bare), len(new) - 1)
    head = next((at for at in range(most) if bare[at] != new[at]), most)
    tail = next((at for at in range(most - head) if bare[-1 - at] != new[-2 - at]), most - head)
    ends = old[len(bare) - tail : len(bare)]
    middle = [line + ending for line in new[head : len(new) - 1 - tail]]
    return bom + b"\n".join([*old[:head], *middle, *ends, new[-1]])
