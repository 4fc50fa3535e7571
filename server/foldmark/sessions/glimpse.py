"""What a transcript is about, told by its first and last records without reading it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from foldmark.errors import TranscriptUnreadable
from foldmark.requests import Listed
from foldmark.sources import files
from foldmark.sources.files import FolderFiles
from foldmark.sources.transcript import Transcript
from foldmark.transcripts import lines
from foldmark.transcripts.record import Database, Document, Folder, Lines, Record, Seen, State

SHOWN = 160
"""Characters of a prompt or title that a listing shows."""

_PEEK = 128 * 1024  # bytes at either end: Codex begins with up to 80 kB of instructions


def glimpse(transcript: Transcript) -> Listed | None:
    """Describe a session; None if its file is no transcript, or a subagent's."""
    if transcript.seen:
        return _listed(transcript, transcript.seen)
    try:
        first, last = _peeked(transcript)
    except (OSError, TranscriptUnreadable):
        return None
    records = [*first, *last]
    if not records or any(record.parent_session for record in records):
        return None
    return _listed(
        transcript,
        Seen(
            transcript.session,
            project=files.project(transcript) or _first(record.project for record in records),
            title=_first(record.title for record in reversed(records)),
            first_prompt=_first(_prompts(first)),
            last_prompt=_first(reversed(_prompts(last))),
        ),
    )


def together(newer: Listed, older: Listed) -> Listed:
    """Describe a session by two of its files, of which the newer may hold nothing yet."""
    return replace(
        newer,
        project=newer.project or older.project,
        title=newer.title or older.title,
        first_prompt=older.first_prompt or newer.first_prompt,
        last_prompt=newer.last_prompt or older.last_prompt,
        updated=max(newer.updated, older.updated),
    )


def _listed(transcript: Transcript, seen: Seen) -> Listed:
    return Listed(
        id=transcript.session,
        assistant=transcript.reader.assistant,
        project=seen.project,
        title=seen.title[:SHOWN],
        first_prompt=seen.first_prompt[:SHOWN],
        last_prompt=seen.last_prompt[:SHOWN],
        updated=transcript.updated,
        imported=False,
    )


def _peeked(transcript: Transcript) -> tuple[Sequence[Record], Sequence[Record]]:
    """Read the first records of a transcript and, where that is cheap, the last.

    Of a transcript that is short these are the same; where the end is not known there are none.
    """
    match transcript.place:
        case Lines() as place:
            return _ends(transcript, place)
        case Document() as place:
            data = files.beginning(transcript.path)
            records = place.read(data).records
        case Folder() as place:
            root = transcript.root.resolve()
            near = FolderFiles(root, lambda real: real.is_relative_to(root), beginnings=True)
            records = place.read(near, transcript.below).records
        case Database():
            return (), ()
    whole = transcript.path.stat().st_size <= files.BEGINNING
    return records, records if whole else ()


def _ends(transcript: Transcript, place: Lines) -> tuple[Sequence[Record], Sequence[Record]]:
    end = b""
    if transcript.compressed:
        start, whole = files.beginning(transcript.path), False
    else:
        with files.opened(transcript.path) as file:
            start = file.read(_PEEK)
            file.seek(max(len(start), transcript.path.stat().st_size - _PEEK))
            end = file.read()
        whole = not end
    state: State = {}
    told = lines.split(start, last=whole).records
    if not told and not whole:  # the first record alone is longer
        told = lines.split(files.closed(start), last=True).records
    if not any(place.recognizes(value) for value, _ in told):
        return (), ()
    first = [one for value, raw in told for one in place.records(value, raw, state)]
    if whole:
        return first, first
    told = lines.split(end.partition(b"\n")[2], last=True).records
    return first, [one for value, raw in told for one in place.records(value, raw, state)]


def _prompts(records: Iterable[Record]) -> list[str]:
    return [record.prompt for record in records if record.prompt and not record.thread]


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")
