"""InvokeModel, as far as the rules need it: Claude's own messages, read and written."""

from typing import Any

Json = dict[str, Any]


def converse(body: Json) -> Json:
    """Say a request of Claude's own kind in the words of Converse."""
    limits = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP"}
    extra = ("thinking", "top_k", "anthropic_beta")
    tools: list[Json] = body.get("tools", [])
    return {
        "system": _texts(body.get("system", [])),
        "messages": [
            {"role": m["role"], "content": list(map(_block, _texts(m["content"])))}
            for m in body.get("messages", [])
        ],
        "inferenceConfig": {limits[key]: body[key] for key in limits if key in body},
        "additionalModelRequestFields": {key: body[key] for key in extra if key in body},
        "toolConfig": {"tools": [{"toolSpec": tool} for tool in tools]},
    }


def answer(whole: Json) -> Json:
    """Say an answer of Converse in Claude's own words."""
    usage = whole["usage"]
    return {
        "type": "message",
        "role": "assistant",
        "content": list(map(_native, whole["output"]["message"]["content"])),
        "stop_reason": whole.get("stopReason"),
        "usage": {"input_tokens": usage["inputTokens"], "output_tokens": usage["outputTokens"]},
    }


def _texts(held: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": held}] if isinstance(held, str) else held


def _block(block: Json) -> Json:
    match block:
        case {"type": "text", "text": text}:
            return {"text": text}
        case {"type": "thinking", "thinking": text}:
            signature = block.get("signature", "")
            return {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}
        case {"type": "redacted_thinking", "data": data}:
            return {"reasoningContent": {"redactedContent": data}}
        case {"type": "tool_use", "id": id, "name": name, "input": made}:
            return {"toolUse": {"toolUseId": id, "name": name, "input": made}}
        case {"type": "tool_result", "tool_use_id": id}:
            held = [part for part in _texts(block.get("content", [])) if "text" in part]
            return {"toolResult": {"toolUseId": id, "content": [{"text": p["text"]} for p in held]}}
        case _:
            return {str(block.get("type")): block}


def _native(block: Json) -> Json:
    match block:
        case {"text": text}:
            return {"type": "text", "text": text}
        case {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case {"reasoningContent": {"redactedContent": data}}:
            return {"type": "redacted_thinking", "data": data}
        case {"toolUse": {"toolUseId": id, "name": name, "input": made}}:
            return {"type": "tool_use", "id": id, "name": name, "input": made}
        case _:
            raise ValueError(f"an answer holds no such block: {block!r}")
