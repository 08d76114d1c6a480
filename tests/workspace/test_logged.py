"""What of a change goes to the log: no secret, and no large part of one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.changes.compare import describe
from redline.changes.mask import mask_lines
from redline.sessions.marks import hidden
from redline.sessions.redaction import Redactor
from redline.workspace.logged import as_logged

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MARK = "⟦redacted github-token⟧"


def logged(before: str, after: str) -> tuple[tuple[str, ...], bool]:
    change = describe("/w/a", before.encode(), after.encode())
    told = as_logged(change, before.encode(), after.encode(), Redactor())
    return told.hunks[0].lines, told.redacted


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        ("zz" + TOKEN[10:], "zz" + MARK),
        (TOKEN[:20], MARK),
        (TOKEN[:14] + " and " + TOKEN[-12:], f"{MARK} and {MARK}"),
        ("password: " + TOKEN[:9] + "'x' # " + TOKEN[-12:], None),
        (TOKEN[-9:], MARK),
        (TOKEN[-7:], TOKEN[-7:]),
        ("nothing of it", "nothing of it"),
    ],
)
def test_what_an_edit_leaves_of_a_token_is_masked_with_it(left: str, shown: str | None) -> None:
    before, after = f"x\nat {TOKEN} tail\ny\n", f"x\nat {left} tail\ny\n"
    there, back = logged(before, after), logged(after, before)
    if shown is None:  # masked for another reason, too
        assert not any(TOKEN[-12:] in line or TOKEN[:9] in line for line in (*there[0], *back[0]))
        return
    assert there == ((" x", f"-at {MARK} tail", f"+at {shown} tail", " y"), True)
    assert back == ((" x", f"-at {shown} tail", f"+at {MARK} tail", " y"), True)


@given(cut=st.integers(0, len(TOKEN)), put=st.text("ABC xyz=", max_size=5))
def test_no_edit_of_one_end_of_a_token_shows_the_other(cut: int, put: str) -> None:
    for left in (put + TOKEN[cut:], TOKEN[:cut] + put):
        lines, _ = logged(f"key {TOKEN}\n", f"key {left}\nmore\n")
        assert not any(TOKEN[at : at + 8] in line for line in lines for at in range(len(TOKEN) - 7))


_PARTS = st.sampled_from(
    [
        b"plain = text",
        b"TOKEN=" + TOKEN.encode(),
        b"password = 'hunter2!9x'\r",
        b"odd \xe9 secret: k8Jh2Lq9Zx",
        b"curl \\",
        b"-u admin:hunter9pass9",
        b"-----BEGIN RSA PRIVATE KEY-----",
        b"MIIEowIBAAKCAQEAx2kWzYq1",
        b"-----END RSA PRIVATE KEY-----",
        b"",
    ]
)


@given(before=st.lists(_PARTS, max_size=30), after=st.lists(_PARTS, max_size=30))
def test_hunks_are_masked_as_their_lines_are_in_the_whole_texts(before: list[bytes], after: list[bytes]) -> None:
    sides = b"\n".join(before), b"\n".join(after)
    change = describe("/w/a", *sides)
    whole = mask_lines(change, *(Redactor().mask_lines(side) for side in sides))
    told = as_logged(change, *sides, Redactor())
    for masked, seen in zip(whole.hunks, told.hunks, strict=True):
        for line, shown in zip(masked.lines, seen.lines, strict=True):
            assert line == shown or "⟦" in shown, "masked by the whole text, or by that and what is left of a secret"
            assert ("⟦" in shown) or ("⟦" not in line)


@given(parts=st.lists(st.text("ab ,=", max_size=4), min_size=2, max_size=5))
def test_what_marks_stand_for_is_found_or_left_out(parts: list[str]) -> None:
    secrets = [f"S{number}" * 6 for number in range(len(parts) - 1)]
    text = "".join(part + secret for part, secret in zip(parts, [*secrets, ""], strict=True))
    masked = "".join(part + (MARK if secret else "") for part, secret in zip(parts, [*secrets, ""], strict=True))
    found = hidden(text, masked)
    assert set(found.values()) <= {MARK}
    if all(parts[1:-1]):
        assert list(found) == secrets


def test_lines_beside_it_that_hold_nothing_of_a_secret_stay_as_they_are() -> None:
    lines, redacted = logged(f"key {TOKEN}\nold\n", f"key {TOKEN}\nnew\n")
    assert (lines, redacted) == ((f" key {MARK}", "-old", "+new"), True)
