"""Claude Code: `~/.claude/projects/<slug>/<session>.jsonl`, one JSON object a line.

A message of the assistant is spread over one line per block, tied together by `message.id` and by
each line's parent being another line of it. Everything a model never saw (hooks, progress,
snapshots, titles) is kept in the log as "other".
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from foldmark import messages
from foldmark.messages import Block, Message, Role, Summary, Text, Usage
from foldmark.transcripts import blocks
from foldmark.transcripts.fields import digest, items, mapping, name, text
from foldmark.transcripts.injected import told_apart
from foldmark.transcripts.record import Json, Kind, Lines, Reader, Record, State

_TYPES = frozenset(
    {"user", "assistant", "system", "summary", "progress", "attachment"}
    | {"file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "mode"}
    | {"ai-title", "custom-title", "agent-name", "pr-link"}
)
_OURS = frozenset({"uuid", "sessionId", "leafUuid", "messageId", "snapshot"})

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LONGEST_TYPE = 60
_NO_MODEL = "<synthetic>"


def recognizes(record: Json) -> bool:
    """Tell whether this record is of Claude Code's making."""
    return text(record.get("type")) in _TYPES and not _OURS.isdisjoint(record)


def records(record: Json, raw: bytes, _: State) -> tuple[Record]:
    """Read one line for the log."""
    return (read(record, raw),)


def read(record: Json, raw: bytes) -> Record:
    """Read one line for the log; what earlier lines said does not matter."""
    kind = _kind(record)
    built = _message("", [record]) if kind == "message" else None
    return Record(
        kind=kind,
        id=name(record.get("uuid")) or digest(raw),
        raw=raw,
        parent=name(record.get("parentUuid")),
        message=_message_id(record) if built and built.role == "assistant" else "",
        thread=_thread(record),
        role=built.role if built else "",
        at=name(record.get("timestamp")),
        prompt=built.prompt if built else "",
        chars=messages.size(built.blocks) if built else 0,
        project=text(record.get("cwd")),
        branch=text(record.get("gitBranch")),
        title="" if built else _title(record),
        unknown=_unknown(record) if kind == "other" else "",
        first_kept=_first_kept(record) if kind == "marker" else "",
    )


def message(id: str, records: Sequence[Json]) -> Message:
    """Build one message from its lines, oldest first."""
    return _message(id, records, blocks.usage(mapping(records[-1].get("message")).get("usage")))


def _message(id: str, records: Sequence[Json], usage: Usage | None = None) -> Message:
    first = records[0]
    role: Role = "assistant" if first.get("type") == "assistant" else "user"
    return Message(
        id=id,
        role=role,
        blocks=tuple(block for record in records for block in _blocks(record, role)),
        at=name(first.get("timestamp")),
        model=text(mapping(first.get("message")).get("model")),
        error=_error(first) if role == "assistant" else "",
        usage=usage,
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary that Claude Code wrote under its own `compact_boundary`.

    The record is only written once the model has finished, so its presence is the finish.
    """
    found = tuple(_blocks(record, "assistant"))
    return Summary(
        id=id,
        marker=marker,
        text="\n".join(block.text for block in found if isinstance(block, Text)).strip(),
        finish="end_turn",
        error=_error(record),
        tool_call=any(isinstance(block, messages.ToolCall) for block in found),
        at=name(record.get("timestamp")),
    )


def _kind(record: Json) -> Kind:
    match record.get("type"):
        case "user" | "assistant" if isinstance(record.get("message"), dict | str):
            return "summary" if record.get("isCompactSummary") is True else "message"
        case "attachment" if mapping(record.get("attachment")).get("type") == "queued_command":
            return "message"
        case "system" if record.get("subtype") == "compact_boundary":
            return "marker"
        case _:
            return "other"


def _unknown(record: Json) -> str:
    """Name a type of record that is not known."""
    type = text(record.get("type"))
    return "" if type in _TYPES else name(type)[:_LONGEST_TYPE] or "no type"


def _message_id(record: Json) -> str:
    return name(mapping(record.get("message")).get("id"))


def _content(record: Json) -> Any:
    if record.get("type") == "attachment":  # typed while the assistant was busy
        return mapping(record.get("attachment")).get("prompt")
    body = record.get("message")
    return body if isinstance(body, str) else mapping(body).get("content")


def _blocks(record: Json, role: Role) -> Iterator[Block]:
    found = blocks.anthropic(_content(record))
    if role == "assistant":
        return found
    if record.get("isMeta") is True:
        return (Text(one.text, injected=True) if isinstance(one, Text) else one for one in found)
    return told_apart(found)


def _error(record: Json) -> str:
    if record.get("isApiErrorMessage") is True:
        return text(record.get("error")) or "api_error"
    if mapping(record.get("message")).get("model") == _NO_MODEL:
        return "no_response"
    return ""


def _thread(record: Json) -> str:
    if record.get("isSidechain") is not True:
        return ""
    agent = name(record.get("agentId"))
    return f"agent-{agent}" if agent else "sidechain"


def _first_kept(record: Json) -> str:
    """Name the first message that the compaction kept word for word."""
    metadata = mapping(record.get("compactMetadata"))
    kept = items(mapping(metadata.get("preservedMessages")).get("uuids"))
    head = mapping(metadata.get("preservedSegment")).get("headUuid")
    return name(kept[0] if kept else head)


def _title(record: Json) -> str:
    match record.get("type"):
        case "custom-title":
            return text(record.get("customTitle"))
        case "ai-title":
            return text(record.get("aiTitle"))
        case "summary":
            return text(record.get("summary"))
        case _:
            return ""


def _session(path: str, _: Json) -> str:
    """Name a session by its file; a subagent's by its own and that of the session it worked for.

    A file by any other name is a copy.
    """
    *folders, name = path.split("/")
    stem = name.removesuffix(".jsonl")
    if "subagents" in folders[1:]:
        return f"{folders[folders.index('subagents') - 1]}/{stem}"
    return stem if _UUID.fullmatch(stem) else ""


READER = Reader(
    assistant="claude-code",
    places=(
        Lines(
            roots=("$CLAUDE_CONFIG_DIR/projects", "~/.claude/projects"),
            pattern="*/????????-????-????-????-????????????.jsonl",
            recognizes=recognizes,
            records=records,
            session=_session,
            subagents="*/{session}/subagents/**/agent-*.jsonl",
        ),
    ),
    message=message,
    summary=summary,
    hosts=("claude-code",),
    variables=("CLAUDE_CODE_SESSION_ID",),
)
"""Claude Code, all versions from 1.0 to 2.1."""
