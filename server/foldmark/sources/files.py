"""The bytes of transcripts: whole, from their beginning, or several files of one session."""

import shutil
import tempfile
from collections.abc import Callable
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
        try:
            found = [path for path in self._root.glob(pattern) if path.is_file()]
        except (OSError, ValueError):
            return []
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
        told = b"".join(name.encode() + self._read[name] for name in sorted(self._read))
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
        TranscriptUnreadable: It is too long.
        OSError: It cannot be read.

    """
    if (size := path.stat().st_size) > LONGEST:
        raise TranscriptUnreadable(
            f"{str(path)!r} has {size:,} bytes, and {LONGEST:,} are the most that are read of a "
            "transcript in one piece. Nothing was changed."
        )
    return path.read_bytes()


def head(path: Path) -> bytes:
    """Read the beginning of a file as `beginning` does; nothing if it cannot be read."""
    try:
        return beginning(path)
    except (OSError, zstandard.ZstdError):
        return b""


def beginning(path: Path) -> bytes:
    """Read the beginning of a file, unpacked; JSON that goes on is closed where it is cut.

    Raises:
        OSError: It cannot be read.
        ZstdError: It cannot be unpacked.

    """
    with path.open("rb") as file:
        unpacked = zstandard.ZstdDecompressor().stream_reader(file)
        source = unpacked if path.suffix == ".zst" else file
        data = source.read(BEGINNING)
        more = bool(source.read(1))
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
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TranscriptUnreadable(
            f"{str(path)!r} cannot be read ({error.strerror}). Nothing was changed. Check who may "
            "read the file."
        ) from error
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
        raise TranscriptUnreadable(
            f"{str(path)!r} cannot be unpacked ({error}). Nothing was changed. It may be torn; "
            "pass another copy of it as transcript_path."
        ) from error
    return target


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
