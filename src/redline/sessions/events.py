"""The vocabulary of the session log.

An event is `{v, session, seq, at, type, data}`. `seq` counts from 1 without gaps within its session. The table below
says what `data` holds; every value passed the gate (JSON only) and the door (secrets masked). Readers skip a type that
they do not know and keep its place. A file change inside `data` is the JSON form of `changes.record.FileChange`.

| type                | data                                                                                           |
|---------------------|------------------------------------------------------------------------------------------------|
| session/started     | workspace, agent, model?, surface, redline (version), command?: that starts a foreign agent    |
| session/state       | title?, modes?, options?, commands?: what is absent is unchanged; agent?: of a foreign agent,  |
|                     | all of {session (its id of it), name, version, mode, model, chosen, modes, options, commands}  |
| session/closed      | reason                                                                                         |
| agent/started       | name, version?, model?                                                                         |
| agent/exited        | reason, code?                                                                                  |
| agent/update        | anything else that an agent sends, verbatim                                                    |
| turn/started        | turn (from 1), source (the surface, or "undo"), rule; paths?: of an undo                       |
| turn/ended          | turn, reason: completed, cancelled, failed, limit, interrupted; error?: {code, message, remedy}|
| user/message        | turn, content: blocks                                                                          |
| assistant/message   | turn, message (id), text: a further part of that message; parts of one id join without a gap;  |
|                     | meta?: what a foreign agent sent beside that part                                              |
| assistant/thought   | the same                                                                                       |
| plan/updated        | turn, entries: {content, status, _meta?}, _meta?: what a foreign agent sent beside them        |
| usage/updated       | turn, model, input_tokens, output_tokens, cached_tokens, cost (US dollars, null: unknown);     |
|                     | of a foreign agent: context?: {used, size, _meta?} in tokens, of_session?: its cost so far     |
| notice/raised       | code, message, remedy?, level: info, warning, error; turn?                                     |
| tool/call           | turn, call, name (empty: a foreign agent's), kind, arguments, proposed: changes, title?,       |
|                     | proposal_error?: {code, message, remedy}                                                       |
| tool/update         | turn, call, and what changed of: title, status, kind, content, locations, arguments, changes,  |
|                     | observed?: true, where changes is what was found on disk, all of it; {kept: place} in it is    |
|                     | the change at that place of the changes in the event before that told what was found of it     |
| tool/result         | turn, call, name, kind, status: completed, failed, rejected, cancelled, interrupted, unknown;  |
|                     | content: blocks for the model, changes, meta?, warnings?, error?: {code, message, remedy},     |
|                     | seen?: [{path, blob}], what the model has now read or written; observed?, as above;            |
|                     | proposed?: what a foreign agent reported and did not do                                        |
| permission/asked    | turn, call, request (id), title, changes, options: {id, kind, name}                            |
| permission/answered | turn, call, request, outcome: allow_once, allow_session, reject, cancelled, unavailable; by |
| file/intent         | turn, call, operation, path, real, moved_to?, moved?: {real}, before, after (blobs or null),   |
|                     | kept, change; of an undo: reverts (as took), steps (how many it has in all)                    |
| workspace/changed   | turn, changes, during?: call ids; beside?: the other sessions that were at work in the same    |
|                     | workspace, any of which may have made them                                                     |
| change/reverted     | turn, call, of: [{turn, call}], changes, took: [{turn, call, seq, index, hunk?}], the changes  |
|                     | that it took back, with an empty call for what was found in the turn; status?: of one that was |
|                     | cut off: completed, interrupted, unknown                                                       |

`kept` of an intent: the store of bytes holds both sides. A block is `{type: "text", text}` or
`{type: "image", blob, bytes, media_type}`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

VERSION = 1

EventType = Literal[
    "session/started", "session/state", "session/closed",
    "agent/started", "agent/exited", "agent/update",
    "turn/started", "turn/ended",
    "user/message", "assistant/message", "assistant/thought",
    "plan/updated", "usage/updated", "notice/raised",
    "tool/call", "tool/update", "tool/result",
    "permission/asked", "permission/answered",
    "file/intent", "workspace/changed", "change/reverted",
]  # fmt: skip

EVENT_TYPES: frozenset[str] = frozenset(get_args(EventType))

DURABLE: frozenset[str] = frozenset({"file/intent", "tool/result", "change/reverted"})
"""Flushed to the disk before `append` returns; the rest survive a crash of the process, and of the machine only from
the next flush on."""


class Event(NamedTuple):
    """A tuple, because one is made for each event, and a frozen dataclass takes four times as long to make."""

    session: str
    seq: int
    at: int
    """Milliseconds since 1970-01-01T00:00Z."""
    type: str
    data: dict[str, Any]
    v: int = VERSION
