"""Goose's messages: `{id, role, created, content, metadata}`, alike in every form it keeps them in.

`created` is in seconds since 1970. `metadata` says who sees a message: a compaction turns
`agentVisible` off, so nothing is told from that, while a user's message that is not `userVisible`
is a program's. `typed` is ours: it stands where that would be wrong.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from foldmark.messages import (
    Block,
    Message,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from foldmark.transcripts import blocks
from foldmark.transcripts.fields import dumps, items, mapping, moment, name, text
from foldmark.transcripts.injected import told_apart
from foldmark.transcripts.record import Json

_BOOKKEEPING = frozenset(
    {"toolConfirmationRequest", "actionRequired", "systemNotification", "conversationCompacted"}
    | {"contextLengthExceeded", "summarizationRequested"}
)
"""What the program asked or told the person; no model reads it."""

_MILLISECONDS = 10_000_000_000
"""Times beyond this are in milliseconds, by Goose's own rule: early versions mixed the two."""

_NEVER = 1 << 60
"""No time in either unit; dividing a number of any size could fail."""


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message from its rows: mostly one, several only where they share an id."""
    natives = [mapping(record) for record in records]
    first = natives[0] if natives else mapping(None)
    return Message(
        id=id,
        role="assistant" if first.get("role") == "assistant" else "user",
        blocks=tuple(block for native in natives for block in read(native)),
        at=at(first),
        model=next((found for native in natives if (found := _model(native))), ""),
        error=next((found for native in natives if (found := _error(native))), ""),
        usage=next((found for native in natives if (found := _usage(native))), None),
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary of a compaction; Goose writes it only once the model has finished."""
    native = mapping(record)
    return Summary(
        id=id,
        marker=marker,
        text=words(native).strip(),
        finish="end_turn",
        error=_error(native),
        tool_call=any(isinstance(block, ToolCall) for block in read(native)),
        at=at(native),
    )


def read(native: Json) -> Iterator[Block]:
    """Read the blocks of one row, what a program wrote in a user's name told apart."""
    content = native.get("content")
    if not isinstance(content, list):
        return iter((Unknown("content"),) if content else ())
    found = (block for part in parts(native) for block in _blocks(part))
    if native.get("role") != "user":
        return found
    if is_typed(native):
        return told_apart(found)
    return (Text(one.text, injected=True) if isinstance(one, Text) else one for one in found)


def parts(native: Json) -> list[Json]:
    """List the parts of a row's content."""
    return [mapping(part) for part in items(native.get("content"))]


def at(native: Json) -> str:
    """Tell when a row was written, in ISO 8601."""
    created = native.get("created")
    if isinstance(created, int | float) and _MILLISECONDS < created < _NEVER:
        return moment(created / 1000)
    return moment(created)


def words(native: Json) -> str:
    """Join the texts of a row, as Goose does when it repeats a prompt."""
    return "\n".join(text(p.get("text")) for p in parts(native) if p.get("type") == "text")


def is_typed(native: Json) -> bool:
    """Tell whether a person wrote this user's row."""
    told = native.get("typed")
    return told if isinstance(told, bool) else not (is_hidden(native) or is_context(native))


def is_hidden(native: Json) -> bool:
    """Tell whether the person never saw this row."""
    return mapping(native.get("metadata")).get("userVisible") is False


def is_context(native: Json) -> bool:
    """Tell whether this row is the time and place that Goose adds to a prompt."""
    return mapping(native.get("metadata")).get("turnContext") is True


def is_bookkeeping(native: Json) -> bool:
    """Tell whether there is nothing in this row that a model could read."""
    content = native.get("content")
    listed = content is None or isinstance(content, list)
    return listed and all(text(part.get("type")) in _BOOKKEEPING for part in parts(native))


def _blocks(part: Json) -> Iterator[Block]:
    match part.get("type"):
        case "text":
            audience = _audience(part)
            yield Text(text(part.get("text")), injected=bool(audience) and "user" not in audience)
        case "thinking":
            yield Reasoning(text(part.get("thinking")))
        case "reasoning":
            yield Reasoning(text(part.get("text")))
        case "redactedThinking":
            yield Reasoning("", redacted=True)
        case "toolRequest" | "frontendToolRequest":
            yield _call(part)
        case "toolResponse":
            yield _result(part)
        case "image" | "document":
            yield blocks.attachment({**part, "title": part.get("name")})
        case "error":
            yield Text(text(part.get("message")))
        case str(kind) if kind in _BOOKKEEPING:
            pass
        case kind:
            yield Unknown(text(kind) or "content")


def _call(part: Json) -> ToolCall:
    """Read a call; of one that the model wrote wrongly only what is wrong with it is known."""
    told = mapping(part.get("toolCall"))
    call = mapping(told.get("value"))
    given = call.get("arguments") if call else told.get("error")
    return ToolCall(text(part.get("id")), text(call.get("name")) or "unknown", given)


def _result(part: Json) -> ToolResult:
    """Read a result: MCP's, an error in words, or in old versions only the content of MCP's."""
    call_id = text(part.get("id"))
    told = mapping(part.get("toolResult"))
    if told.get("status") == "error":
        return blocks.result(call_id, told.get("error"), is_error=True)
    value = told.get("value")
    whole = mapping(value)
    content = [_for_model(one) for one in items(whole.get("content") if whole else value)]
    structured = whole.get("structuredContent")
    if not content and structured is not None:
        content = [dumps(structured)]
    return blocks.result(
        call_id, [one for one in content if one], is_error=whole.get("isError") is True
    )


def _for_model(content: Any) -> Any:
    """Take one content of a tool's result; nothing if it was made for the person alone.

    Goose's own tools used to give everything twice, once for either reader.
    """
    part = mapping(content)
    audience = _audience(part)
    if audience and "assistant" not in audience:
        return None
    resource = mapping(part.get("resource"))
    if part.get("type") != "resource" or not resource:
        return content
    if isinstance(resource.get("text"), str):
        return resource["text"]
    blob, uri = text(resource.get("blob")), resource.get("uri")
    return {"type": "document", "data": blob, "mimeType": resource.get("mimeType"), "title": uri}


def _audience(part: Json) -> list[Any]:
    return items(mapping(part.get("annotations")).get("audience"))


def _model(native: Json) -> str:
    return name(mapping(mapping(native.get("metadata")).get("inference")).get("requestedModel"))


def _error(native: Json) -> str:
    found = (text(p.get("kind")) or "error" for p in parts(native) if p.get("type") == "error")
    return next(found, "")


def _usage(native: Json) -> Usage | None:
    used = mapping(mapping(native.get("metadata")).get("usage"))
    if not used:
        return None
    return Usage(
        input=_count(used.get("inputTokens")),
        output=_count(used.get("outputTokens")),
        cached=_count(used.get("cacheReadTokens")),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
