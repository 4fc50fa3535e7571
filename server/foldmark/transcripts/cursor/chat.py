"""Cursor's agent in the terminal: `~/.cursor/chats/<md5 of the folder>/<session>/store.db`.

A store of blobs under their own SHA-256. The row "0" of `meta` names the newest root, a protobuf
message that lists the ids of the messages which the model now sees, each a blob of JSON. Whoever
compacts writes a shorter list, with a summary in it, and an archive of the ids that it summarized.

Best effort: Cursor has published none of this. Messages carry no times.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from foldmark.transcripts import lines
from foldmark.transcripts.cursor.content import content, message, options
from foldmark.transcripts.fields import dumps, folder, items, loads, mapping, name, text
from foldmark.transcripts.record import (
    Json,
    Record,
    Rows,
    Seen,
    Skipped,
    Snapshot,
    State,
    compaction,
    of_message,
)

_MESSAGES, _URIS, _ARCHIVES = 1, 9, (11, 13)
"""Fields of a root; an archive lists its messages in the same field."""

_DIGEST = 32  # bytes of a blob's id
_ABOUT = ("agentId", "name", "mode", "createdAt", "lastUsedModel")
"""What is kept of a session; the same row holds the key to its blobs on Cursor's servers."""

_ROLES = frozenset({"user", "assistant", "tool"})
_LONGEST_TYPE = 60
_LOOKED_AT = 200  # messages in which a listing looks for a prompt


@dataclass(frozen=True, slots=True)
class _Native:
    """A message under its id; None if its blob is gone or holds no message."""

    id: str
    told: Json | None

    @property
    def is_summary(self) -> bool:
        return self.told is not None and options(self.told).get("isSummary") is True


def sessions(rows: Rows, _: str = "") -> Iterator[Seen]:
    """List the one session of a store, if anything was said in it."""
    about = _about(rows)
    root = _blob(rows, text(about.get("latestRootBlobId")))
    listed = _list(root, _MESSAGES)
    if not name(about.get("agentId")) or not listed:
        return
    created = about.get("createdAt")
    yield Seen(
        name(about.get("agentId")),
        project=_project(root),
        title=text(about.get("name")),
        first_prompt=_prompt(rows, listed),
        last_prompt=_prompt(rows, reversed(listed)),
        updated=created / 1000 if isinstance(created, int | float) and 0 < created < 1e15 else 0.0,
    )


def read(rows: Rows, session: str, state: State) -> Snapshot:
    """Read the messages of the newest root that were not in the one before.

    `state` keeps the root, and the ids of its messages.
    """
    about = _about(rows)
    newest = text(about.get("latestRootBlobId"))
    if name(about.get("agentId")) != session or newest == state.get("root"):
        return Snapshot(())
    root = _blob(rows, newest)
    if not root:
        return Snapshot((), None, (Skipped("root", "the newest state is missing"),))
    natives = list(_natives(rows, root))
    held = {name(id) for id in items(state.get("held"))}
    found = [_header(about, root)]
    skipped: list[Skipped] = []
    model = text(about.get("lastUsedModel"))
    current: list[str] = []
    for at, native in enumerate(natives):
        follows = natives[at + 1].id if at + 1 < len(natives) else ""
        records = tuple(_records(native, follows if follows in held else "", model))
        current += (record.id for record in records)
        if native.told is None:
            skipped.append(Skipped(native.id[:16], "no message"))
        elif native.id not in held:
            found += records
    state.update(root=newest, held=[one.id for one in natives if one.told is not None])
    compacted = any(native.is_summary and native.id not in held for native in natives)
    # A list that was just made shorter takes nothing back.
    return Snapshot(found, None if compacted else current, skipped)


def _about(rows: Rows) -> Json:
    """Read what a store says of its session: JSON, written in hexadecimal digits."""
    for row in rows("SELECT CAST(value AS TEXT) AS value FROM meta WHERE key = '0'"):
        told = text(row.get("value"))
        try:
            return mapping(loads(bytes.fromhex(told).decode("utf-8", "replace")))
        except ValueError:
            break
    return mapping(None)


def _blob(rows: Rows, id: str) -> bytes:
    for row in rows("SELECT CAST(data AS BLOB) AS data FROM blobs WHERE id = ?", id):
        data = row.get("data")
        return data if isinstance(data, bytes) else b""
    return b""


def _natives(rows: Rows, root: bytes) -> Iterator[_Native]:
    """Go through the messages: those that were summarized, then those that the model sees."""
    listed = _list(root, _MESSAGES)
    archives = [_blob(rows, id.hex()) for field in _ARCHIVES for id in _list(root, field)]
    visible = set(listed)
    archived = dict.fromkeys(one for archive in archives for one in _list(archive, _MESSAGES))
    seen = Counter[str]()
    for reference in (*(one for one in archived if one not in visible), *listed):
        id = reference.hex()
        seen[id] += 1
        told = _message(rows, reference)
        yield _Native(id if seen[id] == 1 else f"{id}#{seen[id]}", told)


def _message(rows: Rows, reference: bytes) -> Json | None:
    try:
        told = lines.loads(_blob(rows, reference.hex()))
    except ValueError:
        return None
    return mapping(told) if isinstance(told, dict) else None


def _records(native: _Native, kept: str, model: str) -> Iterable[Record]:
    told = native.told or mapping(None)
    raw = dumps(told).encode()
    if native.told is None:
        return ()
    if native.is_summary:
        return compaction(Record(kind="summary", id=native.id, raw=raw), first_kept=kept)
    role = text(told.get("role"))
    if role not in _ROLES:
        unknown = "" if role == "system" else f"role/{role[:_LONGEST_TYPE] or 'none'}"
        return (Record(kind="other", id=native.id, raw=raw, unknown=unknown),)
    built = message(native.id, [told])
    wrote = model if built.role == "assistant" and not built.model else ""
    return (of_message(built, Record("message", native.id, raw, model=wrote)),)


def _header(about: Json, root: bytes) -> Record:
    kept: dict[str, Any] = {key: about[key] for key in _ABOUT if key in about}
    return Record(
        kind="other",
        id="session",
        raw=dumps(kept).encode(),
        project=_project(root),
        title=text(about.get("name")),
    )


def _project(root: bytes) -> str:
    uris = (one.decode("utf-8", "replace") for one in _list(root, _URIS, sized=False))
    return next((found for uri in uris if (found := folder(uri))), "")


def _prompt(rows: Rows, listed: Iterable[bytes]) -> str:
    """Find the first prompt in a list of messages, unless it is far off."""
    for reference in islice(listed, _LOOKED_AT):
        told = _message(rows, reference)
        if told and told.get("role") == "user" and content(told):
            built = message("", [told])
            if built.prompt and options(told).get("isSummary") is not True:
                return built.prompt
    return ""


def _list(data: bytes, field: int, *, sized: bool = True) -> list[bytes]:
    """List the values of a field that holds ids, or bytes of any length."""
    found = (value for number, value in _fields(data) if number == field)
    return [value for value in found if not sized or len(value) == _DIGEST]


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Go through the fields of a protobuf message that hold bytes, as far as it is one."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                _, at = _varint(data, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(data, at)
                if at + size <= len(data):
                    yield key >> 3, data[at : at + size]
                at += size
            case 5:
                at += 4
            case _:
                return


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, and tell where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            break
    return value, at
