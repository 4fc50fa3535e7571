"""Content blocks as Anthropic's API writes them, made canonical.

Tolerant: content may be a string, a list, null or of the wrong type. Native metadata is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from foldmark.messages import (
    Attachment,
    Block,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from foldmark.transcripts.fields import count, dumps, items, mapping, text

_MEDIA = frozenset({"image", "document", "audio", "input_image", "image_url", "input_file"})
_NATIVE = frozenset(
    {"signature", "thinkingSignature", "thoughtSignature", "thought_signature", "redactedData"}
    | {"encryptedContent", "encrypted_content", "encrypted_index", "encrypted_stdout"}
    | {"reasoningOpaque", "reasoningEncryptedContent"}
)
_NATIVE_DEPTH = 16


def anthropic(content: Any) -> Iterator[Block]:
    """Read the `content` of an Anthropic message."""
    for part in parts(content):
        if isinstance(part, str):
            yield Text(part)
            continue
        match part.get("type"):
            case "text":
                yield Text(text(part.get("text")))
            case "thinking":
                yield Reasoning(text(part.get("thinking")))
            case "redacted_thinking":
                yield Reasoning("", redacted=True)
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                yield ToolCall(text(part.get("id")), text(part.get("name")), part.get("input"))
            case str(kind) if kind.endswith("tool_result"):
                yield result(
                    text(part.get("tool_use_id")),
                    part.get("content"),
                    is_error=part.get("is_error") is True,
                )
            case "image" | "document":
                yield attachment(part)
            case kind:
                yield Unknown(text(kind) or "block")


def result(call_id: str, content: Any, *, is_error: bool = False) -> ToolResult:
    """Read the content of a tool result: a string, blocks, or any other JSON value."""
    words: list[str] = []
    attachments: list[Attachment] = []
    for part in parts(content):
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part.get("text"), str):
            words.append(part["text"])
        elif part.get("type") in _MEDIA:
            attachments.append(attachment(part))
        elif not _is_thinking(part):
            words.append(dumps(without_native(part)))
    return ToolResult(call_id, "\n".join(words), is_error, tuple(attachments))


def without_native(value: Any, depth: int = _NATIVE_DEPTH) -> Any:
    """Leave out what only a provider can read, wherever it stands in a provider's own block.

    Blocks of thinking inside go whole. It is for blocks, never for what a tool was given or said:
    there "signature" is a word.
    """
    if depth and isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        return {key: without_native(v, depth - 1) for key, v in fields if key not in _NATIVE}
    if depth and isinstance(value, list):
        listed = cast("list[Any]", value)
        return [without_native(one, depth - 1) for one in listed if not _is_thinking(one)]
    return value


def _is_thinking(value: Any) -> bool:
    part = mapping(value)
    return part.get("type") in ("thinking", "redacted_thinking") or part.get("thought") is True


def usage(value: Any) -> Usage | None:
    """Read what Anthropic billed for an answer; `input` leaves out what was cached."""
    told = mapping(value)
    counts = Usage(
        input=count(told.get("input_tokens")),
        output=count(told.get("output_tokens")),
        cached=count(told.get("cache_read_input_tokens")),
    )
    return counts if counts != Usage() else None


def attachment(part: Mapping[str, Any]) -> Attachment:
    """Read an image or document block; the size is that of its decoded bytes.

    MCP's own shape, `data` and `mimeType` beside the type, counts too.
    """
    kind = text(part.get("type"))
    source = mapping(part.get("source"))
    data = text(source.get("data")) or text(part.get("data"))
    name = text(part.get("title")) or text(part.get("filename"))
    if source.get("type") == "text":
        return Attachment("text/plain", name, len(data.encode()))
    media_type = text(source.get("media_type")) or text(part.get("mimeType"))
    usual = "application/pdf" if kind == "document" else "image/*"
    return Attachment(media_type or usual, name, decoded_size(data))


def decoded_size(data: str) -> int:
    """Count the bytes behind base64 text without decoding it."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def parts(content: Any) -> Iterator[str | Mapping[str, Any]]:
    """Walk content of any shape as strings and objects."""
    if content is None:
        return
    for item in items(content) if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield cast("Mapping[str, Any]", item)
        elif item is not None:
            yield dumps(item)
