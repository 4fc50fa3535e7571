"""opencode's database: only what changed since the last reading is read.

Up to version 1 a session is a row of `session`, its messages rows of `message` and `part`. Version
2 copies them once, under the same ids, into `session_v2` and `session_message`, goes on there and
leaves the old rows where they are. So a session is its old rows, and of the new ones what comes
after the last that both hold. New rows that share none with the old ones are what an early version
2 wrote beside them, and say nothing new. The other tables, credentials among them, are not ours.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldmark.transcripts.fields import count, digest, items, loads, mapping, name, text
from foldmark.transcripts.opencode import v2 as opencode_v2
from foldmark.transcripts.opencode.records import header, in_force, native, records
from foldmark.transcripts.record import Json, Rows, Seen, Skipped, Snapshot, State

TABLES = ("session", "session_v2", "message", "part", "session_message")

_TIMES = frozenset({"id", "session_id", "time_created", "time_updated", "data"})
_NEEDED: Mapping[str, frozenset[str]] = {
    "session": frozenset({"id"}),
    "session_v2": frozenset({"id"}),
    "message": _TIMES,
    "part": _TIMES | {"message_id"},
    "session_message": _TIMES | {"type", "seq"},
}
_ABOUT = {
    "id": "id",
    "parent_id": "parentID",
    "project_id": "projectID",
    "directory": "directory",
    "title": "title",
    "version": "version",
    "revert": "revert",
    "fork_session_id": "fork",
}
"""What is read of a session, and what an export calls it."""

_SLACK = 1000
"""Milliseconds: a row may be written after one that is dated later."""

_AT_ONCE = 500  # messages read with one SELECT
_ENDS = 4  # messages in a person's name at either end, among which a listing finds a prompt
_SHOWN = 400  # characters of a prompt that a listing can use

_OWN = ("compact_session", "get_history", "list_sessions")
"""How the names of Foldmark's own tools end; `foldmark.own` lies above this layer."""

_CALLING = 600  # seconds for which a call of ours can be under way
_NEWEST = 200  # rows among which it is looked for: the newest of all sessions

Tables = Mapping[str, Collection[str]]
"""The columns that there are of each table that can be read: versions differ."""


def sessions(rows: Rows, _: str = "") -> Iterator[Seen]:
    """List the sessions that hold a message, each once."""
    there = _tables(rows)
    for table in ("session", "session_v2"):
        if table in there:
            yield from _listed(rows, there, table)


def read(rows: Rows, session: str, state: State) -> Snapshot:
    """Read what changed in a session since `state`.

    It keeps a mark of all rows and the newest of their times (for either version), how many parts
    there were, when begun and up to which, the markers, the messages that were only begun, and a
    digest of the session's own row.
    """
    there, skipped = _tables(rows), list[Skipped]()
    about = _about(rows, there, session)
    markers, begun = set[str](state.get("markers", ())), set[str](state.get("begun", ()))
    ids: Sequence[str] = ()
    natives = list[Json]()
    if "message" in there and "part" in there:
        ids, changed = _changed(rows, session, state, begun)
        natives += _messages(rows, session, changed, skipped)
    told = [name(id) for id in ids]
    if "session_message" in there:
        later, changed = _changed_later(rows, session, state, ids)
        natives += _later_messages(rows, session, changed, skipped)
        told += [one for row in later for one in opencode_v2.rows_of(row["type"], name(row["id"]))]
    found = list(records(natives, markers, begun))
    state.update(markers=sorted(markers), begun=sorted(begun))
    if about:
        head = replace(header(about), forked_from=name(about.get("fork")))
        if state.get("about") != (seen := digest(head.raw + head.forked_from.encode())):
            state["about"] = seen
            found.insert(0, head)
    return Snapshot(found, in_force([id for id in told if id not in begun], about), skipped)


def pending(rows: Rows) -> Iterator[str]:
    """Name the sessions in which a tool of ours is being called."""
    there = _tables(rows)
    recent = f"time_updated > (strftime('%s', 'now') - {_CALLING}) * 1000"
    if "part" in there:
        for row in rows(
            f"SELECT session_id, {_field('data', 'tool')} AS tool FROM"
            " (SELECT session_id, time_updated, data FROM part"
            f" ORDER BY rowid DESC LIMIT {_NEWEST}) WHERE {recent}"
            f" AND {_field('data', 'type')} = 'tool'"
            f" AND {_field('data', 'state.status')} IN ('pending', 'running')"
        ):
            if text(row["tool"]).endswith(_OWN):
                yield name(row["session_id"])
    if "session_message" in there:
        for row in rows(
            "SELECT session_id, data FROM"
            " (SELECT session_id, type, time_updated, data FROM session_message"
            f" ORDER BY rowid DESC LIMIT {_NEWEST}) WHERE {recent} AND type = 'assistant'"
        ):
            parts = [mapping(one) for one in items(mapping(_json(row["data"])).get("content"))]
            if any(_is_own_call(part) for part in parts):
                yield name(row["session_id"])


def _is_own_call(part: Json) -> bool:
    status = mapping(part.get("state")).get("status")
    under_way = part.get("type") == "tool" and status in ("pending", "streaming", "running")
    return under_way and text(part.get("name")).endswith(_OWN)


def _tables(rows: Rows) -> Tables:
    found = {
        table: frozenset(text(column["name"]) for column in rows(f"PRAGMA table_info({table})"))
        for table in TABLES
    }
    return {table: found[table] for table in TABLES if found[table] >= _NEEDED[table]}


def _listed(rows: Rows, there: Tables, table: str) -> Iterator[Seen]:
    """List the sessions of one table, oldest first; who is in both counts as of version 2."""
    columns = [f"s.{one}" for one in _ABOUT if one in there[table]]
    updated = ["s.time_updated"] if "time_updated" in there[table] else []
    holds, first, last = list[str](), list[str](), list[str]()
    if "message" in there and "part" in there:
        updated.append(_last_write("message", "time_created DESC, id DESC"))
        holds.append("EXISTS (SELECT 1 FROM message WHERE session_id = s.id)")
        first.append(_typed("ASC"))
        last.append(_typed("DESC"))
    if "session_message" in there:
        updated.append(_last_write("session_message", "seq DESC"))
        holds.append("EXISTS (SELECT 1 FROM session_message WHERE session_id = s.id)")
        first.append(_typed_later("ASC"))
        last.insert(0, _typed_later("DESC"))
    if not holds:
        return
    once = "session_v2" in there and table == "session"
    for row in rows(
        f"SELECT {', '.join(columns)}, max(0, {', '.join(f'ifnull({u}, 0)' for u in updated)})"
        f" AS updated, coalesce({', '.join(first)}, '') AS first,"
        f" coalesce({', '.join(last)}, '') AS last FROM {table} s WHERE ({' OR '.join(holds)})"
        f"{' AND NOT EXISTS (SELECT 1 FROM session_v2 v WHERE v.id = s.id)' if once else ''}"
        " ORDER BY updated"
    ):
        yield Seen(
            name(row["id"]),
            parent=name(row.get("parent_id")),
            project=text(row.get("directory")),
            title=text(row.get("title")),
            first_prompt=text(row["first"]),
            last_prompt=text(row["last"]),
            updated=count(row["updated"]) / 1000,
        )


def _last_write(table: str, newest: str) -> str:
    return f"(SELECT time_updated FROM {table} WHERE session_id = s.id ORDER BY {newest} LIMIT 1)"


def _typed(way: str) -> str:
    """Find what a person typed first (ASC) or last (DESC)."""
    return (
        f"(SELECT substr({_field('p.data', 'text')}, 1, {_SHOWN}) FROM (SELECT id, time_created"
        f" FROM message WHERE session_id = s.id AND {_field('data', 'role')} = 'user'"
        f" ORDER BY time_created {way}, id {way} LIMIT {_ENDS}) m JOIN part p"
        f" ON p.message_id = m.id WHERE {_field('p.data', 'type')} = 'text'"
        f" AND NOT ifnull({_field('p.data', 'synthetic')}, 0)"
        f" AND NOT ifnull({_field('p.data', 'ignored')}, 0)"
        f" ORDER BY m.time_created {way}, m.id {way}, p.id LIMIT 1)"
    )


def _typed_later(way: str) -> str:
    return (
        f"(SELECT substr({_field('data', 'text')}, 1, {_SHOWN}) FROM session_message"
        f" WHERE session_id = s.id AND type = 'user' ORDER BY seq {way} LIMIT 1)"
    )


def _field(data: str, path: str) -> str:
    """Write SQL that reads a field of JSON, or nothing where that is damaged."""
    return f"CASE WHEN json_valid({data}) THEN json_extract({data}, '$.{path}') END"


def _about(rows: Rows, there: Tables, session: str) -> dict[str, Any]:
    """Read what is told of a session, under the names of an export."""
    for table in ("session_v2", "session"):
        if table in there:
            columns = [one for one in _ABOUT if one in there[table]]
            for row in rows(f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", session):
                about = {_ABOUT[column]: row[column] for column in columns}
                return {**about, "revert": _json(about.get("revert"))}
    return {}


def _changed(
    rows: Rows, session: str, state: State, begun: Collection[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """List the ids of a session's messages, and of those that must be read.

    Rows that were added are known by their place in the table, too: a clock may have been set
    back. When parts are gone that were there, or nothing tells what changed, that is all of them.
    """
    listed = rows(
        "SELECT id, time_updated, rowid AS place FROM message WHERE session_id = ?"
        " ORDER BY time_created, id",
        session,
    )
    [parts] = rows(
        "SELECT count(*) AS count, max(id) AS newest, max(time_updated) AS updated,"
        " max(rowid) AS place,"
        " total(time_updated % 1000003) AS sum, total(time_created % 1000003) AS begun,"
        " count(CASE WHEN id <= ?1 THEN 1 END) AS held,"
        " total(CASE WHEN id <= ?1 THEN time_created % 1000003 END) AS held_begun"
        " FROM part WHERE session_id = ?2",
        *(text(state.get("newest")), session),
    )
    times = [count(row["time_updated"]) for row in listed]
    held, before = state.get("parts"), state.get("mark")
    since = count(state.get("since")) - _SLACK
    mark = [len(listed), sum(times), parts["count"], parts["sum"]]
    place, part_place = state.get("place", 0), state.get("part_place", 0)
    state["place"] = max((count(row["place"]) for row in listed), default=0)
    state["part_place"] = count(parts["place"])
    state.update(mark=mark, parts=[parts["count"], parts["begun"]], newest=text(parts["newest"]))
    state["since"] = max([count(parts["updated"]), *times])
    ids = [row["id"] for row in listed]
    if mark == before:
        return ids, [id for id in ids if id in begun]
    if [parts["held"], parts["held_begun"]] != held:
        return ids, ids
    newer = {
        row["id"]
        for row, time in zip(listed, times, strict=True)
        if time >= since or row["place"] > place
    }
    newer.update(
        row["message_id"]
        for row in rows(
            "SELECT DISTINCT message_id FROM part WHERE session_id = ?"
            " AND (time_updated >= ? OR rowid > ?)",
            *(session, since, part_place),
        )
    )
    return ids, [id for id in ids if id in newer or id in begun] if newer else ids


def _messages(
    rows: Rows, session: str, ids: Sequence[str], skipped: list[Skipped]
) -> Iterator[Json]:
    """Read messages with their parts, in the order given, some at a time."""
    for some, marks in _batches(ids):
        written = rows(f"SELECT id, data FROM message WHERE id IN ({marks})", *some)
        told = {row["id"]: row["data"] for row in written}
        parts: dict[str, list[Json]] = {}
        for row in rows(
            f"SELECT id, message_id, data FROM part WHERE message_id IN ({marks}) ORDER BY id",
            *some,
        ):
            held = {"id": row["id"], "sessionID": session, "messageID": row["message_id"]}
            part = _object(row, skipped)
            parts.setdefault(row["message_id"], []).append({**(part or {}), **held})
        for id in some:
            info = _object({"id": id, "data": told.get(id)}, skipped)
            if info is not None:
                yield native({**info, "id": id, "sessionID": session}, parts.get(id, ()))


def _changed_later(
    rows: Rows, session: str, state: State, known: Sequence[str]
) -> tuple[Sequence[Json], Sequence[str]]:
    """List the rows that version 2 added to what is `known`, and the ids of those to be read."""
    listed = rows(
        "SELECT id, type, time_created, time_updated, rowid AS place FROM session_message"
        " WHERE session_id = ? ORDER BY seq",
        session,
    )
    if known:
        held = set(known)
        last = max((at for at, row in enumerate(listed) if row["id"] in held), default=None)
        copied = count(listed[last]["time_created"]) if last is not None else 0
        rest = listed[last + 1 :] if last is not None else []
        # What was injected into the last message that was copied has a row of its own.
        listed = [row for row in rest if count(row["time_created"]) > copied]
    times = [count(row["time_updated"]) for row in listed]
    before, since = state.get("mark_v2"), count(state.get("since_v2")) - _SLACK
    place = state.get("place_v2", 0)
    state["place_v2"] = max((count(row["place"]) for row in listed), default=0)
    state["mark_v2"], state["since_v2"] = [len(listed), sum(times)], max([0, *times])
    if before == state["mark_v2"]:
        return listed, []
    newer = [
        row["id"]
        for row, time in zip(listed, times, strict=True)
        if time >= since or row["place"] > place
    ]
    return listed, newer or [row["id"] for row in listed]


def _later_messages(
    rows: Rows, session: str, ids: Sequence[str], skipped: list[Skipped]
) -> Iterator[Json]:
    for some, marks in _batches(ids):
        for row in rows(
            f"SELECT id, type, data FROM session_message WHERE session_id = ? AND id IN ({marks})"
            " ORDER BY seq",
            *(session, *some),
        ):
            told = _object(row, skipped)
            if told is not None:
                yield {**told, "id": row["id"], "type": row["type"]}


def _batches(ids: Sequence[str]) -> Iterable[tuple[Sequence[str], str]]:
    for at in range(0, len(ids), _AT_ONCE):
        some = ids[at : at + _AT_ONCE]
        yield some, ", ".join("?" * len(some))


def _object(row: Json, skipped: list[Skipped]) -> Json | None:
    found = _json(row["data"])
    if isinstance(found, dict):
        return mapping(found)
    skipped.append(Skipped(name(row["id"]), "not an object"))
    return None


def _json(value: Any) -> Any:
    try:
        return loads(value) if isinstance(value, str) else None
    except ValueError:
        return None
