"""Signatures of the thinking that the double issues.

A signature tells the text it was made for, where in its turn the block stood, and, for a model
that binds its thinking, what came before it. The key is fixed, so that what one server issued
counts with the next.
"""

import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

Json = dict[str, Any]

_KEY = b"thinking issued by the double"
_turns = itertools.count(1)


@dataclass(frozen=True)
class Seal:
    """What a signature says: block `place` of the `total` in turn `turn`, after `prefix`."""

    turn: int
    place: int
    total: int
    text: str
    prefix: str = ""


def digest(value: object) -> str:
    """Name a JSON value by its content; cache points are no part of it."""
    whole = json.dumps(_uncached(value), sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def prefix(body: Json, upto: int) -> str:
    """Name all that a request holds before the message at `upto`."""
    tools = body.get("toolConfig", {}).get("tools", [])
    return digest([body.get("system", []), tools, body.get("messages", [])[:upto]])


def issued(texts: Sequence[str], *, prefix: str = "", redacted: bool = False) -> list[Json]:
    """Issue one turn's thinking as Converse blocks."""
    turn = next(_turns)
    blocks: list[Json] = []
    for place, text in enumerate(texts):
        said = "" if redacted else text
        signature = _signed(Seal(turn, place, len(texts), digest(said), prefix))
        if redacted:
            data = base64.b64encode(signature.encode()).decode()
            blocks.append({"reasoningContent": {"redactedContent": data}})
        else:
            blocks.append(
                {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}
            )
    return blocks


def seal(block: Json) -> Seal | None:
    """Read the signature of a reasoning block; None where the double never made it."""
    signature = signature_of(block)
    claim, _, code = signature.partition(".")
    if not hmac.compare_digest(_code(claim).encode(), code.encode()):
        return None
    return Seal(**json.loads(base64.b64decode(claim)))


def text_of(block: Json) -> str:
    """Give the words of a reasoning block."""
    return block["reasoningContent"].get("reasoningText", {}).get("text", "")


def signature_of(block: Json) -> str:
    """Give what signs a reasoning block, or nothing."""
    reasoning: Json = block["reasoningContent"]
    if data := reasoning.get("redactedContent"):
        return base64.b64decode(data).decode(errors="replace")
    return reasoning.get("reasoningText", {}).get("signature") or ""


def _signed(seal: Seal) -> str:
    claim = base64.b64encode(json.dumps(asdict(seal)).encode()).decode()
    return f"{claim}.{_code(claim)}"


def _code(claim: str) -> str:
    made = hmac.digest(_KEY, claim.encode(errors="replace"), "sha256")
    return base64.b64encode(made).decode()


def _uncached(value: object) -> object:
    match value:
        case dict():
            return {key: _uncached(inner) for key, inner in cast("Json", value).items()}
        case list():
            inner = cast("list[object]", value)
            return [_uncached(part) for part in inner if not _is_cache_point(part)]
        case _:
            return value


def _is_cache_point(value: object) -> bool:
    return isinstance(value, dict) and "cachePoint" in value
