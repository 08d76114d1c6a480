"""An intent is read back as it was written, and read at all whatever became of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from redline.changes.compare import blob_id
from redline.changes.record import FileChange
from redline.files.seam import Content, Outcome, Target
from redline.tools.intent import read, to_event
from redline.tools.verdict import places

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = ("turn", "call", "operation", "path", "path_quoted", "real", "real_quoted", "moved_to", "moved", "before",
          "after", "change", "reverts", "steps")  # fmt: skip
sides = st.fixed_dictionaries({}, optional={"before": json_values, "after": json_values, "file_type": json_values})
names = st.sampled_from(["/w/a.py", "/w/a b", "/w/r\udce9sum", "/w/ünï"])
contents = st.builds(
    lambda data, executable: Content(blob_id(data), len(data), executable, data), st.binary(max_size=9), st.booleans()
)


@given(st.dictionaries(st.sampled_from(fields), json_values | sides, max_size=len(fields)))
def test_whatever_stands_in_one_it_can_be_read(data: dict[str, Any]) -> None:
    intent = read(data)
    assert len(intent.places) == 1 + (intent.moved_to is not None)
    assert intent.change is None or intent.change.path
    for side in (intent.before, intent.after):
        assert side is None or side.content(b"four").size == 4


@given(names, names, contents, contents, st.sampled_from(["create", "update", "delete", "move"]), st.booleans())
def test_it_is_read_as_it_was_written(
    path: str, to: str, before: Content, after: Content, operation: Any, link: bool
) -> None:
    is_move = operation == "move"
    outcome = Outcome(
        Target(Path(path), Path(path), link and not is_move),
        operation,
        None if operation == "create" else before,
        None if operation == "delete" else after,
        moved_to=Target(Path(to), Path(to)) if is_move else None,
    )
    change = FileChange(path, "modify", file_type="symlink" if outcome.target.link else "text")
    written = json.loads(json.dumps(to_event(outcome, change, 3, "c1", kept=True, facts={"reverts": [{"seq": 1}, 2]})))
    intent = read(written)
    assert intent.key == (3, "c1")
    assert (intent.operation, intent.target, intent.moved_to) == (operation, outcome.target, outcome.moved_to)
    assert intent.reverts == [{"seq": 1}]
    for told, held in ((intent.before, outcome.before), (intent.after, outcome.after)):
        assert (told and told.blob) == (held and held.blob)
    assert [(place.path, place.key) for place in intent.places] == [(one.path, one.key) for one in places(outcome)]
