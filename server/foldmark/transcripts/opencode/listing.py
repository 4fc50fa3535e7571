"""What a listing tells of the sessions in opencode's database, and which of them is calling us."""

from collections.abc import Iterator

from foldmark.transcripts.fields import count, items, mapping, name, text
from foldmark.transcripts.opencode.tables import ABOUT, Tables, decoded, tables
from foldmark.transcripts.record import Json, Rows, Seen

_ENDS = 4  # messages in a person's name at either end, among which a listing finds a prompt
_SHOWN = 400  # characters of a prompt that a listing can use

_OWN = ("compact_session", "get_history", "list_sessions")
"""How the names of Foldmark's own tools end; `foldmark.own` lies above this layer."""

_CALLING = 600  # seconds for which a call of ours can be under way
_NEWEST = 200  # rows among which it is looked for: the newest of all sessions


def sessions(rows: Rows, _: str = "") -> Iterator[Seen]:
    """List the sessions that hold a message, each once."""
    there = tables(rows)
    for table in ("session", "session_v2"):
        if table in there:
            yield from _listed(rows, there, table)


def pending(rows: Rows) -> Iterator[str]:
    """Name the sessions in which a tool of ours is being called."""
    there = tables(rows)
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
            parts = [mapping(one) for one in items(mapping(decoded(row["data"])).get("content"))]
            if any(_is_own_call(part) for part in parts):
                yield name(row["session_id"])


def _is_own_call(part: Json) -> bool:
    status = mapping(part.get("state")).get("status")
    under_way = part.get("type") == "tool" and status in ("pending", "streaming", "running")
    return under_way and text(part.get("name")).endswith(_OWN)


def _listed(rows: Rows, there: Tables, table: str) -> Iterator[Seen]:
    """List the sessions of one table, oldest first; who is in both counts as of version 2."""
    columns = [f"s.{one}" for one in ABOUT if one in there[table]]
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
