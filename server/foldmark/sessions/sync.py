"""Bringing what is new in a transcript into the log, and telling what was wrong with it."""

from collections.abc import Callable, Iterator
from pathlib import Path

from foldmark.sessions import growing, snapshots
from foldmark.sessions.growing import Progress
from foldmark.sources.transcript import Transcript
from foldmark.store.rows import Source
from foldmark.store.store import Store
from foldmark.transcripts.record import Lines


async def sync(
    store: Store,
    transcript: Transcript,
    progress: Progress | None = None,
    held: Source | None = None,
    *,
    may_read: Callable[[Path], bool] = lambda _: True,
) -> Source:
    """Read what is new in a transcript into the log, and tell how far it was read.

    `held` is how far it was read before, as far as the caller knows; `may_read` says of a file
    beside it whether it may be opened.

    Raises:
        TranscriptUnreadable: It cannot be read or is no transcript of this reader's.
        FileNotFoundError: It is gone.

    """
    while True:
        if isinstance(transcript.place, Lines):
            done = await growing.read(store, transcript, held, progress)
        else:
            done = await snapshots.read(store, transcript, held, may_read)
        if done is not None:
            return done
        held = await store.source(transcript.name)


def faults(source: Source) -> Iterator[str]:
    """Say what was wrong with a transcript."""
    if source.skipped:
        places = ", ".join(
            f"line {place} ({reason})" if isinstance(place, int) else f"{place} ({reason})"
            for place, reason in source.places
        )
        more = ", ..." if source.skipped > len(source.places) else ""
        yield f"{source.skipped} damaged records were skipped: {places}{more}"
    if source.unknown:
        types = ", ".join(f"{name!r} ({count})" for name, count in source.unknown.items())
        yield (
            f"{sum(source.unknown.values())} records are of types that this version of Foldmark "
            f"does not know; they are kept, and not shown: {types}"
        )
    if source.restarts:
        yield (
            f"{source.path!r} was cut short or rewritten since it was first read; what it held "
            "before is kept, and shown unless the assistant says that it was taken back"
        )
