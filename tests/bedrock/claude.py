"""When a model turns a request down for anything but thinking."""

import re
from collections.abc import Iterator

from bedrock.call import Call, Json, cache_points, content, lone_surrogate, tokens
from bedrock.service import Fields, answered, called

MOST_CACHE_POINTS = 4

_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def not_json(call: Call) -> Fields | None:
    at = lone_surrogate(call.raw)
    return {"n": at + 1, "m": at} if at is not None else None


def sampling(call: Call) -> Fields | None:
    given = [name for name, key in _SAMPLING.items() if key in call.limits or name in call.fields]
    if not given:
        return None
    if call.model.sampling == "none":
        return {"text": f"`{given[0]}` is deprecated for this model."}
    heat = call.limits.get("temperature", call.fields.get("temperature", 1))
    if call.thinking != "disabled" and heat != 1:
        return {"text": "`temperature` may only be set to 1 when thinking is enabled."}
    if call.model.sampling == "one" and {"temperature", "top_p"} <= set(given):
        return {
            "text": "`temperature` and `top_p` cannot both be specified for this model. "
            "Please use only one."
        }
    return None


def no_prefill(call: Call) -> Fields | None:
    return {} if call.last["role"] == "assistant" and not call.model.prefill else None


def trailing_space(call: Call) -> Fields | None:
    blocks = content(call.last)
    text = blocks[-1].get("text", "") if blocks and call.last["role"] == "assistant" else ""
    return {} if text and text != text.rstrip() else None


def empty_text(call: Call) -> Fields | None:
    return {} if any(text == "" for text in _texts(call)) else None


def whitespace_text(call: Call) -> Fields | None:
    return {} if any(text.isspace() for text in _texts(call)) else None


def hollow_message(call: Call) -> Fields | None:
    """A cache point alone is no content."""
    for i, message in enumerate(call.messages):
        optional = i == len(call.messages) - 1 and message["role"] == "assistant"
        if not optional and all("cachePoint" in block for block in content(message)):
            return {"i": i}
    return None


def unanswered_call(call: Call) -> Fields | None:
    for i, message in enumerate(call.messages[:-1]):
        given = answered(call.messages[i + 1])
        if missing := [id for id in called(message) if id not in given]:
            return {"i": i, "ids": ", ".join(missing)}
    return None


def result_without_call(call: Call) -> Fields | None:
    for place in call.blocks("toolResult"):
        id: str = place.block["toolResult"]["toolUseId"]
        if not place.i or id not in called(call.messages[place.i - 1]):
            return {"i": place.i, "j": place.j, "id": id}
    return None


def call_id(call: Call) -> Fields | None:
    for place in call.blocks("toolUse"):
        if not _TOOL_ID.fullmatch(place.block["toolUse"]["toolUseId"]):
            return {"i": place.i, "j": place.j}
    return None


def too_many_cache_points(call: Call) -> Fields | None:
    held = cache_points(call.body)
    return {"n": held} if held > MOST_CACHE_POINTS else None


def too_long(call: Call) -> Fields | None:
    held = tokens(call.body)
    if call.operation == "count-tokens" or held <= call.context:
        return None
    return {"text": call.model.overflow.format(n=held, max=call.context)}


_SAMPLING = {"temperature": "temperature", "top_p": "topP", "top_k": "topK"}


def _texts(call: Call) -> Iterator[str]:
    for place in call.blocks():
        inner: list[Json] = content(place.block.get("toolResult", {}))
        yield from (block["text"] for block in [place.block, *inner] if "text" in block)
