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

_PEEK = 32 * 1024  # bytes at either end


def glimpse(transcript: Transcript) -> Listed | None:
    """Describe a session; None if its file is no transcript, or a subagent's."""
    if transcript.seen:
        return _listed(transcript, transcript.seen)
    try:
        records = _peeked(transcript)
    except (OSError, TranscriptUnreadable):
        return None
    if not records or any(record.parent_session for record in records):
        return None
    prompts = [record.prompt for record in records if record.prompt and not record.thread]
    known = isinstance(transcript.place, Lines) or transcript.path.stat().st_size < files.BEGINNING
    return _listed(
        transcript,
        Seen(
            transcript.session,
            project=files.project(transcript) or _first(record.project for record in records),
            title=_first(record.title for record in reversed(records)),
            first_prompt=_first(prompts),
            last_prompt=_first(reversed(prompts)) if known else "",
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


def _peeked(transcript: Transcript) -> Sequence[Record]:
    """Read the first and, where that is cheap, the last records of a file."""
    match transcript.place:
        case Lines() as place:
            found = _ends(transcript)
            if not any(place.recognizes(value) for value, _ in found):
                return ()
            state: State = {}
            return [one for value, raw in found for one in place.records(value, raw, state)]
        case Document() as place:
            return place.read(files.beginning(transcript.path)).records
        case Folder() as place:
            near = FolderFiles(transcript.root, lambda _: True, beginnings=True)
            return place.read(near, transcript.below).records
        case Database():
            return ()


def _ends(transcript: Transcript) -> lines.Found:
    if transcript.compressed:
        return lines.split(files.beginning(transcript.path)).records
    with transcript.path.open("rb") as file:
        start = file.read(_PEEK)
        file.seek(max(len(start), transcript.path.stat().st_size - _PEEK))
        end = file.read()
    whole = not end
    return [
        *lines.split(start, last=whole).records,
        *lines.split(end.partition(b"\n")[2], last=True).records,
    ]


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")
