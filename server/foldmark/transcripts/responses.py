"""Items of OpenAI's Responses API that are no messages: reasoning, calls and their outputs."""

from collections.abc import Iterator

from foldmark.messages import Block, ToolCall, Unknown
from foldmark.transcripts import parts
from foldmark.transcripts.fields import text
from foldmark.transcripts.record import Json


def item(item: Json) -> Iterator[Block]:
    """Read one item; a call that OpenAI answered itself comes with its result."""
    call_id = text(item.get("call_id")) or text(item.get("id"))
    name = text(item.get("name"))
    match item.get("type"):
        case "reasoning":
            yield parts.reasoning(item)
        case "function_call":
            space = text(item.get("namespace")).rstrip("_")
            name = f"{space}__{name}" if space else name
            yield ToolCall(call_id, name, parts.arguments(item.get("arguments")))
        case "custom_tool_call":
            yield ToolCall(call_id, name, item.get("input"))
        case "local_shell_call" | "shell_call":
            yield ToolCall(call_id, "shell", item.get("action"))
        case "mcp_call":  # made and answered on OpenAI's side
            yield ToolCall(call_id, name, parts.arguments(item.get("arguments")))
            answer = item.get("error") or item.get("output")
            yield parts.result(call_id, answer, is_error=bool(item.get("error")))
        case str(kind) if kind.endswith("_call_output"):
            yield parts.result(call_id, item.get("output"))
        case kind:
            yield Unknown(text(kind))
