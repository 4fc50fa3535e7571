"""Messages of the editor extensions Cline, Roo and Kilo: Anthropic's, or the AI SDK's for a while.

Without native tools a call is XML in the assistant's words, and stays there.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from foldmark.messages import Block, Message, Reasoning, Summary, Text, ToolCall, Usage
from foldmark.transcripts import blocks, parts
from foldmark.transcripts.cline import words as cline_words
from foldmark.transcripts.cline.content import at
from foldmark.transcripts.fields import count, mapping, text
from foldmark.transcripts.injected import parted
from foldmark.transcripts.record import Json

BESIDE = "beside"
"""The key under which stands what other files tell of a message."""

_INTERRUPTED = {
    "[Response interrupted by user]": "aborted",
    "[Response interrupted by API Error]": "api_error",
    "Failure: I did not provide a response.": "no_response",
}


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message from its record."""
    told = records[-1]
    beside = mapping(told.get(BESIDE))
    is_reply = told.get("role") == "assistant" or "role" not in told
    found = blocks_of(told)
    if told.get("isTruncationMarker") is True:
        found = (Text(b.text, injected=True) if isinstance(b, Text) else b for b in found)
    elif not is_reply:
        tools = {call: text(tool) for call, tool in mapping(beside.get("tools")).items()}
        found = cline_words.classic(found, tools)
    said = tuple(found)
    model = text(mapping(told.get("modelInfo")).get("modelId")) or text(beside.get("model"))
    return Message(
        id=id,
        role="assistant" if is_reply else "user",
        blocks=said,
        at=at(told.get("ts")) or at(beside.get("ts")),
        model=model if is_reply else "",
        error=_error(said) if is_reply else "",
        usage=_usage(mapping(told.get("metrics")).get("tokens"), beside.get("usage")),
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build Roo's summary. Calls in it are copies of earlier ones, whose results stay."""
    texts = (block.text for block in blocks_of(record) if isinstance(block, Text))
    said = (part.text for words in texts for part in parted(words) if not part.injected)
    return Summary(
        id=id,
        marker=marker,
        text="\n".join(filter(str.strip, said)).strip(),
        finish="end_turn",
        at=at(record.get("ts")),
    )


def blocks_of(told: Json) -> Iterator[Block]:
    """Read what a message holds, whoever wrote it."""
    if told.get("type") == "reasoning":
        yield parts.reasoning(told)
        return
    if thought := text(told.get("reasoning_content")):
        yield Reasoning(thought)
    for part in blocks.parts(told.get("content")):
        one = mapping(part)
        match one.get("type"):
            case "tool-call":
                call = text(one.get("toolCallId"))
                yield ToolCall(call, text(one.get("toolName")), one.get("input"))
            case "tool-result":
                output = mapping(one.get("output"))
                failed = text(output.get("type")).startswith("error")
                value = output.get("value", one.get("output"))
                yield parts.result(text(one.get("toolCallId")), value, is_error=failed)
            case "image" if isinstance(one.get("image"), str):
                yield parts.linked(one["image"], text(one.get("mediaType")) or "image/*")
            case "thoughtSignature":
                pass
            case _:
                yield from parts.read([part])


def answered(told: Json) -> list[str]:
    """Name the calls whose results a message holds."""
    found = [mapping(part) for part in blocks.parts(told.get("content"))]
    ids = (text(one.get("tool_use_id")) or text(one.get("toolCallId")) for one in found)
    return [id for id in ids if id]


def _error(said: Sequence[Block]) -> str:
    words = next((b.text.rstrip() for b in reversed(said) if isinstance(b, Text)), "")
    return next((error for end, error in _INTERRUPTED.items() if words.endswith(end)), "")


def _usage(metrics: Any, shown: Any) -> Usage | None:
    own, beside = mapping(metrics), mapping(shown)
    counts = Usage(
        input=count(own.get("prompt")) or count(beside.get("tokensIn")),
        output=count(own.get("completion")) or count(beside.get("tokensOut")),
        cached=count(own.get("cached")) or count(beside.get("cacheReads")),
    )
    return counts if counts != Usage() else None
