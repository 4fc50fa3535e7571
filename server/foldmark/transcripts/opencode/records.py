"""A session of opencode as records, from whichever store its messages come.

A message is the same in an export, in a folder and in the database, and is kept in the same
words: what it holds in the order found, then its ids.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from foldmark.transcripts.fields import digest, dumps, items, mapping, name, text
from foldmark.transcripts.opencode import messages as opencode
from foldmark.transcripts.opencode import v2 as opencode_v2
from foldmark.transcripts.record import Json, Record

_ABOUT = ("id", "parentID", "projectID", "directory", "location", "title", "version")
"""What is kept of a session: neither its counts, which change all the time, nor permissions."""

_MESSAGE_IDS = ("id", "sessionID")
_PART_IDS = ("id", "sessionID", "messageID")
_LONGEST_TYPE = 60


def native(info: Json, parts: Iterable[Any]) -> Json:
    """Put a message together as an export shows it."""
    return {
        "info": _ids_last(info, _MESSAGE_IDS),
        "parts": [_ids_last(part, _PART_IDS) for part in parts],
    }


def records(natives: Sequence[Json], markers: set[str], begun: set[str]) -> Iterator[Record]:
    """Read a session's messages for the log, oldest first.

    `markers` are the ids of the markers that were found before, `begun` those of the messages
    that were found without a part; both are brought up to date. A user's message is written
    before its parts, and only they tell whether it is a marker: until it has one, or an answer,
    it is no message yet. A summary counts only under a marker, because opencode has also answered
    a question with one.
    """
    markers.update(_id(one) for one in natives if opencode.is_marker(one))
    answered = {name(mapping(one.get("info")).get("parentID")) for one in natives}
    seen = Counter[str]()
    for one in natives:
        raw = dumps(one).encode()
        if opencode_v2.is_row(one):
            found = opencode_v2.records(one, raw)
        else:
            found = (_read(one, raw, markers),)
            if _is_begun(one, answered):
                begun.add(found[0].id)
                id = f"{found[0].id}/begun"
                found = (Record("other", id, raw, role="user", at=found[0].at),)
            else:
                begun.discard(found[0].id)
        yield from (_named(record, seen) for record in found)


def header(about: Json) -> Record:
    """Make the record that tells of the session."""
    kept = {key: about[key] for key in _ABOUT if about.get(key)}
    where = text(about.get("directory")) or mapping(about.get("location")).get("directory")
    id = name(about.get("id"))
    return Record(
        kind="other",
        id=f"{id}/session",
        raw=dumps(kept).encode(),
        project=text(where),
        title=text(about.get("title")),
        parent_session=name(about.get("parentID")),
    )


def in_force(ids: Sequence[str], about: Json) -> list[str] | None:
    """Cut the messages where the session was taken back to; None if there is none.

    Where it was taken back to the middle of a message, that message stays whole.
    """
    revert = mapping(about.get("revert"))
    at = name(revert.get("messageID"))
    if at in ids:
        ids = ids[: ids.index(at) + bool(text(revert.get("partID")))]
    return list(ids) or None


def current(found: Iterable[Record], about: Json) -> list[str] | None:
    """Name what is in force of the records of a whole session."""
    kinds = ("message", "marker", "summary")
    return in_force([record.id for record in found if record.kind in kinds], about)


def _read(one: Json, raw: bytes, markers: set[str]) -> Record:
    info = mapping(one.get("info"))
    read = opencode.record(one, raw, markers)
    role = info.get("role")
    if role not in ("user", "assistant"):
        unknown = f"message/{name(role)[:_LONGEST_TYPE] or 'no role'}"
        return Record("other", read.id, raw, at=read.at, unknown=unknown)
    return replace(read, project=text(mapping(info.get("path")).get("cwd")))


def _is_begun(one: Json, answered: set[str]) -> bool:
    is_users = mapping(one.get("info")).get("role") == "user"
    return is_users and not items(one.get("parts")) and _id(one) not in answered


def _named(record: Record, seen: Counter[str]) -> Record:
    """Give a name to what has none, and another to what is named like an earlier one."""
    id = record.id or digest(record.raw)
    seen[id] += 1
    return replace(record, id=id if seen[id] == 1 else f"{id}~{seen[id]}")


def _ids_last(value: Any, keys: Sequence[str]) -> Any:
    if not isinstance(value, dict):
        return value
    told = cast("dict[str, Any]", value)
    rest = {key: one for key, one in told.items() if key not in keys}
    return {**rest, **{key: told[key] for key in keys if key in told}}


def _id(one: Json) -> str:
    return name(mapping(one.get("info")).get("id"))
