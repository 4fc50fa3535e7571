"""The log of every session, in SQLite: add to its end, read by position.

A call asks once for many rows, since each trip to the database costs a tenth of a millisecond
whatever it carries.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite

from foldmark.store import overview
from foldmark.store.append import LIVE, append, session_key
from foldmark.store.database import Database, Rows, open_database
from foldmark.store.overview import Overview
from foldmark.store.placement import Held
from foldmark.store.rows import (
    SESSION,
    SOURCE,
    STORED,
    Batch,
    Claim,
    Extent,
    Session,
    Source,
    Stored,
)
from foldmark.transcripts.fields import dumps

HANDED_OVER = "messages:"
"""Begins the name of a source that is no file: messages that came in calls."""


class Store:
    """The sessions in one open database."""

    def __init__(self, database: Database):
        """Use an open database; see `open_store`."""
        self._database = database

    # Adding

    async def append(
        self, batches: Sequence[Batch], source: Source | None = None, since: Source | None = None
    ) -> bool:
        """Add what is new of `batches`, and how far `source` was read, in one transaction.

        Returns False, having added nothing, when the source is no longer where it was at `since`:
        another server on the same database was faster, and what was read must be read again.
        """
        async with self._database.writing() as connection:
            if source is not None and await _source(connection, source.path) != since:
                return False
            for batch in batches:
                await append(connection, batch)
            if source is not None:
                await _remember(connection, source)
        return True

    async def mark(self, batch: Batch, claim: Claim, *, end: int, now: float) -> Claim | None:
        """Append a marker and claim the session, if its log still ends at `end`.

        Returns None when that is done, the claim in the way when the session is being compacted
        by somebody else, and the given claim when the log has grown.
        """
        async with self._database.writing() as connection:
            key = await session_key(connection, batch)
            [(last, *held)] = await connection.execute_fetchall(
                "SELECT (SELECT max(pos) FROM log WHERE session = key), marker, owner, expires"
                " FROM sessions LEFT JOIN claims ON session = key AND expires > ? WHERE key = ?",
                (now, key),
            )
            if held[0] is not None:
                return Claim(*held)
            if last != end:
                return claim
            await append(connection, batch)
            await connection.execute(
                "INSERT INTO claims VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET marker = excluded.marker, owner = excluded.owner, expires = excluded.expires",
                (key, claim.marker, claim.owner, claim.expires),
            )
        return None

    async def renew(self, claim: Claim) -> bool:
        """Hold a claim for longer; False when it was lost."""
        async with self._database.writing() as connection:
            cursor = await connection.execute(
                "UPDATE claims SET expires = ? WHERE marker = ? AND owner = ?",
                (claim.expires, claim.marker, claim.owner),
            )
        return cursor.rowcount == 1

    async def seal(self, batch: Batch, claim: Claim, *, drafts_are_done: bool = False) -> bool:
        """Append the answer to a claimed marker and give the claim back, in one transaction.

        With a summary there, its drafts have done their work. Returns False, having added
        nothing, when the claim was lost to somebody else.
        """
        async with self._database.writing() as connection:
            cursor = await connection.execute(
                "DELETE FROM claims WHERE marker = ? AND owner = ?", (claim.marker, claim.owner)
            )
            if cursor.rowcount != 1:
                return False
            await append(connection, batch)
            if drafts_are_done:
                await connection.execute(
                    "DELETE FROM drafts WHERE session = (SELECT key FROM sessions WHERE id = ?)",
                    (batch.session,),
                )
        return True

    async def keep_draft(self, key: int, digest: str, text: str) -> None:
        """Keep what a model wrote of a session until the session has a summary."""
        async with self._database.writing() as connection:
            await connection.execute(
                "INSERT OR REPLACE INTO drafts VALUES (?, ?, ?)", (key, digest, text)
            )

    async def measure(self, model: str, units: float, tokens: int) -> None:
        """Add to what a model was sent, in units of text, and what it billed for it."""
        async with self._database.writing() as connection:
            await connection.execute(
                "INSERT INTO models VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
                " SET units = units + excluded.units, tokens = tokens + excluded.tokens",
                (model, units, tokens),
            )

    # Reading

    async def drafts(self, key: int) -> dict[str, str]:
        """Read what models wrote of a session that has no summary of it yet, by its digest."""
        rows = await self._database.rows(
            "SELECT digest, text FROM drafts WHERE session = ?", (key,)
        )
        return dict(rows)

    async def measured(self, model: str) -> tuple[float, int]:
        """Tell how much text a model was sent, in units, and the tokens it billed for it."""
        rows = await self._database.rows("SELECT units, tokens FROM models WHERE id = ?", (model,))
        return (rows[0][0], rows[0][1]) if rows else (0.0, 0)

    async def overview(self, id: str) -> Overview:
        """Read what there is to know of a session before its messages are."""
        return overview.read(await self._database.rows(overview.SQL, (id,)))

    async def sessions(self) -> list[Session]:
        """List every session, newest first."""
        rows = await self._database.rows(
            f"SELECT {SESSION} FROM sessions ORDER BY updated DESC, id"
        )
        return [Session(*row) for row in rows]

    async def files(self) -> dict[str, set[str]]:
        """List the files that each session was read from; one handed over in calls has none."""
        found: dict[str, set[str]] = {}
        for path, session in await self._database.rows("SELECT path, session FROM sources"):
            if not path.startswith(HANDED_OVER):
                found.setdefault(session, set()).add(Source(path, session).file)
        return found

    async def before(self, key: int, pos: int) -> Extent:
        """Measure a session's log up to the row before `pos`."""
        rows = await self._database.rows(
            "SELECT pos, messages, chars FROM log WHERE session = ? AND pos < ?"
            " ORDER BY pos DESC LIMIT 1",
            (key, pos),
        )
        return Extent(*rows[0]) if rows else Extent()

    async def ids(self, key: int) -> list[tuple[int, str]]:
        """List the positions and ids of what an assistant or a caller put on the active branch."""
        rows = await self._database.rows(
            "SELECT pos, id FROM log WHERE session = ? AND head = pos AND ours = 0"
            f" AND kind NOT IN ('fork', 'other') AND {LIVE} ORDER BY pos",
            (key,),
        )
        return [(pos, id) for pos, id in rows]

    async def held(self, session: str) -> tuple[int, list[Held]]:
        """List what an assistant wrote, oldest first, and tell where the log ends."""
        rows = await self._database.rows(
            "WITH own AS (SELECT key FROM sessions WHERE id = ?)"
            " SELECT pos, '', 0, 0 FROM"
            " (SELECT max(pos) AS pos FROM log WHERE session = (SELECT key FROM own))"
            f" UNION ALL SELECT * FROM (SELECT pos, id, {LIVE}, kind = 'message' FROM log"
            " WHERE session = (SELECT key FROM own)"
            " AND head = pos AND ours = 0 AND kind NOT IN ('fork', 'other') ORDER BY pos)",
            (session,),
        )
        told = [Held(id, bool(live), bool(says)) for _, id, live, says in rows[1:]]
        return rows[0][0] or 0, told

    async def tail(self, key: int, first_kept: str, marked: int) -> tuple[int | None, Extent]:
        """Find where the message `first_kept` stands, or `marked` if it is empty.

        Also measures the log before that place, with what was added later to messages there. None
        if there is no such live message.
        """
        rows = await self._database.rows(
            "WITH place AS (SELECT CASE ?2 WHEN '' THEN ?3 ELSE (SELECT min(head) FROM log"
            f" WHERE session = ?1 AND id = ?2 AND {LIVE}) END AS pos)"
            " SELECT place.pos, before.pos, before.messages,"
            " before.chars + (SELECT ifnull(sum(log.chars - one.chars), 0) FROM log JOIN log one"
            " ON one.session = log.session AND one.pos = log.pos - 1 WHERE log.session = ?1"
            " AND log.pos >= place.pos AND log.head < place.pos)"
            " FROM place LEFT JOIN log before"
            " ON before.session = ?1 AND before.pos = place.pos - 1",
            (key, first_kept, marked),
        )
        [(pos, *extent)] = rows
        return pos, Extent(*extent) if extent[0] is not None else Extent()

    async def whole(self, key: int, id: str) -> list[Stored]:
        """Read every row of the message that an id, or its unique beginning, belongs to."""
        return self._stored(
            await self._database.rows(
                "WITH wanted AS MATERIALIZED (SELECT max(head) FROM log WHERE session = ?1"
                " AND id = coalesce("
                "(SELECT id FROM log WHERE session = ?1 AND id = ?2 LIMIT 1),"
                " (SELECT id FROM log WHERE session = ?1 AND length(?2) >= 8 AND id >= ?2"
                " AND id < ?2 || char(1114111) GROUP BY session HAVING count(DISTINCT id) = 1)))"
                f" SELECT {STORED} FROM log WHERE session = ?1 AND pos IN wanted"
                f" UNION ALL SELECT {STORED} FROM log"
                " WHERE session = ?1 AND head <> pos AND head IN wanted ORDER BY 2, 1",
                (key, id),
            )
        )

    async def page(
        self,
        key: int,
        *,
        first: int = 1,
        last: int | None = None,
        limit: int,
        backward: bool = False,
        live: bool = True,
        kinds: Iterable[str] = ("message",),
    ) -> list[Stored]:
        """Read up to `limit` whole messages whose heads lie from `first` to `last`.

        Rows come in the order of their heads; `backward` takes the last messages of the range
        instead of the first ones.
        """
        wanted = ", ".join(f"'{kind}'" for kind in kinds)
        heads = (
            "SELECT pos FROM log WHERE session = ?1 AND pos BETWEEN ?2 AND ?3 AND head = pos"
            f" AND kind IN ({wanted}){f' AND {LIVE}' if live else ''}"
            f" ORDER BY pos{' DESC' if backward else ''} LIMIT ?4"
        )
        return self._stored(
            await self._database.rows(
                f"WITH heads AS MATERIALIZED ({heads})"
                f" SELECT {STORED} FROM log WHERE session = ?1 AND pos IN heads"
                f" UNION ALL SELECT {STORED} FROM log"
                " WHERE session = ?1 AND head <> pos AND head IN heads ORDER BY 2, 1",
                (key, first, last if last is not None else 2**62, limit),
            )
        )

    async def source(self, path: str) -> Source | None:
        """Tell how far a transcript was read."""
        rows = await self._database.rows(f"SELECT {SOURCE} FROM sources WHERE path = ?", (path,))
        return Source.of(rows[0]) if rows else None

    def _stored(self, rows: Rows) -> list[Stored]:
        return [Stored.of(row) for row in rows]


@asynccontextmanager
async def open_store(path: Path) -> AsyncGenerator[Store]:
    """Open the store at `path`; see `database.open_database` for what it raises."""
    async with open_database(path) as database:
        yield Store(database)


async def _source(connection: aiosqlite.Connection, path: str) -> Source | None:
    rows = list(
        await connection.execute_fetchall(f"SELECT {SOURCE} FROM sources WHERE path = ?", (path,))
    )
    return Source.of(tuple(rows[0])) if rows else None


async def _remember(connection: aiosqlite.Connection, source: Source) -> None:
    await connection.execute(
        f"INSERT OR REPLACE INTO sources ({SOURCE}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            source.path,
            source.session,
            source.consumed,
            source.lines,
            source.size,
            source.modified,
            source.head,
            source.tail,
            source.discarding,
            source.skipped,
            dumps(source.places),
            source.restarts,
            dumps(source.state),
            dumps(source.unknown),
        ),
    )
