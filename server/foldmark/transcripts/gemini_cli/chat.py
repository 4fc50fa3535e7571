"""The chat as Gemini CLI goes on with it: its messages, and the ids by which we hold them.

It is kept between two readings under "view": for each message, by its key, our id of it (empty if
we do not hold it), the marks of its passages, and whether it stands before the marker in force.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from foldmark.transcripts.fields import name
from foldmark.transcripts.gemini_cli.content import CONTEXT, called, passages
from foldmark.transcripts.record import Json, State


class Held(NamedTuple):
    """What is known of a message of the chat."""

    id: str
    marks: Sequence[str]
    folded: bool


def key(record: Json) -> str:
    """Name a message: an answer has been given the id of the message that it answers."""
    return f"{name(record.get('id'))}/{name(record.get('type'))}"


def held(key: str, state: State) -> Held:
    """Tell by what id a message is held, or would be."""
    known = Held(*_view(state).get(key, ("", (), False)))
    return known if known.id else Held(key, (), False)


def is_begun(state: State) -> bool:
    """Tell whether the chat holds more than what the program says of the session."""
    return any(key != state.get("context") for key in _view(state))


def hold(key: str, id: str, record: Json, state: State, *, folded: bool = False) -> None:
    """Add a message to the chat, or put it in place of what it held under this key."""
    _view(state)[key] = (id, _marks(record), folded)


def answers(state: State) -> dict[str, str]:
    """Give the ids of the messages that hold the answers to calls, by the ids of the calls."""
    return state.setdefault("answers", {})


def take_back(id: str, state: State) -> str:
    """Take a message and all behind it out of the chat, and name the first of them that we hold."""
    view = _view(state)
    wanted = next((k for k in (f"{id}/user", f"{id}/gemini") if k in view), "")
    if not wanted:
        return ""
    keys = list(view)
    gone = {key: Held(*view.pop(key)) for key in keys[keys.index(wanted) :]}
    if gone[wanted].folded:  # the marker goes as well, and the summary is told again behind this
        state.pop("snapshot", None)
        state["again"] = state.get("again", 0) + 1
    return next((one.id for one in gone.values() if one.id), "")


def taken_back(turns: Sequence[Json], state: State) -> str:
    """Name the first message behind the last of these turns, which are all that is left."""
    keys, view = list(_view(state)), _view(state)
    last = key(turns[-1]) if turns else ""
    if last not in view:
        return ""
    behind = (Held(*view[key]).id for key in keys[keys.index(last) + 1 :])
    return next(filter(None, behind), "")


def first_kept(turns: Sequence[Json], state: State) -> tuple[str, int]:
    """Find the message that the first of these turns is or copies: our id, and where it stands.

    Copies may put two turns of one side together, never part one. So where the same words occur
    several times, as many prompts must stand behind them as in the turns.
    """
    view = _view(state)
    keys = list(view)
    if not turns:
        return "", len(keys)
    if key(turns[0]) in view:
        return Held(*view[key(turns[0])]).id, keys.index(key(turns[0]))
    prompts = sum(turn.get("type") == "user" and bool(_marks(turn)) for turn in turns)
    for mark in _marks(turns[0]):
        found, seen = ("", len(keys)), 0
        for at in range(len(keys) - 1, -1, -1):
            one = Held(*view[keys[at]])
            if not one.marks or not keys[at].endswith("/user"):
                continue
            seen += 1
            if one.id and mark in one.marks:
                found = (one.id, at)
                if seen >= prompts:
                    break
        if found[0]:
            return found
    return "", len(keys)


def unheld(turns: Sequence[Json], state: State) -> list[Json]:
    """Take those turns that are no copies of anything in the chat."""
    marks = {mark for one in _view(state).values() for mark in Held(*one).marks}
    known = answers(state)
    return [
        turn
        for turn in turns
        if not all(mark in marks for mark in _marks(turn))
        or not all(call in known for call in called(turn))
    ]


def rebuild(turns: Sequence[Json], state: State, *, start: int = 0, folded: bool = False) -> None:
    """Put these turns in place of the chat, each under the id of the message that it copies.

    Nothing before `start` is copied; `folded` says that a marker comes behind what is.
    """
    view, known = _view(state), answers(state)
    keys = list(view)
    places: dict[str, list[int]] = {}
    for at in range(start, len(keys)):
        for mark in Held(*view[keys[at]]).marks:
            places.setdefault(mark + _side(keys[at]), []).append(at)
    now: dict[str, Any] = {}
    at = start
    for turn in turns:
        own = key(turn)
        if own in view:
            one = Held(*view[own])
        elif found := next(_later(turn, places, at), None):
            at = found + 1
            one = Held(*view[keys[found]])
        else:
            made = turn.get("type") == "gemini"
            id = next((known[call] for call in called(turn) if made and call in known), "")
            one = Held(id, (), False)
        now[own] = (one.id, _marks(turn), folded or one.folded)
    calls = {call for turn in turns for call in called(turn)}
    state["view"] = now
    state["answers"] = {call: id for call, id in known.items() if call in calls}


def _later(turn: Json, places: dict[str, list[int]], at: int) -> Iterator[int]:
    """Find the next message on the same side that has a passage of this turn."""
    for mark in _marks(turn):
        there = places.get(mark + _side(key(turn)), [])
        if (next := bisect_left(there, at)) < len(there):
            yield there[next]


def _side(key: str) -> str:
    return key.rpartition("/")[2]


def _marks(record: Json) -> list[str]:
    return [_digest(words) for words in passages(record) if not words.startswith(CONTEXT)]


def _digest(words: str) -> str:
    return blake2b(words.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _view(state: State) -> dict[str, Any]:
    return state.setdefault("view", {})
