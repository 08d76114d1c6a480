"""File names as patches write them: quoted, prefixed, relative."""

from __future__ import annotations

import re
from datetime import datetime

NOWHERE = "/dev/null"
"""Stands for the side on which there is no file."""
_PREFIX_PAIRS = (("a/", "b/"), ("c/", "i/"), ("c/", "w/"), ("i/", "w/"), ("o/", "w/"), ("1/", "2/"))
"""What git puts before the names of the two sides, in this order or turned round: by default, and as
`diff.mnemonicPrefix` has it. Never the same twice."""
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


def name_of_line(text: str) -> tuple[str, str]:
    """The path of a `---` or `+++` line (quoted, or up to a tab), and the time stamp behind it, which may be empty."""
    if text.startswith('"'):
        end = text.rfind('"') + 1
        return unquoted(text[:end]), text[end:].strip()
    name, _, stamp = text.partition("\t")
    return name, stamp.strip()


def is_epoch(stamp: str) -> bool:
    """Whether a time stamp behind a name is the start of the year 1970 in Greenwich."""
    try:
        return datetime.strptime(stamp[:19] + stamp[-6:], "%Y-%m-%d %H:%M:%S %z").timestamp() == 0
    except ValueError:
        return False


def header_names(names: str) -> tuple[str, str]:
    """The two paths of a `diff --git` line, which nothing separates but a space; in doubt both are the same path.

    They differ in their prefixes alone, but for a rename, which is spelled out below the line; so the space between
    them is the middle one.
    """
    if names.startswith('"') and (match := re.match(r'("(?:[^"\\]|\\.)*") (.*)', names)):
        return unquoted(match[1]), unquoted(match[2])
    if names.endswith('"') and (match := re.match(r'(.*) ("(?:[^"\\]|\\.)*")$', names)):
        return match[1], unquoted(match[2])
    half = len(names) // 2
    if len(names) % 2 and names[half] == " " and names[:half][2:] == names[half + 1 :][2:]:
        return names[:half], names[half + 1 :]
    words = names.split(" ")
    old, new = (" ".join(part) for part in (words[: len(words) // 2], words[len(words) // 2 :]))
    if len(words) == 2 or (len(words) % 2 == 0 and old.rpartition("/")[2] == new.rpartition("/")[2]):
        return old, new
    old, _, new = names.partition(" b/")
    return old, "b/" + new if new else old


def bare_names(old: str, new: str) -> tuple[str, str]:
    """Of two lines without a `diff --git` line: without `a/` and `b/` where both sides have them, one each.

    Of an added or deleted file there is one name, and `b/` of the new side and `a/` of the old one are taken for
    prefixes. So a file of a folder named `b` that is added by a patch without prefixes loses that folder, and so do
    both names of a move from a folder `a` to a folder `b`: nothing in such a patch tells the two apart.
    """
    old, new = _without_prefixed_nowhere(old, new)
    if old == NOWHERE:
        return old, new.removeprefix("b/")
    if new == NOWHERE:
        return old.removeprefix("a/"), new
    return (old[2:], new[2:]) if {old[:2], new[:2]} == {"a/", "b/"} else (old, new)


def bare_git_names(old: str, new: str, header: tuple[str, str]) -> tuple[str, str]:
    """Of a section that git began with the names of `header`: without git's own prefixes, or those it was given.

    Without a rename, which git spells out, both names are of one file, so that whatever differs in front is prefix. Not
    to be told are two equal prefixes that were given (they stay), a folder that both of them end with (it goes), and
    two that do not end with a slash (both names stay as they are).
    """
    old, new = _without_prefixed_nowhere(old, new)
    if NOWHERE not in (old, new):
        return _without_prefixes(old, new)
    side = 1 if old == NOWHERE else 0
    name = (old, new)[side]
    if name == header[side]:
        name = _without_prefixes(*header)[side]
    elif name[:2] in {pair[side] for pair in _PREFIX_PAIRS}:
        name = name[2:]
    return (old, name) if side else (name, new)


def name_of_both(old: str, new: str) -> str:
    """Of two names that a comparison of two folders gives one file: what they end with alike, from a slash on; else the
    new one."""
    parts: list[str] = []
    for one, other in zip(reversed(old.split("/")), reversed(new.split("/")), strict=False):
        if one != other:
            break
        parts.append(one)
    return "/".join(reversed(parts)) or new


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    if old == new:
        return old, new
    if (old[:2], new[:2]) in _PREFIX_PAIRS or (new[:2], old[:2]) in _PREFIX_PAIRS:
        return old[2:], new[2:]
    common = name_of_both(old, new)
    return (common, common) if old.endswith(common) else (old, new)


def _without_prefixed_nowhere(old: str, new: str) -> tuple[str, str]:
    """A file `dev/null` has a prefix on both sides, or the true sign on the other."""
    if (old in _PREFIXED_NOWHERE) != (new in _PREFIXED_NOWHERE) and NOWHERE not in (old, new):
        return (NOWHERE, new) if old in _PREFIXED_NOWHERE else (old, NOWHERE)
    return old, new


def _escaped(character: str) -> str:
    if character in _NAMED:
        return "\\" + _NAMED[character]
    if character.isprintable() or character == " ":
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
