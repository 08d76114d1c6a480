from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.sessions import secret_sieve
from redline.sessions.marks import holds_mask, mark, new_masks
from redline.sessions.redaction import LineMasker, Redactor
from secret_corpus import Secret, private_keys, secrets, tricky_lines

REDACTOR = Redactor()
SEEDS = range(1, 4)
EVERY_SECRET = [secret for seed in SEEDS for secret in secrets(seed)]


def _seen(secret: Secret, shown: str) -> list[str]:
    return [hidden for hidden in secret.hidden if hidden in shown]


@pytest.mark.parametrize("family", sorted({secret.family for secret in EVERY_SECRET}))
def test_every_family_is_masked_in_every_context(family: str) -> None:
    for secret in EVERY_SECRET:
        if secret.family == family:
            shown = REDACTOR.mask(secret.text)
            assert _seen(secret, shown) == []
            assert holds_mask(shown)


def test_a_secret_amid_other_lines_is_masked_as_it_is_alone() -> None:
    for secret in EVERY_SECRET:
        for before, after in (("", "\nx = 1"), ("def f():\n    pass\n", "\n"), ("\r\n", "\r\nlog(a, b)\r\n")):
            assert REDACTOR.mask(before + secret.text + after) == before + REDACTOR.mask(secret.text) + after


def test_at_least_sixty_secrets_are_tried() -> None:
    assert len(secrets()) >= 60
    assert len(tricky_lines()) >= 700


def test_lines_that_only_look_like_secrets_are_left_alone() -> None:
    lines = tricky_lines()
    assert [line for line in lines if REDACTOR.mask(line) != line] == []
    whole = "\n".join(lines)
    assert REDACTOR.mask(whole) is whole


@pytest.mark.parametrize("folder", ["json", "asyncio", "email", "concurrent", "importlib"])
def test_ordinary_sources_are_left_alone(folder: str) -> None:
    for path in sorted((Path(os.__file__).parent / folder).rglob("*.py")):
        assert REDACTOR.mask_lines(path.read_bytes()) == {}, path


def test_this_projects_sources_are_left_alone() -> None:
    sources = Path(__file__).parents[2] / "src" / "redline" / "sessions"
    for path in sources.glob("*.py"):
        assert REDACTOR.mask_lines(path.read_bytes()) == {}, path


@pytest.mark.parametrize("secret", EVERY_SECRET[: len(EVERY_SECRET) // len(SEEDS)], ids=lambda one: one.family)
def test_masking_keeps_the_lines_and_changes_nothing_a_second_time(secret: Secret) -> None:
    shown = REDACTOR.mask(secret.text)
    assert shown.count("\n") == secret.text.count("\n")
    assert REDACTOR.mask(shown) == shown


def test_the_name_of_a_key_stays_visible() -> None:
    [token] = [secret for secret in secrets() if secret.text.startswith("-GITHUB_TOKEN=")]
    assert REDACTOR.mask(token.text) == "-GITHUB_TOKEN=⟦redacted github-token⟧"
    assert REDACTOR.mask('password = "hunter2"  # old') == 'password = "⟦redacted password⟧"  # old'
    assert REDACTOR.mask("db: postgres://app:s3cr3t@h/x") == "db: postgres://app:⟦redacted url-password⟧@h/x"


@pytest.mark.parametrize(
    "line",
    [
        'password = "hunter2secret"', "password = hunter2secret", 'password = "MySecret2024"', "PASSWORD=hunter2secret",
        'password = "Secret!2024xyz"', 'password = "pass-secret-1a2b3c4d5e6f"', "API_KEY=mysecretpw1",
        "token = mytoken12345", 'password = "password123"', '"db_password": "apikey77apikey"',
    ],
)  # fmt: skip
def test_a_password_that_holds_such_a_word_is_masked_like_any_other(line: str) -> None:
    assert REDACTOR.mask(line) != line


@pytest.mark.parametrize(
    "line",
    [
        'token = "x-csrf-token2"', "secretName: my-secret-1", "token: accessToken2", 'apiKey: "api_key_v2"',
        "PASSWORD=password", "TOKEN=token1", 'token = "next-auth.session-token2"', 'token="tokenizer_v2"',
        'password = "new_password2"', 'passwordField = "passwordConfirm2"', "key_or_pass = r'(?:key|pwd|token)'",
    ],
)  # fmt: skip
def test_a_value_that_only_says_a_name_again_stays(line: str) -> None:
    assert REDACTOR.mask(line) == line


def test_a_token_is_masked_whatever_escape_or_letter_stands_beside_it() -> None:
    before = (
        "\x1b[32m", "\x1b[01;31m\x1b[K", "\\x1b[32m", "^[[32m", '{"out":"keys:\\n', '{"a":"\\t', "x%3D", "x%22",
        "\\u003d", "\\xE9", "令牌为", "clé",
    )  # fmt: skip
    after = ("\x1b[0m", '\\n"}', "%22", "的", "é", "\\u0022", " ")
    tokens = {token for secret in secrets() for token in secret.hidden if REDACTOR.mask(token) != token}
    assert len(tokens) > 30
    for token in tokens:
        for text in (f"{left}{token}{right}" for left in before for right in after):
            assert token not in REDACTOR.mask(text), text


@pytest.mark.parametrize(
    "line",
    [
        "define('DB_PASSWORD','wp8Xq2kLm');", "CREATE USER 'b'@'%' IDENTIFIED BY 'wp8Xq2kLm';",
        "ALTER ROLE x WITH PASSWORD 'wp8Xq2kLm';", 'os.Setenv("API_KEY","wp8Xq2kLm")', '#define API_KEY "wp8Xq2kLm"',
        'map.put("password", "wp8Xq2kLm");', 'let password: &str = "wp8Xq2kLm";', "mysql -u root -pwp8Xq2kLm db",
        "static PASSWORD: &'static str = \"wp8Xq2kLm\";", '{"name":"API_KEY","value":"wp8Xq2kLm"}',
        "redis-cli -h x -a wp8Xq2kLm ping", "docker login -u bob -p wp8Xq2kLm reg.io", "sshpass -p wp8Xq2kLm ssh h",
        '{\\"name\\": \\"API_KEY\\", \\"value\\": \\"wp8Xq2kLm\\"}',
    ],
)  # fmt: skip
def test_a_secret_in_a_statement_of_its_own_is_masked(line: str) -> None:
    assert "wp8Xq2kLm" not in REDACTOR.mask(line)


@pytest.mark.parametrize(
    "before",
    [
        "1→", "     3\t", "3:", "3-", ".env:3:", ".env:", "src/app.env:", "  12 | ", "12:+", "> ", "< ", "# ",
        "\x1b[32m+\x1b[m\x1b[32m", "\x1b[35m.env\x1b[m\x1b[K\x1b[36m:\x1b[m\x1b[K\x1b[32m3\x1b[m\x1b[K\x1b[36m:\x1b[m",
    ],
)  # fmt: skip
@pytest.mark.parametrize("setting", ["DB_PASSWORD=swordfish", "password=Tr0ub4dor&3", "db.password = hunter2x"])
@pytest.mark.parametrize("behind", ["", "\x1b[m", "\r"])
def test_a_line_is_masked_where_it_is_listed_as_it_is_alone(before: str, setting: str, behind: str) -> None:
    alone = REDACTOR.mask(setting)
    assert alone != setting
    assert REDACTOR.mask(before + setting + behind) == before + alone + behind


@pytest.mark.parametrize(
    "line",
    [
        "12→    password = hunter2x", "12→password = getpass()", "x.py:3:    password = kwargs2", "3:password: str",
        "# password = the word", "> the password: see page 3", "http://x.y/z:password=1", "12:30:45 password=changed",
    ],
)  # fmt: skip
def test_code_that_is_listed_stays(line: str) -> None:
    assert REDACTOR.mask(line) == line


@pytest.mark.parametrize(
    "line",
    [
        "mysql -u root -p", "mysql -p db", "docker run -p 8080:80 x", "docker login -p $TOKEN",
        "define('DB_PASSWORD', getenv('x1'));", "CREATE TABLE t (password VARCHAR(20) DEFAULT 'none')",
        "SELECT password FROM 'users2'", '{"name":"password","value":"${pw1}"}', '#define KEY_SIZE "32bytes"',
        '<input name="password" value="Enter 1">',
    ],
)  # fmt: skip
def test_statements_that_hold_none_stay(line: str) -> None:
    assert REDACTOR.mask(line) == line


def test_each_line_of_a_private_key_is_masked_and_its_markers_stay() -> None:
    for secret in private_keys():
        lines, shown = secret.text.split("\n"), REDACTOR.mask(secret.text).split("\n")
        for line, masked in zip(lines, shown, strict=True):
            if "BEGIN" in line and "\\n" not in line:
                assert masked == line
            elif any(hidden in line for hidden in secret.hidden):
                assert mark("private-key") in masked
            if line[:1] in ("+", "-", " ") and "+" + line[1:2] != "++":
                assert masked[:1] == line[:1]


def test_code_that_names_a_marker_is_left_alone() -> None:
    dashes = "-" * 5
    code = f'BEGIN = "{dashes}BEGIN RSA PRIVATE ' + f'KEY{dashes}"\nvalue = long_function_name_of_ours(1)\npass\n'
    assert REDACTOR.mask(code) == code


def test_two_masks_in_one_line() -> None:
    assert REDACTOR.mask("--password=hunter22a --token=abcd1234ef") == (
        "--password=⟦redacted password⟧ --token=⟦redacted token⟧"
    )


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends_stay(ending: str) -> None:
    text = f"a{ending}TOKEN=abc12345{ending}b{ending}"
    assert REDACTOR.mask(text) == f"a{ending}TOKEN=⟦redacted token⟧{ending}b{ending}"


@pytest.mark.parametrize("odd", ["\udcff", chr(0xD83D), "\0", "é", "密码", "\u2028", "\x0c", "𝔘"])
def test_odd_characters_beside_a_secret_stay(odd: str) -> None:
    assert REDACTOR.mask(f"x{odd}\nTOKEN=abc12345 # {odd}\n{odd}") == f"x{odd}\nTOKEN=⟦redacted token⟧ # {odd}\n{odd}"


def test_bytes_are_read_as_hunk_lines_are() -> None:
    data = b"\xff\nTOKEN=abc12345 # \xe9\r\nx\n"
    assert REDACTOR.mask_lines(data) == {2: "TOKEN=⟦redacted token⟧ # \udce9\r"}


@pytest.mark.parametrize("above", ["curl https://example.org \\", "bearer", "login", "authorization: basic", "key ="])
def test_a_line_is_judged_whatever_the_line_above_ends_with(above: str) -> None:
    secret = "-u admin:hunter2pass9"
    assert REDACTOR.mask(f"{above}\n{secret}\n") == f"{above}\n-u admin:⟦redacted password⟧\n"


def test_a_secret_anywhere_in_one_enormous_line_is_masked() -> None:
    tokens = [secret for secret in secrets() if "\n" not in secret.text and secret.family in ("github", "web token")]
    filler = '{"a": [1, 2, 3], "text": "lorem ipsum é"}, ' * 300
    for secret in tokens[:3]:
        assert _seen(secret, REDACTOR.mask(f"{filler} {secret.text} {filler}")) == []


@pytest.mark.parametrize("at", [2040, 2047, 2048, 2049, 2500, 2560, 4090, 4096, 4100, 8190])
def test_a_token_across_the_windows_of_a_long_line_is_masked_whole(at: int) -> None:
    for length in (36, 255):
        token = "gh" + "p_" + ("a1B2c3" * 50)[:length]
        shown = REDACTOR.mask("," * at + token + "," * 9_000)
        assert shown == "," * at + mark("github-token") + "," * 9_000


_DASHES = "-" * 5
HOSTILE = [
    "a", '"', "\\", "sk" + "-", "eyJ", "eyJhbGciOiJIUzI1NiJ9.", "password=", 'password = "', "://a:", "a:b@", "key",
    "token: ", "AK" + "IA", "curl -u ", "--password ", "<password>", _DASHES, f"{_DASHES}BEGIN PRIVATE KEY{_DASHES}",
    "authorization: ", "bearer ", "1234567890:", ".abcdef", "password" + "\\" * 4 + '"', "token=a&",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_work_on_one_long_line_grows_with_its_length_only(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size]
        begun = time.process_time()
        REDACTOR.mask(text)
        return time.process_time() - begun

    # Eight times the text; a quadratic search would take sixty-four times as long.
    short = max(seconds(12_000), seconds(12_000), 0.01)
    assert seconds(96_000) < 24 * short


def test_masking_json_reaches_every_depth_and_keeps_the_names_of_things() -> None:
    value = {
        "call": "TOKEN=abc12345",
        "path": "/w/TOKEN=abc12345",
        "arguments": {"content": "x\nTOKEN=abc12345\n", "env": [{"API_KEY": "abc12345x"}, "password: hunter22a"]},
        "counts": [1, 2.5, True, None],
        "password": "hunter2x",
    }
    before = json.dumps(value)
    shown, masked = REDACTOR.mask_json(value)
    assert masked
    assert json.dumps(value) == before
    assert shown == {
        "call": "TOKEN=abc12345",
        "path": "/w/TOKEN=abc12345",
        "arguments": {
            "content": "x\nTOKEN=⟦redacted token⟧\n",
            "env": [{"API_KEY": mark("key")}, f"password: {mark('password')}"],
        },
        "counts": [1, 2.5, True, None],
        "password": mark("password"),
    }
    assert REDACTOR.mask_json(shown) == (shown, False)


def test_below_arguments_no_name_but_a_path_keeps_a_secret() -> None:
    hidden = {"headers": {"Authorization": "Bearer q7GhTr4xYz19kLmN"}, "password": "Xk29!mmQ"}
    for key in ("request", "session", "sessionId", "call", "type", "blob", "workspace"):
        for place in ("arguments", "rawInput", "rawOutput", "meta", "_meta"):
            for inner in (hidden, "TOKEN=abc12345", ["TOKEN=abc12345"]):
                shown = json.dumps(REDACTOR.mask_json({"call": "TOKEN=abc12345", place: {"deep": [{key: inner}]}})[0])
                assert "abc12345" not in shown.replace('"call": "TOKEN=abc12345", ', "", 1)
                assert "q7GhTr4xYz19kLmN" not in shown
                assert "Xk29!mmQ" not in shown
    shown, _ = REDACTOR.mask_json({"path": "a/TOKEN=abc12345", "request": "TOKEN=abc12345"}, foreign=True)
    assert shown == {"path": "a/TOKEN=abc12345", "request": f"TOKEN={mark('token')}"}
    assert "hunter2x" not in str(REDACTOR.mask_json({"arguments": {"path": "https://u:hunter2x@h/x"}})[0])


def test_json_without_a_secret_comes_back_as_it_is() -> None:
    value = {"a": ["b", {"c": "d"}], "lines": [" x", "-y", "+z"], "n": None}
    shown, masked = REDACTOR.mask_json(value)
    assert shown is value
    assert not masked


def test_a_secret_in_a_key_of_json_is_masked_and_no_entry_is_lost() -> None:
    [token] = [secret.hidden[0] for secret in secrets() if secret.text.startswith("-GITHUB_TOKEN=")]
    shown, masked = REDACTOR.mask_json({token: 1, mark("github-token"): 2})
    assert masked is False or token not in shown
    assert sorted(shown.values()) == [1, 2]
    assert REDACTOR.mask_json({token: 1}) == ({mark("github-token"): 1}, True)


def test_lines_of_a_hunk_are_one_text_and_keep_their_signs() -> None:
    [key] = [secret for secret in private_keys() if secret.family == "private key, cut"]
    body = key.text.split("\n")[:-1]
    lines = [" x", *("-" + line for line in body), "+y", "+TOKEN=abc12345"]
    shown, masked = REDACTOR.mask_json({"hunks": [{"lines": lines}]})
    assert masked
    out = shown["hunks"][0]["lines"]
    assert [line[0] for line in out] == [line[0] for line in lines]
    assert _seen(key, "\n".join(out)) == []
    assert out[-1] == "+TOKEN=⟦redacted token⟧"


def test_a_masker_of_lines_agrees_with_the_whole_text() -> None:
    for secret in EVERY_SECRET[:400]:
        if secret.family == "private key, its end only":
            continue  # what came before cannot be taken back
        masker = LineMasker(REDACTOR)
        assert "\n".join(masker.mask(line) for line in secret.text.split("\n")) == REDACTOR.mask(secret.text)


def test_an_open_key_is_known() -> None:
    [cut] = [secret for secret in private_keys() if secret.family == "private key, cut"]
    inside = cut.text.removesuffix("\n@@ -1,2 +1,2 @@")
    assert REDACTOR.open_block(inside)
    assert not REDACTOR.open_block(cut.text)
    assert not REDACTOR.open_block("x = 1\n")
    masker = LineMasker(REDACTOR)
    for line in inside.split("\n"):
        masker.mask(line)
    assert masker.open


def test_marks_are_told_from_asterisks_and_from_other_peoples_marks() -> None:
    assert holds_mask("KEY=⟦redacted aws-key⟧")
    assert not holds_mask("KEY=*****")
    assert not holds_mask("⟦x⟧ redacted [REDACTED] ⟦redacted⟧")


def test_a_mark_is_new_where_the_text_before_held_fewer_of_it() -> None:
    one = mark("aws-key")
    assert new_masks("KEY=abc", f"KEY={one}")
    assert new_masks(None, one)
    assert new_masks(f"{one}", f"{one} {one}")
    assert new_masks(mark("token"), one)
    assert not new_masks(f"a {one}", f"b {one}")
    assert not new_masks(f"{one} {one}", one)
    assert not new_masks("*****", "*****")


_PIECES = st.sampled_from(
    [
        "password", "token", "KEY", "secret", " = ", ": ", "=", '"', "'", "hunter2x", "abc12345", "\n", " ", "://a:b1@c",
        "Authorization: Bearer ", "⟦redacted token⟧", "⟦", "⟧", "gh" + "p_" + "a1B2" * 9, "AK" + "IA" + "A2B3" * 4,
        "\\", "#", "+", "-", ".", "sk" + "-", "eyJhbGciOiJIUzI1NiJ9", "\r", "é", "a1b2" * 10, "curl -u x:", "<", ">",
        "${", "}", f"{_DASHES}BEGIN PRIVATE KEY{_DASHES}", f"{_DASHES}END PRIVATE KEY{_DASHES}", "MIIEpAIBAAKCAQEA7bq2",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=14).map("".join))
def test_any_text_keeps_its_lines_and_is_stable(text: str) -> None:
    shown = REDACTOR.mask(text)
    assert shown.count("\n") == text.count("\n")
    assert REDACTOR.mask(shown) == shown
    lines = text.split("\n")
    assert REDACTOR.mask_lines(text) == {
        number: line for number, (line, was) in enumerate(zip(shown.split("\n"), lines, strict=True), 1) if line != was
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(_PIECES, max_size=10).map("".join), st.integers(0, 2_000))
def test_a_long_line_is_masked_as_its_parts_are(text: str, before: int) -> None:
    line = text.replace("\n", " ")
    for secret in ("gh" + "p_" + "a1B2" * 9,):
        if f" {secret} " in f" {line} ":
            assert secret not in REDACTOR.mask(". " * before + line + " ." * 3_000)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_no_text_at_all_breaks_it(text: str) -> None:
    assert REDACTOR.mask(text).count("\n") == text.count("\n")
    REDACTOR.mask_json({"password": text, text: [text]})


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200) | st.lists(_PIECES, max_size=12).map("".join))
def test_the_one_look_at_a_clean_text_passes_over_nothing_that_a_closer_look_would_find(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    found = secret_sieve.may_hold_block(data), secret_sieve.token_places(data), secret_sieve.name_places(data)
    assert secret_sieve.may_hold_any(data) or not any(found)
