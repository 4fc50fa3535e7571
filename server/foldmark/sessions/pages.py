"""Pages of history: whole messages, each page under a fixed number of characters.

Sizes are those of the JSON that is sent, escapes and keys included.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foldmark import render, replay, turns
from foldmark.messages import Block, Message, Text, ToolCall, ToolResult
from foldmark.sessions.log import Placed
from foldmark.transcripts.fields import dumps

Json = dict[str, Any]
Format = Callable[..., list[Json]]

FORMATS: dict[str, Format] = {
    "anthropic": replay.anthropic,
    "converse": replay.converse,
    "openai": replay.openai,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a page in text form: where it stands, and its size as JSON."""

    pos: int
    item: Json
    size: int

    @classmethod
    def of(cls, pos: int, item: Json) -> "Entry":
        """Measure an item."""
        return cls(pos, item, size(item) + 1)


@dataclass(frozen=True, slots=True)
class Page:
    """What fits: the items, and the position of the first message that did not."""

    items: list[Json]
    next: int | None


_SHORT = 20  # characters of a text that was shortened as far as it makes sense


def size(value: Any) -> int:
    """Count the characters of a value as JSON."""
    return len(dumps(value))


def of_text(entries: Sequence[Entry], room: int, after: int | None) -> Page:
    """Fill a page with text entries; the first one is cut to fit if it must be.

    `after` is where the page after this one begins if everything fits.
    """
    taken: list[Json] = []
    for entry in entries:
        if entry.size > room:
            if taken:
                return Page(taken, entry.pos)
            taken.append(shortened(entry.item, room))
            room = 0
            continue
        taken.append(entry.item)
        room -= entry.size
    return Page(taken, after)


def of_messages(
    placed: Sequence[Placed],
    room: int,
    after: int | None,
    form: str,
    preamble: str,
    *,
    continued: bool,
) -> Page:
    """Fill a page with messages in a provider's format.

    A page ends only where the next one may begin: roles alternate over all pages, and no call is
    parted from its result. The first such stretch is cut inside its messages if it is too long.
    """
    messages = [one.message for one in placed]
    cuts = [cut for cut in turns.cut_points(messages) if cut]
    ends = cuts if after is not None and cuts else [*cuts, len(messages)]

    def write(told: Sequence[Message]) -> list[Json]:
        return FORMATS[form](told, preamble, continued=continued)

    fitting = bisect_right(ends, room, key=lambda end: size(write(messages[:end])))
    end = ends[max(fitting - 1, 0)]
    items = write(messages[:end]) if fitting else _fitted(messages[:end], room, write)
    return Page(items, placed[end].pos if end < len(placed) else after)


def _fitted(
    messages: Sequence[Message], room: int, write: Callable[[list[Message]], list[Json]]
) -> list[Json]:
    """Shorten every long text alike until the whole is small enough.

    Where even short texts are too many, since one turn made so many calls, calls are left out
    together with their results, and a note says how many.
    """
    limit = room
    while limit > _SHORT:
        items = write([shorten(message, limit) for message in messages])
        if size(items) <= room:
            return items
        limit //= 2
    short = [shorten(message, _SHORT, note=False) for message in messages]
    ids = list(dict.fromkeys(call.id for message in messages for call in message.calls))
    fitting = bisect_right(
        range(len(ids) + 1), room, key=lambda kept: size(write(_with_calls(short, ids[:kept])))
    )
    return write(_with_calls(short, ids[: max(fitting - 1, 0)]))


def _with_calls(messages: Sequence[Message], kept: Sequence[str]) -> list[Message]:
    """Leave out the calls that are not kept, their results, and say so where they stood."""
    wanted = frozenset(kept)
    told: list[Message] = []
    for message in messages:
        left = [b for b in message.blocks if _call_of(b) is None or _call_of(b) in wanted]
        gone = sum(call.id not in wanted for call in message.calls)
        if gone:
            left.append(Text(f"[{gone} calls and their results left out; {_where(message)}]"))
        told.append(replace(message, blocks=tuple(left)))
    return told


def _call_of(block: Block) -> str | None:
    match block:
        case ToolCall(id=id) | ToolResult(call_id=id):
            return id
        case _:
            return None


def shorten(message: Message, limit: int, *, note: bool = True) -> Message:
    """Cut each text of a message to `limit` characters, head and tail, and say so."""
    blocks = tuple(_short(block, message, limit, note=note) for block in message.blocks)
    return replace(message, blocks=blocks)


def _short(block: Block, message: Message, limit: int, *, note: bool) -> Block:
    def cut(words: str) -> str:
        if not note:
            return f"{words[:limit]}..."
        reads = f"[shortened: {len(words):,} characters in all; {_where(message)}]"
        return f"{render.clip(words, limit)}\n{reads}"

    match block:
        case Text(text=words) if len(words) > limit:
            return replace(block, text=cut(words))
        case ToolResult(text=words) if len(words) > limit:
            return replace(block, text=cut(words))
        case ToolCall(input=given) if len(words := dumps(given)) > limit:
            return replace(block, input={"shortened": cut(words)})
        case _:
            return block


def _where(message: Message) -> str:
    return f"get_history(message_id={message.id!r}) reads all"


def shortened(item: Json, room: int) -> Json:
    """Cut an entry's text so that the entry fits, and mark it."""
    text = str(item["text"])
    marked = {**item, "text": "", "truncated": True, "chars": len(text)}
    left = max(room - size(marked) - 1, 0)
    kept = text[:left]
    while kept and size(kept) - 2 > left:
        kept = kept[: len(kept) - max(1, (size(kept) - 2 - left) // 6 + 1)]
    return {**marked, "text": kept}
