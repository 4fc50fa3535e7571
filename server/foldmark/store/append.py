"""Adding to the end of the log, inside a transaction that somebody else holds."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import aiosqlite
import orjson

from foldmark.errors import TranscriptUnreadable
from foldmark.store.placement import Log, Place, Prompt, Rewind, Row
from foldmark.store.rows import Batch, decompress
from foldmark.transcripts.record import Record

LIVE = (
    "NOT EXISTS (SELECT 1 FROM rewinds"
    " WHERE rewinds.session = log.session AND log.pos BETWEEN first AND last)"
)
"""A condition on `log`: the row is on the active branch."""

_PROMPT_KEPT = 400  # characters of a prompt that a listing can use


async def append(connection: aiosqlite.Connection, batch: Batch) -> None:
    """Add what is new of `batch` to the end of its session's log."""
    key = await session_key(connection, batch)
    log = await _end(connection, key, batch.records)
    placed = [
        (row, frame)
        for record, frame in zip(batch.records, batch.frames, strict=True)
        if (row := log.place(record)) is not None
    ]
    await connection.execute(*_insertion(key, placed, ours=batch.ours))
    asked = _first(row.record.prompt for row, _ in reversed(placed) if row.head == row.pos)
    if asked:
        await connection.execute(
            "UPDATE sessions SET last_prompt = ? WHERE key = ?", (asked[:_PROMPT_KEPT], key)
        )
    if log.resumed:
        await connection.executemany(
            "DELETE FROM rewinds WHERE session = ? AND first = ? AND last = ?",
            [(key, gone.first, gone.last) for gone in log.resumed],
        )
    if log.left:
        await connection.executemany(
            "INSERT INTO rewinds SELECT ?1, ?2, ?3, b.messages - ifnull(a.messages, 0)"
            " - ifnull(sum(r.messages), 0), b.chars - ifnull(a.chars, 0) - ifnull(sum(r.chars), 0)"
            " FROM log b LEFT JOIN log a ON a.session = ?1 AND a.pos = ?2 - 1"
            " LEFT JOIN rewinds r ON r.session = ?1 AND r.first >= ?2 AND r.last <= ?3"
            " WHERE b.session = ?1 AND b.pos = ?3",
            [(key, gone.first, gone.last) for gone in log.left],
        )


def _insertion(
    key: int, placed: Sequence[tuple[Row, bytes]], *, ours: bool
) -> tuple[str, tuple[Any, ...]]:
    """Write one statement for all rows, which runs beside the thread that decodes the next ones.

    A statement a row waits after each row for that thread to give the interpreter away.
    """
    starts = accumulate((len(frame) for _, frame in placed), initial=1)
    values = [
        (
            row.pos,
            row.head,
            row.record.kind,
            row.record.id,
            row.record.parent,
            row.record.message,
            row.record.first_kept or row.record.replaces,
            int(bool(row.record.prompt) and row.head == row.pos),
            row.record.at,
            row.record.model,
            row.messages,
            row.chars,
            start,
            len(frame),
        )
        for (row, frame), start in zip(placed, starts, strict=False)
    ]
    return (
        "INSERT INTO log (session, ours, pos, head, kind, id, parent, message, target, prompt, at,"
        " model, messages, chars, raw) SELECT ?1, ?2, value ->> 0, value ->> 1, value ->> 2,"
        " value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8,"
        " value ->> 9, value ->> 10, value ->> 11, substr(?4, value ->> 12, value ->> 13)"
        " FROM json_each(?3)",
        (key, ours, orjson.dumps(values).decode(), b"".join(frame for _, frame in placed)),
    )


async def session_key(connection: aiosqlite.Connection, batch: Batch) -> int:
    """Find or create the session's row, and learn from the records what describes it."""
    rows = await connection.execute_fetchall(
        "INSERT INTO sessions (id, assistant, parent, forked_from, project, branch, title,"
        " first_prompt, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET"
        " parent = CASE parent WHEN '' THEN excluded.parent ELSE parent END,"
        " forked_from = CASE forked_from WHEN '' THEN excluded.forked_from ELSE forked_from END,"
        " project = CASE project WHEN '' THEN excluded.project ELSE project END,"
        " branch = CASE excluded.branch WHEN '' THEN branch ELSE excluded.branch END,"
        " title = CASE excluded.title WHEN '' THEN title ELSE excluded.title END,"
        " first_prompt = CASE first_prompt WHEN '' THEN excluded.first_prompt"
        " ELSE first_prompt END,"
        " updated = max(updated, excluded.updated) WHERE assistant = excluded.assistant"
        " RETURNING key",
        (
            batch.session,
            batch.assistant,
            batch.parent or _first(record.parent_session for record in batch.records),
            _first(record.forked_from for record in batch.records),
            batch.project or _first(record.project for record in batch.records),
            _first(record.branch for record in reversed(batch.records)),
            batch.title or _first(record.title for record in reversed(batch.records)),
            _first(record.prompt for record in batch.records)[:_PROMPT_KEPT],
            batch.updated,
        ),
    )
    for (key,) in rows:
        return int(key)
    raise TranscriptUnreadable(
        f"{batch.session!r} is held as the id of another assistant's session, so nothing of "
        f"{batch.assistant}'s was read. Nothing was changed. Call list_sessions to see the "
        "sessions there are."
    )


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


async def _end(connection: aiosqlite.Connection, key: int, records: Sequence[Record]) -> Log:
    """Read what `placement.Log` must know of the rows already there."""
    log = Log()
    for pos, messages, chars in await connection.execute_fetchall(
        "SELECT pos, messages, chars FROM log WHERE session = ? ORDER BY pos DESC LIMIT 1", (key,)
    ):
        log.pos, log.messages, log.chars = pos, messages, chars
    if not log.pos:
        return log
    log.markers = [
        pos
        for (pos,) in await connection.execute_fetchall(
            "SELECT pos FROM log WHERE session = ? AND kind IN ('marker', 'summary')"
            " AND kind = 'marker' ORDER BY head",
            (key,),
        )
    ]
    named = {id for r in records for id in (r.id, r.parent, r.replaces, r.until, r.resumes)}
    for id, pos, head, message, raw, chars in await connection.execute_fetchall(
        "SELECT log.id, log.pos, log.head, log.message, log.raw,"
        " log.chars - ifnull(before.chars, 0) FROM json_each(?)"
        " CROSS JOIN log ON log.session = ?2 AND log.id = value"
        " LEFT JOIN log before ON before.session = ?2 AND before.pos = log.pos - 1"
        " ORDER BY log.id, log.pos",
        (orjson.dumps(sorted(named - {""})).decode(), key),
    ):
        held = log.known.setdefault(id, [])
        # A version in the same message adds only what it has more.
        size = chars + (held[-1].chars if held and held[-1].head == head else 0)
        held.append(Place(pos, head, message, decompress(raw), size))
    parents = [log.known[r.parent][0].pos for r in records if r.prompt and r.parent in log.known]
    log.rewound = [
        Rewind(first, last)
        for first, last in await connection.execute_fetchall(
            "SELECT first, last FROM rewinds WHERE session = ?", (key,)
        )
    ]
    if parents:
        log.prompts = [
            Prompt(pos, at)
            for pos, at in await connection.execute_fetchall(
                "SELECT pos, at FROM log WHERE session = ? AND prompt = 1 AND pos > ? ORDER BY pos",
                (key, min(parents)),
            )
        ]
    return log
