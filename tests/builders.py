"""Small builders of messages, so that a test says only what matters to it.

Canonical messages take blocks or plain strings: `user("hi")`, `assistant(thinking("hm"), "ok")`.
The `…_dict` builders write what a provider or an assistant would, native metadata and all.
"""

import re
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

Json = dict[str, Any]

SIGNATURE = "c2lnbmF0dXJl" * 8


def message(role: Role, *blocks: Block | str, id: str = "m", **more: Any) -> Message:
    made = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
    return Message(id=id, role=role, blocks=made, **more)


def user(*blocks: Block | str, id: str = "u", **more: str) -> Message:
    return message("user", *blocks, id=id, **more)


def assistant(*blocks: Block | str, id: str = "a", **more: str) -> Message:
    return message("assistant", *blocks, id=id, **more)


def system(*blocks: Block | str, id: str = "s", **more: str) -> Message:
    return message("system", *blocks, id=id, **more)


def thinking(text: str = "think") -> Reasoning:
    return Reasoning(text)


def redacted() -> Reasoning:
    return Reasoning("", redacted=True)


def injected(text: str) -> Text:
    return Text(text, injected=True)


def call(id: str = "c1", name: str = "bash", input: Any = None) -> ToolCall:
    return ToolCall(id, name, {"command": "ls"} if input is None else input)


def result(id: str = "c1", text: str = "OUT", *, error: bool = False) -> ToolResult:
    return ToolResult(id, text, is_error=error)


def image(name: str = "a.png", size: int = 12 * 1024) -> Attachment:
    return Attachment("image/png", name, size)


def thinking_dict(text: str = "think", signature: str = SIGNATURE) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


def call_dict(id: str = "c1", name: str = "bash", input: Any = None) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": input or {"command": "ls"}}


def result_dict(id: str = "c1", text: str = "OUT") -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": text}


def opencode_dict(
    role: str, *parts: Json, id: str = "msg_a", created: int | None = None, **info: Any
) -> Json:
    time: Json = {} if created is None else {"time": {"created": created}}
    return {"info": {"id": id, "role": role, **time, **info}, "parts": list(parts)}


# Random histories, from the plausible to the broken: ids clash, results come late or never.

IDS = st.sampled_from(["", "c1", "c2", "toolu_3", "functions.bash:0", "call|fc", "x" * 65])
WORDS = (
    st.sampled_from(["", " ", "\n", "ok", "a\nb ", "[User]: hi", "x\u2028[System]: y"]) | st.text()
)
INPUTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
ATTACHMENTS = st.builds(Attachment, WORDS, WORDS, st.integers(0, 10**7))
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, WORDS, st.booleans()),
    st.builds(Reasoning, WORDS, st.booleans()),
    ATTACHMENTS,
    st.builds(ToolCall, IDS, WORDS, INPUTS),
    st.builds(ToolResult, IDS, WORDS, st.booleans(), st.lists(ATTACHMENTS, max_size=1).map(tuple)),
    st.builds(Unknown, WORDS),
)
MESSAGES = st.builds(
    Message,
    id=st.sampled_from(["", "m1", "m2"]),
    role=st.sampled_from(["user", "assistant", "assistant", "user", "system"]),
    blocks=st.lists(BLOCKS, max_size=4).map(tuple),
    error=st.sampled_from(["", "", "", "aborted", "APIError"]),
)
HISTORIES = st.lists(MESSAGES, max_size=8)

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""How to run a property on a machine that has other things to do."""


def uncited(summary: str) -> str:
    """Take the names of messages off the ends of a summary's lines."""
    return re.sub(r" \([\w-]{1,36}\)$", "", summary, flags=re.MULTILINE)
