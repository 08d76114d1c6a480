"""What a client gets through `redline acp` beside what it gets from the agent itself: the same JSON values, but for the
differences that are written down here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surfaces.editor.editor_client import Held, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from surfaces.editor.editor_client import Editor

OURS = ("fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "terminal/wait_for_exit",
        "terminal/release", "terminal/kill")  # fmt: skip
"""Requests that Redline serves itself, so that every write goes through its journal."""


ON_DISK = re.compile(r"moved from|: (created|deleted)\\.|no text basis|executable|nothing changed on disk")


@dataclass
class Stream:
    """What a client got of one turn, the folder of the session written as {W}."""

    answers: list[Any]
    calls: list[dict[str, Any]]
    """Each as it stood at the end, with the notes on it, in the order in which they began."""
    text: Mapping[str, str]
    asked: list[dict[str, Any]]
    heard: list[dict[str, Any]]
    others: list[Any]

    @classmethod
    def of(cls, editor: Editor, session: str, answers: list[Any], workspace: Path) -> Stream:
        held = editor.held.pop(session, Held())
        calls = [{**fields, "_meta": held.notes.get(identity, {})} for identity, fields in held.calls.items()]
        got = [answers, calls, held.text, editor.asked, editor.heard, held.others]
        editor.asked, editor.heard = [], []
        return cls(*json.loads(json.dumps(got).replace(json.dumps(str(workspace))[1:-1], "{W}")))


def compare(ours: Stream, raw: Stream) -> None:
    """Every value is the same, but for what the functions below permit."""
    assert ours.answers == raw.answers
    assert (ours.text["agent"], ours.text["thought"]) == (raw.text["agent"], raw.text["thought"])
    assert [_without_ids(one) for one in ours.heard] == [_without_ids(one) for one in raw.heard]
    assert ours.others == raw.others
    compare_requests(ours.asked, [one for one in raw.asked if one["method"] not in OURS])
    compare_calls(ours.calls, raw)


def compare_requests(ours: list[dict[str, Any]], raw: list[dict[str, Any]]) -> None:
    assert [one["method"] for one in ours] == [one["method"] for one in raw]
    for mine, theirs in zip(map(_without_ids, ours), map(_without_ids, raw), strict=True):
        if mine["method"] == "session/request_permission":
            # The call that it is about, with the change that the disk foresees in place of the agent's own diff.
            compare_call(mine["params"].pop("toolCall"), theirs["params"].pop("toolCall"), asked=True)
        assert mine == theirs


def compare_calls(ours: list[dict[str, Any]], raw: Stream) -> None:
    """In the same order; and some more: what nobody told, and what the agent only asked about."""
    told = {one["toolCallId"] for one in raw.calls}
    asked = {one["params"]["toolCall"]["toolCallId"] for one in raw.asked if "toolCall" in one["params"]} - told
    known = [
        one
        for one in ours
        if not one["title"].startswith("Changed on disk") and one["toolCallId"].partition(":")[2] not in asked
    ]
    assert [one["toolCallId"] for one in known] == [f"1:{one['toolCallId']}" for one in raw.calls]
    for mine, theirs in zip(known, raw.calls, strict=True):
        compare_call(mine, theirs)


def compare_call(mine: dict[str, Any], theirs: dict[str, Any], *, asked: bool = False) -> None:
    """Permitted: other content, places and kind of a call that changed a file, by the disk's word or the agent's; a
    reason and the refused change beside what a failed call says; an end where the agent gave none; of places, no line
    where it is null, and those of before where the list is empty in the end."""
    theirs_said = theirs.get("content") or []
    by_disk = changed(mine["content"], theirs_said)
    ends = asked or theirs.get("status") in ("completed", "failed")
    for name, same in (("title", True), ("kind", not by_disk), ("status", ends)):
        if same and theirs.get(name) is not None:
            assert mine[name] == theirs[name], name
    for name in theirs.keys() - {"toolCallId", "title", "kind", "status", "content", "locations"}:
        if theirs[name]:
            assert mine.get(name) == theirs[name], name
    if mine["status"] == "failed":
        assert said(theirs_said) in said(mine["content"])
    elif not by_disk:
        assert mine["content"] == theirs_said
        if places := [_without_null(one) for one in theirs.get("locations") or []]:
            assert [_without_null(one) for one in mine["locations"]] == places


def changed(*contents: Any) -> bool:
    """Some file was, or was said to be."""
    blocks = [block for content in contents for block in content]
    return any(block["type"] == "diff" for block in blocks) or bool(ON_DISK.search(said(blocks)))


def _without_ids(message: dict[str, Any]) -> dict[str, Any]:
    params = message["params"]
    if isinstance(params, dict):
        params = {name: value for name, value in params.items() if name != "sessionId"}
    return {"method": message["method"], "params": params}


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if one is not None}
