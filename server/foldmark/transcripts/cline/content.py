"""Messages of Cline's SDK: Anthropic's, but for its files, images and results of tools."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Role,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from foldmark.transcripts import blocks, parts
from foldmark.transcripts.cline import words as cline_words
from foldmark.transcripts.fields import count, items, mapping, moment, text
from foldmark.transcripts.record import Json

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "error": "assistant"}

_NOTICES = frozenset(
    {"auto_compaction", "manual_compaction", "compaction_budget_emergency", "compaction_summary"}
    | {"completion_reminder", "loop_detection_notice", "mistake_stop_notice", "recovery_notice"}
)
_APPROVED = "The user approved switching to act mode."
_ENVELOPE = frozenset({"content", "isError", "structuredContent", "_meta"})
_LAST_MOMENT = 10**14  # milliseconds: the year 5138


def message(id: str, told: Json) -> Message:
    """Build a message."""
    role = ROLES.get(text(told.get("role")), "assistant")
    found = _blocks(told.get("content"))
    return Message(
        id=id,
        role=role,
        blocks=(*_typed(told, found),) if role == "user" else (*_activities(told), *found),
        at=at(told.get("ts")),
        model=text(mapping(told.get("modelInfo")).get("id")) if role == "assistant" else "",
        error="api_error" if shown_as(told) == "error" else "",
        usage=_usage(told.get("metrics")),
    )


def summary(id: str, marker: str, told: Json) -> Summary:
    """Build the summary of a compaction by a model; Cline stores none that is blank or failed."""
    metadata = mapping(told.get("metadata"))
    return Summary(
        id=id,
        marker=marker,
        text=text(metadata.get("summary")),
        finish="end_turn",
        at=at(metadata.get("generatedAt")),
    )


def at(value: Any) -> str:
    """Write a time, given in milliseconds since 1970, in ISO 8601; nothing if it is none."""
    return moment(milliseconds(value) / 1000)


def milliseconds(value: Any) -> float:
    """Take a time in milliseconds since 1970, else 0."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LAST_MOMENT:
        return value
    return 0


def kind(told: Json) -> str:
    """Tell why Cline itself wrote a message; nothing for most."""
    return text(mapping(told.get("metadata")).get("kind"))


def shown_as(told: Json) -> str:
    """Tell as what Cline shows a message, if not as what its role says."""
    if told.get("role") == "error":
        return "error"
    shown = text(mapping(told.get("metadata")).get("displayRole")).strip().lower()
    return shown if shown in ("system", "status", "error") else ""


def _blocks(content: Any) -> Iterator[Block]:
    for part in blocks.parts(content):
        told = mapping(part)
        match told.get("type"):
            case "file":
                words = text(told.get("content"))
                yield Attachment("text/plain", text(told.get("path")), len(words.encode()))
            case "image" if _is_image(told):
                yield _image(told)
            case "tool_result":
                yield _result(told)
            case _:
                yield from parts.read([part])


def _typed(told: Json, found: Iterator[Block]) -> Iterator[Block]:
    is_notice = kind(told) in _NOTICES or bool(shown_as(told))
    for block in found:
        if not isinstance(block, Text):
            yield block
            continue
        for said in cline_words.sdk(block.text):
            automatic = is_notice or said.text.startswith(_APPROVED)
            yield Text(said.text, injected=said.injected or automatic)


def _activities(told: Json) -> Iterator[Block]:
    """Read the tools that a provider ran for its model, which stand beside the words."""
    for one in items(mapping(told.get("metadata")).get("modelToolActivities")):
        call = mapping(one)
        id = text(call.get("toolCallId"))
        yield ToolCall(id, text(call.get("toolName")), call.get("input"))
        if "output" in call or "isError" in call:
            yield parts.result(id, call.get("output"), is_error=call.get("isError") is True)


def _result(told: Json) -> ToolResult:
    """Read a result: text, blocks, or one outcome for each thing that the call asked for.

    An outcome is `{"query", "result", "success", "error"}`. One that is alone may be JSON text, as
    is what an MCP server answered.
    """
    content, failed = told.get("content"), told.get("is_error") is True
    if isinstance(content, str) and content.startswith("{"):
        found = mapping(parts.arguments(content))
        if {"query", "success"} <= found.keys():
            content = [found]
        elif isinstance(found.get("content"), list) and found.keys() <= _ENVELOPE:
            content, failed = found["content"], failed or found.get("isError") is True
    outcomes = [mapping(one) for one in items(content)]
    if outcomes and all("success" in one for one in outcomes):
        failed = failed or any(one["success"] is False for one in outcomes)
        content = [said for one in outcomes for said in _outcome(one, among=len(outcomes))]
    images = [one for one in items(content) if _is_image(one)]
    rest = [one for one in items(content) if not _is_image(one)] if images else content
    result = parts.result(text(told.get("tool_use_id")), rest, is_error=failed)
    return replace(result, attachments=(*result.attachments, *map(_image, images)))


def _outcome(told: Json, *, among: int) -> Iterator[Any]:
    if among > 1:
        yield told.get("query")
    found = told.get("result") or told.get("error")
    yield from items(found) if isinstance(found, list) else [found]


def _is_image(part: Any) -> bool:
    told = mapping(part)
    return told.get("type") == "image" and isinstance(told.get("data"), str)


def _image(told: Json) -> Attachment:
    media_type = text(told.get("mediaType")) or text(told.get("mimeType")) or "image/*"
    data = text(told.get("data"))
    if data.startswith(("data:", "http")):
        return parts.linked(data, media_type)
    return Attachment(media_type, "", blocks.decoded_size(data))


def _usage(value: Any) -> Usage | None:
    told = mapping(value)
    counts = Usage(
        input=count(told.get("inputTokens")),
        output=count(told.get("outputTokens")),
        cached=count(told.get("cacheReadTokens")),
    )
    return counts if counts != Usage() else None
