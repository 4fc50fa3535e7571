"""Bringing what is new in a transcript file into the log.

A file is read from where the last reading stopped. It is read from its start again only when it
shrank or its known part changed, and then adds what we do not hold: nothing is ever taken away.
"""

import asyncio
import hashlib
import os
import stat
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from foldmark.errors import TranscriptUnreadable
from foldmark.offload import offload
from foldmark.store.rows import Batch, Source
from foldmark.store.store import Store
from foldmark.transcripts import lines
from foldmark.transcripts.record import Reader, Record

_PIECE = 256 * 1024  # bytes decoded at once: what a processor keeps at hand
_STRETCH = 6 * 1024 * 1024  # bytes written by one transaction
_FINGERPRINT = 4096  # bytes at either end of what was read that tell a file from its successor
_PLACES_KEPT = 20

Progress = Callable[[int, int], Awaitable[None]]
"""Told the bytes done and the bytes in all."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file, who wrote it, and the session it holds; `parent` is set for a subagent's."""

    path: Path
    reader: Reader
    session: str
    parent: str = ""


async def sync(
    store: Store,
    transcript: Transcript,
    progress: Progress | None = None,
    held: Source | None = None,
) -> Source:
    """Read what is new in a transcript into the log, and tell how far it was read.

    `held` is how far it was read before, as far as the caller knows.

    Raises:
        TranscriptUnreadable: The file cannot be read or is no transcript of this reader's.
        FileNotFoundError: It is gone.

    """
    path = str(transcript.path)
    while True:
        about = transcript.path.stat()
        if held and (held.size, held.modified) == (about.st_size, about.st_mtime_ns):
            return held
        if not stat.S_ISREG(about.st_mode):
            raise TranscriptUnreadable(
                f"{path!r} is not a regular file. Nothing was read. Name a transcript file."
            )
        done = await _read(store, transcript, held, about, progress)
        if done is not None:
            return done
        held = await store.source(path)


async def _read(
    store: Store,
    transcript: Transcript,
    held: Source | None,
    about: os.stat_result,
    progress: Progress | None,
) -> Source | None:
    """Read to the end; None when another server read the same bytes first.

    While one stretch is written, the next one is decoded.
    """
    with _open(transcript.path) as file:
        known = held is not None and _continues(file, held, about.st_size)
        at = Source(str(transcript.path), transcript.session)
        if held:
            at = held if known else replace(at, restarts=held.restarts + 1)
        since, writing = held, None
        recognized = at.consumed > 0
        try:
            while True:
                if about.st_size - at.consumed > _PIECE:
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
                    await progress(at.consumed, about.st_size)
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


def _stretch(transcript: Transcript, file: BinaryIO, at: Source, about: os.stat_result) -> _Stretch:
    """Decode the next stretch of the file after `at`."""
    threads: dict[str, list[Record]] = {"": []}
    reached, last, piece = at, False, _PIECE
    while not last and reached.consumed - at.consumed < _STRETCH:
        data = _chunk(file, reached.consumed, piece)
        last = len(data) < piece
        found = lines.split(data, line=reached.lines + 1, discarding=reached.discarding, last=last)
        piece = _PIECE if found.consumed else piece * 2  # one record is longer than that
        for value, raw in found.records:
            record = transcript.reader.record(value, raw)
            threads.setdefault("" if transcript.parent else record.thread, []).append(record)
        reached = _after(reached, found)
    reached = replace(
        reached,
        head=_digest(file, 0, min(reached.consumed, _FINGERPRINT)),
        tail=_digest(file, max(0, reached.consumed - _FINGERPRINT), reached.consumed),
    )
    if last:
        reached = replace(reached, size=about.st_size, modified=about.st_mtime_ns)
    return _Stretch(_batches(transcript, threads, about.st_mtime), reached, last)


def _after(reached: Source, found: lines.Lines) -> Source:
    places = [*reached.places, *((skip.line, skip.reason) for skip in found.skipped)]
    return replace(
        reached,
        consumed=reached.consumed + found.consumed,
        lines=reached.lines + found.lines,
        discarding=found.discarding,
        skipped=reached.skipped + len(found.skipped),
        places=tuple(places[:_PLACES_KEPT]),
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
            updated=modified,
        )
        for thread, records in threads.items()
    ]


def _recognizes(transcript: Transcript, stretch: _Stretch) -> bool:
    """Tell whether this is the reader's transcript, before anything of it is written.

    Raises:
        TranscriptUnreadable: It is not, or holds nothing.

    """
    records = [record for batch in stretch.batches for record in batch.records]
    if any(transcript.reader.recognizes(lines.loads(record.raw)) for record in records):
        return True
    if not records and not stretch.last:
        return False
    empty = not records and not stretch.reached.skipped
    what = "holds no record yet" if empty else f"is no {transcript.reader.assistant} transcript"
    raise TranscriptUnreadable(
        f"{str(transcript.path)!r} {what}. Nothing was read. Pass the path of a session's .jsonl "
        "file, or call list_sessions to see the sessions there are."
    )


def _continues(file: BinaryIO, held: Source, size: int) -> bool:
    """Tell whether the file still starts with what was read of it."""
    return (
        size >= held.consumed
        and _digest(file, 0, min(held.consumed, _FINGERPRINT)) == held.head
        and _digest(file, max(0, held.consumed - _FINGERPRINT), held.consumed) == held.tail
    )


def _digest(file: BinaryIO, start: int, stop: int) -> bytes:
    return hashlib.blake2b(_chunk(file, start, stop - start), digest_size=16).digest()


def _chunk(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TranscriptUnreadable(
            f"{str(path)!r} cannot be read ({error.strerror}). Nothing was changed. Check who may "
            "read the file."
        ) from error
