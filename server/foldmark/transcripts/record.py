"""What a reader makes of a transcript, and what it must offer.

A reader is a value: pure functions, and where on disk their input lies. There are four forms of
transcript, each with a function of its own shape:

    Lines     JSON lines that only grow          one record at a time, read on from where we were
    Document  one file, written anew each time   the whole of it
    Folder    several files, written anew        whichever of them the reader asks for
    Database  SQLite, many sessions              what changed since, by SELECT
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

from foldmark.messages import Message, Summary, size

Kind: TypeAlias = Literal["message", "marker", "summary", "fork", "other"]

Json: TypeAlias = Mapping[str, Any]

State: TypeAlias = dict[str, Any]
"""What earlier records said that holds for later ones (a model, a turn, a place to read on from).

A reader writes into it. It is kept between two readings, as JSON, and starts empty.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a transcript as the log keeps it.

    `raw` is the record itself, byte for byte. `id` is its name in the transcript (or a digest of
    `raw`), `parent` the record it follows, and for a summary the marker it answers. Records that
    name each other as parents and share `message` are one message. `thread` names the subagent
    that wrote it, empty for the main history. `chars` is what a model would read of it, `model`
    the one that wrote it, where another record says so. `first_kept` is for markers; a fork's
    `replaces` names the first row that is taken back, with all behind it or those up to `until`,
    its `resumes` a row that is in force again. `unknown` names a type of record that the reader
    does not know.

    `project`, `branch`, `title`, `parent_session` (whose subagent this is) and `forked_from` are
    said of the whole session.
    """

    kind: Kind
    id: str
    raw: bytes
    parent: str = ""
    message: str = ""
    thread: str = ""
    role: str = ""
    at: str = ""
    prompt: str = ""
    chars: int = 0
    model: str = ""
    first_kept: str = ""
    replaces: str = ""
    until: str = ""
    resumes: str = ""
    unknown: str = ""
    project: str = ""
    branch: str = ""
    title: str = ""
    parent_session: str = ""
    forked_from: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something at `place` (a line's number, or a name) that is no record, and why."""

    place: int | str
    reason: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a transcript that is written anew holds now.

    `records` may leave out what did not change. `current` names all that is in force, oldest
    first: what we hold after the last of them was taken back since. None says that it is unknown.
    """

    records: Sequence[Record]
    current: Sequence[str] | None = None
    skipped: Sequence[Skipped] = ()


@dataclass(frozen=True, slots=True)
class Base:
    """The part of another session that a fork begins with: its first `length` bytes."""

    session: str
    length: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A session in a database, as a listing shows it; `updated` in seconds since 1970."""

    id: str
    parent: str = ""
    project: str = ""
    title: str = ""
    first_prompt: str = ""
    last_prompt: str = ""
    updated: float = 0.0


class Files(Protocol):
    """The files under one folder, by their paths below it with "/" between the parts."""

    def names(self, pattern: str) -> Sequence[str]:
        """List the files that match a glob pattern, sorted."""
        ...

    def read(self, name: str) -> bytes:
        """Read a file; nothing if it is not there or may not be read."""
        ...


class Rows(Protocol):
    """An assistant's database: one SELECT at a time, on tables named in it, nothing written."""

    def __call__(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """Return the rows, oldest first as the SELECT orders them, by the names of columns."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Files of JSON lines.

    `roots` are the ways to name one folder, the first that can be used counts: "~" is the user's
    home, "$NAME" a variable that must be set, "." the project. `pattern` is a glob below it.
    `session` names the session in a file, from the file's path below the root and its first
    record. `records` may make any number of records of one. `subagents` is a glob below the root
    in which {session} stands for the session they worked for. `project` finds the project's folder
    in files beside the transcript, where its records do not tell. With `siblings` the subagents'
    files lie in the session's own folder, and their first record names it as `parent_session`.
    """

    roots: Sequence[str]
    pattern: str
    recognizes: Callable[[Json], bool]
    records: Callable[[Json, bytes, State], Iterable[Record]]
    session: Callable[[str, Json], str]
    base: Callable[[Json], Base | None] | None = None
    project: Callable[[Files, str], str] | None = None
    subagents: str = ""
    siblings: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Files that are written anew as a whole; see `Lines` for what the fields mean.

    `read` also takes the beginning of a file, made well-formed, to tell what it is about. A file
    `in_project` lies in the project's folder.
    """

    roots: Sequence[str]
    pattern: str
    recognizes: Callable[[bytes], bool]
    read: Callable[[bytes], Snapshot]
    session: Callable[[str, bytes], str]
    project: Callable[[Files, str], str] | None = None
    in_project: bool = False
    subagents: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Sessions of several files; `pattern` finds the one that names the session.

    `read` is given that file's path below the root.
    """

    roots: Sequence[str]
    pattern: str
    recognizes: Callable[[bytes], bool]
    read: Callable[[Files, str], Snapshot]
    session: Callable[[str], str]
    subagents: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """SQLite files; `pattern` may be empty where a root is the file itself.

    Nothing but `tables` can be read. `sessions` lists all, or only the one of an id where listing
    all takes long and an id is given. `pending` names the sessions in which a tool of ours is being
    called right now.
    """

    roots: Sequence[str]
    pattern: str
    tables: Sequence[str]
    sessions: Callable[[Rows, str], Iterable[Seen]]
    read: Callable[[Rows, str, State], Snapshot]
    pending: Callable[[Rows], Iterable[str]] = lambda _: ()


Place: TypeAlias = Lines | Document | Folder | Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """All that Foldmark needs to know of one assistant.

    `message` builds a message from the records that hold it, oldest first; `summary` the summary
    of a marker from its record. `hosts` are the beginnings of the names that the assistant gives
    itself as an MCP client, `variables` those that hold the id of the calling session.
    """

    assistant: str
    places: Sequence[Place]
    message: Callable[[str, Sequence[Json]], Message]
    summary: Callable[[str, str, Json], Summary]
    hosts: Sequence[str] = ()
    variables: Sequence[str] = ()


def of_message(built: Message, record: Record) -> Record:
    """Make a record a message's: who speaks, when, what was typed, how much a model reads of it."""
    return replace(
        record,
        kind="message",
        role=built.role,
        at=record.at or built.at,
        prompt=built.prompt,
        chars=size(built.blocks),
    )


def compaction(summary: Record, *, first_kept: str = "") -> tuple[Record, Record]:
    """Make the two rows of a compaction that a transcript tells in one record.

    The marker goes by the summary's id and "/marker"; it holds no words of its own.
    """
    marker = Record(
        kind="marker",
        id=f"{summary.id}/marker",
        raw=b"{}",
        thread=summary.thread,
        at=summary.at,
        first_kept=first_kept,
    )
    return marker, replace(summary, kind="summary", parent=marker.id)
