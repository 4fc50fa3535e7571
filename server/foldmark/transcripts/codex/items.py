"""What Codex writes in a record: messages, items of a model's response, tokens, summaries.

A record is `{timestamp, type, payload}`. In mid-2025 there was no such envelope: a bare item a
line, after a first line with the session's id.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Role,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from foldmark.transcripts import parts, responses
from foldmark.transcripts.blocks import decoded_size
from foldmark.transcripts.fields import count, items, loads, mapping, name, text
from foldmark.transcripts.injected import parted
from foldmark.transcripts.record import Json

TYPES = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
    | {"token_usage_record", "inter_agent_communication", "inter_agent_communication_metadata"}
    | {"retained_context", "security_risk_score", "realtime_item", "state"}
)
CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "mcp_call"}
    | {"web_search_call", "image_generation_call", "tool_search_call"}
)
OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}
    | {"shell_call_output", "mcp_tool_call_output", "tool_search_output"}
)
_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "developer": "system",
    "system": "system",
}
_PREFIX = re.compile(
    r"\s*Another language model started to solve this problem\b[^\n]{0,800}?"
    r"\bassist with your own analysis:\s*"
)
_NO_SUMMARY = "(no summary available)"
_EXIT = re.compile(
    r"(?:(?:Chunk ID|Wall time): [^\n]{0,60}\n)*(?:Exit code:|Process exited with code) "
    r"(-?\d{1,10})\b"
)
_IMAGE = re.compile(r"\s*(?:<image\b([^<>]*)>|</image>)\s*")
_PATH = re.compile(r'path="([^"]+)"')
_NAME = re.compile(r'name="?\[?([^\]">]+)')
_IDE = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"


def opened(record: Json) -> tuple[str, Json]:
    """Take a record out of its envelope: the type it has there, and what it holds."""
    kind = text(record.get("type"))
    if "payload" in record or kind in TYPES:
        return kind, mapping(record.get("payload"))
    if kind:
        return "response_item", record
    if "record_type" in record:
        return "state", record
    return "session_meta" if text(record.get("id")) else "", record


def recognizes(record: Json) -> bool:
    """Tell whether this record is of Codex's making."""
    outer, body = opened(record)
    if "payload" in record:
        return outer in TYPES and isinstance(record["payload"], dict)
    match outer:
        case "session_meta":
            return "timestamp" in record and ("instructions" in record or "git" in record)
        case "state":
            return record.get("record_type") == "state"
        case "response_item" if body.get("type") == "message":
            said = {text(mapping(part).get("type")) for part in items(body.get("content"))}
            return role(record) is not None and bool(said & {"input_text", "output_text"})
        case "response_item":
            told = body.get("summary", body.get("call_id"))
            return role(record) is not None and isinstance(told, list | str)
        case _:
            return False


def role(record: Json) -> Role | None:
    """Tell who speaks in a record; None if it is no message nor an item of one."""
    outer, body = opened(record)
    kind = text(body.get("type"))
    if outer == "inter_agent_communication":
        return "user"
    if outer != "response_item":
        return None
    if kind in CALLS or kind == "reasoning":
        return "assistant"
    if kind in OUTPUTS or kind == "agent_message":
        return "user"
    return _ROLES.get(text(body.get("role"))) if kind == "message" else None


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message from its items, oldest first, and what was told of them beside them."""
    speaker = role(records[0]) or "user"
    told = [usage(record) for record in records]
    stopped = any(opened(record)[1].get("type") == "turn_aborted" for record in records)
    return Message(
        id=id,
        role=speaker,
        blocks=tuple(block for record in records for block in _blocks(record)),
        at=name(records[0].get("timestamp")),
        error="aborted" if stopped and speaker == "assistant" else "",
        usage=next(filter(None, reversed(told)), None),
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary in a `compacted` record, without the words Codex puts before each.

    The record is only written once the model has finished, so its presence is the finish.
    """
    words = text(opened(record)[1].get("message"))
    if found := _PREFIX.match(words):
        words = words[found.end() :]
    words = words.strip()
    return Summary(
        id=id,
        marker=marker,
        text="" if words == _NO_SUMMARY else words,
        finish="stop",
        at=name(record.get("timestamp")),
    )


def usage(record: Json) -> Usage | None:
    """Read what one response cost; `input` contains what was cached."""
    outer, body = opened(record)
    match outer, body.get("type"):
        case "token_usage_record", _:
            told = mapping(body.get("usage"))
        case "event_msg", "token_count":
            told = mapping(mapping(body.get("info")).get("last_token_usage"))
        case _:
            return None
    counts = Usage(
        input=count(told.get("input_tokens")),
        output=count(told.get("output_tokens")),
        cached=count(told.get("cached_input_tokens")),
        reasoning=count(told.get("reasoning_output_tokens")),
    )
    return counts if counts != Usage() else None


def _blocks(record: Json) -> Iterator[Block]:
    outer, body = opened(record)
    kind = text(body.get("type"))
    if outer == "inter_agent_communication":
        words = text(body.get("content"))
        yield Text(words, injected=True) if words.strip() else Unknown("encrypted_content")
    elif outer != "response_item":
        return
    elif kind == "agent_message":
        for block in parts.read(body.get("content")):
            yield replace(block, injected=True) if isinstance(block, Text) else block
    elif kind == "message":
        spoken = _user(body) if body.get("role") == "user" else parts.read(body.get("content"))
        yield from spoken
    elif kind in OUTPUTS:
        yield _output(body)
    else:
        yield from _item(body)


def _user(body: Json) -> Iterator[Block]:
    """Read a user's message; new versions say of each part who wrote it.

    Codex puts the name of an image in a text before it, and closes that behind it.
    """
    content = body.get("content")
    passed = mapping(body.get("internal_chat_message_metadata_passthrough"))
    sources = [mapping(one).get("provenance") for one in items(passed.get("content_item_metadata"))]
    image = ""
    for at, part in enumerate(items(content) if isinstance(content, list) else [content]):
        source = text(mapping(sources[at]).get("type")) if at < len(sources) else ""
        for block in parts.read([part]):
            if isinstance(block, Text):
                if label := _IMAGE.fullmatch(block.text):
                    about = _PATH.search(label[1] or "") or _NAME.search(label[1] or "")
                    image = about[1] if about else ""
                else:
                    yield from _told_apart(block.text, source)
            elif isinstance(block, Attachment) and image:
                yield replace(block, name=block.name or image)
            else:
                yield block


def _told_apart(words: str, source: str) -> Iterator[Text]:
    if source not in ("", "user"):
        yield Text(words, injected=True)
        return
    if words.startswith(_IDE) and _REQUEST in words:
        about, heading, words = words.partition(_REQUEST)
        yield Text(about + heading, injected=True)
        words = words.strip()
    if source:
        yield Text(words)
    else:
        yield from parted(words)


def _item(item: Json) -> Iterator[Block]:
    """Read an item of a response; what OpenAI does on its side is answered in the same item."""
    call_id = text(item.get("call_id")) or text(item.get("id"))
    match item.get("type"):
        case "web_search_call":
            call_id = call_id or "web_search"  # old versions give no id
            yield ToolCall(call_id, "web_search", item.get("action"))
            yield ToolResult(call_id, text(item.get("status")))
        case "image_generation_call":
            yield ToolCall(call_id, "image_generation", {"prompt": item.get("revised_prompt")})
            image = text(item.get("result"))
            made = (Attachment("image/*", size=decoded_size(image)),) if image else ()
            yield ToolResult(call_id, text(item.get("status")), attachments=made)
        case "tool_search_call":
            yield ToolCall(call_id, "tool_search", parts.arguments(item.get("arguments")))
        case _:
            yield from responses.item(item)


def _output(item: Json) -> ToolResult:
    """Read what a tool answered: words, parts, or (in old versions) JSON text around the words."""
    call_id = text(item.get("call_id")) or text(item.get("id"))
    told = item.get("output", item.get("tools"))
    failed = False
    if isinstance(told, str):
        told, failed = _unwrapped(told)
    elif body := mapping(told):
        failed = body.get("success") is False or body.get("isError") is True
        told = body.get("content", told)
    return parts.result(call_id, told, is_error=failed)


def _unwrapped(words: str) -> tuple[str, bool]:
    """Take `{"output", "metadata": {"exit_code"}}` apart; tell whether the command failed."""
    if words.startswith('{"output":'):
        try:
            wrapped = mapping(loads(words))
        except ValueError:
            wrapped = mapping(None)
        code = mapping(wrapped.get("metadata")).get("exit_code")
        if isinstance(code, int) and isinstance(wrapped.get("output"), str):
            said = wrapped["output"]
            return (f"Exit code: {code}\nOutput:\n{said}", True) if code else (said, False)
    found = _EXIT.match(words)
    return words, bool(found) and int(found[1]) != 0
