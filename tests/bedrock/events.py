"""Answers on the wire: the JSON of Converse, and the frames of its event stream."""

import json
import struct
import uuid
import zlib
from collections.abc import Iterator
from typing import Any

from bedrock import signing
from bedrock.call import Call, tokens
from bedrock.outcomes import Answer

Json = dict[str, Any]

STREAM_TYPE = "application/vnd.amazon.eventstream"

_STRING = 7
_PIECE = 40


def message(answer: Answer, call: Call) -> list[Json]:
    """Make the content blocks of an answer, its thinking signed for this call."""
    bound = signing.prefix(call.body, len(call.messages)) if call.model.binds else ""
    blocks = signing.issued(answer.thoughts, prefix=bound, redacted=answer.redacted)
    if answer.text:
        blocks.append({"text": answer.text})
    if answer.tool_use is not None:
        made = {"toolUseId": f"tooluse_{uuid.uuid4().hex[:22]}"}
        blocks.append({"toolUse": made | answer.tool_use})
    return blocks


def usage(answer: Answer, call: Call, blocks: list[Json]) -> Json:
    counted = {"inputTokens": tokens(call.body), "outputTokens": tokens(blocks)}
    counted |= answer.usage or {}
    return {"totalTokens": counted["inputTokens"] + counted["outputTokens"]} | counted


def whole(answer: Answer, call: Call) -> Json:
    """Make the body that Converse gives."""
    blocks = message(answer, call)
    body: Json = {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "usage": usage(answer, call, blocks),
        "metrics": {"latencyMs": 1},
    }
    return body if answer.stop is None else body | {"stopReason": answer.stop}


def frames(answer: Answer, call: Call) -> Iterator[bytes]:
    """Make the events that ConverseStream gives."""
    blocks = message(answer, call)
    yield event("messageStart", {"role": "assistant"})
    for index, block in enumerate(blocks):
        at = {"contentBlockIndex": index}
        if "toolUse" in block:
            start = {key: block["toolUse"][key] for key in ("toolUseId", "name")}
            yield event("contentBlockStart", at | {"start": {"toolUse": start}})
        for delta in _deltas(block):
            yield event("contentBlockDelta", at | {"delta": delta})
        yield event("contentBlockStop", at)
    if answer.stop is not None:
        yield event("messageStop", {"stopReason": answer.stop})
        counted = usage(answer, call, blocks)
        yield event("metadata", {"usage": counted, "metrics": {"latencyMs": 1}})


def event(kind: str, payload: Json) -> bytes:
    return frame({":event-type": kind, ":message-type": "event"}, payload)


def exception(code: str, text: str) -> bytes:
    return frame({":exception-type": code, ":message-type": "exception"}, {"message": text})


def frame(headers: dict[str, str], payload: Json) -> bytes:
    """Pack one frame: lengths, their checksum, headers, payload, and the checksum of it all."""
    typed = {**headers, ":content-type": "application/json"}
    packed = b"".join(_header(name, value) for name, value in typed.items())
    body = json.dumps(payload).encode()
    lengths = struct.pack("!II", len(packed) + len(body) + 16, len(packed))
    checked = lengths + struct.pack("!I", zlib.crc32(lengths)) + packed + body
    return checked + struct.pack("!I", zlib.crc32(checked))


def corrupt(frame: bytes) -> bytes:
    """Spoil the checksum at the end of a frame."""
    return frame[:-1] + bytes([frame[-1] ^ 0xFF])


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", _STRING, len(text)) + text


def _deltas(block: Json) -> Iterator[Json]:
    match block:
        case {"text": str(text)}:
            for piece in _pieces(text):
                yield {"text": piece}
        case {"toolUse": {"input": made}}:
            for piece in _pieces(json.dumps(made)):
                yield {"toolUse": {"input": piece}}
        case {"reasoningContent": {"reasoningText": {"text": str(text), "signature": signature}}}:
            for piece in _pieces(text):
                yield {"reasoningContent": {"text": piece}}
            yield {"reasoningContent": {"signature": signature}}
        case {"reasoningContent": {"redactedContent": str(data)}}:
            yield {"reasoningContent": {"redactedContent": data}}
        case _:
            raise ValueError(f"an answer holds no such block: {block!r}")


def _pieces(text: str) -> Iterator[str]:
    """Cut a text as a model would stream it, though never into more than some 50 pieces."""
    size = max(_PIECE, len(text) // 50)
    for at in range(0, len(text), size):
        yield text[at : at + size]
