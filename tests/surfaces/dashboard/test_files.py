"""What needs true bytes: patches that apply, whole sides, net changes, and whether the agent's work still stands."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from surfaces.dashboard.stage import House, call, dashboard, step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

BEFORE = "".join(f"line {number}\n" for number in range(1, 31)).encode()
KEY = "AKIA" + "Z7WQ3LMK9XPT2VBN"


@pytest.fixture
async def free(tmp_path: Path) -> AsyncIterator[House]:
    """Nothing is asked in it."""
    async with dashboard(tmp_path, approval="all") as served:
        yield served


def edit(old: str, new: str) -> dict[str, Any]:
    return call("edit", path="{workspace}/f.txt", old_string=old, new_string=new)


async def worked(house: House, *steps: dict[str, Any], more: list[dict[str, Any]] | None = None) -> str:
    """A session in which nothing was asked."""
    turns = [list(steps)] + ([more] if more else [])
    session = await house.begin(*turns)
    for turn in range(1, len(turns) + 1):
        await house.post(f"sessions/{session}/prompt", {"text": "Go."}, status=202)
        await house.done(session, turn)
    return session


def fresh(folder: Path, name: str, content: bytes) -> Path:
    """A repository with the file as it was before."""
    place = folder / f"fresh-{len(list(folder.glob('fresh-*')))}"
    place.mkdir()
    (place / name).write_bytes(content)
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    return place


def apply(place: Path, patch: bytes) -> None:
    subprocess.run(["git", "apply", "--check", "-"], cwd=place, input=patch, check=True)
    subprocess.run(["git", "apply", "-"], cwd=place, input=patch, check=True)


async def test_a_file_that_was_changed_back_is_listed_as_before(free: House) -> None:
    (free.workspace / "f.txt").write_bytes(BEFORE)
    session = await worked(
        free,
        step("", call("read", path="{workspace}/f.txt")),
        step("", edit("line 3\n", "line three\n"), call("write", path="{workspace}/new.txt", content="new\n")),
        step("", edit("line three\n", "line 3\n")),
        step("Done."),
    )
    files = (await free.get(f"sessions/{session}/files"))["files"]
    found = {one["net"]["name"]: (one["as_before"], one["on_disk"], one["net"]["added"]) for one in files}
    assert found == {"f.txt": (True, "same", 0), "new.txt": (False, "same", 1)}


async def test_what_is_too_large_for_the_log_is_shown_from_the_kept_bytes(free: House) -> None:
    line = b"word " * 400_000
    (free.workspace / "f.txt").write_bytes(line + b"before\n")
    command = "sed -i s/before/after/ f.txt"
    session = await worked(free, step("", call("bash", command=command)), step("Done."))
    rows = (await free.get(f"sessions/{session}/rows"))["rows"]
    row = next(one for one in rows if one.get("changes"))
    assert row["changes"][0]["truncated"]
    path = row["changes"][0]["path"]
    whole = (await free.get(f"sessions/{session}/row", row=row["id"]))["row"]["changes"][0]
    net = (await free.get(f"sessions/{session}/net", path=path, turn=1))["change"]
    for change in (whole, net):
        assert not change["truncated"]
        assert [line[-7:] for line in change["hunks"][0]["lines"]] == [" before", "d after"]


async def patch(house: House, session: str, **query: Any) -> bytes:
    answer = await house.client.get(f"/api/sessions/{session}/patch", params=query)
    assert answer.status_code == 200, answer.text
    name = "f.txt" if "path" in query else session
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}.patch"'
    return answer.content


async def test_a_patch_of_a_call_a_turn_a_file_and_all_applies(free: House) -> None:
    file = free.workspace / "f.txt"
    file.write_bytes(BEFORE)
    read = step("", call("read", path="{workspace}/f.txt"))
    new = call("write", path="{workspace}/new file.txt", content="new\n")
    session = await worked(
        free, read, step("", edit("line 3\n", "line three\n")), step("", new),
        more=[step("", edit("line 20\n", "line twenty\n"))],
    )  # fmt: skip
    after = file.read_bytes()
    rows = [row for row in await free.rows(session) if row["kind"] == "tool" and row["changes"]]
    of_call, of_turn, of_file, of_all = [
        await patch(free, session, **query) for query in ({"row": rows[0]["id"]}, {"turn": 1}, {"path": str(file)}, {})
    ]
    once = BEFORE.replace(b"line 3\n", b"line three\n")
    for text, result, has_new in (
        (of_call, once, False), (of_turn, once, True), (of_file, after, False), (of_all, after, True),
    ):  # fmt: skip
        place = fresh(free.folder, "f.txt", BEFORE)
        apply(place, text)
        assert (place / "f.txt").read_bytes() == result
        assert (place / "new file.txt").exists() is has_new


async def test_there_is_no_patch_of_what_is_not_on_disk(house: House) -> None:
    session = await house.begin([step("", call("write", path="{workspace}/a.txt", content="a\n"))], prompt="Go.")
    await house.answer(session, "reject")
    await house.done(session)
    (row,) = (row for row in await house.rows(session) if row["kind"] == "tool")
    for query in ({"row": row["id"]}, {"turn": 1}, {}):
        refused = await house.client.get(f"/api/sessions/{session}/patch", params=query)
        assert (refused.status_code, refused.json()["code"]) == (409, "NO_CHANGE")
    for query, code in (({"row": "tool:9:x"}, "NO_ROW"), ({"turn": 9}, "NO_TURN")):
        refused = await house.client.get(f"/api/sessions/{session}/patch", params=query)
        assert (refused.status_code, refused.json()["code"]) == (404, code)


async def test_a_secret_is_masked_wherever_it_is_shown_and_true_in_the_patch(free: House) -> None:
    file = free.workspace / "settings.ini"
    file.write_bytes(f"key = {KEY}\nmode = old\n".encode())
    read = step("", call("read", path="{workspace}/settings.ini"))
    change = call("edit", path="{workspace}/settings.ini", old_string="mode = old", new_string="mode = new")
    session = await worked(free, read, step("", change))
    (row,) = (row for row in await free.rows(session) if row["kind"] == "tool" and row["changes"])
    assert row["changes"][0]["redacted"] is True
    sides = await free.get(f"sessions/{session}/sides", row=row["id"], path=str(file))
    net = await free.get(f"sessions/{session}/net", turn=1, path=str(file))
    assert sides == net["sides"]
    assert (sides["available"], sides["masked"]) == (True, True)
    assert KEY not in f"{sides}{net}{await free.rows(session)}"
    context = [line[1:] for line in net["change"]["hunks"][0]["lines"] if line[0] == " "]
    assert context == sides["new"].splitlines()[:1]
    assert KEY.encode() in await patch(free, session)


async def test_a_file_of_secrets_is_not_shown_around_its_change(free: House) -> None:
    file = free.workspace / ".env"
    file.write_bytes(b"PHRASE is correct horse\nMODE=old\n" + b"# more\n" * 9 + b"the last line\n")
    read = step("", call("read", path="{workspace}/.env"))
    change = call("edit", path="{workspace}/.env", old_string="MODE=old", new_string="MODE=new")
    session = await worked(free, read, step("", change))
    (row,) = (row for row in await free.rows(session) if row["kind"] == "tool" and row["changes"])
    assert "+MODE=new" in row["changes"][0]["hunks"][0]["lines"], "the card goes on as the log has it"
    asked = {"row": row["id"], "path": str(file)}
    refused = {"path": str(file), "available": False, "secret": True, "masked": False, "old": None, "new": None}
    assert await free.get(f"sessions/{session}/sides", **asked) == refused
    assert [one["secret"] for one in (await free.get(f"sessions/{session}/files"))["files"]] == [True]
    net = await free.get(f"sessions/{session}/net", turn=1, path=str(file))
    assert net["sides"] == refused
    assert "the last line" not in str(net)
    assert "+MODE=new" in net["change"]["hunks"][0]["lines"]


async def test_the_net_change_of_a_turn_goes_from_first_to_last(free: House) -> None:
    file = free.workspace / "f.txt"
    file.write_bytes(BEFORE)
    read = step("", call("read", path="{workspace}/f.txt"))
    session = await worked(
        free, read, step("", edit("line 3\n", "line x\n")), step("", edit("line x\n", "line three\n"))
    )
    net = await free.get(f"sessions/{session}/net", turn=1, path=str(file))
    changed = [line for hunk in net["change"]["hunks"] for line in hunk["lines"] if line[0] != " "]
    assert changed == ["-line 3", "+line three"]
    assert net["sides"]["old"] == BEFORE.decode()
    assert net["sides"]["new"] == file.read_text()
    gone = await free.client.get(f"/api/sessions/{session}/net", params={"turn": 1, "path": "/nowhere"})
    assert (gone.status_code, gone.json()["code"]) == (404, "NO_FILE")


async def test_the_files_say_whether_the_agents_work_still_stands(free: House) -> None:
    (free.workspace / "doomed.txt").write_text("old\n")
    writes = [call("write", path=f"{{workspace}}/{name}.txt", content=f"{name}\n") for name in ("a", "b", "c")]
    delete = (
        step("", call("read", path="{workspace}/doomed.txt")),
        step("", call("delete", path="{workspace}/doomed.txt")),
    )
    session = await worked(free, step("", *writes), *delete)

    async def stands() -> dict[str, str]:
        files = (await free.get(f"sessions/{session}/files"))["files"]
        return {one["net"]["name"]: one["on_disk"] for one in files}

    assert await stands() == {"a.txt": "same", "b.txt": "same", "c.txt": "same", "doomed.txt": "same"}
    (free.workspace / "a.txt").write_text("A\n")
    (free.workspace / "b.txt").unlink()
    (free.workspace / "doomed.txt").write_text("back\n")
    assert await stands() == {"a.txt": "changed", "b.txt": "missing", "c.txt": "same", "doomed.txt": "changed"}


async def test_a_side_that_is_no_text_is_not_shown_as_text(free: House) -> None:
    file = free.workspace / "data.bin"
    file.write_bytes(b"\0\1\2")
    session = await worked(free, step("", call("bash", command="printf '\\000\\001\\003' > data.bin")))
    rows = [row for row in await free.rows(session) if row["kind"] in ("tool", "found") and row["changes"]]
    sides = await free.get(f"sessions/{session}/sides", row=rows[0]["id"], path=str(file))
    assert sides == {"path": str(file), "available": False, "secret": False, "masked": False, "old": None, "new": None}


async def test_a_change_that_is_too_large_for_the_log_is_shown_from_the_kept_bytes(free: House) -> None:
    line = "x" * 1_500_000
    file = free.workspace / "one-line.json"
    file.write_text(f"{line}\n")
    session = await worked(free, step("", call("bash", command="sed -i s/^x/y/ one-line.json")))
    (row,) = (row for row in await free.rows(session) if row["kind"] in ("tool", "found") and row["changes"])
    summary = row["changes"][0]
    assert (summary["truncated"], summary["hunks_omitted"], summary["at_least"]) == (True, True, False)
    (whole,) = (await free.get(f"sessions/{session}/row", row=row["id"]))["row"]["changes"]
    assert (whole["truncated"], whole["added"], whole["removed"]) == (False, 1, 1)
    assert [len(text) for hunk in whole["hunks"] for text in hunk["lines"]] == [1_500_001] * 2
