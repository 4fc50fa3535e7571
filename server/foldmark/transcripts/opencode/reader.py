"""opencode, from its first storage to version 2: a database, two older stores, and its export.

Up to 1.1 every message and every part is a file of its own, up to 0.5 in a folder for each project;
what is in there was later copied into the database, under the same ids.
"""

from collections.abc import Sequence
from typing import Any

from foldmark.messages import Message, Summary
from foldmark.transcripts import lines
from foldmark.transcripts.fields import items, mapping, name, text
from foldmark.transcripts.opencode import listing, rows, tables
from foldmark.transcripts.opencode import messages as opencode
from foldmark.transcripts.opencode import v2 as opencode_v2
from foldmark.transcripts.opencode.records import current, header, native, records
from foldmark.transcripts.record import (
    Database,
    Document,
    Files,
    Folder,
    Json,
    Reader,
    Skipped,
    Snapshot,
)

_DATA = ("$XDG_DATA_HOME/opencode", "~/.local/share/opencode")
"""opencode follows XDG on every system, Windows and macOS among them."""

_GLOB = str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]"})


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message of either version; it is one record."""
    told = mapping(records[-1])
    build = opencode_v2.message if opencode_v2.is_row(told) else opencode.message
    return build(told, id)


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build a summary of either version."""
    told = mapping(record)
    build = opencode_v2.summary if opencode_v2.is_row(told) else opencode.summary
    return build(told, marker, id)


def read_export(data: bytes) -> Snapshot:
    """Read what `opencode export` wrote."""
    whole = _json(data)
    if not isinstance(whole, dict):
        return Snapshot((), None, (Skipped("export", "not JSON"),))
    told = mapping(whole)
    listed = items(told.get("messages"))
    skipped = [
        Skipped(f"message {at}", "not an object")
        for at, one in enumerate(listed)
        if not isinstance(one, dict)
    ]
    natives = [_exported(mapping(one)) for one in listed if isinstance(one, dict)]
    about = mapping(told.get("info"))
    found = list(records(_in_order(natives), set(), set()))
    heads = [header(about)] if about else []
    return Snapshot([*heads, *found], current(found, about), skipped)


def read_storage(files: Files, path: str) -> Snapshot:
    """Read a session from the storage of versions up to 1.1, given its own file."""
    session = _named(path)
    return _read_files(files, path, f"message/{_plain(session)}/*.json", "part/{message}/*.json")


def read_first_storage(files: Files, path: str) -> Snapshot:
    """Read a session from the storage of versions up to 0.5, given its own file."""
    above, session = _plain(path.partition("/")[0]), _plain(_named(path))
    within = f"{above}/storage/session"
    return _read_files(
        files,
        path,
        f"{within}/message/{session}/*.json",
        f"{within}/part/{session}/{{message}}/*.json",
    )


def _read_files(files: Files, path: str, messages: str, parts: str) -> Snapshot:
    """Read the files of a session; their names are their ids, whatever they hold."""
    skipped = list[Skipped]()
    session = _named(path)
    about = {**(_object(files, path, skipped) or {}), "id": session}
    natives = list[Json]()
    for file in files.names(messages):
        info = _object(files, file, skipped)
        if info is None:
            continue
        ids = {"sessionID": session, "messageID": _named(file)}
        pattern = parts.replace("{message}", _plain(_named(file)))
        held = [
            {**part, "id": _named(one), **ids}
            for one in files.names(pattern)
            if (part := _object(files, one, skipped)) is not None
        ]
        natives.append(native({**info, "id": _named(file), "sessionID": session}, held))
    found = list(records(_in_order(natives), set(), set()))
    return Snapshot([header(about), *found], current(found, about), skipped)


def _object(files: Files, path: str, skipped: list[Skipped]) -> Json | None:
    found = _json(files.read(path))
    if isinstance(found, dict):
        return mapping(found)
    skipped.append(Skipped(path, "not JSON"))
    return None


def _exported(one: Json) -> Json:
    if opencode_v2.is_row(one):
        return one
    return {**one, **native(mapping(one.get("info")), items(one.get("parts")))}


def _in_order(natives: Sequence[Json]) -> Sequence[Json]:
    """Sort messages by time; those of version 2 come in the order of events, which is theirs."""
    return natives if any(map(opencode_v2.is_row, natives)) else opencode.in_order(natives)


def _recognizes_export(head: bytes) -> bool:
    told = mapping(_json(head))
    about = mapping(told.get("info"))
    is_session = text(about.get("id")).startswith("ses_") and "projectID" in about
    return is_session and isinstance(told.get("messages", []), list)


def _recognizes_session(head: bytes) -> bool:
    about = mapping(_json(head))
    is_session = text(about.get("id")).startswith("ses_") and isinstance(about.get("time"), dict)
    return is_session and "version" in about and "title" in about


def _export_session(_: str, head: bytes) -> str:
    return name(mapping(mapping(_json(head)).get("info")).get("id"))


def _named(path: str) -> str:
    """Take a file's name without its ending."""
    return name(path.rpartition("/")[2].removesuffix(".json"))


def _plain(words: str) -> str:
    """Write a name so that a glob pattern means just that."""
    return words.translate(_GLOB)


def _json(data: bytes) -> Any:
    try:
        return lines.loads(data)
    except ValueError:
        return None


def _below(folder: str) -> tuple[str, ...]:
    return tuple(f"{root}/{folder}" for root in _DATA)


def _database(roots: Sequence[str], pattern: str = "") -> Database:
    return Database(
        roots=roots,
        pattern=pattern,
        tables=tables.TABLES,
        sessions=listing.sessions,
        read=rows.read,
        pending=listing.pending,
    )


READER = Reader(
    assistant="opencode",
    places=(
        _database(["$OPENCODE_DB"]),
        _database(_below("$OPENCODE_DB")),  # a name alone is one in the data folder
        _database(_DATA, "opencode*.db"),
        Folder(
            roots=_below("storage"),
            pattern="session/*/ses_*.json",
            recognizes=_recognizes_session,
            read=read_storage,
            session=_named,
        ),
        Folder(
            roots=_below("project"),
            pattern="*/storage/session/info/ses_*.json",
            recognizes=_recognizes_session,
            read=read_first_storage,
            session=_named,
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
    hosts=("opencode",),
)
"""opencode from its first storage (0.5) to 1.18, and version 2 as far as its source tells."""
