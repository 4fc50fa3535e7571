"""Messages handed over in a call: what of them is new, and whose session they are.

    held   1 2 3 4          given  1 2 3 4 5 6     5 6 are new        (a history sent again, longer)
                            given      3 4 5 6     5 6 are new        (a window that moved on)
                            given  1 2 7 8         7 8 replace 3 4    (a history that was edited)
                            given  7 8             7 8 are new        (only what came since)

Position decides, never content alone: two messages with the same words both stay.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from foldmark.messages import Message
from foldmark.store.placement import fork
from foldmark.transcripts import api
from foldmark.transcripts.fields import dumps
from foldmark.transcripts.lines import well_formed
from foldmark.transcripts.record import Record


@dataclass(frozen=True, slots=True)
class Given:
    """A message as it was handed over, and a digest of what it says."""

    record: Record
    message: Message
    digest: str


@dataclass(frozen=True, slots=True)
class New:
    """What to add: the given messages from `start` on, after the first `keep` that are held."""

    start: int
    keep: int


def read(messages: Sequence[Mapping[str, Any]]) -> list[Given]:
    """Read message dicts of any known shape.

    The digest leaves out what a client changes between two sendings of one message, such as cache
    marks and signatures, since canonical messages hold none of it.

    Raises:
        InvalidRequest: One of them has no known shape.

    """
    sound = [well_formed(message) for message in messages]
    api.check(sound)
    given: list[Given] = []
    for value in sound:
        record = api.record(value, dumps(value).encode())
        message = api.message(record.id, [value])
        said = repr((message.role, message.blocks)).encode()
        digest = hashlib.blake2b(said, digest_size=8).hexdigest()
        given.append(Given(record, message, record.id or digest))
    return given


def named(
    given: Sequence[Given], new: New, held: Sequence[tuple[int, str]], *, after: int
) -> list[Record]:
    """Name what is new by its place in the log, behind `after`, and by what it says.

    Where it replaces what is held, a fork comes first and says so. Messages that bring a name of
    their own are all passed on: the log knows those it holds, and keeps a new version of one that
    has grown.
    """
    own = [one.record for one in given if one.record.id]
    if own:
        return own
    records = [
        replace(one.record, id=f"{after + at}-{one.digest}")
        for at, one in enumerate(given[new.start :], start=2)
    ]
    if new.keep == len(held) or not records:
        return records
    replaced = held[new.keep][1]
    return [fork(after, replaces=replaced), *records]


def names(given: Sequence[Given]) -> Iterator[str]:
    """Name the session of a conversation that came without a name, by its first message."""
    first = given[0].digest if given else "empty"
    yield f"messages-{first}"
    for number in count(2):
        yield f"messages-{first}-{number}"


def digest(id: str) -> str:
    """Take the digest out of a name that `named` gave."""
    return id.partition("-")[2] if id[:1].isdigit() else id


def align(held: Sequence[str], given: Sequence[str]) -> New:
    """Lay what is given over what is held, both as digests in order.

    A window that moved on and a history that was edited are told apart by which explains more.
    """
    same = 0
    for one, other in zip(held, given, strict=False):
        if one != other:
            break
        same += 1
    moved = _overlap(held, given)
    if moved > same or not same:
        return New(moved, len(held))
    return New(same, same if same < len(given) else len(held))


def _overlap(held: Sequence[str], given: Sequence[str]) -> int:
    """Find the longest start of `given` that is the end of `held`, in linear time."""
    joined = [*given, None, *held]
    borders = [0] * len(joined)
    for at in range(1, len(joined)):
        border = borders[at - 1]
        while border and joined[at] != joined[border]:
            border = borders[border - 1]
        borders[at] = border + (joined[at] == joined[border])
    return borders[-1]
