"""Where a record stands in its session's log.

The log only grows. A row that continues a message points back to that message's first row, its
head; a record that was written again in other words is one more row of the same head, and the
newest row of an id is the one that counts.

A prompt typed under an earlier point of the conversation replaces what stood between: those rows
leave the active branch and stay in the log.

    typed      u1 a1 u2 a2 u3    where u3 follows a1
    active     u1 a1       u3    u2 and a2 are rewound; a u4 under a2 would take them up again

A fork says the same by itself: which row is replaced by what comes after it, or is in force again.
A record that names a parent nobody knows, or none, simply follows the record before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from foldmark.transcripts.fields import dumps
from foldmark.transcripts.record import Record


@dataclass(frozen=True, slots=True)
class Place:
    """A row that is already in the log, as far as a newcomer needs to know it."""

    pos: int
    head: int
    message: str
    raw: bytes
    chars: int


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

    `markers` are the positions of its markers, `rewound` what is off the active branch.
    `known` must hold every row that the new records name, `prompts` every typed message behind
    the earliest of their parents, oldest first. What changes of the active branch is collected in
    `left` and `resumed`, in the order to be carried out: first what is resumed.
    """

    pos: int = 0
    messages: int = 0
    chars: int = 0
    markers: list[int] = field(default_factory=list[int])
    known: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    prompts: list[Prompt] = field(default_factory=list[Prompt])
    rewound: list[Rewind] = field(default_factory=list[Rewind])
    left: list[Rewind] = field(default_factory=list[Rewind])
    resumed: list[Rewind] = field(default_factory=list[Rewind])

    def place(self, record: Record) -> Row | None:
        """Give a record its place; None if it is already held."""
        versions = self.known.setdefault(record.id, [])
        if any(version.raw == record.raw for version in versions):
            return None
        parents = self.known.get(record.parent)
        parent = parents[0] if parents else None
        pos = head = self.pos + 1
        # What comes after a marker is a message of its own: a boundary covers only what it saw.
        marked = self.markers[-1] if self.markers else 0
        if versions:
            grew = record.kind == "message" and record.chars > versions[-1].chars
            head = pos if grew and versions[-1].head < marked else versions[-1].head
        elif parent is not None and record.message and parent.message == record.message:
            head = parent.head if parent.head > marked else pos
        if record.prompt and head == pos:
            if parent is not None:
                self._branch(parent.pos, record.at)
            self.prompts.append(Prompt(pos, record.at))
        if record.kind == "fork":
            self._fork(record)
        if record.kind == "marker":
            self.markers.append(pos)
        self.pos = pos
        self.messages += record.kind == "message" and head == pos
        # Of the versions of a record in one message the newest is read, so only its length counts.
        before = versions[-1] if versions else None
        self.chars += record.chars - (before.chars if before and before.head == head else 0)
        versions.append(Place(pos, head, record.message, record.raw, record.chars))
        return Row(record, pos, head, self.messages, self.chars)

    def _fork(self, fork: Record) -> None:
        """Carry out what a fork says: first what is in force again, then what was taken back."""
        for place in self.known.get(fork.resumes, ())[:1]:
            for gone in [r for r in self.rewound if r.first <= place.pos <= r.last]:
                self._resume(gone)
                # A compaction made meanwhile never saw what is in force again.
                for marker in [m for m in self.markers if m > gone.last and not self._is_off(m)]:
                    self._leave(marker, marker)
        for place in self.known.get(fork.replaces, ())[:1]:
            last = self.known.get(fork.until, ())[-1:]
            self._leave(place.pos, last[0].pos if last else self.pos)

    def _branch(self, parent: int, at: str) -> None:
        """Leave the branch that a prompt typed under `parent` replaces.

        Where that parent is on a branch that was left before, that branch is taken up again, and
        what had replaced it is left. The same moment means the same prompt written twice, which
        replaces nothing.
        """
        off = sorted(
            (gone for gone in self.rewound if gone.first <= parent <= gone.last),
            key=lambda gone: gone.last,
        )
        for gone in off:
            self._resume(gone)
            if again := next((p for p in self.prompts if parent < p.pos <= gone.last), None):
                self._leave(again.pos, gone.last)
        if off:
            self._leave(off[-1].last + 1, self.pos)
            return
        live = (p for p in self.prompts if p.pos > parent and not self._is_off(p.pos))
        first = next(live, None)
        if first is not None and (not at or first.at != at):
            self._leave(first.pos, self.pos)

    def _leave(self, first: int, last: int) -> None:
        if first <= last:
            self.rewound.append(Rewind(first, last))
            self.left.append(Rewind(first, last))

    def _resume(self, gone: Rewind) -> None:
        self.rewound.remove(gone)
        if gone in self.left:
            self.left.remove(gone)
        else:
            self.resumed.append(gone)

    def _is_off(self, pos: int) -> bool:
        return any(gone.first <= pos <= gone.last for gone in self.rewound)


def fork(end: int, *, replaces: str = "", until: str = "", resumes: str = "") -> Record:
    """Write a fork that is added to a log which ends at `end`."""
    told = {"replaces": replaces, "until": until, "resumes": resumes}
    raw = dumps({"type": "fork", **{key: id for key, id in told.items() if id}}).encode()
    return Record("fork", f"{end + 1}-fork", raw, replaces=replaces, until=until, resumes=resumes)


@dataclass(frozen=True, slots=True)
class Held:
    """A message, marker or summary in the log, and whether it is in force."""

    id: str
    live: bool
    is_message: bool = True


def forks(held: Sequence[Held], current: Sequence[str], end: int) -> Iterator[Record]:
    """Say what a transcript that was written anew took back, and what it holds again.

    `held` is what the log holds, oldest first; `current` are the ids in the transcript. Only the
    end of a log can be taken back: what is missing before it was cleaned up rather than taken
    back, and of a transcript with nothing in common nothing is concluded. Where only a compaction
    is missing, only that is taken back.
    """
    wanted = set(current)
    last = max((at for at, one in enumerate(held) if one.id in wanted), default=None)
    if last is None:
        return
    again = [one.id for one in held if not one.live and one.id in wanted]
    for at, id in enumerate(again):
        yield fork(end + at, resumes=id)
    # What is in force again brings with it what was taken back together with it.
    gone = [one for one in held[last + 1 :] if one.live or again]
    if gone:
        until = "" if any(one.is_message for one in gone) else gone[-1].id
        yield fork(end + len(again), replaces=gone[0].id, until=until)
