"""The SQLite file: opened, migrated, read, and written in short transactions.

One connection writes and one reads, so a reader never sees half of what is being written. Both
belong to threads of aiosqlite's that keep the process alive until they are closed.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiosqlite

from foldmark.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnusable
from foldmark.store.schema import APPLICATION_ID, MIGRATIONS

_WAIT_FOR_LOCK = 30.0  # seconds; other servers on the same file hold the lock for milliseconds
_SMALLEST = 512  # bytes of the smallest page, which any database that was written to has
_WAL_LIMIT = 64 * 1024 * 1024
_PAGE = 16 * 1024  # bytes; a record with its tool's output is often longer than the usual 4 kB
_CHECKPOINT = 2_000  # pages; ids are random, so an import touches the same pages often
_CACHE = 16_000  # kB, for the same reason

Rows = list[tuple[Any, ...]]


class Database:
    """An open database file."""

    def __init__(self, path: Path, reader: aiosqlite.Connection, writer: aiosqlite.Connection):
        """Take over two open connections; use `open_database`."""
        self.path = path
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Read all rows of one query, from committed data only."""
        with explained(self.path):
            return list(await self._reader.execute_fetchall(sql, parameters))  # type: ignore[arg-type]

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[aiosqlite.Connection]:
        """Hold the write lock for one transaction; commit at the end, roll back on any error.

        A cancelled caller cannot leave it open: what was queued for the connection still runs,
        the ROLLBACK after it.
        """
        async with self._turn:
            try:
                await self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                await self._writer.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    await self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise _explanation(self.path, error) from error
                raise


@asynccontextmanager
async def open_database(path: Path) -> AsyncGenerator[Database]:
    """Open the file at `path`, creating or upgrading it where needed.

    Raises:
        StoreTooNew: A newer Foldmark wrote it.
        StoreDamaged: It is no SQLite database, or another program's.
        StoreUnusable: It cannot be created, opened or locked.

    """
    async with AsyncExitStack() as connections:
        with explained(path):
            _create(path)
            writer = await connections.enter_async_context(_connect(path))
            await _migrate(path, writer)
            reader = await connections.enter_async_context(_connect(path))
            await reader.execute("PRAGMA query_only = ON")
        yield Database(path, reader, writer)


def _connect(path: Path) -> aiosqlite.Connection:
    return aiosqlite.connect(path, isolation_level=None, timeout=_WAIT_FOR_LOCK)


def _create(path: Path) -> None:
    """Make the file readable by its owner alone before SQLite puts anything into it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if 0 < path.stat().st_size < _SMALLEST:
        raise sqlite3.DatabaseError("file is not a database: cut short")
    sqlite3.connect(path).close()  # what cannot be opened fails here, not in another thread


async def _migrate(path: Path, connection: aiosqlite.Connection) -> None:
    await connection.execute(f"PRAGMA page_size = {_PAGE}")
    await connection.execute("PRAGMA synchronous = NORMAL")
    await connection.execute("PRAGMA recursive_triggers = ON")  # the log's hold for REPLACE too
    await connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    await connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
    await connection.execute(f"PRAGMA cache_size = -{_CACHE}")
    version = await _version(path, connection)
    if version < len(MIGRATIONS):
        await _use_wal(connection)
        await connection.execute("BEGIN IMMEDIATE")
        for number in range(await _version(path, connection), len(MIGRATIONS)):
            for statement in _statements(MIGRATIONS[number]):
                await connection.execute(statement)
            await connection.execute(f"PRAGMA user_version = {number + 1}")
            await connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        await connection.execute("COMMIT")


async def _version(path: Path, connection: aiosqlite.Connection) -> int:
    """Read the schema's version, once it is sure that the file is ours."""
    [(version, owner, tables)] = await connection.execute_fetchall(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_user_version, pragma_application_id"
    )
    if owner != APPLICATION_ID and (owner or tables):
        raise StoreDamaged(
            f"{str(path)!r} is another program's database, and it was left as it is. Point "
            "FOLDMARK_DB at a file of Foldmark's own, or at one that does not exist yet."
        )
    if version > len(MIGRATIONS):
        raise StoreTooNew(
            f"The database {str(path)!r} has schema version {version}; this Foldmark knows up to "
            f"{len(MIGRATIONS)}. Nothing was changed. Update Foldmark, or point FOLDMARK_DB at "
            "another file."
        )
    return int(version)


async def _use_wal(connection: aiosqlite.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait its turn for this one statement."""
    for attempt in range(100):
        try:
            await connection.execute_fetchall("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            await asyncio.sleep(0.01 * (1 + attempt % 10))
        else:
            return
    raise sqlite3.OperationalError("database is locked")


def _statements(script: str) -> Iterator[str]:
    """Part a script into statements, which must run one by one to stay in one transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn SQLite's and the file system's errors into ours, naming the file and the next step."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError) as error:
        raise _explanation(path, error) from error


def _explanation(path: Path, error: Exception) -> StoreError:
    name = repr(str(path))
    said = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    if "not a database" in said or "malformed" in said or "disk image" in said:
        return StoreDamaged(
            f"The database {name} is damaged ({said}); it was left as it is. Move it aside, or "
            "restore it from a backup; transcripts that still exist are then imported again."
        )
    if "full" in said or "No space" in said:
        return StoreUnusable(
            f"The disk that holds the database {name} is full ({said}). Nothing was lost and "
            "nothing was changed. Free some space, or point FOLDMARK_DB at another disk."
        )
    if "locked" in said or "busy" in said:
        return StoreUnusable(
            f"The database {name} stayed locked for {_WAIT_FOR_LOCK:.0f} s ({said}). Nothing was "
            "changed. Try again; if it stays so, end the program that holds it."
        )
    return StoreUnusable(
        f"The database {name} cannot be used ({said}). Nothing was lost and nothing was changed. "
        "Check that the file and its folder exist and can be written, or set FOLDMARK_DB."
    )
