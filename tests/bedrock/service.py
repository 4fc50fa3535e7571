"""When the account and the service itself turn a request down, before any model sees it.

A condition gives the fields of the message to refuse with, or None where all is well.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from bedrock.call import Call, Json, Place, cache_points, content
from bedrock.models import UNKNOWN

Fields = dict[str, object]

MOST_IMAGES = 20

_CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DOCUMENT_NAME = re.compile(r"(?!.* {2})[A-Za-z0-9 \-()\[\]_]+")


def unknown_model(call: Call) -> Fields | None:
    return {} if call.model is UNKNOWN else None


def no_profile(call: Call) -> Fields | None:
    bare = call.model.needs_profile and not call.address.profile
    return {"model": call.model_id} if bare and call.operation != "count-tokens" else None


def no_counting(call: Call) -> Fields | None:
    counts = call.model.counts_tokens and not call.address.profile
    return {} if call.operation == "count-tokens" and not counts else None


def no_messages(call: Call) -> Fields | None:
    return None if call.messages else {}


def empty_content(call: Call) -> Fields | None:
    return next(({"i": i} for i, m in enumerate(call.messages) if not content(m)), None)


def starts_without_user(call: Call) -> Fields | None:
    return {} if call.messages[0]["role"] != "user" else None


def same_role_twice(call: Call) -> Fields | None:
    roles = [message["role"] for message in call.messages]
    return {} if any(one == other for one, other in pairwise(roles)) else None


def blank_text(call: Call) -> Fields | None:
    if call.model.strict_text:
        return None
    return _first(p for p in call.blocks("text") if not p.block["text"].strip())


def no_tool_config(call: Call) -> Fields | None:
    used = any("toolUse" in p.block or "toolResult" in p.block for p in call.blocks())
    return {} if used and not call.body.get("toolConfig") else None


def unanswered_call(call: Call) -> Fields | None:
    for i, message in enumerate(call.messages):
        wanted = called(message)
        given = set(answered(call.messages[i + 1])) if i + 1 < len(call.messages) else set[str]()
        if missing := [id for id in wanted if id not in given]:
            return {"i": i + 1, "ids": ", ".join(missing)}
    return None


def result_without_call(call: Call) -> Fields | None:
    before: Json = {}
    for i, message in enumerate(call.messages):
        wanted, given = called(before), answered(message)
        if len(given) > len(wanted) or not set(given) <= set(wanted):
            return {"i": i}
        before = message
    return None


def error_without_content(call: Call) -> Fields | None:
    return _first(
        p
        for p in call.blocks("toolResult")
        if p.block["toolResult"].get("status") == "error" and not content(p.block["toolResult"])
    )


def result_not_an_object(call: Call) -> Fields | None:
    for place in call.blocks("toolResult"):
        for k, part in enumerate(content(place.block["toolResult"])):
            if "json" in part and not isinstance(part["json"], dict):
                return {"i": place.i, "j": place.j, "k": k}
    return None


def malformed_names(call: Call) -> Fields | None:
    wrong = list(_malformed_names(call))
    if not wrong:
        return None
    path, pattern = wrong[0]
    constraint = f"Member must satisfy regular expression pattern: {pattern.pattern}"
    return {"n": len(wrong), "path": path, "constraint": constraint}


def document_name(call: Call) -> Fields | None:
    named = (place.block["document"]["name"] for place in call.blocks("document"))
    return {} if any(not _DOCUMENT_NAME.fullmatch(name) for name in named) else None


def document_without_text(call: Call) -> Fields | None:
    for message in call.messages:
        kinds = {key for block in content(message) for key in block}
        if "document" in kinds and "text" not in kinds:
            return {}
    return None


def too_many_images(call: Call) -> Fields | None:
    shown = sum(1 for _ in call.blocks("image")) + sum(
        "image" in part
        for place in call.blocks("toolResult")
        for part in content(place.block["toolResult"])
    )
    return {} if shown > MOST_IMAGES else None


def cannot_cache(call: Call) -> Fields | None:
    return {} if not call.model.caches and cache_points(call.body) else None


def takes_no_reasoning(call: Call) -> Fields | None:
    """No model takes reasoning from the user, and some take it from nobody."""
    held = (p for p in call.blocks("reasoningContent"))
    return {} if any(not call.model.takes_reasoning or p.role == "user" for p in held) else None


def asks_too_much(call: Call) -> Fields | None:
    wanted, limit = call.limits.get("maxTokens", 0), call.model.output
    return {"limit": limit} if wanted > limit else None


def called(message: Json) -> list[str]:
    """List the ids of the tools that a message calls."""
    return [block["toolUse"]["toolUseId"] for block in content(message) if "toolUse" in block]


def answered(message: Json) -> list[str]:
    """List the ids of the calls that a message answers."""
    results = (block["toolResult"] for block in content(message) if "toolResult" in block)
    return [result["toolUseId"] for result in results]


def _malformed_names(call: Call) -> Iterator[tuple[str, re.Pattern[str]]]:
    for place in call.blocks():
        at = f"messages.{place.i + 1}.member.content.{place.j + 1}.member"
        for key in {"toolUse", "toolResult"} & place.block.keys():
            tool: Json = place.block[key]
            if not _CALL_ID.fullmatch(tool["toolUseId"]):
                yield f"{at}.{key}.toolUseId", _CALL_ID
            if key == "toolUse" and not _TOOL_NAME.fullmatch(tool["name"]):
                yield f"{at}.{key}.name", _TOOL_NAME
    config: Json = call.body.get("toolConfig", {})
    for i, tool in enumerate(config.get("tools", [])):
        if "toolSpec" in tool and not _TOOL_NAME.fullmatch(tool["toolSpec"]["name"]):
            yield f"toolConfig.tools.{i + 1}.member.toolSpec.name", _TOOL_NAME


def _first(places: Iterator[Place]) -> Fields | None:
    return next(({"i": place.i, "j": place.j} for place in places), None)
