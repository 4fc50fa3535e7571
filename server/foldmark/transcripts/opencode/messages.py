"""opencode: messages as `{info, parts}`, from its export, its database or its plugins.

A tool part is the call and its result in one. A compaction is a user message that holds a
`compaction` part, answered by an assistant's message with `summary: true`; on a user's message
`summary` is an object about something else.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldmark import messages
from foldmark.messages import (
    Attachment,
    Block,
    Entry,
    Marker,
    Message,
    Reasoning,
    Role,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from foldmark.transcripts.fields import count, items, mapping, milliseconds, name, text
from foldmark.transcripts.parts import linked
from foldmark.transcripts.record import Json, Record

INTERRUPTED = "[Tool execution was interrupted]"
CLEARED = "[Old tool result content cleared]"
SUBTASK = "The following tool was executed by the user"

_BOOKKEEPING = frozenset(
    {"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction"}
)
_UNFOLDED = ("text/plain", "application/x-directory")
"""Files whose content stands in the text parts beside them."""


def entries(messages: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Read a session's messages as entries, in the order of time.

    A summary under no marker stays one, and makes no boundary: opencode has also given a
    compaction's summary as the answer to an ordinary question.
    """
    return [_entry(record) for record in in_order(messages)]


def is_marker(record: Json) -> bool:
    """Tell whether this message says that a compaction was attempted here."""
    return _info(record).get("role") == "user" and bool(_compaction(record))


def is_summary(record: Json) -> bool:
    """Tell whether this message is called a summary; it counts only if its parent is a marker."""
    info = _info(record)
    return info.get("role") == "assistant" and info.get("summary") is True


def record(record: Json, raw: bytes, markers: Collection[str] | None = None) -> Record:
    """Read one message for the log, under its own id: markers and summaries refer to it.

    With `markers` given, what is called a summary and answers none of them is a message.
    """
    info = _info(record)
    read = Record(kind="message", id=_id(record), raw=raw, role=_role(info), at=at(info))
    if is_marker(record):
        return replace(read, kind="marker", first_kept=marker(record).first_kept)
    answers = name(info.get("parentID"))
    if is_summary(record) and (markers is None or answers in markers):
        return replace(read, kind="summary", parent=answers)
    built = message(record)
    return replace(read, prompt=built.prompt, chars=messages.size(built.blocks))


def message(record: Json, id: str = "") -> Message:
    """Build the message, under its own id unless another is given."""
    info = _info(record)
    role = _role(info)
    model = text(info.get("modelID")) or text(mapping(info.get("model")).get("modelID"))
    return Message(
        id=id or _id(record),
        role=role,
        blocks=tuple(block for part in _parts(record) for block in _blocks(part, role)),
        at=at(info),
        model=model,
        error=_error(info),
        usage=usage(info.get("tokens")),
    )


def marker(record: Json) -> Marker:
    """Build the marker of a compaction."""
    return Marker(
        id=_id(record),
        first_kept=name(_compaction(record).get("tail_start_id")),
        at=at(_info(record)),
    )


def summary(record: Json, marker: str = "", id: str = "") -> Summary:
    """Build the summary from the text parts alone: reasoning is not text."""
    info = _info(record)
    parts = _parts(record)
    said = (text(p.get("text")) for p in parts if p.get("type") == "text" and not _ignored(p))
    return Summary(
        id=id or _id(record),
        marker=marker or name(info.get("parentID")),
        text="\n".join(filter(str.strip, said)),
        finish=text(info.get("finish")),
        error=_error(info),
        tool_call=any(part.get("type") == "tool" for part in parts),
        at=at(info),
    )


def usage(tokens: Any) -> Usage | None:
    """Read the tokens of one answer; `input` leaves out what was cached."""
    told = mapping(tokens)
    counts = Usage(
        input=count(told.get("input")),
        output=count(told.get("output")),
        cached=count(mapping(told.get("cache")).get("read")),
        reasoning=count(told.get("reasoning")),
    )
    return counts if counts != Usage() else None


def at(info: Json) -> str:
    """Tell when a message was begun."""
    return milliseconds(_created(info))


def in_order(messages: Sequence[Json]) -> list[Json]:
    """Sort by time and id, unless a message has no time: then the order given is all there is."""
    if not all(isinstance(_created(_info(record)), int | float) for record in messages):
        return list(messages)
    return sorted(messages, key=lambda record: (_created(_info(record)), _id(record)))


def _entry(record: Json) -> Entry:
    if is_marker(record):
        return marker(record)
    return summary(record) if is_summary(record) else message(record)


def _blocks(part: Json, role: Role) -> Iterator[Block]:
    match part.get("type"):
        case "text":
            if not _ignored(part):
                injected = role == "user" and part.get("synthetic") is True
                yield Text(text(part.get("text")), injected)
        case "reasoning":
            words = text(part.get("text"))
            yield Reasoning(words, redacted=not words.strip() and _has_redacted_data(part))
        case "tool":
            state = mapping(part.get("state"))
            call_id = text(part.get("callID"))
            yield ToolCall(call_id, text(part.get("tool")), state.get("input"))
            yield _result(call_id, state)
        case "file":
            if part.get("mime") not in _UNFOLDED:
                yield _file(part)
        case "subtask":
            yield Text(SUBTASK, injected=True)
        case "skill":
            if words := text(part.get("content")):
                yield Text(words, injected=True)
        case str(kind) if kind in _BOOKKEEPING:
            pass
        case kind:
            yield Unknown(text(kind) or "part")


def _result(call_id: str, state: Json) -> ToolResult:
    metadata = mapping(state.get("metadata"))
    partial = metadata.get("output")
    match state.get("status"):
        case "completed" if mapping(state.get("time")).get("compacted"):
            return ToolResult(call_id, CLEARED)
        case "completed":
            files = tuple(_file(mapping(file)) for file in items(state.get("attachments")))
            return ToolResult(call_id, text(state.get("output")), attachments=files)
        case "error" if metadata.get("interrupted") is True and isinstance(partial, str):
            return ToolResult(call_id, partial)
        case "error":
            return ToolResult(call_id, text(state.get("error")), is_error=True)
        case _:
            return ToolResult(call_id, INTERRUPTED, is_error=True)


def _file(part: Json) -> Attachment:
    mime = text(part.get("mime"))
    found = linked(text(part.get("url")), mime, text(part.get("filename")))
    return Attachment(mime or found.media_type, found.name, found.size)


def _has_redacted_data(part: Json) -> bool:
    providers = mapping(part.get("metadata")).values()
    return any("redactedData" in mapping(provider) for provider in providers)


def _role(info: Json) -> Role:
    return "assistant" if info.get("role") == "assistant" else "user"


def _error(info: Json) -> str:
    if not info.get("error"):
        return ""
    failure = text(mapping(info.get("error")).get("name"))
    return "aborted" if failure == "MessageAbortedError" else failure or "error"


def _created(info: Json) -> Any:
    return mapping(info.get("time")).get("created")


def _compaction(record: Json) -> Json:
    found = (part for part in _parts(record) if part.get("type") == "compaction")
    return next(found, mapping(None))


def _ignored(part: Json) -> bool:
    return part.get("ignored") is True


def _info(record: Json) -> Json:
    return mapping(record.get("info"))


def _parts(record: Json) -> list[Json]:
    return [mapping(part) for part in items(record.get("parts"))]


def _id(record: Json) -> str:
    return name(_info(record).get("id"))
