"""Where a record stands in its session's log.

The log only grows. A row that continues a message points back to that message's first row, its
head; a record that was written again in other words is one more row of the same head, and the
newest row of an id is the one that counts.

A prompt typed under an earlier point of the conversation replaces what stood between: those rows
leave the active branch and stay in the log.

    typed      u1 a1 u2 a2 u3    where u3 follows a1
    active     u1 a1       u3    u2 and a2 are rewound

A record that names a parent nobody knows, or none, simply follows the record before it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from foldmark.transcripts.record import Record


@dataclass(frozen=True, slots=True)
class Place:
    """A row that is already in the log, as far as a newcomer needs to know it."""

    pos: int
    head: int
    message: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message on the active branch that a person typed, and when."""

    pos: int
    at: str


@dataclass(frozen=True, slots=True)
class Row:
    """A record with its place: position, head, and the totals of the log up to and with it."""

    record: Record
    pos: int
    head: int
    messages: int
    chars: int


@dataclass(frozen=True, slots=True)
class Rewind:
    """The rows from `first` to `last` left the active branch."""

    first: int
    last: int


@dataclass(slots=True)
class Log:
    """The end of one session's log, ready to take more records.

    `marked` is the position of its newest marker. `known` must hold every row whose id is among
    the new records' ids and parents, `prompts` the prompts on the active branch behind the
    earliest of those parents, oldest first.
    """

    pos: int = 0
    messages: int = 0
    chars: int = 0
    marked: int = 0
    known: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    prompts: list[Prompt] = field(default_factory=list[Prompt])
    rewinds: list[Rewind] = field(default_factory=list[Rewind])

    def place(self, records: Iterable[Record]) -> list[Row]:
        """Give each record that is new its place; records already held are passed over."""
        return [row for record in records if (row := self._place(record)) is not None]

    def _place(self, record: Record) -> Row | None:
        versions = self.known.setdefault(record.id, [])
        if any(version.raw == record.raw for version in versions):
            return None
        parents = self.known.get(record.parent)
        parent = parents[0] if parents else None
        pos = head = self.pos + 1
        if versions:
            head = versions[0].head
        elif parent is not None and record.message and parent.message == record.message:
            # What comes after a marker is a message of its own: a boundary covers only what it saw.
            head = parent.head if parent.head > self.marked else pos
        if record.prompt and head == pos:
            if parent is not None:
                self._rewind(parent.pos, record.at)
            self.prompts.append(Prompt(pos, record.at))
        self.pos = pos
        if record.kind == "marker":
            self.marked = pos
        self.messages += record.kind == "message" and head == pos
        self.chars += record.chars
        versions.append(Place(pos, head, record.message, record.raw))
        return Row(record, pos, head, self.messages, self.chars)

    def _rewind(self, parent: int, at: str) -> None:
        """Take the branch that a prompt typed under `parent` replaces off the active one.

        The same moment means the same prompt written twice, which replaces nothing.
        """
        index = len(self.prompts)
        while index and self.prompts[index - 1].pos > parent:
            index -= 1
        if index < len(self.prompts) and self.prompts[index].at != at:
            self.rewinds.append(Rewind(self.prompts[index].pos, self.pos))
            del self.prompts[index:]
