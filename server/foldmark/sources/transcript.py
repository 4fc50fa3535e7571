"""One session's transcript: a file, several, or rows of a database, and who can read it."""

import os
from dataclasses import dataclass
from pathlib import Path

from foldmark.requests import LAST
from foldmark.transcripts.record import Database, Lines, Place, Reader, Seen


@dataclass(frozen=True, slots=True)
class Transcript:
    """The session in the file `path`, whose path below the place's root is `below`.

    `parent` is set for a subagent's; `seen` is what a database tells of its sessions. With a
    `length` only so many bytes of it belong to the session, which went on elsewhere.
    """

    path: Path
    reader: Reader
    place: Place
    session: str
    below: str = ""
    parent: str = ""
    seen: Seen | None = None
    length: int | None = None

    @property
    def name(self) -> str:
        """What the store calls this source: a database holds many, a fork shares another's."""
        shared = isinstance(self.place, Database) or self.length is not None
        path = os.fsencode(self.path).decode("utf-8", "backslashreplace")
        return f"{path}#{self.session}" if shared else path

    @property
    def root(self) -> Path:
        """The folder that `below` counts from."""
        depth = len(self.below.split("/"))
        return self.path.parents[depth - 1] if depth <= len(self.path.parents) else self.path.parent

    @property
    def updated(self) -> float:
        """When it was last written to, in seconds since 1970; 0 if that cannot be told."""
        return self.seen.updated if self.seen else modified(self.path)

    @property
    def compressed(self) -> bool:
        """Tell whether its lines are compressed with Zstandard."""
        return isinstance(self.place, Lines) and self.path.suffix == ".zst"


def state(path: Path) -> tuple[int, ...]:
    """Tell one state of a file from another, as its file system does; nothing if it is gone."""
    try:
        about = path.stat()
    except OSError:
        return ()
    return about.st_ino, about.st_size, about.st_mtime_ns


def written(path: Path) -> float:
    """Tell when a database was last written to, be it into the log that SQLite keeps beside it."""
    return max(modified(path), modified(path.with_name(f"{path.name}-wal")))


def modified(path: Path) -> float:
    """Tell when a file was last written to, in seconds since 1970; 0 if that cannot be told."""
    try:
        return min(max(path.stat().st_mtime, 0.0), LAST)
    except (OSError, ValueError):
        return 0.0
