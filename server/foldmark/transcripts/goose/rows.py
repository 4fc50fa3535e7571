"""Goose's rows as the log keeps them, and what a compaction left among them.

A compaction hides every row from the model and adds some that the person never sees: the summary
in the user's name, a notice in the assistant's, and a copy of the prompt that it interrupted.

    rows    u1 a1 u2 a2 u3      S  notice  u3'    a3
    log     u1 a1 u2 a2 u3  M   S  other   other  a3      M keeps from u3

Compacted amid its tool calls, a prompt does not stand right before the summary. Then its copy is
a message that nobody typed, so that the model still sees what it was asked.

What the person sees of this does not change when later compactions come, and only on that is
anything built.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal, TypeAlias

from foldmark.transcripts.fields import dumps, mapping, name, text
from foldmark.transcripts.goose.content import (
    at,
    is_bookkeeping,
    is_context,
    is_hidden,
    is_typed,
    message,
    parts,
    words,
)
from foldmark.transcripts.record import Json, Record, State, compaction, of_message

What: TypeAlias = Literal[
    "message", "typed", "again", "summary", "notice", "copy", "command", "answer", "bookkeeping"
]
"""What a row is. A "typed" one was hidden when its copy took its place, "again" is such a copy."""

_COMMANDS = frozenset(
    {"/compact", "/summarize", "Please compact this conversation"}
    | {"/clear", "/status", "/skills", "/doctor", "/prompts"}
)
"""What is typed for the program, which answers by itself; no model sees either."""

_NOTICES = ("Your context was compacted", "The previous message ")
"""How every version begins what it tells the model after a summary."""

_BY_HAND = "user's request"
"""Stands in the notice of a compaction that was asked for, and so interrupted no prompt."""

_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Row:
    """A message under its name in the log; one with the id of an earlier one continues that."""

    native: Json
    id: str
    continues: str = ""
    raw: bytes = b""


def named(natives: Iterable[Json], seen: Counter[str], number: int = 0) -> Iterator[Row]:
    """Name messages, before which `number` others came; `seen` counts the ids among those."""
    for index, native in enumerate(natives, number):
        id = name(native.get("id"))
        if not id:
            yield Row(native, unnamed(native, index))
        elif seen[id]:
            yield Row(native, f"{id}#{seen[id] + 1}", continues=id)
        else:
            yield Row(native, id)
        seen[id] += 1


def unnamed(native: Json, index: int) -> str:
    """Name a message without an id by what is in it; who may see it changes."""
    told = [native.get("role"), native.get("created"), native.get("content")]
    return f"~{_digest(dumps(told))}-{index}"


def records(rows: Sequence[Row], state: State, model: str = "") -> Iterator[Record]:
    """Read rows, oldest first; `model` wrote those that do not tell it themselves.

    What a compaction adds must not be parted: it is written in one go.
    """
    for index, row in enumerate(rows):
        what = _what(rows, index, state)
        if what == "summary":
            by_hand = _BY_HAND in words(rows[index + 1].native)
            kept = text(state.get("prompt")) if state.get("direct") and not by_hand else ""
            yield from compaction(_record(row, what, model), first_kept=kept)
        else:
            yield _record(row, what, model)
        if what != "bookkeeping":
            state["last"] = what
        _remember(row, what, state)


def is_command(native: Json) -> bool:
    """Tell whether this is typed for the program, whoever it says wrote it."""
    return words(native).strip() in _COMMANDS


def _what(rows: Sequence[Row], index: int, state: State) -> What:
    native, last = rows[index].native, state.get("last")
    is_user = native.get("role") == "user"
    if is_bookkeeping(native) or native.get("role") not in _ROLES:
        return "bookkeeping"
    if last == "summary":
        return "notice"
    if last == "notice" and is_user and _repeats(native, rows, index, state):
        return "copy" if state.get("direct") else "again"
    if last == "copy" and is_context(native) and _words(native) == state.get("context"):
        return "copy"
    if _is_summary(rows, index):
        return "summary"
    if is_user and is_command(native):
        return "command"
    if last == "command" and not is_user:
        return "answer"
    return "typed" if is_user and _gave_way(rows, index) else "message"


def _repeats(native: Json, rows: Sequence[Row], index: int, state: State) -> bool:
    """Tell whether the row after a notice is the copy of a prompt, which old versions showed."""
    by_hand = index > 0 and _BY_HAND in words(rows[index - 1].native)
    if by_hand or is_context(native) or not words(native):
        return False
    return is_hidden(native) or _words(native) == state.get("words")


def _is_summary(rows: Sequence[Row], index: int) -> bool:
    """Tell whether this is the summary of a compaction: no other hidden row has a notice.

    Taking another for one would hide a history, so it takes both the notice's place and its words.
    """
    if index + 1 >= len(rows):
        return False
    native, after = rows[index].native, rows[index + 1].native
    said = native.get("role") == "user" and is_hidden(native) and not is_context(native)
    noticed = after.get("role") == "assistant" and words(after).startswith(_NOTICES)
    return said and noticed and is_hidden(after) and not is_bookkeeping(native)


def _gave_way(rows: Sequence[Row], index: int) -> bool:
    """Tell whether this prompt is hidden because its copy, which is not, took its place.

    Early versions did so; later ones hide the copy.
    """
    native = rows[index].native
    if not is_hidden(native) or is_context(native) or not words(native):
        return False
    after = index + 1
    while after < len(rows) and is_context(rows[after].native):
        after += 1
    if after + 2 >= len(rows) or not _is_summary(rows, after):
        return False
    copy = rows[after + 2].native
    seen = copy.get("role") == "user" and not is_hidden(copy)
    return seen and words(copy) == words(native)


def _remember(row: Row, what: What, state: State) -> None:
    """Note the newest prompt, and whether anything but the context of its turn came since."""
    native = row.native
    if what not in ("message", "typed", "again"):
        return
    if is_context(native):
        state["context"] = _words(native)
    elif native.get("role") == "user" and words(native) and not _has_tools(native):
        if what == "typed" or (what == "message" and is_typed(native)):
            state.update(prompt=row.id, words=_words(native), direct=True, context="")
    else:
        state["direct"] = False


def _record(row: Row, what: What, model: str) -> Record:
    native: dict[str, object] = dict(row.native)
    if what in ("typed", "again") and is_typed(native) != (what == "typed"):
        native["typed"] = what == "typed"
    role = name(native.get("role"))
    raw = row.raw or dumps(native).encode()
    record = Record(kind="other", id=row.id, raw=raw, at=at(native))
    if role not in _ROLES:
        return replace(record, unknown=f"role/{role}")
    if what not in ("message", "typed", "again"):
        return record
    built = message(row.id, [native])
    by_assistant = role == "assistant"
    return replace(
        of_message(built, record),
        parent=row.continues,
        message=name(native.get("id")) if by_assistant else "",
        model=model if by_assistant and not built.model else "",
    )


def _has_tools(native: Json) -> bool:
    kinds = {text(mapping(part).get("type")) for part in parts(native)}
    return not kinds.isdisjoint({"toolRequest", "toolResponse"})


def _words(native: Json) -> str:
    return _digest(words(native))


def _digest(said: str) -> str:
    return blake2b(said.encode(), digest_size=12).hexdigest()
