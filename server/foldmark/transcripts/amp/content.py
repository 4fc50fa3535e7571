"""The messages of an Amp thread: blocks much like Anthropic's, and results that are runs of tools.

tool_result             {toolUseID, run: {status, result | error | reason, progress}}
thinking                {thinking, signature, provider}, of any provider
manual_bash_invocation  {args: {cmd}, toolRun, hidden}, what a person ran in Amp's shell mode
summary                 {summary: {type: message, summary}}
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from foldmark.transcripts import blocks, parts
from foldmark.transcripts.fields import count, mapping, milliseconds, name, text
from foldmark.transcripts.injected import told_apart
from foldmark.transcripts.record import Json

CANCELLED = "[Tool execution was cancelled]"

_ENDED = {"error": "", "cancelled": CANCELLED, "rejected-by-user": "[Rejected by the user]"}
_SAID = ("output", "content", "diff")
"""Where tools put their words: a shell, a reader of files, an editor."""


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message; a result that stands in a user's message belongs to the assistant's call."""
    native = records[-1]
    role = "assistant" if native.get("role") == "assistant" else "user"
    found = (block for part in blocks.parts(native.get("content")) for block in _blocks(part))
    usage = mapping(native.get("usage"))
    meta = mapping(native.get("meta"))
    at = name(usage.get("timestamp")) or milliseconds(meta.get("sentAt"))
    if role == "assistant":
        return Message(
            id=id,
            role=role,
            blocks=tuple(found),
            at=at,
            model=text(usage.get("model")),
            error=_error(mapping(native.get("state"))),
            usage=_usage(usage),
        )
    sent = meta.get("fromAggman") is True or text(meta.get("fromExecutorThreadID"))
    if native.get("role") == "info" or sent:  # Amp's own words, or those of another agent
        return Message(id, role, tuple(_injected(found)), at)
    return Message(id, role, tuple(told_apart(found)), at)


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary; Amp writes the block once it has all of it."""
    found = compacted(record) or mapping(None)
    state = mapping(record.get("state")).get("type")
    return Summary(
        id=id,
        marker=marker,
        text=text(found.get("summary")).strip(),
        finish="" if state == "streaming" else "end_turn",
        error=_error(mapping(record.get("state"))),
        at=name(mapping(record.get("usage")).get("timestamp")),
    )


def is_summary(part: Any) -> bool:
    """Tell whether a block is the summary of all that stands before its message."""
    return mapping(part).get("type") == "summary"


def compacted(native: Json) -> Json | None:
    """Take the summary that a message carries, if it does."""
    found = (mapping(part) for part in blocks.parts(native.get("content")) if is_summary(part))
    return next((mapping(part.get("summary")) for part in found), None)


def _blocks(part: str | Json) -> Iterator[Block]:
    if isinstance(part, str):
        yield Text(part)
        return
    match part.get("type"):
        case "text":
            yield Text(text(part.get("text")), injected=part.get("hidden") is True)
        case "thinking":
            words = text(part.get("thinking"))
            yield Reasoning(words, redacted=not words.strip())
        case "tool_use" | "server_tool_use":
            yield ToolCall(text(part.get("id")), text(part.get("name")), part.get("input"))
        case str(kind) if kind.endswith("tool_result") and not text(part.get("tool_use_id")):
            yield from _result(part)
        case "image":
            yield _image(part)
        case "manual_bash_invocation":
            if part.get("hidden") is not True:
                yield Text(_typed_command(part), injected=True)
        case "summary":
            pass
        case _:
            yield from parts.read([part])


def _result(part: Json) -> Iterator[ToolResult]:
    """Read what a tool answered; nothing as long as it runs or waits for the user."""
    call = text(part.get("toolUseID"))
    if "run" not in part:
        yield parts.result(call, part.get("content"))
        return
    run = mapping(part.get("run"))
    status = text(run.get("status"))
    if status == "done":
        yield _output(call, run.get("result"))
    elif status in _ENDED:
        error = text(mapping(run.get("error")).get("message")) or text(run.get("reason"))
        told = _output(call, run.get("result") or run.get("progress")).text
        words = "\n".join(filter(None, (error or _ENDED[status] or "[unknown error]", told)))
        yield ToolResult(call, words, is_error=True)


def _output(call: str, value: Any) -> ToolResult:
    told = mapping(value)
    said = next((told[key] for key in _SAID if told.get(key)), None)
    code = told.get("exitCode")
    code = code if isinstance(code, int) and not isinstance(code, bool) else 0
    failed = told.get("success") is False or code != 0
    if said is None and any(key in told for key in _SAID):
        said = ""  # a command that printed nothing
    read = parts.result(call, value if said is None else said, is_error=failed)
    if code:
        return replace(read, text=f"{read.text.rstrip()}\n[exit code {code}]".strip())
    return read


def _typed_command(part: Json) -> str:
    """Write a command that a person ran in Amp's shell mode, with its output."""
    arguments = mapping(part.get("args"))
    run = {"run": part.get("toolRun")}
    said = "\n".join(result.text for result in _result(run))
    return f"$ {text(arguments.get('cmd'))}\n{said}".strip()


def _image(part: Json) -> Attachment:
    """Read an image, whose media type Amp writes in its own way."""
    source = mapping(part.get("source"))
    media_type = text(source.get("mediaType")) or text(source.get("media_type")) or "image/*"
    at = text(part.get("sourcePath")) or text(source.get("url"))
    return Attachment(media_type, at, blocks.decoded_size(text(source.get("data"))))


def _injected(found: Iterable[Block]) -> Iterator[Block]:
    return (Text(one.text, injected=True) if isinstance(one, Text) else one for one in found)


def _usage(told: Json) -> Usage | None:
    """Read what was billed; `input` leaves out what was cached."""
    counts = Usage(
        input=count(told.get("inputTokens")),
        output=count(told.get("outputTokens")),
        cached=count(told.get("cacheReadInputTokens")),
    )
    return counts if counts != Usage() else None


def _error(state: Json) -> str:
    match state.get("type"):
        case "cancelled":
            return "aborted"
        case "error":
            error = mapping(state.get("error"))
            return text(error.get("type")) or text(error.get("errorCode")) or "error"
        case _:
            return ""
