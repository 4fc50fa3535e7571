"""Pages of history: whole messages, each page under a fixed number of characters.

Sizes are those of the JSON that is sent, escapes and keys included.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
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
_ROOMY = 200  # characters from which on head and tail make sense


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
    ends = turns.breaks(messages)
    if after is None or not ends:
        ends.append(len(messages))

    def write(told: Sequence[Message]) -> list[Json]:
        return FORMATS[form](told, preamble, continued=continued)

    def upto(end: int) -> list[Message]:
        return turns.bridged(messages, end)

    fitting = bisect_right(ends, room, key=lambda end: size(write(upto(end))))
    end = ends[max(fitting - 1, 0)]
    items = write(upto(end)) if fitting else _fitted(upto(end), room, write)
    return Page(items, placed[end].pos if end < len(placed) else after)


def _fitted(
    messages: Sequence[Message], room: int, write: Callable[[list[Message]], list[Json]]
) -> list[Json]:
    """Shorten every long text alike until the whole is small enough.

    Where even short texts are too many, since one turn made so many calls, calls are left out
    together with their results, and a note says how many.
    """
    limit = room
    while limit >= _SHORT:
        items = write([shorten(message, limit) for message in messages])
        if size(items) <= room:
            return items
        limit = limit * 3 // 4
    short = [shorten(message, _SHORT) for message in messages]
    calls = sum(len(message.calls) for message in messages)
    fitting = bisect_right(
        range(calls + 1), room, key=lambda kept: size(write(_with_calls(short, kept)))
    )
    return write(_with_calls(short, max(fitting - 1, 0)))


def _with_calls(messages: Sequence[Message], kept: int) -> list[Message]:
    """Keep the first calls and their results; say where others stood, on both sides."""
    made = [(call.id, at) for message in messages for at, call in _numbered(message.calls)]
    wanted = frozenset(made[:kept])
    told: list[Message] = []
    seen: Counter[str] = Counter()
    noted = False
    for message in messages:
        calls = [c for at, c in _numbered(message.calls) if (c.id, at) in wanted]
        results: list[ToolResult] = []
        for result in message.results:
            if (result.call_id, seen[result.call_id]) in wanted:
                results.append(result)
            seen[result.call_id] += 1
        rest = [b for b in message.blocks if not isinstance(b, ToolCall | ToolResult)]
        gone = len(message.calls) - len(calls) or len(message.results) - len(results)
        what = "calls" if message.calls else "results"
        if gone and (message.calls or not noted):
            noted = not message.calls
            rest.insert(0, Text(f"[{gone} {what} left out; {_where(message)}]"))
        told.append(replace(message, blocks=(*results, *rest, *calls)))
    return told


def _numbered(calls: Sequence[ToolCall]) -> list[tuple[int, ToolCall]]:
    """Number the calls of one id, since transcripts give one id to several."""
    seen: Counter[str] = Counter()
    numbered: list[tuple[int, ToolCall]] = []
    for call in calls:
        numbered.append((seen[call.id], call))
        seen[call.id] += 1
    return numbered


def shorten(message: Message, limit: int) -> Message:
    """Cut what is longer than `limit` characters, head and tail, and say so once in front."""
    blocks = list(_short(_merged(message.blocks), limit))
    if blocks == list(_merged(message.blocks)):
        return message
    return replace(message, blocks=(Text(f"[shortened; {_where(message)}]"), *blocks))


def _merged(blocks: Sequence[Block]) -> Iterator[Block]:
    """Join the texts of a message that stand side by side."""
    for kind, run in groupby(blocks, key=lambda block: isinstance(block, Text)):
        if kind:
            yield Text("\n\n".join(block.text for block in run if isinstance(block, Text)))
        else:
            yield from run


def _short(blocks: Iterable[Block], limit: int) -> Iterator[Block]:
    for block in blocks:
        match block:
            case Text(text=words) | ToolResult(text=words) if len(words) > limit:
                yield replace(block, text=_cut(words, limit))
            case ToolCall(input=given) if len(words := dumps(given)) > limit:
                yield replace(block, input={"shortened": _cut(words, limit)})
            case _:
                yield block


def _cut(words: str, limit: int) -> str:
    return render.clip(words, limit) if limit >= _ROOMY else f"{words[:limit]}..."


def _where(message: Message) -> str:
    return f"get_history(message_id={message.id!r}) reads all"


def shortened(item: Json, room: int, least: int = 0) -> Json:
    """Cut an entry's text, though not below `least`, so that the entry fits, and mark it."""
    text = str(item["text"])
    marked = {**item, "text": "", "truncated": True, "chars": len(text)}
    left = max(room - size(marked) - 1, least)
    kept = text[:left]
    while kept and size(kept) - 2 > left:
        kept = kept[: len(kept) - max(1, (size(kept) - 2 - left) // 6 + 1)]
    return {**marked, "text": kept}
