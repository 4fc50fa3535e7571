"""The bytes of transcripts: whole, from their beginning, or several files of one session."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

import zstandard
from pydantic_core import from_json

from foldmark.errors import TranscriptUnreadable
from foldmark.sources.transcript import Transcript
from foldmark.transcripts.fields import dumps
from foldmark.transcripts.record import Document, Lines

LONGEST = 512 * 1024 * 1024
"""Bytes of a transcript that has to be read whole; none that was seen came near it."""

_DEEPEST = 32
"""Folders inside each other that are looked into."""

_MAGIC = frozenset("*?[")

BEGINNING = 64 * 1024
"""Bytes at the beginning of a transcript that tell what it is about."""


class FolderFiles:
    """The files under `root` that may be read, each whole or only its beginning.

    `digest` tells one state of all that was read from another.
    """

    def __init__(
        self, root: Path, allowed: Callable[[Path], bool], *, beginnings: bool = False
    ) -> None:
        """Give the files for which `allowed` holds after every link is followed."""
        self._root = root
        self._allowed = allowed
        self._beginnings = beginnings
        self._read: dict[str, bytes] = {}

    def names(self, pattern: str) -> list[str]:
        """List the files that match a glob pattern, sorted."""
        found = (path for path in matching(self._root, pattern) if is_file(path))
        return sorted(path.relative_to(self._root).as_posix() for path in found)

    def read(self, name: str) -> bytes:
        """Read a file; nothing if it is not there or may not be read."""
        path = self._root / name
        try:
            if not self._allowed(path.resolve()):
                return b""
            data = beginning(path) if self._beginnings else whole(path)
        except (OSError, ValueError, TranscriptUnreadable):
            return b""
        self._read[name] = blake2b(data, digest_size=16).digest()
        return data

    @property
    def digest(self) -> bytes:
        """A digest of every file that was read."""
        told = b"".join(os.fsencode(name) + self._read[name] for name in sorted(self._read))
        return blake2b(told, digest_size=16).digest()


def project(transcript: Transcript) -> str:
    """Find the project's folder in files beside a transcript; nothing if none tells."""
    if transcript.seen:
        return transcript.seen.project
    place, root = transcript.place, transcript.root.resolve()
    if isinstance(place, Document) and place.in_project:
        return str(transcript.path.parent)
    if not isinstance(place, Lines | Document) or place.project is None:
        return ""
    beside = FolderFiles(root, lambda real: real.is_relative_to(root), beginnings=True)
    return place.project(beside, transcript.below)


def whole(path: Path) -> bytes:
    """Read a file.

    Raises:
        TranscriptUnreadable: It is too long or cannot be read.
        FileNotFoundError: It is gone.

    """
    if (size := path.stat().st_size) > LONGEST:
        raise TranscriptUnreadable(
            f"{str(path)!r} has {size:,} bytes, and {LONGEST:,} are the most that are read of a "
            "transcript in one piece. Nothing was changed."
        )
    with _readable(path) as file:
        return file.read()


def opened(path: Path) -> BinaryIO:
    """Open a regular file; a pipe would wait for somebody to write into it.

    Raises:
        OSError: It is none, or cannot be opened.

    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def _readable(path: Path) -> BinaryIO:
    """Open a regular file, and say for a person why that is not possible."""
    try:
        return opened(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TranscriptUnreadable(
            f"{str(path)!r} cannot be read ({error.strerror}). Nothing was changed. Check who may "
            "read the file."
        ) from error


def is_file(path: Path) -> bool:
    """Tell whether there is such a file, whatever is asked for."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have, or one we may not look at
        return False


def matching(root: Path, pattern: str, depth: int = _DEEPEST) -> Iterator[Path]:
    """Find paths by a glob pattern; what cannot be looked at is passed over, and only that."""
    first, _, rest = pattern.partition("/")
    if first == "**":
        yield from matching(root, rest, depth)
        for folder in _entries(root) if depth else ():
            if folder.is_dir(follow_symlinks=False):
                yield from matching(Path(folder.path), pattern, depth - 1)
    elif not _MAGIC.intersection(first):
        yield from matching(root / first, rest, depth) if rest else [root / first]
    else:
        for entry in _entries(root):
            if fnmatchcase(entry.name, first):
                found = Path(entry.path)
                yield from matching(found, rest, depth) if rest else [found]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda one: one.name)
    except (OSError, ValueError):
        return []


def head(path: Path) -> bytes:
    """Read the beginning of a file as `beginning` does; nothing if it cannot be read."""
    try:
        return beginning(path)
    except (OSError, TranscriptUnreadable):
        return b""


def beginning(path: Path) -> bytes:
    """Read the beginning of a file, unpacked; JSON that goes on is closed where it is cut.

    Raises:
        OSError: It cannot be read.
        TranscriptUnreadable: It cannot be unpacked.

    """
    with opened(path) as file:
        unpacked = zstandard.ZstdDecompressor().stream_reader(file)
        source = unpacked if path.suffix == ".zst" else file
        try:
            data = source.read(BEGINNING)
            more = bool(source.read(1))
        except zstandard.ZstdError as error:
            raise _torn(path, error) from error
    return closed(data) if more and data.lstrip().startswith((b"{", b"[")) else data


def closed(data: bytes) -> bytes:
    """Close JSON that is cut; what is none stays as it is."""
    try:
        return dumps(from_json(data.decode("utf-8", "ignore"), allow_partial=True)).encode()
    except ValueError:
        return data


def open_lines(path: Path, *, compressed: bool) -> BinaryIO:
    """Open a file of lines; one that is compressed is unpacked into a file without a name.

    Raises:
        TranscriptUnreadable: It cannot be read or unpacked.
        FileNotFoundError: It is gone.

    """
    file = _readable(path)
    return _unpacked(path, file) if compressed else file


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    room = LONGEST * 4
    target = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    try:
        with (
            file,
            zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as data,
        ):
            shutil.copyfileobj(_Bounded(data, room), target)
    except (zstandard.ZstdError, OSError, ValueError) as error:
        target.close()
        raise _torn(path, error) from error
    return target


def _torn(path: Path, error: Exception) -> TranscriptUnreadable:
    return TranscriptUnreadable(
        f"{str(path)!r} cannot be unpacked ({error}). Nothing was changed. It may be torn; pass "
        "another copy of it as transcript_path."
    )


class _Bounded:
    """Reads from a stream until more comes out of it than a transcript can be."""

    def __init__(self, data: zstandard.ZstdDecompressionReader, room: int) -> None:
        self._data = data
        self._room = room

    def read(self, size: int = -1) -> bytes:
        data = self._data.read(size)
        self._room -= len(data)
        if self._room < 0:
            raise ValueError("it unpacks to more than a transcript can be")
        return data
