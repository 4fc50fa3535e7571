"""The content of Cursor's messages, in the three shapes it keeps them in.

    agent's transcript    {role, message: {content}}     no ids, no times, no results of tools
    agent's database      {role, content, providerOptions}
    editor's database     {type: 1 a user's | 2 the assistant's, bubbleId, text, thinking,
                           toolFormerData: {name, toolCallId, status, rawArgs, params, result}}

What a person typed to an agent stands in `<user_query>`; all around it was put there by Cursor.
"""

import re
from collections.abc import Iterator, Sequence
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
from foldmark.transcripts.fields import (
    count,
    dumps,
    items,
    loads,
    mapping,
    milliseconds,
    name,
    text,
)
from foldmark.transcripts.injected import told_apart
from foldmark.transcripts.record import Json

BUBBLES = (1, 2)
"""The types of bubbles: a user's, the assistant's."""

_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_CONTEXT = re.compile(
    r"<(user_info|git_status|rules|agent_transcripts|agent_skills|mcp_file_system|attached_files"
    r"|open_and_recently_viewed_files|additional_data|system_reminder|external_links|image_files"
    r"|cursor_commands|manually_attached_skills|timestamp)(?:\s[^<>]{0,200})?>.*?</\1>",
    re.DOTALL,
)
_SUMMARIZED = "[Previous conversation summary]:"
_UNNAMED = "default"  # the model that Cursor chooses itself
_STOPPED = frozenset({"cancelled", "rejected", "aborted"})


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message; the end of its turn may follow it, as a record of its own."""
    first = records[0]
    if "role" not in first:
        return _bubble(id, records[-1])
    role = "assistant" if first.get("role") == "assistant" else "user"
    found = tuple(_blocks(id, content(first), is_error=is_error(first)))
    if role == "user" and "loopReminder" in options(first):
        found = tuple(replace(b, injected=True) if isinstance(b, Text) else b for b in found)
    return Message(
        id=id,
        role=role,
        blocks=found if role == "assistant" else tuple(_asked(found)),
        at=name(first.get("timestamp")),
        model=_model(first) if role == "assistant" else "",
        error=turn_error(records[-1]) if len(records) > 1 else "",
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary; Cursor keeps it once it has all of it."""
    if "role" in record:
        found = _blocks(id, content(record))
        words = "\n".join(one.text for one in found if isinstance(one, Text))
    else:
        words = text(conversation_summary(record).get("summary"))
    words = words.strip().removeprefix(_SUMMARIZED).strip()
    return Summary(id=id, marker=marker, text=words, finish="end_turn")


def content(native: Json) -> Any:
    """Take the content of an agent's message, in either of its shapes."""
    return (
        mapping(native["message"]).get("content") if "message" in native else native.get("content")
    )


def options(native: Json) -> Json:
    """Take what Cursor notes on a message in the agent's database."""
    return mapping(mapping(native.get("providerOptions")).get("cursor"))


def is_error(native: Json) -> bool:
    """Tell whether the tool whose answer this is failed."""
    told = mapping(options(native).get("highLevelToolCallResult"))
    return told.get("isError") is True or mapping(told.get("output")).get("isError") is True


def turn_error(ended: Json) -> str:
    """Tell why a turn of an agent ended before it was done; nothing if it was."""
    status = text(ended.get("status"))
    if status in _STOPPED:
        return "aborted"
    return "" if status in ("", "success", "completed") else status


def conversation_summary(bubble: Json) -> Json:
    """Take the summary that a bubble of the editor carries, as JSON text or as an object."""
    told = bubble.get("conversationSummary")
    try:
        return mapping(loads(told)) if isinstance(told, str) else mapping(told)
    except ValueError:
        return mapping(None)


def _blocks(id: str, told: Any, *, is_error: bool = False) -> Iterator[Block]:
    for at, part in enumerate(blocks.parts(told)):
        if isinstance(part, str):
            yield Text(part)
            continue
        match part.get("type"):
            case "tool-call":
                yield ToolCall(
                    text(part.get("toolCallId")), text(part.get("toolName")), part.get("args")
                )
            case "tool-result":
                yield _answer(part, is_error=is_error)
            case "tool_use":  # in transcripts it has no id, and no result
                call = text(part.get("id")) or f"{id}/{at}"
                yield ToolCall(call, text(part.get("name")), part.get("input"))
            case _:
                yield from parts.read([part])


def _answer(part: Json, *, is_error: bool) -> ToolResult:
    told = part.get("result")
    said = told if told not in (None, "", []) else part.get("experimental_content")
    failed = is_error or part.get("isError") is True
    return parts.result(text(part.get("toolCallId")), said, is_error=failed)


def _asked(found: Sequence[Block]) -> Iterator[Block]:
    """Tell what a person asked from the context around it."""
    wrapped = any(isinstance(one, Text) and "<user_query>" in one.text for one in found)
    for block in found:
        if not isinstance(block, Text) or block.injected:
            yield block
        elif wrapped:
            yield from _parted(block.text, _QUERY, injected=False)
        elif _CONTEXT.match(block.text.lstrip()):
            yield from _parted(block.text, _CONTEXT, injected=True)
        else:
            yield from told_apart([block])


def _parted(words: str, pattern: re.Pattern[str], *, injected: bool) -> Iterator[Text]:
    """Part words into what a pattern finds, which is injected or is not, and all the rest."""
    at = 0
    for found in pattern.finditer(words):
        yield from _piece(words[at : found.start()], injected=not injected)
        yield from _piece(found[0] if injected else found[1], injected=injected)
        at = found.end()
    yield from _piece(words[at:], injected=not injected)


def _piece(words: str, *, injected: bool) -> Iterator[Text]:
    if words.strip():
        yield Text(words.strip(), injected)


def _model(native: Json) -> str:
    """Find the model that wrote a message; the agent's database notes it on the parts."""
    told = blocks.parts(content(native))
    noted = (text(options(mapping(part)).get("modelName")) for part in told)
    return text(native.get("model")) or next(filter(None, noted), "")


def _bubble(id: str, native: Json) -> Message:
    is_user = native.get("type") == BUBBLES[0]
    model = text(mapping(native.get("modelInfo")).get("modelName"))
    used = mapping(native.get("tokenCount"))
    usage = Usage(count(used.get("inputTokens")), count(used.get("outputTokens")))
    failed = mapping(native.get("errorDetails"))
    found = _typed(native) if is_user else _said(native)
    return Message(
        id=id,
        role="user" if is_user else "assistant",
        blocks=tuple(found),
        at=name(native.get("createdAt")) or milliseconds(native.get("createdAt")),
        model="" if is_user or model == _UNNAMED else model,
        error=(text(failed.get("title")) or "error") if failed and not is_user else "",
        usage=usage if usage != Usage() else None,
    )


def _typed(native: Json) -> Iterator[Block]:
    if words := text(native.get("text")):
        yield from told_apart([Text(words)])
    for image in items(native.get("images")):
        told = mapping(image)
        yield Attachment("image/*", text(told.get("path")) or text(told.get("uuid")))


def _said(native: Json) -> Iterator[Block]:
    thoughts = [native.get("thinking"), *items(native.get("allThinkingBlocks"))]
    for thought in (mapping(one) for one in thoughts if isinstance(one, dict)):
        words = text(thought.get("text")) or text(thought.get("thinking"))
        if words.strip() or thought.get("signature"):
            yield Reasoning(words, redacted=not words.strip())
    if words := text(native.get("text")):
        yield Text(words)
    if isinstance(native.get("toolFormerData"), dict):
        yield from _tool(mapping(native.get("toolFormerData")))


def _tool(told: Json) -> Iterator[ToolCall | ToolResult]:
    """Read a call and, once it has ended, its result, which the editor keeps in one."""
    call = text(told.get("toolCallId"))
    arguments = parts.arguments(told.get("rawArgs")) or parts.arguments(told.get("params"))
    yield ToolCall(call, text(told.get("name")), arguments or {})
    status = text(told.get("status"))
    if status == "completed":
        yield ToolResult(call, _output(told.get("result")))
    elif status == "error":
        yield ToolResult(call, _failure(told), is_error=True)
    elif status in _STOPPED:
        yield ToolResult(call, f"[Tool execution was {status}]", is_error=True)


def _output(told: Any) -> str:
    """Take the words of a result, which is JSON text that may hold nothing else."""
    words = text(told) if told is None or isinstance(told, str) else dumps(told)
    output = mapping(parts.arguments(words))
    said = output.get("output")
    return said if list(output) == ["output"] and isinstance(said, str) else words


def _failure(told: Json) -> str:
    error = mapping(parts.arguments(told.get("error")))
    seen = text(error.get("modelVisibleErrorMessage")) or text(
        error.get("clientVisibleErrorMessage")
    )
    return seen or text(told.get("error")) or _output(told.get("result")) or "[unknown error]"
