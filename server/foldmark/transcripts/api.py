"""Messages as the provider APIs take them, handed over by the caller instead of read from a file.

Six shapes are told apart: Anthropic Messages, Bedrock Converse, OpenAI chat completions, OpenAI
Responses items, Gemini contents and opencode's `{info, parts}`. One list may mix them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from foldmark.errors import InvalidRequest
from foldmark.messages import Block, Message, Reasoning, Role, Summary, ToolCall
from foldmark.transcripts import parts, responses
from foldmark.transcripts.fields import items, mapping, name, text
from foldmark.transcripts.injected import told_apart
from foldmark.transcripts.lines import well_formed
from foldmark.transcripts.opencode import messages as opencode
from foldmark.transcripts.record import Json, Reader, Record, of_message

SHAPES = (
    "Anthropic {role, content}, Bedrock Converse {role, content}, OpenAI chat {role, content, "
    "tool_calls}, OpenAI Responses items {type, ...}, Gemini {role, parts}, opencode {info, parts}"
)

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "tool": "user",
    "function": "user",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
}
_OPENAI_ROLES = frozenset({"tool", "function", "system", "developer"})
_OPENAI_KEYS = frozenset(
    {"tool_calls", "function_call", "tool_call_id", "refusal"}
    | {"reasoning", "reasoning_content", "reasoning_details"}
)
_OPENAI_PARTS = frozenset({"image_url", "input_audio", "file", "refusal"})
_RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_RESPONSES_ENDS = ("_call", "_output", "_snapshot", "_approval_request", "_approval_response")
_RESPONSES_TYPES = frozenset({"reasoning", "compaction", "item_reference", "mcp_list_tools"})


def record(record: Json, raw: bytes) -> Record:
    """Read one message for the log; its place in the list names it, unless it names itself."""
    if shape(record) == "opencode":
        return opencode.record(record, raw)
    built = message("", [record])
    return of_message(built, Record("message", "", raw))


def message(id: str, records: Sequence[Json]) -> Message:
    """Build the message that these records hold, oldest first."""
    sound = [_sound(record) for record in records]
    first = sound[0]
    if shape(first) == "opencode":
        return opencode.message(first, id)
    return Message(
        id=id,
        role=_role(first),
        blocks=tuple(block for record in sound for block in _told(record)),
        at=name(first.get("timestamp")) or name(first.get("created_at")),
        model=text(first.get("model")),
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary that opencode wrote; the other shapes have none of their own."""
    return opencode.summary(_sound(record), marker, id)


def _told(record: Json) -> Iterator[Block]:
    found = _blocks(record)
    return told_apart(found) if _role(record) == "user" else found


def shape(record: Json) -> str:
    """Name the shape of a message, empty when it has none that is known.

    A plain `{role, content: "..."}` is the same in several; it counts as "anthropic".
    """
    if isinstance(record.get("info"), Mapping) and isinstance(record.get("parts"), list):
        return "opencode"
    kind, role = text(record.get("type")), text(record.get("role"))
    if kind in _RESPONSES_TYPES or kind.endswith(_RESPONSES_ENDS):
        return "responses"
    if "content" not in record and isinstance(record.get("parts"), list):
        return "gemini" if role in _ROLES or record.get("role") is None else ""
    if role not in _ROLES or kind not in ("", "message"):
        return ""
    if role in _OPENAI_ROLES or not _OPENAI_KEYS.isdisjoint(record):
        return "openai"
    return _shape_of_content(record, kind)


def check(messages: Sequence[Any]) -> None:
    """Refuse a list in which something is no message of a known shape.

    Raises:
        InvalidRequest: It names the first such place.

    """
    for position, record in enumerate(messages):
        if isinstance(record, Mapping) and shape(cast("Json", record)):
            continue
        found = (
            f"an object with the keys {sorted(map(str, cast('Json', record)))[:8]!r}"
            if isinstance(record, Mapping)
            else f"a value of type {type(record).__name__}"
        )
        raise InvalidRequest(
            f"messages[{position}] is {found}, which is no message of a known shape, so nothing "
            f"was stored. Known shapes: {SHAPES}. Correct or leave out that item and call again."
        )


def _sound(record: Json) -> Json:
    try:
        return well_formed(record)
    except RecursionError:  # what is nested so deep is no text
        return record


def _shape_of_content(record: Json, kind: str) -> str:
    content = [mapping(part) for part in items(record.get("content")) if isinstance(part, Mapping)]
    kinds = {text(part.get("type")) for part in content}
    if kinds & _RESPONSES_PARTS:
        return "responses"
    if kinds & _OPENAI_PARTS:
        return "openai"
    if "" in kinds:
        return "converse"
    # Anthropic's own answers say "message" too, and why they stopped.
    return "responses" if kind and not kinds and "stop_reason" not in record else "anthropic"


def _role(record: Json) -> Role:
    kind = text(record.get("type"))
    if kind.endswith("_output"):
        return "user"
    if kind not in ("", "message"):
        return "assistant"
    return _ROLES.get(text(record.get("role")), "user")


def _blocks(record: Json) -> Iterator[Block]:
    match shape(record):
        case "gemini":
            yield from parts.read(record.get("parts"))
        case "responses" if text(record.get("type")) not in ("", "message"):
            yield from responses.item(record)
        case _ if text(record.get("role")) in ("tool", "function"):
            call_id = text(record.get("tool_call_id")) or text(record.get("name"))
            failed = record.get("is_error") is True
            yield parts.result(call_id, record.get("content"), is_error=failed)
        case _:
            yield from _openai_reasoning(record)
            yield from parts.read(record.get("content"))
            yield from parts.read(text(record.get("refusal")) or None)
            yield from _openai_calls(record)


def _openai_reasoning(record: Json) -> Iterator[Reasoning]:
    """Read the reasoning beside the content, which gateways give up to three times over."""
    details = [mapping(part) for part in items(record.get("reasoning_details"))]
    told = "".join(text(part.get("text")) or text(part.get("summary")) for part in details)
    given = record.get("reasoning")
    summary = parts.reasoning(mapping(given)).text
    tellings = (text(record.get("reasoning_content")), text(given), told, summary)
    words = next(filter(str.strip, tellings), "")
    if words:
        yield Reasoning(words)
    elif details or given:
        yield Reasoning("", redacted=True)


def _openai_calls(record: Json) -> Iterator[ToolCall]:
    for call in map(mapping, items(record.get("tool_calls"))):
        made = mapping(call.get("function")) or mapping(call.get("custom"))
        given = made.get("arguments") if "arguments" in made else made.get("input")
        yield ToolCall(text(call.get("id")), text(made.get("name")), parts.arguments(given))
    if made := mapping(record.get("function_call")):  # before there were ids
        name = text(made.get("name"))
        yield ToolCall(name, name, parts.arguments(made.get("arguments")))


READER = Reader(assistant="messages", places=(), message=message, summary=summary)
"""Message dicts of any known shape, each a record and a message of its own."""
