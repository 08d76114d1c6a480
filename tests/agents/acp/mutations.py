"""Recorded turns told in other ways: what other agents leave out, move, repeat, mislabel and get wrong.

A mutation changes what is said of a turn and when, never what happens on the disk. So whatever it makes of the
messages, the files before and after are those of the recording, and the cards must tell the way from the one to the
other.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Value = dict[str, Any]
Frame = dict[str, Any]
Said = dict[str, Any]
Mutation = Callable[[Value, Random], bool]
"""Changes a recording in place; False: there is nothing in it that it could change."""

_ENDED = ("completed", "failed")


def mutated(value: Value, names: list[str], random: Random) -> Value | None:
    """The recording after these mutations, one after the other; None: one of them does not apply."""
    made = copy.deepcopy(value)
    return made if all(MUTATIONS[name](made, random) for name in names) else None


# What a recording is made of.


def _messages(value: Value) -> Iterator[tuple[Frame, Said]]:
    """Everything that is said of calls: updates, and the call of a permission request."""
    for frame in value["frames"]:
        message = frame.get("message", {})
        if frame["from"] != "agent" or "params" not in message:
            continue
        if message["method"] == "session/update":
            if message["params"]["update"].get("sessionUpdate") in ("tool_call", "tool_call_update"):
                yield frame, message["params"]["update"]
        elif message["method"] == "session/request_permission":
            yield frame, message["params"]["toolCall"]


def _updates(value: Value) -> list[tuple[Frame, Said]]:
    return [(frame, said) for frame, said in _messages(value) if "sessionUpdate" in said]


def _questions(value: Value) -> list[tuple[Frame, Said]]:
    return [(frame, said) for frame, said in _messages(value) if "sessionUpdate" not in said]


def _blocks(value: Value) -> list[dict[str, Any]]:
    return [block for _, said in _messages(value) for block in _content(said) if _is_diff(block)]


def _is_diff(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "diff"


def _has_diff(said: Said) -> bool:
    return any(map(_is_diff, _content(said)))


def _content(said: Said) -> list[Any]:
    held = said.get("content")
    return held if isinstance(held, list) else []


def _strip(said: Said) -> None:
    rest = [block for block in said["content"] if not _is_diff(block)]
    if rest:
        said["content"] = rest
    else:
        del said["content"]


def _without(value: Value, gone: list[Frame]) -> bool:
    identities = set(map(id, gone))
    value["frames"] = [frame for frame in value["frames"] if id(frame) not in identities]
    return bool(gone)


def _moved(value: Value, frames: list[Frame], to: int) -> bool:
    """`to`: the place among the frames that stay."""
    if not frames:
        return False
    _without(value, frames)
    value["frames"][to:to] = frames
    return True


def _disk(value: Value) -> list[int]:
    return [at for at, frame in enumerate(value["frames"]) if frame["from"] == "disk"]


def _clone(said: Said, like: Frame) -> Frame:
    frame = copy.deepcopy(like)
    frame["message"]["params"]["update"] = said
    return frame


def _fields(*names: str, value: Any = None) -> Mutation:
    """Each of these fields is set to a value; None: it is left out."""

    def mutate(recording: Value, _: Random) -> bool:
        changed = False
        for _frame, said in _messages(recording):
            for name in names:
                if said.get(name) not in (None, value):
                    changed = True
                    if value is None:
                        del said[name]
                    else:
                        said[name] = copy.deepcopy(value)
        return changed

    return mutate


def _each_block(change: Callable[[dict[str, Any]], None]) -> Mutation:
    def mutate(recording: Value, _: Random) -> bool:
        blocks = _blocks(recording)
        for block in blocks:
            change(block)
        return bool(blocks)

    return mutate


def _paths(new: str) -> Mutation:
    """Every path in the workspace is named in another way."""

    def renamed(one: Any) -> Any:
        if isinstance(one, dict):
            return {name: renamed(held) for name, held in one.items()}
        if isinstance(one, list):
            return [renamed(held) for held in one]
        whole = isinstance(one, str) and one.startswith("{WORKSPACE}/") and "\n" not in one
        return new + one.removeprefix("{WORKSPACE}/") if whole else one

    def mutate(recording: Value, _: Random) -> bool:
        changed = False
        for _frame, said in _messages(recording):
            was = copy.deepcopy(said)
            said.update(renamed(said))
            changed = changed or said != was
        return changed

    return mutate


# Where the diff is.


def _diff_only_at_start(value: Value, _: Random) -> bool:
    seen: set[str] = set()
    changed = False
    for _frame, said in _messages(value):
        if _has_diff(said):
            if said["toolCallId"] in seen:
                _strip(said)
                changed = True
            seen.add(said["toolCallId"])
    return changed


def _diff_only_at_end(value: Value, _: Random) -> bool:
    last = {said["toolCallId"]: said for _, said in _messages(value) if _has_diff(said)}
    others = [said for _, said in _messages(value) if _has_diff(said) and said is not last[said["toolCallId"]]]
    for said in others:
        _strip(said)
    return bool(others)


def _no_diff(value: Value, _: Random) -> bool:
    with_one = [said for _, said in _messages(value) if _has_diff(said)]
    for said in with_one:
        _strip(said)
    return bool(with_one)


def _end_wipes_diff(value: Value, _: Random) -> bool:
    ends = [said for _, said in _updates(value) if said.get("status") in _ENDED]
    for said in ends:
        said["content"] = [{"type": "content", "content": {"type": "text", "text": "The file has been updated."}}]
    return bool(ends) and bool(_blocks(value))


def _diff_only_in_question(value: Value, _: Random) -> bool:
    diffs: dict[str, list[Any]] = {}
    for _frame, said in _messages(value):
        if _has_diff(said):
            diffs.setdefault(said["toolCallId"], [block for block in said["content"] if _is_diff(block)])
    asked = [said for _, said in _questions(value) if said["toolCallId"] in diffs]
    if not asked:
        return False
    _no_diff(value, Random(0))
    for said in asked:
        said["content"] = diffs[said["toolCallId"]]
    return True


def _question_under_its_own_id(value: Value, _: Random) -> bool:
    asked = _questions(value)
    for number, (_frame, said) in enumerate(asked):
        said["toolCallId"] = f"permission-{number}"
    return bool(asked)


def _question_says_nothing(value: Value, _: Random) -> bool:
    asked = _questions(value)
    for frame, said in asked:
        frame["message"]["params"]["toolCall"] = {"toolCallId": said["toolCallId"]}
    return bool(asked)


def _diff_of_another_file(block: dict[str, Any]) -> None:
    block["path"] = "{WORKSPACE}/elsewhere/never.txt"


def _diff_of_other_lines(block: dict[str, Any]) -> None:
    block["oldText"], block["newText"] = "what never was\n", "what never will be\n"


def _half_a_diff(block: dict[str, Any]) -> None:
    block.pop("newText", None)


def _normalised(block: dict[str, Any]) -> None:
    for name in ("oldText", "newText"):
        if isinstance(block.get(name), str):
            block[name] = block[name].replace("\r\n", "\n")


def _carriage_returns(block: dict[str, Any]) -> None:
    _normalised(block)
    for name in ("oldText", "newText"):
        if isinstance(block.get(name), str):
            block[name] = block[name].replace("\n", "\r\n")


def _diff_as_words(value: Value, _: Random) -> bool:
    """JSON in a block of text, as some agents tell their arguments."""
    with_one = [said for _, said in _messages(value) if _has_diff(said)]
    for said in with_one:
        block = next(filter(_is_diff, said["content"]))
        text = json.dumps({"path": block["path"], "old_string": block.get("oldText") or "", "new_string":
                           block.get("newText")})  # fmt: skip
        said["content"] = [{"type": "content", "content": {"type": "text", "text": text}}]
    return bool(with_one)


# Ids, starts, ends, order.


def _ids(new: Callable[[int], Any]) -> Mutation:
    def mutate(value: Value, _: Random) -> bool:
        known: dict[str, Any] = {}
        for _frame, said in _messages(value):
            said["toolCallId"] = known.setdefault(said["toolCallId"], new(len(known)))
        return bool(known)

    return mutate


def _one_id_for_all(value: Value, random: Random) -> bool:
    several = len({said["toolCallId"] for _, said in _messages(value)}) > 1
    return several and _ids(lambda _: "call")(value, random)


def _said_twice(value: Value, _: Random) -> bool:
    frames = []
    for frame in value["frames"]:
        frames.append(frame)
        if "update" in frame.get("message", {}).get("params", {}):
            frames.append(copy.deepcopy(frame))
    changed = len(frames) > len(value["frames"])
    value["frames"] = frames
    return changed


def _start_again(value: Value, _: Random) -> bool:
    """The start of a call is said once more before its end."""
    starts: dict[str, Frame] = {}
    frames = []
    for frame in value["frames"]:
        said = frame.get("message", {}).get("params", {}).get("update", {})
        if said.get("sessionUpdate") == "tool_call":
            starts[said["toolCallId"]] = frame
        elif said.get("status") in _ENDED and said["toolCallId"] in starts:
            frames.append(copy.deepcopy(starts[said["toolCallId"]]))
        frames.append(frame)
    changed = len(frames) > len(value["frames"])
    value["frames"] = frames
    return changed


def _no_starts(value: Value, _: Random) -> bool:
    return _without(value, [frame for frame, said in _updates(value) if said["sessionUpdate"] == "tool_call"])


def _starts_only(value: Value, _: Random) -> bool:
    """Every message is a start."""
    others = [said for _, said in _updates(value) if said["sessionUpdate"] != "tool_call"]
    for said in others:
        said["sessionUpdate"] = "tool_call"
    return bool(others)


def _no_ends(value: Value, _: Random) -> bool:
    return _without(value, [frame for frame, said in _updates(value) if said.get("status") in _ENDED])


def _one_message_a_call(value: Value, _: Random) -> bool:
    """Nothing is said before a call is over; then all of it at once."""
    whole: dict[str, Said] = {}
    last: dict[str, Frame] = {}
    for frame, said in _updates(value):
        one = whole.setdefault(said["toolCallId"], {})
        one.update({name: held for name, held in said.items() if held is not None})
        last[said["toolCallId"]] = frame
    for call, frame in last.items():
        frame["message"]["params"]["update"] = {**whole[call], "sessionUpdate": "tool_call"}
    kept = set(map(id, last.values()))
    return _without(value, [frame for frame, _ in _updates(value) if id(frame) not in kept])


def _start_after_end(value: Value, _: Random) -> bool:
    """The start of a call comes after its end."""
    frames, changed = value["frames"], False
    for start, said in [pair for pair in _updates(value) if pair[1]["sessionUpdate"] == "tool_call"]:
        own = [(frame, one) for frame, one in _updates(value) if one["toolCallId"] == said["toolCallId"]]
        ends = [frame for frame, one in own if one.get("status") in _ENDED and frame is not start]
        if not ends:
            continue
        del frames[next(at for at, frame in enumerate(frames) if frame is start)]
        frames.insert(next(at for at, frame in enumerate(frames) if frame is ends[-1]) + 1, start)
        changed = True
    return changed


def _all_started_first(value: Value, _: Random) -> bool:
    """Every call is announced before anything happens."""
    starts = [frame for frame, said in _updates(value) if said["sessionUpdate"] == "tool_call"]
    return len(starts) > 1 and _moved(value, starts, 1)


def _all_ended_last(value: Value, _: Random) -> bool:
    ends = [frame for frame, said in _updates(value) if said.get("status") in _ENDED]
    staying = [frame for frame in value["frames"] if not any(frame is end for end in ends)]
    disk = [at for at, frame in enumerate(staying) if frame["from"] == "disk"]
    return len(ends) > 1 and bool(disk) and _moved(value, ends, disk[-1] + 1)


def _end_before_work(value: Value, _: Random) -> bool:
    """The end of a call is told just before its change is on the disk."""
    disk = _disk(value)
    if not disk:
        return False
    after = {id(frame) for frame in value["frames"][disk[-1] :]}
    ends = [frame for frame, said in _updates(value) if said.get("status") in _ENDED and id(frame) in after]
    return _moved(value, ends[:1], disk[-1])


def _told_afterwards(value: Value, _: Random) -> bool:
    """A call is announced only once its change is on the disk."""
    disk = _disk(value)
    if not disk or _questions(value):
        return False
    early = {id(frame) for frame in value["frames"][: disk[-1]]}
    told = [frame for frame, _ in _updates(value) if id(frame) in early]
    staying = [frame for frame in value["frames"] if not any(frame is one for one in told)]
    last = max(at for at, frame in enumerate(staying) if frame["from"] == "disk")
    return _moved(value, told, last + 1)


def _turn_ends_early(value: Value, _: Random) -> bool:
    """The prompt is answered as soon as the last change is on the disk; the rest is said later."""
    frames = value["frames"]
    answer = [frame for frame in frames if frame["from"] == "agent" and "method" not in frame["message"]
              and "stopReason" in (frame["message"].get("result") or {})]  # fmt: skip
    if not answer:
        return False
    needed = [
        at for at, frame in enumerate(frames) if frame["from"] != "agent" or {"id", "method"} <= set(frame["message"])
    ]
    return _moved(value, answer[:1], max(needed) + 1)


def _no_calls_told(value: Value, _: Random) -> bool:
    return _without(value, [frame for frame, _ in _updates(value)])


def _no_requests_to_client(value: Value, _: Random) -> bool:
    gone = [frame for frame in value["frames"] if frame["from"] == "agent"
            and str(frame["message"].get("method")).startswith(("fs/", "terminal/"))]  # fmt: skip
    return _without(value, gone)


# Status, words, noise.


def _failures_as_success(value: Value, _: Random) -> bool:
    failed = [said for _, said in _updates(value) if said.get("status") == "failed"]
    for said in failed:
        said["status"] = "completed"
    return bool(failed)


def _success_as_failure(value: Value, _: Random) -> bool:
    done = [said for _, said in _updates(value) if said.get("status") == "completed"]
    for said in done:
        said["status"] = "failed"
    return bool(done)


def _completed_from_the_start(value: Value, _: Random) -> bool:
    starts = [said for _, said in _updates(value) if said["sessionUpdate"] == "tool_call"]
    for said in starts:
        said["status"] = "completed"
    return bool(starts)


def _words_of_others(value: Value, _: Random) -> bool:
    """Statuses and kinds that the protocol does not know."""
    words = {"pending": "queued", "in_progress": "running", "completed": "success", "failed": "error"}
    changed = False
    for _frame, said in _updates(value):
        if said.get("status") in words:
            said["status"], changed = words[said["status"]], True
    return changed


def _names_unknown(value: Value, random: Random) -> bool:
    """Neither the tool nor what it does is called as we know it."""
    changed = False
    for _frame, said in _messages(value):
        for name in ("title", "name"):
            if said.get(name):
                said[name], changed = f"zork-{random.randrange(10)}", True
        said.pop("_meta", None)
    return changed


def _growing_text(value: Value, _: Random) -> bool:
    """Before each end, all text so far again and again, and the diff of before is not in it."""
    frames = []
    for frame in value["frames"]:
        said = frame.get("message", {}).get("params", {}).get("update", {})
        if said.get("status") in _ENDED:
            for length in range(1, 30):
                text = {"type": "text", "text": "working " * length}
                frames.append(_clone({"sessionUpdate": "tool_call_update", "toolCallId": said["toolCallId"],
                                      "content": [{"type": "content", "content": text}]}, frame))  # fmt: skip
        frames.append(frame)
    changed = len(frames) > len(value["frames"])
    value["frames"] = frames
    return changed


def _bare_content(value: Value, _: Random) -> bool:
    """One block instead of a list of them."""
    held = [said for _, said in _messages(value) if said.get("content")]
    for said in held:
        said["content"] = said["content"][-1]
    return bool(held)


def _nulls(value: Value, _: Random) -> bool:
    for _frame, said in _messages(value):
        for name in ("title", "kind", "status", "content", "locations", "rawInput", "rawOutput", "_meta"):
            said.setdefault(name, None)
    return bool(_updates(value))


def _of_wrong_types(value: Value, random: Random) -> bool:
    for _frame, said in _messages(value):
        name = random.choice(["title", "kind", "content", "locations", "rawInput", "rawOutput", "_meta"])
        said[name] = random.choice([7, True, "text", [], {}, [None], {"path": 3}, [["x"]]])
    return bool(_updates(value))


def _old_text(value: Any) -> Mutation:
    def change(block: dict[str, Any]) -> None:
        if value is ...:
            block.pop("oldText", None)
        else:
            block["oldText"] = value

    return _each_block(change)


MUTATIONS: dict[str, Mutation] = {
    "the diff is told only first": _diff_only_at_start,
    "the diff is told only last": _diff_only_at_end,
    "the diff is told only in the question": _diff_only_in_question,
    "no diff": _no_diff,
    "the end wipes the diff": _end_wipes_diff,
    "the question under an id of its own": _question_under_its_own_id,
    "the question says nothing": _question_says_nothing,
    "a diff of another file": _each_block(_diff_of_another_file),
    "a diff of other lines": _each_block(_diff_of_other_lines),
    "half a diff": _each_block(_half_a_diff),
    "no old text": _old_text(None),
    "an empty old text": _old_text(""),
    "an absent old text": _old_text(...),
    "plain line ends": _each_block(_normalised),
    "carriage returns": _each_block(_carriage_returns),
    "the diff as words": _diff_as_words,
    "no arguments": _fields("rawInput"),
    "no places": _fields("locations"),
    "no output": _fields("rawOutput", "_meta"),
    "a title only": _fields("rawInput", "rawOutput", "_meta", "locations", "content", "kind", "name"),
    "diffs only": _fields("rawInput", "rawOutput", "_meta", "locations", "kind", "name", "title"),
    "no kind": _fields("kind"),
    "all kinds other": _fields("kind", value="other"),
    "all kinds read": _fields("kind", value="read"),
    "all kinds edit": _fields("kind", value="edit"),
    "all kinds execute": _fields("kind", value="execute"),
    "no status": _fields("status"),
    "for ever pending": _fields("status", value="pending"),
    "all completed": _fields("status", value="completed"),
    "relative paths": _paths(""),
    "addresses": _paths("file://{WORKSPACE}/"),
    "paths with dots": _paths("{WORKSPACE}/x/../"),
    "paths through a link": _paths("{WORKSPACE}/../link/"),
    "paths from a root of its own": _paths("/"),
    "other ids": _ids(lambda number: f"fc_{number}|{'x' * 300} é\n"),
    "ids that are numbers": _ids(lambda number: number),
    "one id for all": _one_id_for_all,
    "all said twice": _said_twice,
    "starts said again": _start_again,
    "no starts": _no_starts,
    "nothing but starts": _starts_only,
    "no ends": _no_ends,
    "one message a call": _one_message_a_call,
    "the start after the end": _start_after_end,
    "all started first": _all_started_first,
    "all ended last": _all_ended_last,
    "the end before the work": _end_before_work,
    "told afterwards": _told_afterwards,
    "the turn ends early": _turn_ends_early,
    "no calls told": _no_calls_told,
    "nothing by the client": _no_requests_to_client,
    "failures as success": _failures_as_success,
    "success as failure": _success_as_failure,
    "completed from the start": _completed_from_the_start,
    "words of others": _words_of_others,
    "unknown names": _names_unknown,
    "growing text": _growing_text,
    "content without a list": _bare_content,
    "nulls": _nulls,
    "wrong types": _of_wrong_types,
}
