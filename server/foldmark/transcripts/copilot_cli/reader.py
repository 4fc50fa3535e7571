"""GitHub Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, one event a line.

A rewind cuts the file off. What it leaves is read anew, and the next prompt follows the last
message that is left: what we hold after that was taken back. Each event names the one before it,
which tells no more than their order. What subagents do stands among the rest, under their names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from foldmark.messages import Message, Role, Summary, Usage
from foldmark.transcripts.copilot_cli import events
from foldmark.transcripts.fields import count, digest, mapping, name, text
from foldmark.transcripts.record import Json, Lines, Reader, Record, State, compaction, of_message

_LONGEST_NAME = 60
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_UNUSABLE = re.compile(r"[^A-Za-z0-9._-]+")
_BY_PERSON = frozenset({"", "remote_command", "user_abort"})


def recognizes(record: Json) -> bool:
    """Tell whether this record is an event of Copilot's."""
    return (
        isinstance(record.get("data"), dict)
        and "parentId" in record
        and events.is_known(name(record.get("type")))
    )


def records(record: Json, raw: bytes, state: State) -> Iterator[Record]:
    """Read one event for the log.

    `state` names the message before it (`last`) and the model, and by subagent, "" being none: the
    answer that an abort would stop (`answers`), and of a compaction that runs the first message it
    does not cover (`uncovered`). `tasks` knows subagents by a digest of their first prompts.
    """
    type = name(record.get("type"))[:_LONGEST_NAME]
    data = mapping(record.get("data"))
    row = Record(
        kind="other",
        id=name(record.get("id")) or _made_up(raw, state),
        raw=raw,
        at=name(record.get("timestamp")),
        thread=_thread(record, type, data, state),
        unknown="" if events.is_known(type) else type or "no type",
    )
    uncovered: dict[str, str] = state.setdefault("uncovered", {})
    answers: dict[str, list[str]] = state.setdefault("answers", {})
    if events.is_message(type, data):
        row = _message(row, record, state)
        if uncovered.get(row.thread) == "":
            uncovered[row.thread] = row.id
        if type == "assistant.message":
            answers[row.thread] = [row.id, row.message]
        elif type == "user.message":
            answers.pop(row.thread, None)
        yield row
        return
    match type:
        case "session.compaction_start":
            uncovered[row.thread] = ""
        case "session.compaction_complete":
            answers.pop(row.thread, None)
            yield from _compaction(row, data, uncovered.pop(row.thread, ""))
            return
        case "session.snapshot_rewind":
            row = replace(row, kind="fork", replaces=name(data.get("upToEventId")))
        case "assistant.turn_end":
            answers.pop(row.thread, None)
        case "abort" if row.thread in answers:
            parent, stopped = answers.pop(row.thread)
            row = replace(row, kind="message", role="assistant", parent=parent, message=stopped)
        case "tool.execution_start":
            _remember_task(data, state)
        case _:
            row = _facts(row, type, data, state)
    yield row


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message from its event, and the abort that stopped it if there is one."""
    told = next((one for one in records if one.get("type") != "abort"), records[0])
    stopped = next((one for one in records if one.get("type") == "abort"), None)
    type, data = name(told.get("type")), mapping(told.get("data"))
    role: Role = "assistant" if type in ("assistant.message", "abort") else "user"
    tokens = count(data.get("outputTokens"))
    return Message(
        id=id,
        role=role,
        blocks=tuple(events.read(type, data)) if type != "abort" else (),
        at=name(told.get("timestamp")),
        model=text(data.get("model")) if role == "assistant" else "",
        error=_stopped_by(mapping(stopped.get("data"))) if stopped else "",
        usage=Usage(output=tokens) if role == "assistant" and tokens else None,
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary from the event that ends a compaction."""
    data = mapping(record.get("data"))
    done = data.get("success") is True
    return Summary(
        id=id,
        marker=marker,
        text=text(data.get("summaryContent")).strip(),
        finish="end_turn" if done else "",
        error="" if done else text(data.get("error")) or "the compaction failed",
        at=name(record.get("timestamp")),
    )


def _made_up(raw: bytes, state: State) -> str:
    """Name an event without an id, of which there may be several alike."""
    state["unnamed"] = number = state.get("unnamed", 0) + 1
    return f"{digest(raw)}-{number}"


def _thread(record: Json, type: str, data: Json, state: State) -> str:
    """Name the subagent that an event is about.

    The prompt with which a subagent begins may stand among the user's own, named by nothing.
    """
    agent = name(record.get("agentId")) or name(data.get("parentToolCallId"))
    if type == "user.message" and state.get("tasks"):
        begun = state["tasks"].pop(_digest(text(data.get("content"))), "")
        agent = agent or (begun if events.is_typed(data) else "")
    return f"agent-{_UNUSABLE.sub('-', agent)[:100]}" if agent else ""


def _remember_task(data: Json, state: State) -> None:
    prompt = text(mapping(data.get("arguments")).get("prompt"))
    if prompt and data.get("toolName") == "task":
        state.setdefault("tasks", {})[_digest(prompt)] = name(data.get("toolCallId"))


def _digest(words: str) -> str:
    return digest(words.strip().encode())


def _message(row: Record, record: Json, state: State) -> Record:
    built = message("", [record])
    data = mapping(record.get("data"))
    answer = built.role == "assistant"
    row = replace(
        of_message(built, row),
        message=(name(data.get("messageId")) or row.id) if answer else "",
        model=state.get("model", "") if answer and not row.thread and not built.model else "",
    )
    if row.thread:
        return row
    if row.prompt:
        row = replace(row, parent=state.get("last", ""))
    state["last"] = row.id
    return row


def _compaction(row: Record, data: Json, uncovered: str) -> Iterator[Record]:
    """Read the end of a compaction; what was said while it ran is not in its summary."""
    if data.get("success") is not True or not text(data.get("summaryContent")).strip():
        yield replace(row, kind="marker")
        return
    yield from compaction(row, first_kept=uncovered)


def _facts(row: Record, type: str, data: Json, state: State) -> Record:
    """Read what an event says of the session."""
    if row.thread:
        title = text(data.get("agentDisplayName")) if type == "subagent.started" else ""
        return replace(row, title=title)
    if not type.startswith("session."):
        return row
    if type == "session.start":
        state["last"] = row.id
    state["model"] = name(events.model(type, data)) or state.get("model", "")
    where = events.context(type, data)
    return replace(
        row,
        project=text(where.get("cwd")),
        branch=text(where.get("branch")),
        title=text(data.get("title")) if type == "session.title_changed" else "",
        parent_session=name(data.get("detachedFromSpawningParentSessionId")),
    )


def _stopped_by(data: Json) -> str:
    reason = name(data.get("reason"))
    return "aborted" if reason in _BY_PERSON or reason.startswith("user") else reason


def _session(path: str, first: Json) -> str:
    """Name a session by its folder, in old versions by its file; a copy by what it says."""
    *folders, file = path.split("/")
    told = folders[-1] if folders and file == "events.jsonl" else file.removesuffix(".jsonl")
    return told if _UUID.fullmatch(told) else name(mapping(first.get("data")).get("sessionId"))


_ROOTS = ("$COPILOT_HOME/session-state", "~/.copilot/session-state")

READER = Reader(
    assistant="copilot-cli",
    places=(
        Lines(
            roots=_ROOTS,
            pattern="*/events.jsonl",
            recognizes=recognizes,
            records=records,
            session=_session,
        ),
        Lines(
            roots=_ROOTS,
            pattern="*.jsonl",
            recognizes=recognizes,
            records=records,
            session=_session,
        ),
    ),
    message=message,
    summary=summary,
    hosts=("copilot", "github-copilot"),
    variables=("COPILOT_AGENT_SESSION_ID",),
)
"""GitHub Copilot CLI: seen in files of 1.0.64, the rest as its published schema has it."""
