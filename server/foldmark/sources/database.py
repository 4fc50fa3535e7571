"""Another program's SQLite database, read beside it: never written, copied or locked.

SQLite's own log beside the file holds what is new, so the file alone would be an old state or an
empty one. A reader may only look at the tables it names: credentials lie in the same file.
"""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from foldmark.errors import TranscriptUnreadable
from foldmark.transcripts.record import Rows

_WAIT = 2.0  # seconds for a moment in which the other program lets us read
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_SCHEMA = frozenset({"sqlite_master", "sqlite_schema"})


@contextmanager
def reading(path: Path, tables: Sequence[str]) -> Generator[Rows]:
    """Read the named tables of a database as they are at one moment.

    Raises:
        TranscriptUnreadable: It is no database, or cannot be opened without writing to its folder.
        FileNotFoundError: It is gone.

    """
    path.stat()
    try:
        with closing(_open(path)) as connection:
            connection.execute("BEGIN")
            connection.set_authorizer(_only(frozenset(tables)))
            yield rows_of(connection)
    except sqlite3.Error as error:
        raise TranscriptUnreadable(
            f"{str(path)!r} cannot be read as a database ({error}). Nothing was changed. Try again "
            "in a moment; if it stays so, check who may read the file and its folder."
        ) from error


def rows_of(connection: sqlite3.Connection) -> Rows:
    """Read rows through a connection, whatever is in them that is no UTF-8."""
    connection.row_factory = sqlite3.Row
    connection.text_factory = _text

    def rows(sql: str, *parameters: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in connection.execute(sql, parameters)]

    return rows


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _open(path: Path) -> sqlite3.Connection:
    """Open a database to read; one in a folder we may not write to only if it holds all itself."""
    address = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.OperationalError:
        connection.close()
        beside = path.with_name(f"{path.name}-wal")
        if beside.exists() and beside.stat().st_size:
            raise
        connection = sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None)
    return connection


def _only(tables: frozenset[str]) -> Any:
    """Let statements read these tables and nothing else."""

    def judged(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in _ALLOWED:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and (first in tables or first in _SCHEMA):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first == "table_info" and second in tables:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    return judged
