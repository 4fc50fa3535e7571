"""One call as the rules see it, whatever operation it came by."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from bedrock.models import Address, Model

Json = dict[str, Any]
Operation = Literal["converse", "converse-stream", "count-tokens", "invoke"]

CHARS_PER_TOKEN = 3.3


class Place(NamedTuple):
    """A block, with the message that it stands in."""

    i: int
    j: int
    role: str
    block: Json


@dataclass(frozen=True)
class Call:
    """A request in the shape of Converse; `raw` is what came over the wire."""

    operation: Operation
    model_id: str
    address: Address
    body: Json
    raw: bytes
    context: int

    @property
    def model(self) -> Model:
        return self.address.model

    @property
    def messages(self) -> list[Json]:
        return self.body.get("messages") or []

    @property
    def last(self) -> Json:
        return self.messages[-1] if self.messages else {"role": "", "content": []}

    @property
    def fields(self) -> Json:
        return self.body.get("additionalModelRequestFields") or {}

    @property
    def limits(self) -> Json:
        return self.body.get("inferenceConfig") or {}

    @property
    def thinking(self) -> str:
        """The type of thinking in force, named or not."""
        return self.fields.get("thinking", {}).get("type") or self.model.omitted

    @property
    def latest_assistant(self) -> int | None:
        roles = [message["role"] for message in self.messages]
        return len(roles) - 1 - roles[::-1].index("assistant") if "assistant" in roles else None

    @property
    def final_assistant(self) -> int | None:
        """The assistant message that is last, or that only its own tool results follow."""
        at = self.latest_assistant
        if at is None or at == len(self.messages) - 1:
            return at
        answered = at == len(self.messages) - 2 and any(
            "toolResult" in b for b in content(self.last)
        )
        return at if answered else None

    def blocks(self, kind: str = "") -> Iterator[Place]:
        """Give all blocks, or those of one kind."""
        for i, message in enumerate(self.messages):
            for j, block in enumerate(content(message)):
                if not kind or kind in block:
                    yield Place(i, j, message["role"], block)


def content(message: Json) -> list[Json]:
    return message.get("content") or []


def kind(block: Json) -> str:
    """Name a block as Claude's own messages do."""
    names = {
        "toolUse": "tool_use",
        "toolResult": "tool_result",
        "reasoningContent": "thinking",
    }
    return next((names.get(key, key) for key in block), "")


def tokens(value: object) -> int:
    """Estimate the tokens of a request or of an answer.

    It is the characters of all the text there is divided by 3.3, rounded up: near enough to tell
    what fits from what does not. Images and documents count nothing.
    """
    return -int(-_characters(value) // CHARS_PER_TOKEN)


def cache_points(value: object) -> int:
    """Count the cache points in a request, tools and tool results among them."""
    if isinstance(value, dict):
        held = cast("Json", value)
        return ("cachePoint" in held) + sum(map(cache_points, held.values()))
    return sum(map(cache_points, cast("list[Any]", value))) if isinstance(value, list) else 0


def lone_surrogate(raw: bytes) -> int | None:
    """Find the first half of a surrogate pair that stands without the other half."""
    if not re.search(rb"\\u[dD][89a-fA-F]", raw):
        return None
    text = raw.decode()
    for found in _ESCAPE.finditer(text):
        if re.match(r"\\u[dD][89a-fA-F]", found[0]) and len(found[0]) == 6:
            return found.end()
    return None


_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)


def _characters(value: object) -> int:
    match value:
        case str():
            return len(value)
        case dict():
            held = cast("Json", value)
            return sum(_characters(v) for key, v in held.items() if key not in _UNCOUNTED)
        case list():
            return sum(map(_characters, cast("list[Any]", value)))
        case _:
            return 0


_UNCOUNTED = {"bytes", "signature", "redactedContent", "additionalModelRequestFields", "role"}
