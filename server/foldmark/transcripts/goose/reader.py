"""Goose: sessions in `sessions.db`, exported as JSON, or (before it had a database) JSON lines.

Rows of the database are mostly appended. But most versions write a session anew when they compact
it: every row is deleted and comes back under a new row id, while `message_id` stays.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from foldmark.transcripts import lines
from foldmark.transcripts.fields import digest, dumps, items, loads, mapping, name, text
from foldmark.transcripts.goose.content import message, summary
from foldmark.transcripts.goose.rows import Row, is_command, named, records, unnamed
from foldmark.transcripts.record import (
    Database,
    Document,
    Json,
    Lines,
    Reader,
    Record,
    Rows,
    Seen,
    Skipped,
    Snapshot,
    State,
)

_ABOUT = (
    *("id", "name", "description", "session_type", "working_dir", "created_at"),
    *("parent_session_id", "provider_name", "model_config_json", "model_config"),
)
"""What is kept of a session: neither its counts of tokens, which change all the time, nor how its
extensions are run, which can hold secrets."""

_MESSAGE = ("id", "message_id", "role", "created_timestamp", "content_json", "metadata_json")
_LEGACY = re.compile(r"\d{8}_\d+")
_ENDS = 6
"""Rows in a person's name at either end of a session, among which a listing finds a prompt."""

_ORDER = "created_timestamp, id"
_NEWEST = "created_timestamp DESC, id DESC"

_ROOTS = (
    "$GOOSE_PATH_ROOT/data/sessions",
    "$APPDATA/Block/goose/data/sessions",
    "$XDG_DATA_HOME/goose/sessions",
    "~/.local/share/goose/sessions",
)


def sessions(rows: Rows, _: str = "") -> Iterator[Seen]:
    """List the sessions that hold a message."""
    about, columns = _columns(rows, "sessions", _ABOUT), _columns(rows, "messages", _MESSAGE)
    for row in rows(
        f"SELECT {about}, CAST(strftime('%s', updated_at) AS INTEGER) AS updated FROM sessions"
        " WHERE EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id) ORDER BY updated_at"
    ):
        updated = row.get("updated")
        yield Seen(
            name(row.get("id")),
            parent=name(row.get("parent_session_id")),
            project=text(row.get("working_dir")),
            title=_title(row),
            first_prompt=_prompt(rows, columns, row.get("id"), _ORDER),
            last_prompt=_prompt(rows, columns, row.get("id"), _NEWEST),
            updated=float(updated) if isinstance(updated, int) else 0.0,
        )


def read_rows(rows: Rows, session: str, state: State) -> Snapshot:
    """Read what was added to a session, or all of it if it was written anew or cut short.

    `state` keeps the row ids that the session spans and how many they are, its first and its newest
    message, and what `rows.records` remembers.
    """
    reached = state.get("reached", 0)
    [span] = rows(
        "SELECT count(*) AS count, min(id) AS first, max(id) AS reached,"
        " count(CASE WHEN id <= ? THEN 1 END) AS held FROM messages WHERE session_id = ?",
        *(reached, session),
    )
    grew = (span["first"], span["held"]) == (state.get("first"), state.get("count"))
    before = dict(state)
    if not grew:
        state.clear()
    columns = _columns(rows, "sessions", _ABOUT)
    told = rows(f"SELECT {columns} FROM sessions WHERE id = ?", session)
    about = told[0] if told else dict[str, Any]()
    since = f"AND id > {int(reached)} " if grew else ""
    columns = _columns(rows, "messages", _MESSAGE)
    natives = _messages(rows, columns, session, f"{since}ORDER BY {_ORDER}")
    has_ids = grew and "message_id" in columns
    seen = _seen(rows, session, reached) if has_ids else Counter[str]()
    found = list(records(list(named(natives, seen, state.get("count", 0))), state, _model(about)))
    current = _current(found)
    if current:
        state.setdefault("origin", current[0])
        state["newest"] = current[-1]
    state.update(count=span["count"], first=span["first"], reached=span["reached"] or 0)
    if not grew and _is_cleared(before, current):
        found.insert(0, _cleared(before["origin"]))
    header = _header(about)
    state["about"] = digest(header.raw)
    if found and state["about"] != before.get("about"):
        found.insert(0, header)
    return Snapshot(found, None if grew else current)


def read_export(data: bytes) -> Snapshot:
    """Read what `goose session export --format json` wrote."""
    try:
        whole = mapping(lines.loads(data))
    except ValueError:
        return Snapshot((), None, (Skipped("export", "not JSON"),))
    conversation = items(whole.get("conversation"))
    natives = [mapping(one) for one in conversation if isinstance(one, dict)]
    skipped = [
        Skipped(index, "not an object")
        for index, one in enumerate(conversation)
        if not isinstance(one, dict)
    ]
    rows = list(named(natives, Counter()))
    found = list(records(rows, {}, _model(whole)))
    return Snapshot([_header(whole), *found], _current(found) or None, skipped)


def read_line(record: Json, raw: bytes, state: State) -> Iterator[Record]:
    """Read one line; the first one is about the session, and written anew with every message."""
    if "role" not in record:
        unknown = "" if _is_first_line(record) else text(record.get("type")) or "line"
        header = _header(record)
        id = digest(raw) if unknown else header.id
        yield replace(header, id=id, raw=raw, unknown=unknown)
        return
    number = state["count"] = state.get("count", 0) + 1
    yield from records([Row(record, unnamed(record, number), raw=raw)], state)


def _columns(rows: Rows, table: str, wanted: Sequence[str]) -> str:
    """Name the columns of a table that there are: versions differ."""
    there = {column["name"] for column in rows(f"PRAGMA table_info({table})")}
    return ", ".join(one for one in wanted if one in there)


def _messages(rows: Rows, columns: str, session: Any, which: str) -> list[Json]:
    """Read messages from their rows, as an export shows them."""
    found = rows(f"SELECT {columns} FROM messages WHERE session_id = ? {which}", session)
    return [
        {
            "id": row.get("message_id"),
            "role": row.get("role"),
            "created": row.get("created_timestamp"),
            "content": _json(row.get("content_json")),
            "metadata": _json(row.get("metadata_json")),
        }
        for row in found
    ]


def _prompt(rows: Rows, columns: str, session: Any, order: str) -> str:
    """Find what a person typed first, or last, among the rows at an end of a session."""
    which = """AND role = 'user' AND content_json NOT LIKE '[{"type":"toolResponse"%'"""
    natives = _messages(rows, columns, session, f"{which} ORDER BY {order} LIMIT {_ENDS}")
    typed = (message("", [native]).prompt for native in natives if not is_command(native))
    return next(filter(None, typed), "")


def _json(value: Any) -> Any:
    try:
        return loads(value) if isinstance(value, str) else None
    except ValueError:
        return value


def _seen(rows: Rows, session: str, reached: int) -> Counter[str]:
    """Count the earlier rows of the ids that new rows share with them."""
    found = rows(
        "SELECT message_id, count(*) AS count FROM messages WHERE session_id = ?1 AND id <= ?2"
        " AND message_id IN (SELECT message_id FROM messages WHERE session_id = ?1 AND id > ?2)"
        " GROUP BY message_id",
        *(session, reached),
    )
    return Counter({name(row["message_id"]): row["count"] for row in found})


def _current(found: Sequence[Record]) -> list[str]:
    return [record.id for record in found if record.kind in ("message", "marker", "summary")]


def _is_cleared(before: State, current: Sequence[str]) -> bool:
    """Tell whether nothing is left of what was there: `/clear`, or another session by this id."""
    ends = {before.get("origin"), before.get("newest")} - {None}
    return bool(ends) and ends.isdisjoint(current)


def _cleared(origin: str) -> Record:
    raw = dumps({"type": "cleared", "replaces": origin}).encode()
    return Record("fork", f"{origin}/cleared", raw, replaces=origin)


def _header(about: Json) -> Record:
    """Make the record that tells of the session."""
    kept = {key: about[key] for key in _ABOUT if about.get(key) is not None}
    return Record(
        kind="other",
        id="session",
        raw=dumps(kept).encode(),
        project=text(about.get("working_dir")),
        title=_title(about),
        parent_session=name(about.get("parent_session_id")),
    )


def _title(about: Json) -> str:
    return text(about.get("name")) or text(about.get("description"))


def _model(about: Json) -> str:
    """Name the model that the session is set to, which wrote what names no other."""
    config = about.get("model_config") or _json(about.get("model_config_json"))
    return name(mapping(config).get("model_name"))


def _is_first_line(record: Json) -> bool:
    return (
        "message_count" in record
        and "conversation" not in record
        and ("description" in record or "working_dir" in record)
    )


def _recognizes_line(record: Json) -> bool:
    if "role" not in record:
        return _is_first_line(record)
    is_message = record["role"] in ("user", "assistant") and isinstance(record.get("content"), list)
    return is_message and isinstance(record.get("created"), int) and "type" not in record


def _recognizes_export(head: bytes) -> bool:
    try:
        whole = mapping(lines.loads(head))
    except ValueError:
        return False
    return isinstance(whole.get("working_dir"), str) and "extension_data" in whole


def _line_session(path: str, _: Json) -> str:
    """Name a session by its file; a file by any other name than Goose's own is a copy."""
    stem = path.split("/")[-1].removesuffix(".jsonl")
    return stem if _LEGACY.fullmatch(stem) else ""


def _export_session(_: str, head: bytes) -> str:
    try:
        return name(mapping(lines.loads(head)).get("id")) if head else ""
    except ValueError:
        return ""


READER = Reader(
    assistant="goose",
    places=(
        Database(
            roots=_ROOTS,
            pattern="sessions.db",
            tables=("sessions", "messages"),
            sessions=sessions,
            read=read_rows,
        ),
        Lines(
            roots=_ROOTS,
            pattern="*.jsonl",
            recognizes=_recognizes_line,
            records=read_line,
            session=_line_session,
        ),
        Document(
            roots=(),
            pattern="",
            recognizes=_recognizes_export,
            read=read_export,
            session=_export_session,
        ),
    ),
    message=message,
    summary=summary,
    hosts=("goose",),
    variables=("AGENT_SESSION_ID",),
)
"""Goose 1.50 (schema 16); what is older, and schema 17, by what its source says."""
