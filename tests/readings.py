"""A transcript read without a database: what a reader and the rules of the log make of it.

The log is `placement.Log` in memory, so what comes out is what the store would hold.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from foldmark import boundary
from foldmark.boundary import View
from foldmark.messages import Entry, Marker, Message, Summary
from foldmark.sources import database
from foldmark.store.placement import Held, Log, Row, forks
from foldmark.transcripts import lines
from foldmark.transcripts.record import (
    Database,
    Document,
    Folder,
    Lines,
    Reader,
    Record,
    Skipped,
    Snapshot,
    State,
)

SHARED = Path(__file__).parent.parent.parent / "shared" / "transcripts"


@dataclass
class Reading:
    """A session's log as it grows, one reading after the other."""

    reader: Reader
    log: Log = field(default_factory=Log)
    rows: list[Row] = field(default_factory=list[Row])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    state: State = field(default_factory=dict[str, Any])

    def add(self, records: Iterable[Record]) -> None:
        placed = (self.log.place(record) for record in records)
        self.rows.extend(row for row in placed if row is not None)

    def take(self, snapshot: Snapshot) -> None:
        """Add a snapshot; what it no longer holds at the end was taken back."""
        self._fork(snapshot.current)
        self.add(snapshot.records)
        self._fork(snapshot.current)
        self.skipped = list(snapshot.skipped)

    def _fork(self, current: Sequence[str] | None) -> None:
        held = [
            Held(row.record.id, not self._is_gone(row.pos), row.record.kind == "message")
            for row in self.rows
            if row.head == row.pos and row.record.kind not in ("fork", "other")
        ]
        if current is not None:
            self.add(list(forks(held, current, self.log.pos)))

    def _is_gone(self, pos: int) -> bool:
        return any(gone.first <= pos <= gone.last for gone in self.log.rewound)

    @property
    def records(self) -> list[Record]:
        """Every row's record, in the order of the log."""
        return [row.record for row in self.rows]

    @property
    def kinds(self) -> Counter[str]:
        """Rows by their kind."""
        return Counter(record.kind for record in self.records)

    @property
    def unknown(self) -> Counter[str]:
        """Types of records that the reader does not know."""
        return Counter(record.unknown for record in self.records if record.unknown)

    def fact(self, name: str) -> str:
        """Tell what the records say of the session: project, branch, title, forked_from, ..."""
        values = [value for record in self.records if (value := getattr(record, name))]
        last = name in ("branch", "title")
        return (values[-1] if last else values[0]) if values else ""

    @property
    def entries(self) -> list[Entry]:
        """Messages, markers and summaries on the active branch, oldest first."""
        return [self._entry(rows) for rows in self._groups() if not self._is_gone(rows[0].pos)]

    @property
    def messages(self) -> list[Message]:
        """The messages on the active branch."""
        return [entry for entry in self.entries if isinstance(entry, Message)]

    @property
    def rewound(self) -> list[Message]:
        """The messages off the active branch."""
        gone = [rows for rows in self._groups() if self._is_gone(rows[0].pos)]
        return [entry for rows in gone if isinstance(entry := self._entry(rows), Message)]

    @property
    def markers(self) -> list[Marker]:
        return [entry for entry in self.entries if isinstance(entry, Marker)]

    @property
    def summaries(self) -> list[Summary]:
        return [entry for entry in self.entries if isinstance(entry, Summary)]

    @property
    def prompts(self) -> list[str]:
        """What a person typed, on the active branch."""
        return [message.prompt for message in self.messages if message.prompt]

    @property
    def view(self) -> View:
        """What a model should see."""
        return boundary.visible(self.entries)

    @property
    def visible(self) -> list[Message]:
        return list(self.view.messages)

    def _groups(self) -> list[list[Row]]:
        groups: dict[int, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.head, []).append(row)
        wanted = ("message", "marker", "summary")
        return [g for _, g in sorted(groups.items()) if g[0].record.kind in wanted]

    def _entry(self, rows: Sequence[Row]) -> Entry:
        """Build what rows hold as `SessionLog` does: of rows with one id the newest counts."""
        newest = {row.record.id: row.record for row in rows}
        first = rows[0].record
        records = [lines.loads(record.raw) for record in newest.values()]
        match first.kind:
            case "marker":
                return Marker(first.id, first.first_kept, first.at)
            case "summary":
                return self.reader.summary(first.id, first.parent, records[0])
            case _:
                model = next((r.model for r in newest.values() if r.model), "")
                built = self.reader.message(first.id, records)
                return built if built.model or not model else replace(built, model=model)


def of_lines(reader: Reader, *pieces: bytes) -> Reading:
    """Read JSON lines as they arrive, piece by piece, as a file that grows."""
    place = next(place for place in reader.places if isinstance(place, Lines))
    reading = Reading(reader)
    rest, line = b"", 1
    for piece in pieces:
        rest += piece
        found = lines.split(rest, line=line, last=True)
        for value, raw in found.records:
            reading.add(place.records(value, raw, reading.state))
        reading.skipped += found.skipped
        rest, line = rest[found.consumed :], line + found.lines
    return reading


def of_document(reader: Reader, *versions: bytes) -> Reading:
    """Read a file that was written anew several times."""
    place = next(place for place in reader.places if isinstance(place, Document))
    reading = Reading(reader)
    for version in versions:
        reading.take(place.read(version))
    return reading


@dataclass(frozen=True)
class FakeFiles:
    """Files by their paths below a root."""

    files: Mapping[str, bytes]

    def names(self, pattern: str) -> list[str]:
        parts = pattern.split("/")
        return sorted(
            name
            for name in self.files
            if len(name.split("/")) == len(parts)
            and all(fnmatchcase(a, b) for a, b in zip(name.split("/"), parts, strict=True))
        )

    def read(self, name: str) -> bytes:
        return self.files.get(name, b"")


def of_folder(
    reader: Reader, name: str, *versions: Mapping[str, bytes], place: Folder | None = None
) -> Reading:
    """Read a session of several files, of which `name` names it, as they were written anew."""
    place = place or next(place for place in reader.places if isinstance(place, Folder))
    reading = Reading(reader)
    for version in versions:
        reading.take(place.read(FakeFiles(version), name))
    return reading


def of_database(
    reader: Reader, path: Path, session: str, reading: Reading | None = None
) -> Reading:
    """Read a session of a database, on from an earlier reading if one is given."""
    place = next(place for place in reader.places if isinstance(place, Database))
    reading = reading or Reading(reader)
    with database.reading(path, place.tables) as rows:
        reading.take(place.read(rows, session, reading.state))
    return reading


def shared(assistant: str, pattern: str = "**/*") -> list[Any]:
    """List the real files of an assistant beside the project, as parameters of a test.

    Without that folder there is one parameter, which skips the test.
    """
    folders = [SHARED / assistant, SHARED / "real" / assistant]
    found = [path for folder in folders for path in sorted(folder.glob(pattern)) if path.is_file()]
    if not found:
        skip = pytest.mark.skip(reason="the shared transcripts are not beside the project")
        return [pytest.param(Path(), marks=skip)]
    return [pytest.param(path, id=str(path.relative_to(SHARED))) for path in found]
