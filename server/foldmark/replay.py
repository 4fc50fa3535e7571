"""Messages as the dicts that a provider's API takes, ready to send.

No thinking, no signatures, no bytes of files. `preamble` is the summary of what came before; it
opens the first user message. `continued` says that another page comes before these messages; see
`turns.breaks` for where a page may end.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from foldmark.messages import Message, Text, ToolCall, ToolResult
from foldmark.transcripts.fields import dumps
from foldmark.turns import Part, Turn, turns

Json = dict[str, Any]

_LONGEST_OPENAI_ID = 40


def anthropic(
    messages: Iterable[Message], preamble: str = "", *, continued: bool = False
) -> list[Json]:
    """Write messages for Anthropic's Messages API."""
    told = turns(messages, preamble, continued=continued)
    return [
        {"role": turn.side, "content": [_anthropic(part) for part in turn.parts]} for turn in told
    ]


def converse(
    messages: Iterable[Message], preamble: str = "", *, continued: bool = False
) -> list[Json]:
    """Write messages for Amazon Bedrock's Converse API."""
    told = turns(messages, preamble, continued=continued)
    return [
        {"role": turn.side, "content": [_converse(part) for part in turn.parts]} for turn in told
    ]


def openai(
    messages: Iterable[Message], preamble: str = "", *, continued: bool = False
) -> list[Json]:
    """Write messages for OpenAI's chat completions, and whatever takes the same."""
    told = turns(messages, preamble, continued=continued, longest_id=_LONGEST_OPENAI_ID)
    return [message for turn in told for message in _openai(turn)]


def _anthropic(part: Part) -> Json:
    match part:
        case Text(text=words):
            return {"type": "text", "text": words}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
        case ToolResult():
            answer = {"type": "tool_result", "tool_use_id": part.call_id, "content": part.text}
            return answer | {"is_error": True} if part.is_error else answer


def _converse(part: Part) -> Json:
    match part:
        case Text(text=words):
            return {"text": words}
        case ToolCall():
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": part.input}}
        case ToolResult():
            answer = {"toolUseId": part.call_id, "content": [{"text": part.text}]}
            # Only some models take a status, so success, the default, goes without.
            return {"toolResult": answer | {"status": "error"} if part.is_error else answer}


def _openai(turn: Turn) -> Iterator[Json]:
    words = "\n\n".join(turn.texts) or None
    if turn.side == "assistant":
        calls = [_function(part) for part in turn.parts if isinstance(part, ToolCall)]
        message = {"role": "assistant", "content": words}
        yield message | {"tool_calls": calls} if calls else message
        return
    for part in turn.parts:
        if isinstance(part, ToolResult):
            yield {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
    if words:
        yield {"role": "user", "content": words}


def _function(call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": dumps(call.input)}
    return {"id": call.id, "type": "function", "function": function}
