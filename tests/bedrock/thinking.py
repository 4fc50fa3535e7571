"""When a Claude model turns a request down for the thinking in its history.

Stricter than the service on purpose: edited text is refused in every signed block, and the latest
assistant message is checked whether thinking is on or off.
"""

from collections.abc import Iterator

from bedrock import signing
from bedrock.call import Call, Json, Place, content, kind
from bedrock.service import Fields

LEAST_BUDGET = 1_024
BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"


def type_not_taken(call: Call) -> Fields | None:
    named = call.fields.get("thinking", {}).get("type")
    return {"type": named} if named is not None and named not in call.model.thinking else None


def budget_too_small(call: Call) -> Fields | None:
    budget = _budget(call)
    return {} if budget is not None and budget < LEAST_BUDGET else None


def budget_takes_all(call: Call) -> Fields | None:
    budget, limit = _budget(call), call.limits.get("maxTokens")
    return {} if budget is not None and limit is not None and limit <= budget else None


def unsigned(call: Call) -> Fields | None:
    return _first(p for p in _reasoning(call) if not signing.signature_of(p.block))


def wrongly_signed(call: Call) -> Fields | None:
    """Find what was never issued; what was, and no longer says the same, only before the latest."""
    latest = call.latest_assistant
    return _first(p for p in _reasoning(call) if _forged(p.block) or (p.i != latest and _edited(p)))


def latest_modified(call: Call) -> Fields | None:
    """Find, in the latest assistant message, the first block that is not as it was issued."""
    held = [p for p in _reasoning(call) if p.i == call.latest_assistant]
    turn = next((seal.turn for p in held if (seal := signing.seal(p.block))), None)
    for place, p in enumerate(held):
        seal = signing.seal(p.block)
        if seal is None or seal.turn != turn or seal.place != place or _edited(p):
            return _at(p)
    if held and (seal := signing.seal(held[-1].block)) and seal.total > len(held):
        return _at(held[-1])
    return None


def not_first(call: Call) -> Fields | None:
    for i, blocks in _assistants(call):
        if any("reasoningContent" in block for block in blocks):
            first = kind(blocks[0])
            if first != "thinking":
                return {"i": i, "kind": first}
    return None


def lost_in_loop(call: Call) -> Fields | None:
    """Only thinking on a budget asks that the turn in progress opens with thinking."""
    at = call.final_assistant
    if call.thinking != "enabled" or at is None:
        return None
    first = next((kind(block) for block in content(call.messages[at])), "thinking")
    return {"i": at, "kind": first} if first != "thinking" else None


def final_while_disabled(call: Call) -> Fields | None:
    if call.thinking != "disabled":
        return None
    return _first(p for p in _reasoning(call) if p.i == call.final_assistant)


def moved(call: Call) -> Fields | None:
    """Find thinking of a model that binds it, behind another history than it was written in."""
    if not call.model.binds or _drops(call):
        return None
    expected: dict[int, int] = {}
    for p in _reasoning(call):
        seal = signing.seal(p.block)
        place = expected.get(p.i, 0)
        expected[p.i] = place + 1
        if seal and seal.prefix and seal.prefix != signing.prefix(call.body, p.i):
            return _at(p)
        if seal and seal.prefix and seal.place != place:
            return _at(p)
    return None


def last_in_message(call: Call) -> Fields | None:
    ends = ((i, blocks[-1]) for i, blocks in _assistants(call) if blocks)
    return next(({"i": i} for i, block in ends if "reasoningContent" in block), None)


def _budget(call: Call) -> int | None:
    thinking: Json = call.fields.get("thinking", {})
    return thinking.get("budget_tokens", 0) if thinking.get("type") == "enabled" else None


def _drops(call: Call) -> bool:
    binding: Json = call.fields.get("thinking", {}).get("block_binding", {})
    asked = binding.get("prefix_mismatch_behavior") == "drop_block"
    return asked and BINDING_CONTROLS in call.fields.get("anthropic_beta", [])


def _forged(block: Json) -> bool:
    return signing.seal(block) is None


def _edited(place: Place) -> bool:
    seal = signing.seal(place.block)
    return seal is not None and seal.text != signing.digest(signing.text_of(place.block))


def _reasoning(call: Call) -> Iterator[Place]:
    return call.blocks("reasoningContent")


def _assistants(call: Call) -> Iterator[tuple[int, list[Json]]]:
    for i, message in enumerate(call.messages):
        if message["role"] == "assistant":
            yield i, content(message)


def _first(places: Iterator[Place]) -> Fields | None:
    return next(map(_at, places), None)


def _at(place: Place) -> Fields:
    return {"i": place.i, "j": place.j}
