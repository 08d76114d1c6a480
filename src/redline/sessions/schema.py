"""The tables of the SQLite store, and how an older file becomes a newer one.

The file's `user_version` is the number of migrations that it has had. Each runs in a transaction of its own together
with its new number, so that a file is always of one whole version; two processes that open an old file together run
each of them once. `docs/session-log.md` describes the tables to those who query them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from redline.sessions.store import StoreError

APPLICATION_ID = 0x52646C6E
"""`Rdln`: tells a log from another program's database."""

Migration = str | Callable[[sqlite3.Connection], None]
"""SQL statements, or a function that runs them; either inside the migration's transaction."""

MIGRATIONS: tuple[Migration, ...] = (
    """
    CREATE TABLE sessions (
        session TEXT NOT NULL PRIMARY KEY,
        workspace TEXT NOT NULL,
        agent TEXT NOT NULL,
        title TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        added INTEGER NOT NULL,
        removed INTEGER NOT NULL,
        closed INTEGER NOT NULL
    );
    CREATE TABLE events (
        session TEXT NOT NULL,
        seq INTEGER NOT NULL,
        v INTEGER NOT NULL,
        at INTEGER NOT NULL,
        type TEXT NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    );
    CREATE TABLE turns (
        session TEXT NOT NULL,
        turn INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (session, turn)
    ) WITHOUT ROWID;
    CREATE TABLE open_intents (
        session TEXT NOT NULL,
        seq INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        call TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) WITHOUT ROWID;
    """,
    # What a change says of itself stands in its JSON unescaped; the same words in a line of a file stand there escaped.
    """
    ALTER TABLE sessions ADD COLUMN exact INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE sessions ADD COLUMN at_least INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET exact = 0 WHERE session IN (
        SELECT session FROM events WHERE type IN ('tool/update', 'tool/result', 'change/reverted')
        AND data LIKE '%"exact":false%');
    UPDATE sessions SET at_least = 1 WHERE session IN (
        SELECT session FROM events WHERE type IN ('tool/update', 'tool/result', 'change/reverted')
        AND (data LIKE '%"file_type":"binary"%' OR data LIKE '%"file_type":"unknown"%'));
    """,
    "CREATE TABLE sweep (due INTEGER NOT NULL);\n",
)


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the file up to date; `StoreError` NEWER_SCHEMA or CORRUPT, and nothing is touched, if it is not ours to
    change. The connection is in autocommit mode."""
    while require_known(connection, migrations) < len(migrations):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Asked again under the lock: another process may have been here first.
            version = require_known(connection, migrations)
            if version < len(migrations):
                _run(connection, migrations[version])
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def require_known(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """The file's version, if this program can work with it."""
    version, mark, tables = _numbers(connection)
    if mark != APPLICATION_ID and (mark or version or tables):
        raise StoreError(
            "CORRUPT",
            "The file is a database, but not a log of Redline.",
            "Point Redline at another data folder, or move the file away.",
        )
    if version > len(migrations):
        raise StoreError(
            "NEWER_SCHEMA",
            f"The log has version {version}; this Redline knows up to {len(migrations)}. Nothing was changed.",
            "Update Redline, or choose another data folder.",
        )
    return version


def _run(connection: sqlite3.Connection, migration: Migration) -> None:
    if callable(migration):
        migration(connection)
        return
    # Not `executescript`, which would commit what stands before it.
    statement = ""
    for line in migration.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


def _numbers(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """The file's version, its mark, and a number that is 0 as long as it never had a table.

    Read in one transaction: a file that another process makes between two of them would look like another program's,
    with tables and without our mark.
    """
    alone = not connection.in_transaction
    if alone:
        connection.execute("BEGIN")
    try:
        version, mark, tables = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("user_version", "application_id", "schema_version")
        )
    finally:
        if alone and connection.in_transaction:
            connection.execute("ROLLBACK")
    return version, mark, tables
