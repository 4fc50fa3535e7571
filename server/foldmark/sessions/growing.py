"""Reading on in a transcript that grows line by line.

A file is read from where the last reading stopped. It is read from its start again only when it
shrank or its known part changed, and then adds what we do not hold: nothing is ever taken away.
"""

import asyncio
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import BinaryIO

from foldmark.errors import TranscriptUnreadable
from foldmark.offload import offload
from foldmark.sources import files
from foldmark.sources.transcript import Transcript
from foldmark.store.rows import Batch, Source
from foldmark.store.store import Store
from foldmark.transcripts import lines
from foldmark.transcripts.record import Lines, Record, Skipped

_PIECE = 256 * 1024  # bytes decoded at once: what a processor keeps at hand
_STRETCH = 6 * 1024 * 1024  # bytes written by one transaction
_FINGERPRINT = 4096  # bytes at either end of what was read that tell a file from its successor
_PLACES_KEPT = 20
_TYPES_KEPT = 40

Progress = Callable[[int, int], Awaitable[None]]
"""Told the bytes done and the bytes in all."""


async def read(
    store: Store, transcript: Transcript, held: Source | None, progress: Progress | None
) -> Source | None:
    """Read on to the end, and tell how far that is; None when another server was faster.

    While one stretch is written, the next one is decoded.

    Raises:
        TranscriptUnreadable: The file cannot be read or is no transcript of this reader's.
        FileNotFoundError: It is gone.

    """
    about = transcript.path.stat()
    same = held if held and held.session == transcript.session else None
    if same and (same.size, same.modified) == (about.st_size, stamp(about)):
        return same
    if not stat.S_ISREG(about.st_mode):
        raise TranscriptUnreadable(
            f"{str(transcript.path)!r} is not a regular file. Nothing was read. Name a transcript "
            "file."
        )
    if transcript.compressed:
        unpacked = await offload(lambda: files.open_lines(transcript.path, compressed=True))
    else:
        unpacked = files.open_lines(transcript.path, compressed=False)
    with unpacked as file:
        total = _end(transcript, file)
        at = Source(transcript.name, transcript.session)
        if same:
            known = _continues(file, same, total)
            at = same if known else replace(at, restarts=same.restarts + 1)
        since, writing = held, None
        recognized = at.consumed > 0
        try:
            while True:
                if total - at.consumed > _PIECE:
                    stretch = await offload(_stretch, transcript, file, at, about)
                else:
                    stretch = _stretch(transcript, file, at, about)
                if writing and not await writing:
                    return None
                at = stretch.reached
                if not recognized:
                    recognized = _recognizes(transcript, stretch)
                    if not recognized:
                        continue  # nothing but damage so far
                writing = asyncio.create_task(store.append(stretch.batches, at, since))
                since = at
                if progress:
                    await progress(at.consumed, total)
                if stretch.last:
                    return at if await writing else None
        finally:
            if writing:
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A part of the file, decoded: what to add, how far it reaches, and whether it is the last."""

    batches: list[Batch]
    reached: Source
    last: bool
    recognized: bool


def _stretch(transcript: Transcript, file: BinaryIO, at: Source, about: os.stat_result) -> _Stretch:
    """Decode the next stretch of the file after `at`."""
    assert isinstance(transcript.place, Lines)
    threads: dict[str, list[Record]] = {"": []}
    skipped: list[Skipped] = []
    state, recognized = deepcopy(dict(at.state)), False
    reached, last, piece = at, False, _PIECE
    while not last and reached.consumed - at.consumed < _STRETCH:
        wanted = piece
        if transcript.length is not None:
            wanted = min(piece, transcript.length - reached.consumed)
        data = _chunk(file, reached.consumed, wanted)
        last = len(data) < piece
        found = lines.split(data, line=reached.lines + 1, discarding=reached.discarding, last=last)
        piece = _PIECE if found.consumed else piece * 2  # one record is longer than that
        for value, raw in found.records:
            recognized = recognized or transcript.place.recognizes(value)
            for record in transcript.place.records(value, raw, state):
                thread = "" if transcript.parent else record.thread
                threads.setdefault(thread, []).append(record)
        skipped += found.skipped
        reached = replace(
            reached,
            consumed=reached.consumed + found.consumed,
            lines=reached.lines + found.lines,
            discarding=found.discarding,
        )
    reached = replace(
        counted(reached, skipped, (r for some in threads.values() for r in some)),
        state=state,
        head=_digest(file, 0, min(reached.consumed, _FINGERPRINT)),
        tail=_digest(file, max(0, reached.consumed - _FINGERPRINT), reached.consumed),
    )
    if last:
        reached = replace(reached, size=about.st_size, modified=stamp(about))
    return _Stretch(_batches(transcript, threads, about.st_mtime), reached, last, recognized)


def stamp(about: os.stat_result) -> int:
    """Tell when a file was last written to, in nanoseconds since 1970, as far as SQLite counts."""
    return min(about.st_mtime_ns, 2**63 - 1)


def counted(at: Source, skipped: Sequence[Skipped], records: Iterable[Record]) -> Source:
    """Add to what was counted of a transcript: what was skipped, and what is of no known type."""
    places = (*at.places, *((skip.place, skip.reason) for skip in skipped))
    types = Counter(record.unknown for record in records if record.unknown)
    types.update(at.unknown)
    return replace(
        at,
        skipped=at.skipped + len(skipped),
        places=places[:_PLACES_KEPT],
        unknown=dict(types.most_common(_TYPES_KEPT)),
    )


def _batches(
    transcript: Transcript, threads: Mapping[str, list[Record]], modified: float
) -> list[Batch]:
    """Give each session in the file what is its own: the main one, and subagents' inside."""
    return [
        Batch(
            session=f"{transcript.session}/{thread}" if thread else transcript.session,
            assistant=transcript.reader.assistant,
            records=records,
            parent=transcript.session if thread else transcript.parent,
            project=files.project(transcript),
            updated=modified,
        )
        for thread, records in threads.items()
    ]


def _recognizes(transcript: Transcript, stretch: _Stretch) -> bool:
    """Tell whether this is the reader's transcript, before anything of it is written.

    Raises:
        TranscriptUnreadable: It is not, or holds nothing.

    """
    if stretch.recognized:
        return True
    records = [record for batch in stretch.batches for record in batch.records]
    if not records and not stretch.last:
        return False
    empty = not records and not stretch.reached.skipped
    what = "holds no record yet" if empty else f"is no {transcript.reader.assistant} transcript"
    raise TranscriptUnreadable(
        f"{str(transcript.path)!r} {what}. Nothing was read. Pass the path of a session's "
        "transcript, or call list_sessions to see the sessions there are."
    )


def _continues(file: BinaryIO, held: Source, size: int) -> bool:
    """Tell whether the file still starts with what was read of it."""
    return (
        size >= held.consumed
        and _digest(file, 0, min(held.consumed, _FINGERPRINT)) == held.head
        and _digest(file, max(0, held.consumed - _FINGERPRINT), held.consumed) == held.tail
    )


def _end(transcript: Transcript, file: BinaryIO) -> int:
    """Tell where reading ends: at the file's end, or where its session went on elsewhere."""
    size = file.seek(0, os.SEEK_END)
    return size if transcript.length is None else min(size, transcript.length)


def _digest(file: BinaryIO, start: int, stop: int) -> bytes:
    return hashlib.blake2b(_chunk(file, start, stop - start), digest_size=16).digest()


def _chunk(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)
