"""Another program's SQLite database, read beside it: never written, copied or locked.

SQLite's own log beside the file holds what is new, so the file alone would be an old state or an
empty one. A reader may only look at the tables it names: credentials lie in the same file.
"""

import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from foldmark.errors import TranscriptUnreadable
from foldmark.transcripts.record import Rows

_WAIT = 1.0  # seconds for a moment in which the other program lets us read
_LONGEST = 30.0  # seconds of reading, after which a database is not what it seems
_STEPS = 200_000  # of SQLite's machine between two looks at the clock
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION})
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
            end = time.monotonic() + _LONGEST
            connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            connection.execute("BEGIN")
            connection.set_authorizer(_only(frozenset(tables)))
            yield rows_of(connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # messages may quote what is no text
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
    """Open a database to read.

    In a folder that we may not write to SQLite cannot lock it. Then it is read as it is, but only
    if it holds everything itself and nobody is in the middle of writing.
    """
    beside = [path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal")]
    if any(one.exists() and not one.is_file() for one in beside):
        raise sqlite3.OperationalError("what lies beside it is no file")
    address = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.OperationalError as error:
        connection.close()
        kept_out = error.sqlite_errorcode & 0xFF in (
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
        )
        if not kept_out or any(one.exists() and one.stat().st_size for one in beside):
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
