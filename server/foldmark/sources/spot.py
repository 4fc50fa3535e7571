"""One place of a reader's on this machine: which files are of it, and whose sessions they hold.

A session is named by its file's path where the assistant does so, else by the first records, and
where neither tells by the file's name and a digest of its folder, since two may share a name.
"""

import glob
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path

from foldmark.errors import TranscriptUnreadable
from foldmark.requests import LAST
from foldmark.sources import database, files
from foldmark.sources.transcript import Transcript, modified, written
from foldmark.transcripts import lines
from foldmark.transcripts.lines import well_formed
from foldmark.transcripts.record import Database, Document, Folder, Lines, Place, Reader

_MOST = 20_000  # files looked at under one root
LONGEST_ID = 200
"""Characters of a session's id; what is longer is none."""

_SNIFFED = 40  # records that may come before one that tells whose transcript it is


@dataclass(frozen=True)
class Spot:
    """A place of a reader's, at its root."""

    reader: Reader
    place: Place
    root: Path

    @cached_property
    def real(self) -> Path:
        """The root, its links followed."""
        return self.root.resolve()

    @classmethod
    def around(cls, reader: Reader, place: Place, path: Path) -> "Spot":
        """Make a spot whose root lies as far above `path` as the place's pattern is deep."""
        depth = len(place.pattern.split("/")) if "**" not in place.pattern else 1
        return cls(reader, place, path.parents[min(depth, len(path.parents)) - 1])

    def transcripts(self, since: float = 0.0) -> list[Transcript]:
        """List the main transcripts that were written to `since`."""
        paths = self._files(self.place.pattern)
        if isinstance(self.place, Database):
            found = [one for path in paths if written(path) >= since for one in self.held(path)]
            return [one for one in found if not one.parent and one.updated >= since]
        return [self.transcript(path) for path in paths if modified(path) >= since]

    def find(self, session: str, *, anywhere: bool = False) -> list[Transcript]:
        """Find the transcripts of a session, among files whose path tells of it or `anywhere`."""
        if isinstance(self.place, Database):
            some = () if anywhere else self._sessions(session)
            return [one for one in some if one.session == session]
        name, _, agent = session.partition("/")
        if agent:
            found = self.subagents(name)
        else:
            paths = self._files(self.place.pattern)
            near = paths if anywhere else [p for p in paths if self._tells_of(p, session)]
            found = [self.transcript(path) for path in near]
        return [one for one in found if one.session == session]

    def subagents(self, session: str, near: str = "") -> list[Transcript]:
        """List the transcripts of the subagents that worked for a session.

        `near` is the path of the session's own file below the root: they lie in the same folder.
        """
        if isinstance(self.place, Database):
            return [one for one in self._sessions() if one.parent == session]
        if isinstance(self.place, Lines) and self.place.siblings and near:
            return self._siblings(self.place, session, near)
        if not self.place.subagents:
            return []
        if session in ("", ".", ".."):
            return []
        pattern = _inside(self.place.subagents, near).replace("{session}", glob.escape(session))
        return [self.transcript(path, parent=session) for path in self._files(pattern)]

    def _siblings(self, place: Lines, session: str, near: str) -> list[Transcript]:
        """Find the files in a session's own folder that say they worked for it."""
        folder, _, _ = near.rpartition("/")
        name = place.pattern.rpartition("/")[2]
        paths = self._files(f"{glob.escape(folder)}/{name}" if folder else name)
        for path in paths:
            if path not in self._parents and (parent := _parent(place, path)) is not None:
                self._parents[path] = parent
        of = [path for path in paths if self._parents.get(path) == session]
        return [replace(self.transcript(path), parent=session) for path in of]

    @cached_property
    def _parents(self) -> dict[Path, str]:
        """For which sessions files worked; their first records do not change."""
        return {}

    def transcript(self, path: Path, head: bytes | None = None, *, parent: str = "") -> Transcript:
        """Describe a file, of which `head` is the beginning if that is known."""
        below = self._below(path)
        name = self._named_by_path(below)
        if not name and not isinstance(self.place, Folder):
            name = self._named_by_head(below, files.head(path) if head is None else head)
        name = well_formed(name)
        if not name or len(name) > LONGEST_ID:
            digest = hashlib.blake2b(os.fsencode(path.parent), digest_size=3).hexdigest()
            stem = well_formed(path.name.split(".")[0])[:LONGEST_ID]
            name = f"{stem or self.reader.assistant}-{digest}"
        session = f"{parent}/{name}" if parent and "/" not in name else name
        above = session.partition("/")[0] if "/" in session else ""
        return Transcript(path, self.reader, self.place, session, below, parent or above)

    def held(self, path: Path, session: str = "") -> list[Transcript]:
        """List the sessions in a database, or only one; one that cannot be read holds none now."""
        if not isinstance(self.place, Database):
            return []
        below = self._below(path)
        try:
            with database.reading(path, self.place.tables) as rows:
                told = self.place.sessions(rows, session)
                found = [one for one in told if 0 < len(one.id) <= LONGEST_ID]
        except (TranscriptUnreadable, OSError):
            return []
        if len(found) == 1 and not session:  # then the file tells when it was written to
            found = [replace(found[0], updated=max(found[0].updated, written(path)))]
        found = [replace(one, updated=min(max(one.updated, 0.0), LAST)) for one in found]
        return [
            Transcript(path, self.reader, self.place, seen.id, below, seen.parent, seen)
            for seen in found
        ]

    def recognizes(self, head: bytes) -> bool:
        """Tell whether a file that begins so is of this reader's making."""
        match self.place:
            case Lines():
                told = lines.split(head, last=True).records[:_SNIFFED]
                return any(self.place.recognizes(value) for value, _ in told)
            case Document() | Folder():
                return self.place.recognizes(head)
            case Database():
                return False

    def holds(self, real: Path) -> bool:
        """Tell whether this file, its links followed, is one of the place's, by its path alone."""
        if not real.is_relative_to(self.real):
            return False
        below = real.relative_to(self.real).parts
        patterns = [self.place.pattern]
        if not isinstance(self.place, Database) and self.place.subagents:
            patterns.append(self.place.subagents.replace("{session}", "*"))
        return any(_matches(below, tuple(filter(None, p.split("/")))) for p in patterns)

    def _sessions(self, session: str = "") -> Iterator[Transcript]:
        paths = self._files(self.place.pattern)
        return (one for path in paths for one in self.held(path, session))

    def _files(self, pattern: str) -> list[Path]:
        """Find regular files, passing over whatever a link leads out of the root to."""
        if not pattern:
            return [self.root] if files.is_file(self.root) else []
        return list(self._found(pattern))

    def _found(self, pattern: str) -> Iterator[Path]:
        for path in islice(files.matching(self.root, pattern), _MOST):
            try:
                if path.is_file() and path.resolve().is_relative_to(self.real):
                    yield path
            except (OSError, RuntimeError, ValueError):
                continue

    def _tells_of(self, path: Path, session: str) -> bool:
        below = self._below(path)
        return session[:8] in below or self._named_by_path(below) == session

    def _below(self, path: Path) -> str:
        for root in (self.root, self.real):
            if path != root and path.is_relative_to(root):
                return path.relative_to(root).as_posix()
        return path.name

    def _named_by_path(self, below: str) -> str:
        match self.place:
            case Lines():
                return self.place.session(below, {})
            case Document():
                return self.place.session(below, b"")
            case Folder():
                return self.place.session(below)
            case Database():
                return ""

    def _named_by_head(self, below: str, head: bytes) -> str:
        match self.place:
            case Lines():
                told = (value for value, _ in lines.split(head, last=True).records)
                known = (self.place.session(below, v) for v in told if self.place.recognizes(v))
                return next(filter(None, known), "")
            case Document():
                return self.place.session(below, head)
            case _:
                return ""


def _parent(place: Lines, path: Path) -> str | None:
    """Tell for which session the one in a file worked, by its first record; None without one."""
    told = lines.split(files.head(path), last=True).records[:1]
    if not told:
        return None
    found = (one.parent_session for value, raw in told for one in place.records(value, raw, {}))
    return next(filter(None, found), "")


def _inside(pattern: str, near: str) -> str:
    """Put the folders of a path where a pattern begins with any."""
    parts = pattern.split("/")
    for at, folder in enumerate(near.split("/")[:-1]):
        if at >= len(parts) or parts[at] != "*":
            break
        parts[at] = glob.escape(folder)
    return "/".join(parts)


def _matches(parts: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        rest = patterns[1:]
        return any(_matches(parts[at:], rest) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], patterns[0]) and _matches(parts[1:], patterns[1:])
