"""What goes into the store and what comes out of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import zstandard

from foldmark.transcripts.record import Kind, Record

SESSION = (
    "key, id, assistant, parent, forked_from, project, branch, title, first_prompt, last_prompt, "
    "updated"
)
STORED = "pos, head, kind, ours, id, parent, target, at, model, raw"
SOURCE = (
    "path, session, consumed, lines, size, modified, head, tail, discarding, skipped, places, "
    "restarts, state, unknown"
)


decompress = zstandard.ZstdDecompressor().decompress


def _frames(raws: list[Any]) -> list[bytes]:  # its stubs ask for ByteString, which is gone
    """Compress all records in one call; after each of many it would wait for other threads."""
    compressor = zstandard.ZstdCompressor(level=1)  # not to be shared between threads
    return [frame.tobytes() for frame in compressor.multi_compress_to_buffer(raws)] if raws else []


@dataclass(frozen=True, slots=True)
class Batch:
    """New records of one session. `ours` marks rows that Foldmark itself writes.

    `frames` are the records compressed, here rather than in the store: a long transcript is
    decoded beside the thread that talks to the database, and this belongs to what can wait there.
    """

    session: str
    assistant: str
    records: Sequence[Record]
    parent: str = ""
    project: str = ""
    title: str = ""
    updated: float = 0.0
    ours: bool = False
    frames: Sequence[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compress the records."""
        object.__setattr__(self, "frames", _frames([record.raw for record in self.records]))


@dataclass(frozen=True, slots=True)
class Source:
    """How far the transcript at `path` was read; `modified` in nanoseconds since 1970.

    `head` and `tail` are digests of the first and the last bytes among the `consumed` ones;
    `restarts` counts how often the file had to be read from its start again. `state` is what its
    reader remembers, `unknown` counts the records of types that the reader does not know. A
    transcript that is no file of lines has only `head`, a digest that tells whether it changed.
    """

    path: str
    session: str
    consumed: int = 0
    lines: int = 0
    size: int = 0
    modified: int = 0
    head: bytes = b""
    tail: bytes = b""
    discarding: bool = False
    skipped: int = 0
    places: tuple[tuple[int | str, str], ...] = ()
    restarts: int = 0
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    unknown: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def file(self) -> str:
        """The file that it lies in, of which it may be a part."""
        return self.path.removesuffix(f"#{self.session}")

    @classmethod
    def of(cls, row: Sequence[Any]) -> "Source":
        """Build a source from its columns."""
        places = tuple((place, reason) for place, reason in json.loads(row[10]))
        return cls(
            *row[:8],
            discarding=bool(row[8]),
            skipped=row[9],
            places=places,
            restarts=row[11],
            state=json.loads(row[12]),
            unknown=json.loads(row[13]),
        )


@dataclass(frozen=True, slots=True)
class Session:
    """What the store knows of one session; `updated` in seconds since 1970."""

    key: int
    id: str
    assistant: str
    parent: str
    forked_from: str
    project: str
    branch: str
    title: str
    first_prompt: str
    last_prompt: str
    updated: float


@dataclass(frozen=True, slots=True)
class Rewound:
    """Rows off the active branch, and how many messages and characters they are, net."""

    first: int
    last: int
    messages: int
    chars: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a log there is up to position `pos`."""

    pos: int = 0
    messages: int = 0
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """One row of the log as it is read back; `raw` is the record, decompressed."""

    pos: int
    head: int
    kind: Kind
    ours: bool
    id: str
    parent: str
    target: str
    at: str
    model: str
    raw: bytes

    @classmethod
    def of(cls, row: Sequence[Any]) -> "Stored":
        """Build a row from its columns."""
        return cls(*row[:9], raw=decompress(row[9]))


@dataclass(frozen=True, slots=True)
class Claim:
    """Who is compacting a session: the marker it wrote, and until when that holds."""

    marker: str
    owner: str
    expires: float
