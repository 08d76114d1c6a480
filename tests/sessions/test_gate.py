from __future__ import annotations

import collections
import enum
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.sessions.gate import EVENT_LIMIT, LARGE_STRING, GateError, admit, as_json, check, escaped


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Colour(enum.StrEnum):
    RED = "red"


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def cycle() -> dict[str, Any]:
    value: dict[str, Any] = {"a": [1]}
    value["a"].append({"b": value})
    return value


REFUSED: list[tuple[object, str, str]] = [
    ({"a": [1, float("nan")]}, "a[1]", "nan"),
    ({"a": float("inf")}, "a", "inf"),
    ({"a": -float("inf")}, "a", "-inf"),
    ([0.0, -0.0], "[1]", "sign"),
    ({"n": 2**53 + 1}, "n", "2^53"),
    ({"n": -(2**53) - 1}, "n", "2^53"),
    ({"n": 10**400}, "n", "2^53"),
    ({"changes": [{"lines": ("+a",)}]}, "changes[0].lines", "a tuple"),
    ({"a": {1, 2}}, "a", "a set"),
    ({"a": b"x"}, "a", "a bytes"),
    ({"a": object()}, "a", "an object"),
    ({"a": Text("x")}, "a", "a Text"),
    ({"a": Number(1)}, "a", "a Number"),
    ({"a": Colour.RED}, "a", "a Colour"),
    ({"a": collections.OrderedDict()}, "a", "an OrderedDict"),
    ({"a": collections.defaultdict(list)}, "a", "a defaultdict"),
    ({"a": 1j}, "a", "a complex"),
    ({"a": lambda: None}, "a", "a function"),
    ({1: "x"}, "[1]", "a key that is an int"),
    ({"a": {None: 1}}, "a[null]", "a key that is a NoneType"),
    ({"a": {Text("k"): 1}}, "a['k']", "a key that is a Text"),
    ({"odd key": {"x.y": ()}}, '["odd key"]["x.y"]', "a tuple"),
    ({"\udc80": 1, "\\x80": 2}, r'["\\x80"]', "two keys"),
    (cycle(), "a[1].b", "within itself"),
    (nested(101), "[0]" * 100, "more than 100"),
    ({"text": ["x" * 3_000_000] * 3}, "text[2]", "grows beyond"),
    ("x" * (EVENT_LIMIT + 1), "", "grows beyond"),
    ((), "", "a tuple"),
]


@pytest.mark.parametrize(("value", "path", "reason"), REFUSED)
def test_refuses_what_is_not_json_and_says_where(value: object, path: str, reason: str) -> None:
    with pytest.raises(GateError) as refused:
        check(value)
    assert refused.value.path.replace('"', "'") == path.replace('"', "'")
    assert reason in refused.value.reason


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, 2**53, -(2**53), 0.0, 1e-320, 1.5, "", "\x00", "\U0001f600", [], {}, {"": {"__proto__": [None]}},
        nested(100), {"a": "é" * 1000},
    ],
)  # fmt: skip
def test_lets_json_through_unchanged(value: object) -> None:
    check(value)
    assert admit(value).value == value


def test_a_part_that_is_shared_is_no_cycle() -> None:
    shared = {"x": [1]}
    assert admit([shared, shared, {"again": shared}]).value == [shared, shared, {"again": shared}]


@pytest.mark.parametrize("leaf", [["x" * 200], {"k" * 200: None}, [[[[]] * 20] * 20]])
def test_shared_parts_cannot_blow_up(leaf: Any) -> None:
    value = leaf
    for _ in range(60):
        value = [value, value]
    with pytest.raises(GateError, match="grows beyond"):
        check(value)


def test_depth_never_meets_the_recursion_limit() -> None:
    with pytest.raises(GateError, match="more than 100"):
        check(nested(100_000))
    assert as_json(nested(100_000))


def test_the_copy_shares_nothing() -> None:
    value = {"a": [{"b": 1}]}
    copy = admit(value).value
    value["a"][0]["b"] = 2
    assert copy == {"a": [{"b": 1}]}


def test_lone_surrogates_are_written_out_one_way() -> None:
    """Public reports: F69."""
    assert escaped("caf\udce9 \ud83d|\ude00 \U0001f600") == "caf\\xE9 \\uD83D|\\uDE00 \U0001f600"
    assert admit({"\udcff": ["\udc80"]}).value == {"\\xFF": ["\\x80"]}
    once = escaped("a\udce9")
    assert escaped(once) == once


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda x: x != 0 or math.copysign(1, x) > 0) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
    max_leaves=30,
)  # fmt: skip


@given(json_values)
def test_every_json_value_passes_and_reads_back_the_same(value: Any) -> None:
    passed = admit(value).value
    assert passed == value
    assert json.loads(json.dumps(passed)) == value
    assert as_json(value) == value


any_text = st.text(st.characters(categories=None), max_size=3)
anything = st.recursive(
    st.none() | st.integers() | st.floats() | any_text | st.binary(max_size=3) | st.complex_numbers(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.tuples(children)
        | st.dictionaries(st.integers() | any_text | st.binary(max_size=2), children, max_size=3)
    ),
    max_leaves=12,
)


@given(anything)
def test_whatever_an_agent_sends_can_be_kept(value: Any) -> None:
    kept = as_json(value)
    check(kept)
    assert as_json(kept) == kept
    json.dumps(kept, allow_nan=False).encode()


class TestAsJson:
    def test_keeps_what_the_gate_refuses_as_text(self) -> None:
        sent = {"a": float("nan"), "b": -0.0, "c": 2**60, "d": [1, (2,)], 5: "five", "e": float("-inf")}
        assert as_json(sent) == {
            "a": "NaN", "b": "-0.0", "c": str(2**60), "d": [1, "(2,)"], "5": "five", "e": "-Infinity",
        }  # fmt: skip

    def test_keys_that_become_equal_are_both_kept(self) -> None:
        assert sorted(as_json({1: "a", "1": "b"}).values()) == ["a", "b"]

    def test_what_is_too_deep_is_kept_as_text(self) -> None:
        kept = as_json({"a": nested(500)})
        check({"data": {"rawInput": kept}})
        assert "[" * 300 in json.dumps(kept)

    def test_what_is_too_large_becomes_one_text(self) -> None:
        sent = {"a": ["x" * 1000] * 10_000}
        kept = as_json(sent)
        assert json.loads(kept) == sent

    def test_an_object_whose_own_repr_fails(self) -> None:
        class Broken:
            def __repr__(self) -> str:
                raise RuntimeError

        assert as_json([Broken()]) == ["<Broken>"]

    def test_a_cycle(self) -> None:
        check(as_json(cycle()))


class TestLargeStrings:
    def test_one_of_an_agent_is_left_out_for_the_store_of_bytes(self) -> None:
        text = "é" * LARGE_STRING
        admitted = admit({"rawInput": {"deep": [text]}, "text": text, "arguments": text}, omit=True)
        assert admitted.value["text"] == text
        places = [admitted.value["rawInput"]["deep"][0], admitted.value["arguments"]]
        assert places == [{"omitted": True, "bytes": 2 * LARGE_STRING}] * 2
        assert [each.data.decode() for each in admitted.omitted] == [text, text]
        assert all(each.place is place for each, place in zip(admitted.omitted, places, strict=True))

    def test_the_bound_counts_bytes(self) -> None:
        admitted = admit({"_meta": ["x" * LARGE_STRING, "é" * (LARGE_STRING // 2 + 1)]}, omit=True)
        assert [len(each.data) for each in admitted.omitted] == [LARGE_STRING + 2]

    def test_without_a_store_of_bytes_it_stays(self) -> None:
        text = "x" * (LARGE_STRING + 1)
        assert admit({"rawOutput": text}).value == {"rawOutput": text}

    def test_bytes_that_were_not_utf_8_keep_a_form(self) -> None:
        admitted = admit({"rawOutput": "\udce9" * LARGE_STRING}, omit=True)
        assert admitted.omitted[0].data.decode("utf-8", "surrogatepass") == "\udce9" * LARGE_STRING
