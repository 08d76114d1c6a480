"""What the chat surfaces keep beside the log, in `chat.db` of the data folder: which place shows which session, and
which message shows which page.

The log stays the only truth of a session; this says only where of it has been posted, so that a restart posts nothing
twice and still brings what was begun to its end.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.surfaces.chat.platform import Place

if TYPE_CHECKING:
    from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    platform TEXT, channel TEXT, thread TEXT, session TEXT, at INTEGER, PRIMARY KEY (platform, channel, thread)
);
CREATE TABLE IF NOT EXISTS flows (
    flow TEXT PRIMARY KEY, platform TEXT, channel TEXT, thread TEXT, session TEXT, turn INTEGER, typed INTEGER,
    done INTEGER, at INTEGER
);
CREATE TABLE IF NOT EXISTS posts (
    flow TEXT, kind TEXT, number INTEGER, digest TEXT, posted TEXT, PRIMARY KEY (flow, kind, number)
);
"""
_KEPT_SECONDS = 60 * 24 * 3600
"""A message that was posted before that is not edited any more."""


@dataclass(frozen=True, slots=True)
class Post:
    """A page that was sent."""

    digest: str
    """Of what was sent last."""
    posted: str | None
    """The platform's id; None: it was being sent when the process ended, so nobody knows whether it is there."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A flow that was not brought to its end."""

    flow: str
    place: Place
    session: str
    turn: int
    typed: bool = False
    """Of a turn: its prompt was typed in this place, which shows it already."""


class Places:
    """Every call is one small transaction, well under a millisecond, so none of them leaves the event loop."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @classmethod
    def open(cls, data: Path) -> Places:
        path = data / "chat.db"
        path.touch(mode=0o600)
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)
        old = int(time.time()) - _KEPT_SECONDS
        database.execute("DELETE FROM posts WHERE flow IN (SELECT flow FROM flows WHERE done AND at < ?)", (old,))
        database.execute("DELETE FROM flows WHERE done AND at < ?", (old,))
        return cls(database)

    def close(self) -> None:
        self._database.close()

    # Sessions.

    def session(self, platform: str, place: Place) -> str | None:
        found = self._database.execute(
            "SELECT session FROM sessions WHERE platform = ? AND channel = ? AND thread = ?",
            (platform, place.channel, place.thread),
        ).fetchone()
        return str(found[0]) if found else None

    def bind(self, platform: str, place: Place, session: str) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)",
            (platform, place.channel, place.thread, session, int(time.time())),
        )

    def place_of(self, platform: str, session: str) -> Place | None:
        found = self._database.execute(
            "SELECT channel, thread FROM sessions WHERE platform = ? AND session = ? ORDER BY at DESC",
            (platform, session),
        ).fetchone()
        return Place(*found) if found else None

    # Flows and their posts.

    def begin(self, platform: str, begun: Begun) -> None:
        """Known flows stay as they are."""
        place = begun.place
        row = (begun.flow, platform, place.channel, place.thread, begun.session, begun.turn, begun.typed, 0)
        self._database.execute(
            "INSERT OR IGNORE INTO flows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, int(time.time()))
        )

    def begun(self, flow: str) -> Begun | None:
        found = self._database.execute(f"{_FLOWS} WHERE flow = ?", (flow,)).fetchone()
        return _begun(found) if found else None

    def done(self, flow: str) -> None:
        self._database.execute("UPDATE flows SET done = 1 WHERE flow = ?", (flow,))

    def unfinished(self, platform: str) -> list[Begun]:
        rows = self._database.execute(f"{_FLOWS} WHERE platform = ? AND NOT done ORDER BY rowid", (platform,))
        return [_begun(row) for row in rows]

    def posts(self, flow: str) -> dict[tuple[str, int], Post]:
        rows = self._database.execute("SELECT kind, number, digest, posted FROM posts WHERE flow = ?", (flow,))
        return {(kind, number): Post(digest, posted) for kind, number, digest, posted in rows}

    def keep(self, flow: str, kind: str, number: int, post: Post) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO posts VALUES (?, ?, ?, ?, ?)", (flow, kind, number, post.digest, post.posted)
        )

    def forget(self, flow: str, kind: str, number: int) -> None:
        self._database.execute("DELETE FROM posts WHERE flow = ? AND kind = ? AND number = ?", (flow, kind, number))


_FLOWS = "SELECT flow, channel, thread, session, turn, typed FROM flows"


def _begun(row: tuple[str, str, str, str, int, int]) -> Begun:
    flow, channel, thread, session, turn, typed = row
    return Begun(flow, Place(channel, thread), session, turn, bool(typed))
