"""pi: `~/.pi/agent/sessions/<project>/<time>_<session>.jsonl`, one entry a line.

Entries are a tree: each names its parent, the last one written is where the conversation stands,
and its ancestors are what the model sees. An entry that does not follow the one before it takes
back what stands between. Files of the first version have neither ids nor parents; there an entry
is named by its number, the header being number 0.
"""

import re
from collections.abc import Iterator, Sequence

from foldmark.messages import Summary
from foldmark.transcripts.fields import count, dumps, mapping, name, text
from foldmark.transcripts.pi.messages import message
from foldmark.transcripts.record import (
    Json,
    Kind,
    Lines,
    Reader,
    Record,
    State,
    compaction,
    of_message,
)

_BOOKKEEPING = frozenset(
    {"session", "session_info", "model_change", "thinking_level_change", "label", "custom"}
    | {"usage", "context_edit"}
)
_ROLES = frozenset(
    {"user", "assistant", "toolResult", "bashExecution"}
    | {"custom", "hookMessage", "branchSummary", "compactionSummary"}
)
_LONGEST_NAME = 60

_FILE_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(.+)\.jsonl", re.DOTALL)


def recognizes(record: Json) -> bool:
    """Tell whether this record is the header that begins each of pi's files."""
    told = (record.get(field) for field in ("id", "timestamp", "cwd"))
    return record.get("type") == "session" and all(isinstance(one, str) for one in told)


def records(record: Json, raw: bytes, state: State) -> Iterator[Record]:
    """Read one entry for the log, after a fork if it does not follow the one before it.

    `state` counts the entries and names the last one. `next` tells what was written after an
    entry; `tail` names the message that follows an entry which is none, and `waiting` holds those
    that none follows yet: a compaction may name any entry as the first it keeps.
    """
    number = state.get("entries", 0)
    state["entries"] = number + 1
    id = name(record.get("id")) or f"~{number}"
    if record.get("type") == "session":
        yield from _header(record, raw, id)
        return
    last: str = state.get("last", "")
    following: dict[str, str] = state.setdefault("next", {})
    if id == last or id in following:  # written again: it stands where it stood
        yield from _read(record, raw, id, state)
        return
    read = _read(record, raw, id, state)
    parent = _parent(record, last)
    if parent in following:
        yield _fork(f"{id}/fork", read[0].at, replaces=following[parent], resumes=parent)
    following[last] = read[0].id
    state["last"] = id
    yield from read


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary of a compaction, which pi writes only once the model has finished."""
    return Summary(
        id=id,
        marker=marker,
        text=text(record.get("summary")).strip(),
        finish="stop",
        at=name(record.get("timestamp")),
    )


def _header(record: Json, raw: bytes, id: str) -> Iterator[Record]:
    """Read the header; where pi gave an old file its ids, what was read without them is gone."""
    at = name(record.get("timestamp"))
    yield Record(
        kind="other",
        id=id,
        raw=raw,
        at=at,
        project=text(record.get("cwd")),
        forked_from=_named_by_file(
            text(record.get("parentSession")) or text(record.get("branchedFrom"))
        ),
    )
    if list(record)[-1:] == ["version"]:  # new files tell it before their id
        yield _fork(f"{id}/fork", at, replaces="~1")


def _parent(record: Json, last: str) -> str:
    """Name the entry under which this one stands: nothing for a root."""
    parent = record.get("parentId", last)
    return "" if parent is None else name(parent) if isinstance(parent, str) else last


def _fork(id: str, at: str, *, replaces: str, resumes: str = "") -> Record:
    raw = dumps({"type": "fork", "replaces": replaces, "resumes": resumes}).encode()
    return Record("fork", id, raw, at=at, replaces=replaces, resumes=resumes)


def _read(record: Json, raw: bytes, id: str, state: State) -> Sequence[Record]:
    at = name(record.get("timestamp"))
    tail: dict[str, str] = state.setdefault("tail", {})
    waiting: dict[str, str] = state.setdefault("waiting", {})
    kind, unknown = _kind(record)
    if kind == "message":
        built = message("", [record])
        tail.update(dict.fromkeys(waiting, id))
        waiting.clear()
        return [of_message(built, Record("message", id, raw, at=at))]
    waiting[id] = ""
    if kind == "summary":
        kept = _first_kept(record)
        return compaction(
            Record("summary", id, raw, at=at), first_kept=waiting.get(kept, tail.get(kept, kept))
        )
    title = text(record.get("name")).strip() if record.get("type") == "session_info" else ""
    return [Record("other", id, raw, at=at, title=title, unknown=unknown)]


def _kind(record: Json) -> tuple[Kind, str]:
    """Tell what an entry is for the log, and the name of its type if that is not known."""
    type = name(record.get("type"))[:_LONGEST_NAME]
    role = name(mapping(record.get("message")).get("role"))[:_LONGEST_NAME]
    match type:
        case "message" if role == "bashExecution":
            hidden = mapping(record.get("message")).get("excludeFromContext") is True
            return "other" if hidden else "message", ""
        case "message" if role == "system":  # the prompt of pi itself, and its tools
            return "other", ""
        case "message":
            return ("message", "") if role in _ROLES else ("other", f"message/{role or 'no role'}")
        case "custom_message":
            return "message", ""
        case "branch_summary":
            return "message" if text(record.get("summary")).strip() else "other", ""
        case "compaction":
            return "summary", ""
        case _:
            return "other", "" if type in _BOOKKEEPING else type or "no type"


def _first_kept(record: Json) -> str:
    """Name the entry from which a compaction keeps all; its own, or none, if it keeps nothing."""
    kept = name(record.get("firstKeptEntryId"))
    number = count(record.get("firstKeptEntryIndex"))
    return kept or (f"~{number}" if number else "")


def _session(path: str, first: Json) -> str:
    """Name a session by its file, or by its header if the file was given another name."""
    header = name(first.get("id")) if first.get("type") == "session" else ""
    return _named_by_file(path) or header


def _named_by_file(path: str) -> str:
    found = _FILE_NAME.fullmatch(re.split(r"[/\\]", path)[-1])
    return name(found[1]) if found else ""


READER = Reader(
    assistant="pi",
    places=(
        Lines(
            roots=("$PI_CODING_AGENT_DIR/sessions", "~/.pi/agent/sessions"),
            pattern="*/*.jsonl",
            recognizes=recognizes,
            records=records,
            session=_session,
        ),
        Lines(  # all projects' together
            roots=("$PI_CODING_AGENT_SESSION_DIR",),
            pattern="*.jsonl",
            recognizes=recognizes,
            records=records,
            session=_session,
        ),
    ),
    message=message,
    summary=summary,
    hosts=("pi",),
)
"""pi: seen in files of the first version and of 0.74, the rest as 1.6 documents it."""
