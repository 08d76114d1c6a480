"""File names as patches write them: quoted, prefixed, relative."""

from __future__ import annotations

import re

NOWHERE = "/dev/null"
"""Stands for the side on which there is no file."""
_PREFIXES = ("a/", "b/", "c/", "i/", "o/", "w/")
_PREFIXED_NOWHERE = ("a/dev/null", "b/dev/null")
"""As some writers of patches have it."""
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ODD = re.compile("[\udc80-\udcff]")
_NAMED = {chr(code): letter for letter, code in _LETTERS.items()}


def quoted(path: str) -> str:
    """A path as git prints it: in quotes with C escapes where it holds a quote, a backslash, or a character that would
    break the line or the terminal. Letters of any language stay as they are."""
    if not any(character in '"\\' or (not character.isprintable() and character != " ") for character in path):
        return path
    return '"' + "".join(_escaped(character) for character in path) + '"'


def odd(path: str) -> str | None:
    """Of a path whose bytes are not UTF-8 (they stand as surrogate escapes) the form of `quoted`, which is plain text
    and gives the bytes back with `unquoted`. None: the path is text, or no file can have it."""
    if path.isascii() or not _ODD.search(path):
        return None
    try:
        return quoted(path)
    except UnicodeEncodeError:
        return None


def unquoted(name: str) -> str:
    """A path as a patch writes it: C escapes in quotes are undone, octal ones as bytes of UTF-8."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    data = bytearray()
    at = 1
    while at < len(name) - 1:
        if name[at] != "\\":
            data += name[at].encode("utf-8", "surrogateescape")
            at += 1
        elif octal := re.match(r"[0-3][0-7]{2}", name[at + 1 : -1]):
            data.append(int(octal[0], 8))
            at += 4
        else:
            data.append(_LETTERS.get(name[at + 1], ord("\\")))
            at += 2
    return data.decode("utf-8", "surrogateescape")


def relative(path: str, root: str | None) -> str:
    """`path` as a patch names it: below `root` relative to it, else without a first slash."""
    if root is not None:
        prefix = root.rstrip("/") + "/"
        if path.startswith(prefix):
            return path[len(prefix) :]
    return path.lstrip("/")


def name_of_line(text: str) -> str:
    """The path of a `---` or `+++` line: quoted, or up to the tab before a time stamp."""
    if text.startswith('"'):
        end = text.rfind('"')
        return unquoted(text[: end + 1])
    return text.split("\t", 1)[0]


def header_names(names: str) -> tuple[str, str]:
    """The two paths of a `diff --git` line, which nothing separates but a space; in doubt both are the same path."""
    if names.startswith('"') and (match := re.match(r'("(?:[^"\\]|\\.)*") (.*)', names)):
        return unquoted(match[1]), unquoted(match[2])
    if names.endswith('"') and (match := re.match(r'(.*) ("(?:[^"\\]|\\.)*")$', names)):
        return match[1], unquoted(match[2])
    half = len(names) // 2
    if len(names) % 2 and names[half] == " " and names[:half][2:] == names[half + 1 :][2:]:
        return names[:half], names[half + 1 :]
    old, _, new = names.partition(" b/")
    return old, "b/" + new if new else old


def bare_names(old: str, new: str, git: bool) -> tuple[str, str]:
    """Without the prefixes that stand for the two sides: always git's own, else only `a/` beside `b/`."""
    old, new = (NOWHERE if name in _PREFIXED_NOWHERE and old != new else name for name in (old, new))
    allowed = _PREFIXES if git else ("a/", "b/")
    old_prefixed = old == NOWHERE or old.startswith(allowed)
    new_prefixed = new == NOWHERE or new.startswith(allowed)
    differ = old[:2] != new[:2] or git
    if old_prefixed and new_prefixed and differ:
        return (old if old == NOWHERE else old[2:]), (new if new == NOWHERE else new[2:])
    return old, new


def _escaped(character: str) -> str:
    if character in _NAMED:
        return "\\" + _NAMED[character]
    if character.isprintable() or character == " ":
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
