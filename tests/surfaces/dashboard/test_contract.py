"""The OpenAPI document and what the server really says are one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from pydantic import TypeAdapter

from redline.changes.record import FileChange, Hunk, Side
from redline.surfaces.dashboard import contract
from redline.surfaces.dashboard.changes import shown_change, shown_changes
from redline.surfaces.dashboard.openapi import document
from redline.surfaces.dashboard.place import Place, text
from redline.surfaces.dashboard.rows import row_details, shown_row
from redline.transcript import rows as of
from redline.views import DiffCall, DiffResult, GenericCall, GenericResult, TerminalCall, TerminalResult
from surfaces.dashboard.stage import TOKEN, House, call, step

ROOT = Path(__file__).parents[3]
PLACE = Place("s1", "/w")
ROW = TypeAdapter(contract.Row)
HEAD: dict[str, Any] = {"turn": 1, "seq": 2, "revision": 3, "at": 4}
ODD = "é\u202e\udce9</script>\x00\x1b[31m"


def test_the_document_of_the_page_is_the_one_of_the_server() -> None:
    kept = (ROOT / "web" / "openapi.json").read_text(encoding="utf-8")
    assert kept == document(), "python -m redline.surfaces.dashboard.openapi web/openapi.json, then npm run types"


def test_every_event_of_the_stream_is_in_the_document() -> None:
    schemas = json.loads(document())["components"]["schemas"]
    named = {one["$ref"].rpartition("/")[2] for one in schemas["StreamEvents"]["properties"].values()}
    assert named == {"StreamHello", "StreamRows", "StreamState", "StreamText", "StreamSessions", "StreamReset"}
    assert named <= set(schemas)


def change(**more: Any) -> FileChange:
    hunk = Hunk(1, 1, 1, 1, (f"-{ODD.replace(chr(10), '')}", "+new"))
    side = Side("0" * 40, 4)
    return FileChange("/w/a.txt", "modify", (hunk,), 1, 1, before=side, after=side, **more)


PROBLEM = of.Problem(code="X", message=ODD, remedy="Do.")
ROWS = [
    of.UserRow(id="user:2", **HEAD, text=ODD, attachments=[{"type": "image", "blob": "0" * 40}, {"type": ODD}, {}]),
    of.AgentRow(id="agent:1:m", **HEAD, text=ODD),
    of.ThoughtRow(id="thought:1:m", **HEAD, text=ODD),
    of.ToolRow(id="tool:1:c", **HEAD, call=ODD, name="x", status="running", call_view=GenericCall(ODD, "other")),
    of.ToolRow(
        id="tool:1:c", **HEAD, call="c", name="edit", status="applied", call_view=DiffCall(ODD, (change(),)),
        result_view=DiffResult(changes=(change(),), note=ODD), changes=(change(),), proposed=(change(),),
        error=PROBLEM, warnings=(ODD,), permission="asked", raw={"rawInput": {"a": ODD}}, reverted_paths=(ODD,),
    ),
    of.ToolRow(
        id="tool:1:c", **HEAD, call="c", name="bash", status="failed", call_view=TerminalCall(ODD, ODD, ODD),
        result_view=TerminalResult(output=ODD * 5000, exit_code=1, signal="KILL", time_limit=5),
    ),
    of.ToolRow(
        id="tool:1:c", **HEAD, call="c", name="", status="unknown", call_view=GenericCall(ODD, "fetch"),
        result_view=GenericResult(content=({"type": "text", "text": ODD * 5000}, {"type": "content", "content": 3})),
    ),
    of.RevertRow(id="revert:1:u", **HEAD, call="u", of=((1, ODD),), changes=(change(),)),
    of.FoundRow(id="found:2", **HEAD, changes=(change(provenance="observed"),), during=(ODD,), reverted_paths=(ODD,)),
    of.PlanRow(id="plan:1", **HEAD, entries=({"content": ODD, "status": "pending"}, {})),
    of.PermissionRow(
        id="permission:1:r", **HEAD, request=ODD, call="c", title=ODD, changes=(change(),),
        options=({"id": "a", "kind": "b", "name": ODD}, {}), outcome="reject", by=ODD,
    ),
    of.NoticeRow(id="notice:2", **HEAD, level="warning", problem=PROBLEM),
    of.TurnEndRow(
        id="turn_end:1", **HEAD, reason="failed", error=PROBLEM, models=(ODD,), cost=0.5,
        net=(of.NetTotal(path="/w/a", operation="move", added=1, removed=2, old_path="/x/b"),),
    ),
    of.OtherRow(id="other:2", **HEAD, title=ODD),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
@pytest.mark.parametrize("whole", [True, False])
def test_every_kind_of_row_goes_over_the_wire(row: of.AnyRow, whole: bool) -> None:
    shown = shown_row(PLACE, row, whole=whole)
    assert shown.kind == row.kind, "it became an error row"
    again = ROW.validate_json(shown.model_dump_json())
    assert again == shown
    assert contract.RowDetails.model_validate_json(row_details(PLACE, row).model_dump_json()).row.kind == row.kind


def test_the_kinds_are_all_there_are() -> None:
    assert {row.kind for row in ROWS} == {kind.__dataclass_fields__["kind"].default for kind in of.AnyRow.__args__}


def test_odd_bytes_are_said_and_not_lost() -> None:
    assert text("caf\udce9 \ud800") == "caf\\xE9 \\uD800"
    assert text("plain é 😀") == "plain é 😀"


def test_hidden_characters_are_named_on_the_change() -> None:
    hunk = Hunk(1, 0, 1, 1, ("+if admin\u202e:",))
    shown = shown_change(PLACE, FileChange("/w/a\u200b.py", "modify", (hunk,), 1, 0))
    assert shown.hidden == ["bidirectional", "invisible"]
    within = shown_change(Place("s1", "/w\u202e"), FileChange("/w\u202e/a.py", "modify", (), 1, 0))
    assert within.hidden == []


def test_a_row_of_very_many_changes_stays_small_and_loses_none() -> None:
    def some(lines: int, width: int) -> FileChange:
        hunk = Hunk(1, 0, 1, lines, tuple("+" + "x" * width for _ in range(lines)))
        return FileChange("/w/a", "modify", (hunk,), lines, 0)

    many = shown_changes(PLACE, [some(400, 1)] * 30)
    assert [one.hunks_omitted for one in many] == [False] * 25 + [True] * 5
    wide = shown_changes(PLACE, [some(10, 50_000)] * 3)
    assert [one.hunks_omitted for one in wide] == [False, True, True]
    assert [one.added for one in wide] == [10, 10, 10]
    assert not any(one.hunks_omitted for one in shown_changes(PLACE, [some(10, 50_000)] * 3, whole=True))


def test_counts_of_a_part_are_lower_bounds_where_nobody_counted_the_whole() -> None:
    hunk = Hunk(1, 0, 1, 2, ("+a", "+b"))
    cut_by_us = FileChange("/w/a", "modify", (hunk,), 5000, 0, truncated=True)
    cut_before = FileChange("/w/a", "modify", (hunk,), 2, 0, truncated=True)
    whole = FileChange("/w/a", "modify", (hunk,), 2, 0)
    assert [shown_change(PLACE, one).at_least for one in (cut_by_us, cut_before, whole)] == [False, True, False]
    assert [shown_change(PLACE, one).hunks_omitted for one in (cut_by_us, cut_before, whole)] == [True, True, False]


@pytest.fixture
async def lived_in(house: House) -> House:
    """A session with something of everything, for requests that guess."""
    write = call("write", path="{workspace}/a.txt", content="a\n")
    session = await house.begin([step("Ok.", write)], prompt="Write.")
    await house.answer(session, "allow_once")
    await house.done(session)
    return house


async def test_no_request_whatever_breaks_the_server_or_its_word(
    lived_in: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generated requests, right and wrong ones; each answer has the status and the shape that the document says."""
    house = lived_in
    (known,) = [one["session"] for one in (await house.get("sessions"))["sessions"]]
    schema = schemathesis.openapi.from_dict(json.loads(document()))
    schema.config.base_url = house.origin
    monkeypatch.setenv("NO_PROXY", "*")

    def run(operation: Any) -> None:
        @settings(
            max_examples=12, deadline=None, derandomize=True, database=None,
            phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def check(case: Any) -> None:
            if "session" in (case.path_parameters or {}) and len(case.path_parameters["session"]) % 2:
                case.path_parameters["session"] = known
            case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20)

        given(case=operation.as_strategy())(check)()

    operations = [result.ok() for result in schema.get_all_operations()]
    # A stream does not end, and what is deleted is not there for the others.
    for operation in sorted(operations, key=lambda one: one.method == "delete"):
        if operation.path != "/api/stream":
            await asyncio.to_thread(run, operation)
