"""The tables of opencode's database that are read, and what each must have to be read."""

from collections.abc import Collection, Mapping
from typing import Any

from foldmark.transcripts.fields import loads, text
from foldmark.transcripts.record import Rows

TABLES = ("session", "session_v2", "message", "part", "session_message")

_TIMES = frozenset({"id", "session_id", "time_created", "time_updated", "data"})
_NEEDED: Mapping[str, frozenset[str]] = {
    "session": frozenset({"id"}),
    "session_v2": frozenset({"id"}),
    "message": _TIMES,
    "part": _TIMES | {"message_id"},
    "session_message": _TIMES | {"type", "seq"},
}
ABOUT = {
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

Tables = Mapping[str, Collection[str]]
"""The columns that there are of each table that can be read: versions differ."""


def tables(rows: Rows) -> Tables:
    """Tell which tables can be read, and their columns."""
    found = {
        table: frozenset(text(column["name"]) for column in rows(f"PRAGMA table_info({table})"))
        for table in TABLES
    }
    return {table: found[table] for table in TABLES if found[table] >= _NEEDED[table]}


def decoded(value: Any) -> Any:
    """Read JSON from a column; nothing where it is damaged."""
    try:
        return loads(value) if isinstance(value, str) else None
    except ValueError:
        return None
