"""The canonical values: what every transcript becomes and every rule works on.

Values only. Ids of rows, positions and files are a concern of the store. No value holds native
metadata (signatures, encrypted content, item ids): readers leave it in the original record, so
nothing built from these values can replay it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

CHARS_PER_TOKEN = 3.3
"""Real coding transcripts hold 3.1 to 3.5 characters a token (measured on 21 public sessions)."""

ATTACHMENT_TOKENS = 1500
"""What an image costs a model at the least; its bytes say nothing about it."""

Role: TypeAlias = Literal["user", "assistant", "system"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words. `injected` marks words that a program put into a user's message."""

    text: str
    injected: bool = False


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Thinking in any provider's form. `redacted` reasoning has no readable text."""

    text: str
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or document; `size` in bytes, 0 when unknown. The bytes stay in the log."""

    media_type: str
    name: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the assistant made; `input` is whatever JSON value it passed."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered to the call `call_id`."""

    call_id: str
    text: str
    is_error: bool = False
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A block of a kind that no reader knows; `kind` is the name it came under."""

    kind: str


Block: TypeAlias = Text | Reasoning | Attachment | ToolCall | ToolResult | Unknown


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as a provider billed them for one answer, under the names it counts by.

    Whether `input` contains what was `cached` differs between providers; they are told as found.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One turn item. `at` is an ISO 8601 time, empty when the transcript gives none.

    `error` names why an assistant's turn is not an answer: "aborted" when a person stopped it
    (what it holds still counts), anything else when the provider failed.
    """

    id: str
    role: Role
    blocks: tuple[Block, ...]
    at: str = ""
    model: str = ""
    error: str = ""
    usage: Usage | None = None

    @property
    def prompt(self) -> str:
        """What a person typed in this message, empty for anything else."""
        if self.role != "user":
            return ""
        typed = (b.text for b in self.blocks if isinstance(b, Text) and not b.injected)
        return "\n".join(text for text in typed if text.strip()).strip()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in this message, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in this message, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolResult))


@dataclass(frozen=True, slots=True)
class Marker:
    """A compaction was attempted here. `first_kept` is the id of the tail's first message."""

    id: str
    first_kept: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The answer to the marker `marker`; see `boundary.stands` for when it is usable.

    `finish` is how the summarizer ended, empty when it never did; `error` is what went wrong.
    """

    id: str
    marker: str
    text: str
    finish: str = ""
    error: str = ""
    tool_call: bool = False
    at: str = ""


Entry: TypeAlias = Message | Marker | Summary


def tokens(chars: int) -> int:
    """Estimate the tokens in so many characters."""
    return round(chars / CHARS_PER_TOKEN)


def _length(value: Any) -> int:
    try:
        return len(str(value))
    except RecursionError:  # nested so deep that nobody reads it
        return 0


def size(blocks: Iterable[Block]) -> int:
    """Count the characters that a model would read; an attachment counts as its token cost."""
    total = 0
    for block in blocks:
        match block:
            case Text(text=text) | Reasoning(text=text):
                total += len(text)
            case ToolCall():
                total += len(block.name) + _length(block.input)
            case ToolResult():
                total += len(block.text) + size(block.attachments)
            case Attachment():
                total += round(ATTACHMENT_TOKENS * CHARS_PER_TOKEN)
            case Unknown():
                pass
    return total
