from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.sessions.growing_text import LONG_LINE, GrowingText
from redline.sessions.redaction import Redactor

REDACTOR = Redactor()
KEY_LINES = ["MIIEpAIBAAKCAQEAx7Gn5c3tq0ZQm" + "kV9d2"[:5] + str(n) * 8 for n in range(4)]
SECRETS = [
    "AKIAQ3EGRTYUIOPASDFG",
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "hunter2-Tr0ub4dor",
    "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5",
]
LINES = [
    "The key idea is that each token of the password form is checked, then kept.",
    "Use `key` and `token`, or the secret (see below).",
    "export AWS_ACCESS_KEY_ID=" + SECRETS[0],
    "token " + SECRETS[1] + " is in the file",
    'password = "' + SECRETS[2] + '"  # changed',
    "    api_key: " + SECRETS[3],
    "postgres://ada:" + SECRETS[2] + "@db.example.com:5432/engine and more",
    'curl -H "Authorization: Bearer ' + SECRETS[3] + '" https://example.com',
    "curl -u ada:" + SECRETS[2] + " https://example.com",
    "mysql --password " + SECRETS[2] + " --host db",
    "machine example.com login ada password " + SECRETS[2],
    "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(KEY_LINES) + "\nQx7d==\n-----END RSA PRIVATE KEY-----",
    "\n".join(KEY_LINES) + "\nQx7d==\n-----END RSA PRIVATE KEY-----",
    "\n".join(KEY_LINES[:2]) + "\nend of it",
    "d41d8cd98f00b204e9800998ecf8427e is the hash, 123e4567-e89b-12d3-a456-426614174000 the id",
    "这是一个没有空格的句子，密钥不在这里。",
    "密码 password=" + SECRETS[2] + "。",
    "",
    "\r",
    "```python",
    "----",
    "ok",
    "def token(self, key: str) -> bytes:",
    "x = 1",
]

texts = st.lists(st.sampled_from(LINES), max_size=8).map("\n".join)


def shown(text: str, cuts: list[int]) -> list[str]:
    growing = GrowingText(REDACTOR)
    places = sorted({min(cut, len(text)) for cut in cuts})
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    return [*(growing.feed(piece) for piece in pieces), growing.end()]


@pytest.mark.parametrize("line", LINES)
def test_a_line_written_character_by_character_comes_out_as_its_mask(line: str) -> None:
    assert "".join(shown(line, list(range(len(line))))) == REDACTOR.mask(line)


@given(texts, st.lists(st.integers(0, 600), max_size=40))
@settings(max_examples=200, deadline=None)
def test_what_is_shown_is_the_mask_of_the_whole_however_it_was_cut(text: str, cuts: list[int]) -> None:
    assert "".join(shown(text, cuts)) == REDACTOR.mask(text)


@given(
    st.lists(
        st.sampled_from([*"ab 1=:\n\"'`-,.()[]\\/@", "key", "password", "token ", "login ", "密", SECRETS[2]]),
        max_size=40,
    ).map("".join)
)
@settings(max_examples=300, deadline=None)
def test_any_text_comes_out_as_its_mask(text: str) -> None:
    assert "".join(shown(text, list(range(len(text))))) == REDACTOR.mask(text)


@given(texts)
@settings(max_examples=100, deadline=None)
def test_no_piece_of_a_secret_is_ever_shown(text: str) -> None:
    seen = ""
    whole = REDACTOR.mask(text)
    for piece in shown(text, list(range(len(text)))):
        seen += piece
        assert whole.startswith(seen)


def test_prose_is_shown_word_by_word() -> None:
    text = "The key idea is that each token is checked before it is kept."
    pieces = shown(text, [*range(len(text))])
    late = max(len(text[:at]) - len("".join(pieces[: at + 1])) for at in range(len(text)))
    assert late <= len("checked token is")


def test_a_script_without_spaces_is_shown_as_it_comes() -> None:
    text = "这是一个没有空格的句子，它会很长"
    assert "".join(shown(text, [*range(len(text))])[:-1]) == text


class CountingRedactor(Redactor):
    looks = 0

    def mask_line(self, line: str) -> str:
        self.looks += len(line)
        return super().mask_line(line)


@pytest.mark.parametrize("word", ["word ", "YWJjZGVm", "a-", "密", "a,b:"])
def test_the_work_for_a_very_long_line_has_a_bound(word: str) -> None:
    redactor = CountingRedactor()
    growing = GrowingText(redactor)
    out = "".join(growing.feed(word) for _ in range(20_000)) + growing.end()
    assert out == REDACTOR.mask(word * 20_000)
    assert redactor.looks < LONG_LINE**2 + 2 * len(out)
