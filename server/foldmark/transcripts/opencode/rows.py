"""opencode's database: only what changed since the last reading is read.

Up to version 1 a session is a row of `session`, its messages rows of `message` and `part`. Version
2 copies them once, under the same ids, into `session_v2` and `session_message`, goes on there and
leaves the old rows where they are. So a session is its old rows, and of the new ones what comes
after the last that both hold. New rows that share none with the old ones are what an early version
2 wrote beside them, and say nothing new. The other tables, credentials among them, are not ours.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from foldmark.transcripts.fields import count, digest, mapping, name, text
from foldmark.transcripts.opencode import v2 as opencode_v2
from foldmark.transcripts.opencode.records import header, in_force, native, records
from foldmark.transcripts.opencode.tables import ABOUT, Tables, decoded, tables
from foldmark.transcripts.record import Json, Rows, Skipped, Snapshot, State

_SLACK = 1000
"""Milliseconds: a row may be written after one that is dated later."""

_AT_ONCE = 500  # messages read with one SELECT


def read(rows: Rows, session: str, state: State) -> Snapshot:
    """Read what changed in a session since `state`.

    It keeps a mark of all rows and the newest of their times (for either version), how many parts
    there were, when begun and up to which, the markers, the messages that were only begun, and a
    digest of the session's own row.
    """
    there, skipped = tables(rows), list[Skipped]()
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


def _about(rows: Rows, there: Tables, session: str) -> dict[str, Any]:
    """Read what is told of a session, under the names of an export."""
    for table in ("session_v2", "session"):
        if table in there:
            columns = [one for one in ABOUT if one in there[table]]
            for row in rows(f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", session):
                about = {ABOUT[column]: row[column] for column in columns}
                return {**about, "revert": decoded(about.get("revert"))}
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
    found = decoded(row["data"])
    if isinstance(found, dict):
        return mapping(found)
    skipped.append(Skipped(name(row["id"]), "not an object"))
    return None
