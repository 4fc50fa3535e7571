"""Cursor's editor: the conversations in `globalStorage/state.vscdb`.

    cursorDiskKV    composerData:<session>         what it is about, and the order of its bubbles
                    bubbleId:<session>:<bubble>    a message, or a piece of one

No other keys are read: the same table holds much else. In old versions the bubbles stand in
`composerData` itself. A bubble that the order does not name was taken back.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from foldmark.transcripts.cursor.content import BUBBLES, conversation_summary, message
from foldmark.transcripts.fields import dumps, items, loads, mapping, milliseconds, name, text
from foldmark.transcripts.record import (
    Record,
    Rows,
    Seen,
    Skipped,
    Snapshot,
    State,
    compaction,
    of_message,
)

_ABOUT = ("composerId", "name", "createdAt", "unifiedMode", "agentBackend", "modelConfig")

_LISTED = """
    SELECT substr(key, 14) AS id, json_extract(value, '$.name') AS title,
        json_extract(value, '$.createdAt') AS created,
        json_extract(value, '$.lastUpdatedAt') AS updated,
        json_extract(value, '$.workspaceIdentifier.uri.fsPath') AS project,
        json_extract(value, '$.subagentInfo.parentComposerId') AS parent,
        json_extract(value, '$.fullConversationHeadersOnly') AS headers,
        json_extract(value, '$.conversation[0].bubbleId') AS inline
    FROM (SELECT key, CAST(value AS TEXT) AS value FROM cursorDiskKV
          WHERE key BETWEEN ? AND ?)
    WHERE CASE WHEN json_valid(value) THEN json_type(value) = 'object' END
"""
_VALUE = "SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?"
_BUBBLES = """
    SELECT substr(key, ?) AS id, CAST(value AS TEXT) AS value FROM cursorDiskKV
    WHERE key >= ? AND key < ?
"""
_LONGEST_TYPE = 60


def sessions(rows: Rows, only: str = "") -> Iterator[Seen]:
    """List the conversations in which anything was said, oldest first, or only one of them.

    The database can have many gigabytes, and listing reads what all conversations are about.
    """
    keys = ("composerData:", "composerData;") if not only else (f"composerData:{only}",) * 2
    listed = rows(_LISTED, *keys)
    found = [row for row in listed if _headers(row.get("headers")) or row.get("inline")]
    for row in sorted(found, key=_updated):
        id = name(row.get("id"))
        asked = [one for one in _headers(row.get("headers")) if one.get("type") == BUBBLES[0]]
        yield Seen(
            id,
            parent=name(row.get("parent")),
            project=text(row.get("project")),
            title=text(row.get("title")),
            first_prompt=_prompt(rows, id, asked[:1]),
            last_prompt=_prompt(rows, id, asked[-1:]),
            updated=_updated(row),
        )


def read(rows: Rows, session: str, state: State) -> Snapshot:
    """Read a conversation, unless it is as it was; `state` keeps a digest of all of it."""
    told = [text(row.get("value")) for row in rows(_VALUE, f"composerData:{session}")]
    prefix = f"bubbleId:{session}:"
    bubbles = {
        name(row.get("id")): text(row.get("value"))
        for row in rows(_BUBBLES, len(prefix) + 1, prefix, f"{prefix[:-1]};")
    }
    digest = blake2b(dumps([told, bubbles]).encode(), digest_size=16).hexdigest()
    if not told or digest == state.get("digest"):
        return Snapshot(())
    state["digest"] = digest
    composer = _decoded(told[0])
    if composer is None:
        return Snapshot((), None, (Skipped("composerData", "not JSON"),))
    return _snapshot(composer, bubbles)


def _snapshot(composer: Mapping[str, Any], bubbles: Mapping[str, str]) -> Snapshot:
    headers = _headers(composer.get("fullConversationHeadersOnly"))
    inline = {_id(one): dumps(one) for one in _headers(composer.get("conversation"))}
    told = bubbles if headers else inline
    order = list(dict.fromkeys(_id(one) for one in headers)) or list(inline)
    aliases = {alias: _id(one) for one in headers if (alias := name(one.get("serverBubbleId")))}
    model = text(mapping(composer.get("modelConfig")).get("modelName"))
    found = [_header(composer)]
    named = set(order)
    skipped: list[Skipped] = []
    for id, raw in told.items():
        if id not in named:
            if _says_something(id, raw):
                skipped.append(Skipped(id, "not in the order"))
            else:
                found.append(Record(kind="other", id=f"{id}/stray", raw=raw.encode()))
    for id in order:
        native = _decoded(told.get(id, ""))
        if native is None:
            skipped.append(Skipped(id, "no bubble"))
        else:
            found += _records(id, native, aliases, model)
    return Snapshot(found, [record.id for record in found], skipped)


def _says_something(id: str, raw: str) -> bool:
    """Tell whether a bubble is more than the empty one that Cursor leaves behind now and then."""
    native = _decoded(raw)
    return native is None or bool(message(id, [native]).blocks)


def _records(
    id: str, native: Mapping[str, Any], aliases: Mapping[str, str], model: str
) -> Iterator[Record]:
    raw = dumps(native).encode()
    if native.get("type") not in BUBBLES:
        kind = native.get("type")
        unknown = f"bubble/{str(kind)[:_LONGEST_TYPE]}" if isinstance(kind, int | str) else "bubble"
        yield Record(kind="other", id=id, raw=raw, unknown=unknown)
        return
    built = message(id, [native])
    if built.blocks or built.error:
        wrote = model if built.role == "assistant" and not built.model else ""
        yield of_message(built, Record("message", id, raw, model=wrote))
    else:  # one that is being written, or only says how long something took
        yield Record(kind="other", id=f"{id}/empty", raw=raw, at=built.at)
    if summarized := conversation_summary(native):
        kept = name(summarized.get("clientShouldStartSendingFromInclusiveBubbleId"))
        told = dumps({"bubbleId": id, "conversationSummary": summarized}).encode()
        record = Record(kind="summary", id=f"{id}/summary", raw=told, at=built.at)
        yield from compaction(record, first_kept=aliases.get(kept, kept))


def _header(composer: Mapping[str, Any]) -> Record:
    workspace = mapping(mapping(composer.get("workspaceIdentifier")).get("uri"))
    kept = {key: composer[key] for key in _ABOUT if key in composer}
    return Record(
        kind="other",
        id="session",
        raw=dumps(kept).encode(),
        at=milliseconds(composer.get("createdAt")),
        project=text(workspace.get("fsPath")),
        title=text(composer.get("name")),
        parent_session=name(mapping(composer.get("subagentInfo")).get("parentComposerId")),
    )


def _headers(told: Any) -> list[Mapping[str, Any]]:
    """Take the order of the bubbles: a list, or JSON text of one."""
    try:
        listed = items(loads(told) if isinstance(told, str) else told)
    except ValueError:
        return []
    return [mapping(one) for one in listed if name(mapping(one).get("bubbleId"))]


def _id(header: Mapping[str, Any]) -> str:
    return name(header.get("bubbleId"))


def _decoded(told: str) -> Mapping[str, Any] | None:
    try:
        value = loads(told)
    except ValueError:
        return None
    return mapping(value) if isinstance(value, dict) else None


def _updated(row: Mapping[str, Any]) -> float:
    """Tell when a conversation was last changed, in seconds since 1970."""
    told = row.get("updated") or row.get("created")
    return told / 1000 if isinstance(told, int | float) and 0 < told < 1e15 else 0.0


def _prompt(rows: Rows, session: str, asked: list[Mapping[str, Any]]) -> str:
    for header in asked:
        for row in rows(_VALUE, f"bubbleId:{session}:{_id(header)}"):
            native = _decoded(text(row.get("value")))
            return message("", [native]).prompt if native else ""
    return ""
