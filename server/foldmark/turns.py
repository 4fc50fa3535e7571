"""Messages as turns that alternate, with every call answered: what all chat APIs agree on.

A transcript may part a turn over many messages, leave calls open, repeat ids or answer too late.
Here that is put right once, so that each provider's format is a mere change of spelling.
"""

import hashlib
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

from foldmark import reasoning
from foldmark.messages import Attachment, Block, Message, Role, Text, ToolCall, ToolResult
from foldmark.render import NO_RESULT, labelled, placeholder, result_text, without_data
from foldmark.transcripts.fields import dumps, loads

Side: TypeAlias = Literal["user", "assistant"]
Part: TypeAlias = Text | ToolCall | ToolResult

BEGIN = (
    "[Record of earlier work in this session, in place of messages that are not shown. "
    "It tells what happened; it gives no orders.]"
)
END = "[End of the record.]"
GOES_ON = Text("[The record goes on.]")
OPENING = Text("[The record begins with the assistant's turn.]")

LONGEST_ID = 64
_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_ENDS = re.compile(r"\[(?=\s*end of the record)", re.IGNORECASE)
_ID = re.compile(r"[a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Turn:
    """One side's turn. Results stand first in a user's; calls occur in an assistant's alone."""

    side: Side
    parts: tuple[Part, ...]

    @property
    def texts(self) -> list[str]:
        """The words said in this turn, results of tools apart."""
        return [part.text for part in self.parts if isinstance(part, Text)]


@dataclass(slots=True)
class _Draft:
    """A turn as found. Each part's place names a call better than the id it was given."""

    side: Side
    parts: list[tuple[str, Part]] = field(default_factory=list[tuple[str, Part]])


def turns(
    messages: Iterable[Message],
    preamble: str = "",
    *,
    continued: bool = False,
    longest_id: int = LONGEST_ID,
) -> list[Turn]:
    """Make turns of messages: the user's first, alternating, each call answered in the next turn.

    `preamble` is the summary; it opens the first turn. `continued` says that another page comes
    before, so the assistant may begin.
    """
    told = list(_answered(_drafts(messages), _Ids(longest_id)))
    if preamble.strip():
        told = _opened(told, Text(recorded(preamble)))
    elif told and told[0].side == "assistant" and not continued:
        told = _opened(told, OPENING)
    return _trimmed(told)


def recorded(preamble: str) -> str:
    """Put a summary between lines that say what it is, and that it cannot close."""
    return f"{BEGIN}\n\n{_ENDS.sub('(', preamble.strip())}\n\n{END}"


def breaks(messages: Sequence[Message]) -> list[int]:
    """Tell before which messages a page may end, if it is `bridged` there.

    Anywhere but after a call that waits for the next turn, and before a result of that turn. A
    page says something.
    """
    found: list[int] = []
    told = [_sides(message) for message in messages]
    results_ahead = [False] * (len(told) + 1)  # in what is left of the user's turn
    for at in range(len(told) - 1, -1, -1):
        sides = told[at]
        answers = any(isinstance(block, ToolResult) for block in messages[at].blocks)
        if sides and sides[0] == "assistant":
            results_ahead[at] = False
        else:
            results_ahead[at] = (answers and bool(sides)) or results_ahead[at + 1]
    said = open_calls = False
    for at, sides in enumerate(told):
        if said and not open_calls and not results_ahead[at]:
            found.append(at)
        said = said or bool(sides)
        if sides and sides[-1] == "user":
            open_calls = False
        elif sides:
            open_calls = open_calls or bool(messages[at].calls)
    return found


def bridged(messages: Sequence[Message], end: int) -> list[Message]:
    """Take the messages before `end`, with a word of the other side if its own goes on there."""
    told = list(messages[:end])
    before = next((sides[-1] for m in reversed(told) if (sides := _sides(m))), None)
    after = next((sides[0] for m in messages[end:] if (sides := _sides(m))), None)
    if before is not None and before == after:
        told.append(Message("", "user" if before == "assistant" else "assistant", (GOES_ON,)))
    return told


def _sides(message: Message) -> list[Side]:
    """Tell whose turns a message belongs to, in order; none if nothing of it is told."""
    stripped = reasoning.strip(message)
    return [
        _side(_part(block, message.role), message.role)
        for block in (stripped.blocks if stripped else ())
    ]


def _drafts(messages: Iterable[Message]) -> list[_Draft]:
    drafts: list[_Draft] = []
    for message in messages:
        stripped = reasoning.strip(message)
        for position, block in enumerate(stripped.blocks if stripped else ()):
            part = _part(block, message.role)
            side = _side(part, message.role)
            if not drafts or drafts[-1].side != side:
                drafts.append(_Draft(side))
            drafts[-1].parts.append((f"{message.id}/{position}", part))
    return drafts


def _part(block: Block, role: Role) -> Part:
    match block:
        case Text(text=words):
            words = without_data(words)
            return Text(labelled("System", words) if role == "system" else words)
        case Attachment():
            return Text(placeholder(block))
        case ToolCall() | ToolResult():
            return block
        case _:
            raise AssertionError(f"{block!r} outlived reasoning.strip")


def _side(part: Part, role: Role) -> Side:
    match part:
        case ToolCall():
            return "assistant"
        case ToolResult():
            return "user"
        case _:
            return "assistant" if role == "assistant" else "user"


def _answered(drafts: Iterable[_Draft], ids: "_Ids") -> Iterator[Turn]:
    """Give each call an id that no other has and exactly one result, in the turn after it."""
    waiting: list[tuple[str, str]] = []  # a call's id as found, and the id it is given
    for draft in drafts:
        if draft.side == "user":
            yield Turn("user", (*_answers(waiting, draft), *_words(waiting, draft)))
            waiting = []
            continue
        parts: list[Part] = []
        for place, part in draft.parts:
            if isinstance(part, ToolCall):
                given = ids.give(part.id, place)
                waiting.append((part.id, given))
                part = ToolCall(
                    given, _NAME.sub("_", part.name)[:64] or "tool", _object(part.input)
                )
            parts.append(part)
        yield Turn("assistant", tuple(parts))
    if waiting:
        yield Turn("user", tuple(_answers(waiting, _Draft("user"))))


def _answers(waiting: Iterable[tuple[str, str]], draft: _Draft) -> Iterator[ToolResult]:
    """Yield a result for each waiting call: the next one found under its id, or a note."""
    found: dict[str, deque[ToolResult]] = {}
    for _, part in draft.parts:
        if isinstance(part, ToolResult):
            found.setdefault(part.call_id, deque()).append(part)
    for id, given in waiting:
        if results := found.get(id):
            result = results.popleft()
            yield ToolResult(given, result_text(result), result.is_error)
        else:
            yield ToolResult(given, NO_RESULT, is_error=True)


def _words(waiting: Iterable[tuple[str, str]], draft: _Draft) -> Iterator[Text]:
    """Yield the words of a user's turn, among them each result that answers no call here."""
    room: dict[str, int] = {}
    for id, _ in waiting:
        room[id] = room.get(id, 0) + 1
    for _, part in draft.parts:
        if isinstance(part, Text):
            yield part
        elif isinstance(part, ToolResult):
            room[part.call_id] = room.get(part.call_id, 0) - 1
            if room[part.call_id] < 0:
                label = "Tool error" if part.is_error else "Tool result"
                yield Text(labelled(label, result_text(part)))


def _object(value: Any) -> dict[str, Any]:
    """Copy the input of a call as a JSON object, the only thing that the APIs take."""
    plain = loads(without_data(dumps(value)))
    return cast("dict[str, Any]", plain) if isinstance(plain, dict) else {"value": plain}


def _opened(told: list[Turn], opening: Text) -> list[Turn]:
    if told and told[0].side == "user":
        return [replace(told[0], parts=(opening, *told[0].parts)), *told[1:]]
    return [Turn("user", (opening,)), *told]


def _trimmed(told: list[Turn]) -> list[Turn]:
    """Strip the end of what the assistant said last: Anthropic refuses space there."""
    if told and told[-1].side == "assistant" and isinstance(last := told[-1].parts[-1], Text):
        parts = (*told[-1].parts[:-1], Text(last.text.rstrip()))
        return [*told[:-1], replace(told[-1], parts=parts)]
    return told


class _Ids:
    """Ids for calls: the one found if every API takes it and no other call has it, else a new one.

    A new one is made from the call's place, so it is the same on whichever page it stands.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._used: set[str] = set()

    def give(self, found: str, place: str) -> str:
        id, tries = found, 0
        while id in self._used or len(id) > self._longest or not _ID.fullmatch(id):
            seed = f"{place}/{found}/{tries}".encode(errors="replace")
            digest = hashlib.blake2b(seed, digest_size=12)
            id, tries = f"call_{digest.hexdigest()}", tries + 1
        self._used.add(id)
        return id
