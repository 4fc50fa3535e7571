"""opencode 2: messages as `{id, type, ...}`, from its table `session_message` or its export.

What a person typed, what a program added, a step of the assistant and a compaction are rows of
different types. A compaction is one row: its summary, and with it the newest messages in words.
"""

from collections.abc import Iterator
from typing import Any

from foldmark import messages
from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Reasoning,
    Role,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)
from foldmark.transcripts.blocks import decoded_size
from foldmark.transcripts.fields import dumps, items, mapping, name, text
from foldmark.transcripts.opencode import messages as opencode
from foldmark.transcripts.opencode.messages import CLEARED, INTERRUPTED
from foldmark.transcripts.parts import arguments, linked
from foldmark.transcripts.record import Json, Record, compaction

_SAID = frozenset(
    {"user", "synthetic", "skill", "system", "shell", "location-switched", "assistant"}
)
_BOOKKEEPING = frozenset({"agent-switched", "model-switched", "idle", "display", "invocation"})
_LONGEST_TYPE = 60


def is_row(record: Json) -> bool:
    """Tell whether this is a message of version 2: it has a type where the older has `info`."""
    return isinstance(record.get("type"), str) and not isinstance(record.get("info"), dict)


def records(record: Json, raw: bytes) -> tuple[Record, ...]:
    """Read one row for the log."""
    kind, id, at = text(record.get("type")), name(record.get("id")), opencode.at(record)
    if kind == "compaction":
        return compaction(Record("summary", id, raw, at=at))
    if kind not in _SAID:
        unknown = "" if kind in _BOOKKEEPING else f"session_message/{name(kind)[:_LONGEST_TYPE]}"
        return (Record("other", id, raw, at=at, unknown=unknown),)
    built = message(record)
    size = messages.size(built.blocks)
    return (Record("message", id, raw, role=built.role, at=at, prompt=built.prompt, chars=size),)


def rows_of(kind: str, id: str) -> tuple[str, ...]:
    """Name the rows of the log that a row of this type becomes."""
    return (f"{id}/marker", id) if kind == "compaction" else (id,)


def message(record: Json, id: str = "") -> Message:
    """Build the message, under its own id unless another is given."""
    role: Role = "user"
    if record.get("type") in ("assistant", "system"):
        role = "assistant" if record.get("type") == "assistant" else "system"
    return Message(
        id=id or name(record.get("id")),
        role=role,
        blocks=tuple(_blocks(record)),
        at=opencode.at(record),
        model=text(mapping(record.get("model")).get("id")),
        error=_error(record) if role == "assistant" else "",
        usage=opencode.usage(record.get("tokens")),
    )


def summary(record: Json, marker: str, id: str) -> Summary:
    """Build the summary of a compaction, and the words of the newest messages, which go with it.

    Up to August 2026 only a compaction that came to its end had a row, and rows had no status.
    """
    status = text(record.get("status")) or "completed"
    told, recent = text(record.get("summary")), text(record.get("recent"))
    return Summary(
        id=id,
        marker=marker,
        text=f"{told}\n\n{recent}".strip() if told.strip() else "",
        finish="stop" if status == "completed" else "",
        error=_error(record) or ("failed" if status == "failed" else ""),
        at=opencode.at(record),
    )


def _blocks(record: Json) -> Iterator[Block]:
    said = text(record.get("text"))
    match record.get("type"):
        case "assistant":
            for part in items(record.get("content")):
                yield from _content(mapping(part))
        case "user":
            for skill in items(record.get("skills")):
                if words := text(mapping(skill).get("text")):
                    yield Text(words, injected=True)
            yield Text(said)
        case "system":
            yield Text(said)
        case "shell":
            output = record.get("output")
            shown = text(output) or text(mapping(output).get("output"))
            yield Text(f"$ {text(record.get('command'))}\n{shown}", injected=True)
        case "location-switched":
            folder = text(mapping(record.get("location")).get("directory"))
            yield Text(f"The working directory is now {folder}", injected=True)
        case _:
            yield Text(said, injected=True)
    for file in items(record.get("files")):
        yield _file(mapping(file))


def _content(part: Json) -> Iterator[Block]:
    match part.get("type"):
        case "text":
            yield Text(text(part.get("text")))
        case "reasoning":
            words = text(part.get("text"))
            native = part.get("state") or part.get("providerMetadata")
            redacted = not words.strip() and "redactedData" in dumps(native)
            yield Reasoning(words, redacted=redacted)
        case "tool":
            call_id, state = text(part.get("id")), mapping(part.get("state"))
            yield ToolCall(call_id, text(part.get("name")), arguments(state.get("input")))
            if mapping(part.get("time")).get("pruned"):
                yield ToolResult(call_id, CLEARED)
            else:
                yield _result(call_id, state)
        case kind:
            yield Unknown(text(kind) or "part")


def _result(call_id: str, state: Json) -> ToolResult:
    content = [mapping(part) for part in items(state.get("content"))]
    words = [text(part.get("text")) for part in content if part.get("type") == "text"]
    found = [part for part in content if part.get("type") != "text"]
    files = tuple(_file(mapping(file)) for file in (*found, *items(state.get("attachments"))))
    match state.get("status"):
        case "completed":
            return ToolResult(call_id, "\n".join(words), attachments=files)
        case "error":
            failure = text(mapping(state.get("error")).get("message"))
            said = "\n".join(filter(None, (failure, *words)))
            return ToolResult(call_id, said, is_error=True, attachments=files)
        case _:
            return ToolResult(call_id, INTERRUPTED, is_error=True)


def _file(file: Json) -> Attachment:
    mime, label = text(file.get("mime")), text(file.get("name"))
    if data := text(file.get("data")):
        return Attachment(mime, label, decoded_size(data))
    address = text(file.get("uri")) or text(mapping(file.get("source")).get("uri"))
    found = linked(address, mime, label)
    return Attachment(mime or found.media_type, found.name, found.size)


def _error(record: Any) -> str:
    if not record.get("error"):
        return ""
    failure = text(mapping(record.get("error")).get("type"))
    return "aborted" if failure.endswith(("aborted", "interrupted")) else failure or "error"
