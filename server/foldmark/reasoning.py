"""The reasoning-stripping converter: nothing leaves as thinking, whatever the model.

A provider takes its own thinking back only unchanged, signature and all, and refuses everything
else. So no thinking is ever sent back. There is no model argument: a rule that asks which model
will read is a rule that can be wrong for one of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

from foldmark.messages import Block, Message, Reasoning, Text, Unknown

LABEL = "[Reasoning]: "

Readable: TypeAlias = Literal["label", "drop"]


def strip(message: Message, *, readable: Readable = "label") -> Message | None:
    """Make readable reasoning plain text and leave out what no model can read.

    None stands for a message with nothing left to say: it was empty, its provider failed, or a
    person stopped it while it was still thinking.
    """
    if message.error not in ("", "aborted"):
        return None
    kept = [block for block in message.blocks if _is_readable(block)]
    if message.error and all(isinstance(block, Reasoning) for block in kept):
        return None
    if readable == "drop":
        kept = [block for block in kept if not isinstance(block, Reasoning)]
    return replace(message, blocks=tuple(_plain(block) for block in kept)) if kept else None


def strip_all(messages: Iterable[Message], *, readable: Readable = "label") -> Iterator[Message]:
    """Strip each message and leave out those with nothing left."""
    for message in messages:
        if (stripped := strip(message, readable=readable)) is not None:
            yield stripped


def _is_readable(block: Block) -> bool:
    match block:
        case Unknown() | Reasoning(redacted=True):
            return False
        case Text(text=words) | Reasoning(text=words):
            return bool(words.strip())
        case _:
            return True


def _plain(block: Block) -> Block:
    return Text(LABEL + block.text.strip()) if isinstance(block, Reasoning) else block
