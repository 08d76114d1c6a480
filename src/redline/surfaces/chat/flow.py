"""A flow: the pages that belong together and should stand in a channel, and what of them stands there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redline.surfaces.chat.cards import short
from redline.surfaces.chat.parts import Buttons, File, Message, Page, Text
from redline.surfaces.chat.places import Begun, Post
from redline.surfaces.visible import visible

_REFUSED = "▲ The chat refused to show a part here. `redline show` has all of it."
UNSHOWN = Message((Text(_REFUSED, "strong"),))
_HAVE_IT = "The dashboard and `redline diff` have it."
_SHORTENED = 700
"""Characters of what a platform refused that it is offered again, as one plain text."""
GONE = Message((Text("What stood here is in the other messages of this turn.", "quiet"),))
"""Stands where a message is of no use any more and the platform does not delete it."""
_REPLACES = Text(
    "This takes the place of an earlier message, which could not be edited. Should that still stand here, it does not "
    "count any more, and neither do its buttons.",
    "quiet",
)
_UNSURE = Text(
    "Redline ended while it sent a message here. Should an older one stand above this, it does not count any more, and "
    "neither do its buttons.",
    "quiet",
)
_PERHAPS = Message((
    Text(
        "Redline ended while it sent something here. Should a message or a file be missing: the dashboard and "
        "`redline show` have all of it.",
        "quiet",
    ),
))  # fmt: skip
LEFT = "left"
"""The digest of an outdated message with which nothing more is to be done."""


@dataclass(slots=True)
class Flow:
    begun: Begun
    pages: Callable[[], Sequence[Page]]
    """What should stand there now; asked when it is about to be sent."""
    urgent: bool = False
    """It does not wait for its turn: a question, an end."""
    final: bool = False
    """Nothing more will come once all of it stands there."""
    dirty: bool = True
    posts: dict[tuple[str, int], Post] = field(default_factory=dict)
    refused: dict[tuple[str, int], str] = field(default_factory=dict)
    """With the platform's reason."""
    unsure: frozenset[tuple[str, int]] = frozenset()
    """Was being sent when an earlier process ended, so nobody knows whether it stands there."""
    unplain: set[tuple[str, int]] = field(default_factory=set)
    """Refused as plain text, too."""
    lost: Callable[[], None] | None = None
    """Called where the platform takes nothing of it: the place is gone."""
    served: int = 0


def wanted_pages(flow: Flow) -> list[tuple[tuple[str, int], Page]]:
    """The pages with what each is kept under. What the platform refused is a word about it instead, and nothing that
    comes after it can be pressed: nobody may answer a question without having seen all of it."""
    wanted: list[tuple[tuple[str, int], Page]] = []
    counts = {"message": 0, "file": 0}
    missing = doubtful = False
    for page in flow.pages():
        kind = "file" if isinstance(page, File) else "message"
        key = (kind, counts[kind])
        counts[kind] += 1
        if key in flow.refused:
            missing = True
            reason = short(visible(flow.refused[key]))
            said = f"▲ The chat refused the file {getattr(page, 'name', '')}: {reason}. {_HAVE_IT}"
            note = Message((Text(said, "strong"),))
            wanted.append((key, _in_plain(flow, key, page)) if isinstance(page, Message) else (("note", key[1]), note))
            continue
        if isinstance(page, Message):
            page = _without_buttons(page) if missing else page
            # Said for good, since a message that is edited once more may be refused once more.
            page = Message((_REPLACES, *page.pieces)) if ("old", key[1]) in flow.posts else page
        if key in flow.unsure and _is_as_sent(flow, key, page):
            doubtful = True
        elif key in flow.unsure and isinstance(page, Message):
            page = Message((_UNSURE, *page.pieces))
        wanted.append((key, page))
    return [*wanted, (("note", -1), _PERHAPS)] if doubtful and flow.final else wanted


def _is_as_sent(flow: Flow, key: tuple[str, int], page: Page) -> bool:
    """It is the page that was being sent, and nothing was sent in its place since."""
    post = flow.posts.get(key)
    return post is not None and post.posted is None and (isinstance(page, File) or post.digest == digest(page))


def _in_plain(flow: Flow, key: tuple[str, int], page: Message) -> Message:
    """What is said of a message that was refused: its words once more, short and without any style, so that the end of
    a turn is always told."""
    if key in flow.unplain:
        return UNSHOWN
    said = "\n".join(
        "\n".join(filter(None, (getattr(piece, "head", ""), piece.text)))
        for piece in page.pieces
        if not isinstance(piece, Buttons)
    )
    return _without_buttons(Message((Text(_REFUSED, "strong"), Text(short(said, _SHORTENED)), *_buttons(page))))


def _buttons(message: Message) -> list[Buttons]:
    return [piece for piece in message.pieces if isinstance(piece, Buttons)]


def _without_buttons(message: Message) -> Message:
    if not _buttons(message):
        return message
    kept = tuple(piece for piece in message.pieces if not isinstance(piece, Buttons))
    return Message((*kept, Text("It cannot be answered here, but in the dashboard or an editor.", "strong")))


def digest(page: Page) -> str:
    """The same for the same page, also after a restart."""
    return hashlib.sha256(repr(page).encode("utf-8", "backslashreplace")).hexdigest()[:24]
