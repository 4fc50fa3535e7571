"""Cline: sessions of its SDK and CLI, `~/.cline/data/sessions/<id>/<id>.messages.json`.

Messages are only ever added; the file is written anew each time. What a compaction made of them
stands beside it in `<id>.compaction.json`, of which only the newest exists, and `<id>.json` tells
about the session. A subagent's messages lie in the folder of the session it worked for. Tasks of
the extension, and of the CLI before the SDK, are read by `cline_classic`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from foldmark.messages import Message, Summary
from foldmark.transcripts import lines
from foldmark.transcripts.cline import classic as cline_classic
from foldmark.transcripts.cline import content as cline_content
from foldmark.transcripts.cline import task_content as cline_task_content
from foldmark.transcripts.cline.content import ROLES, at, kind, shown_as
from foldmark.transcripts.fields import count, dumps, items, mapping, name, text
from foldmark.transcripts.record import (
    Files,
    Folder,
    Json,
    Reader,
    Record,
    Skipped,
    Snapshot,
    compaction,
    of_message,
)

_SUFFIX = ".messages.json"
_RESUMED = "_tool_"
_SESSION = re.compile(r"\d{10,}_[\w-]+")
_ABOUT = (
    *("session_id", "source", "started_at", "provider", "model", "cwd", "workspace_root"),
    *("team_name", "prompt", "title", "fork", "sessionHistoryOrigin"),
)
"""What is kept of a session: not its state and its costs, which change all the time."""


@dataclass(slots=True)
class _Log:
    """Records of messages as they come; `starts` are the first ones of each native message."""

    records: list[Record] = field(default_factory=list[Record])
    starts: list[int] = field(default_factory=list[int])
    named: dict[str, str] = field(default_factory=dict[str, str])
    seen: Counter[str] = field(default_factory=Counter[str])


def read(files: Files, path: str) -> Snapshot:
    """Read a session: what it is about, its messages, and the newest compaction."""
    whole, skipped = _loaded(files, path)
    if not isinstance(whole.get("messages"), list):
        return Snapshot((), None, skipped or [Skipped(path, "no messages")])
    native = items(whole["messages"])
    log = _Log()
    for place, told in enumerate(native):
        log.starts.append(len(log.records))
        if isinstance(told, dict):
            _add(log, mapping(told))
        else:
            skipped.append(Skipped(place, "not an object"))
    log.starts.append(len(log.records))
    sidecar, _ = _loaded(files, f"{path.removesuffix(_SUFFIX)}.compaction.json")
    log.records = list(_compacted(log, native, sidecar))
    current = [record.id for record in log.records if record.kind != "other"]
    return Snapshot([*_about(files, path, whole), *log.records], current, skipped)


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message from its record."""
    if cline_task_content.BESIDE in records[-1]:
        return cline_task_content.message(id, records)
    return cline_content.message(id, records[-1])


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build a summary from its record."""
    if cline_task_content.BESIDE in record:
        return cline_task_content.summary(id, marker, record)
    return cline_content.summary(id, marker, record)


def _loaded(files: Files, path: str) -> tuple[Mapping[str, Any], list[Skipped]]:
    data = files.read(path)
    try:
        return (mapping(lines.loads(data)) if data.strip() else {}), []
    except ValueError:
        return {}, [Skipped(path, "not JSON")]


def _about(files: Files, path: str, whole: Json) -> Iterator[Record]:
    """Record what is said of the whole session; a subagent works where its parent does."""
    file = path.rpartition("/")[2]
    parent = _session(path).rpartition("/")[0]
    told, _ = _loaded(files, f"{path.removesuffix(_SUFFIX)}.json")
    near = told or (_loaded(files, f"{parent}/{parent}.json")[0] if parent else told)
    head = {key: value for key, value in whole.items() if key not in ("messages", "updated_at")}
    yield Record("other", file, dumps(head).encode(), parent_session=parent)
    if near:
        known = {**mapping(told.get("metadata")), **told}
        yield Record(
            "other",
            f"{file.removesuffix(_SUFFIX)}.json",
            dumps({key: known[key] for key in _ABOUT if key in known}).encode(),
            project=text(near.get("cwd")) or text(near.get("workspace_root")),
            title=text(known.get("title")),
            forked_from=name(mapping(known.get("fork")).get("forkedFromSessionId")),
        )


def _add(log: _Log, told: Json) -> None:
    """Record a message: each result of a tool by itself, then what else it holds.

    So does Cline part them when it resumes a session, and each time their messages get new ids.
    The call that a result answers stays the same.
    """
    content = items(told.get("content"))
    results = [one for one in content if _is_result(one)]
    if not results:
        _record(log, name(told.get("id")), name(told.get("id")), told)
        return
    stem = _stem(told)
    for one in results:
        call = name(mapping(one).get("tool_use_id"))
        _record(log, f"{call or stem}/result", stem, {**told, "id": stem, "content": [one]})
    if rest := [one for one in content if not _is_result(one)]:
        _record(log, stem, stem, {**told, "id": stem, "content": rest})


def _record(log: _Log, id: str, stem: str, told: Json) -> None:
    raw = dumps(told).encode()
    id = id or f"~{_digest(raw)}"
    log.seen[id] += 1
    id = id if log.seen[id] == 1 else f"{id}~{log.seen[id]}"
    role = text(told.get("role"))
    if role not in ROLES:
        unknown = f"message/{name(role)[:60] or 'no role'}"
        log.records.append(Record("other", id, raw, unknown=unknown))
        return
    if shown_as(told) == "status":  # to a person: no model sees it
        log.records.append(Record("other", id, raw))
        return
    log.named.setdefault(id, id)
    log.named.setdefault(stem, id)
    built = cline_content.message(id, told)
    log.records.append(of_message(built, Record("message", id, raw)))


def _compacted(log: _Log, native: Sequence[Any], sidecar: Json) -> Iterator[Record]:
    """Put the newest compaction behind the last message it covered, if a model summarized.

    One that was made without a model holds prompts and lists of what was done. It is no summary,
    and is only kept.
    """
    told = [mapping(one) for one in items(sidecar.get("messages"))]
    found = next((n for n, one in enumerate(told) if kind(one) == "compaction_summary"), None)
    covered = _covered(sidecar, native)
    if found is None or not covered:
        yield from log.records
        if sidecar:
            raw = dumps({k: v for k, v in sidecar.items() if k != "system_prompt"}).encode()
            yield Record("other", f"~{_digest(raw)}", raw)
        return
    metadata = mapping(told[found].get("metadata"))
    words = dumps([metadata.get("summary"), metadata.get("generatedAt"), covered]).encode()
    written = Record(
        kind="summary",
        id=f"~{_digest(words)}",
        raw=dumps({**told[found], "source_message_count": covered}).encode(),
        at=at(metadata.get("generatedAt")) or name(sidecar.get("updated_at")),
    )
    tail = told[found + 1 :]
    end = log.starts[covered]
    yield from log.records[:end]
    yield from compaction(written, first_kept=_kept(log, tail[0]) if tail else "")
    yield from log.records[end:]


def _covered(sidecar: Json, native: Sequence[Any]) -> int:
    """Count the messages that a compaction covered; none if the last is no longer the same."""
    covered = count(sidecar.get("source_message_count"))
    if not 0 < covered <= len(native):
        return 0
    last = _stem(mapping(native[covered - 1]))
    key = name(sidecar.get("source_last_message_key")).partition(_RESUMED)[0]
    return covered if last and key == f"id:{last}" else 0


def _kept(log: _Log, told: Json) -> str:
    """Name the first message that a compaction kept; one that is gone by the id it had."""
    calls = [name(mapping(one).get("tool_use_id")) for one in items(told.get("content"))]
    ids = [_stem(told), *(f"{call}/result" for call in calls if call)]
    return next((log.named[id] for id in ids if id in log.named), ids[0] or "unknown")


def _stem(told: Json) -> str:
    """Take a message's id without what each resumption adds to it."""
    return name(told.get("id")).partition(_RESUMED)[0]


def _is_result(part: Any) -> bool:
    return mapping(part).get("type") == "tool_result"


def _digest(raw: bytes) -> str:
    return blake2b(raw, digest_size=12).hexdigest()


def _recognizes(head: bytes) -> bool:
    try:
        told = mapping(lines.loads(head))
    except ValueError:
        return False
    return isinstance(told.get("messages"), list) and {"agent", "sessionId"} <= told.keys()


def _session(path: str) -> str:
    """Name a session by its file, a subagent's by its own and the folder of its session.

    A file that is neither is a copy.
    """
    folder, _, file = path.rpartition("/")
    folder = folder.rpartition("/")[2]
    stem = file.removesuffix(_SUFFIX)
    if stem == folder or _SESSION.fullmatch(stem):
        return stem
    return f"{folder}/{stem}" if _SESSION.fullmatch(folder) else ""


READER = Reader(
    assistant="cline",
    places=(
        Folder(
            roots=(
                "$CLINE_SESSION_DATA_DIR",
                "$CLINE_DATA_DIR/sessions",
                "$CLINE_DIR/data/sessions",
                "~/.cline/data/sessions",
            ),
            pattern=f"*/*{_SUFFIX}",
            recognizes=_recognizes,
            read=read,
            session=_session,
            subagents=f"{{session}}/[!0-9]*{_SUFFIX}",
        ),
        *cline_classic.places(
            ("$CLINE_DATA_DIR/tasks", "$CLINE_DIR/data/tasks", "~/.cline/data/tasks"),
            extensions=("saoudrizwan.claude-dev",),
        ),
    ),
    message=message,
    summary=summary,
    hosts=("@cline", "cline"),
)
"""Cline: sessions of the SDK and CLI 3, and tasks of the extension in all its versions."""
