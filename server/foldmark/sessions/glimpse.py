"""What a transcript is about, told by its first and last records without reading it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from foldmark.requests import Listed
from foldmark.sessions import folders
from foldmark.sessions.readers import FILES
from foldmark.transcripts import lines

SHOWN = 160
"""Characters of a prompt or title that a listing shows."""

_PEEK = 32 * 1024  # bytes at either end


def glimpse(path: Path) -> Listed | None:
    """Describe a transcript by its first and last records; None if it is no transcript."""
    try:
        about = path.stat()
        with path.open("rb") as file:
            start = file.read(_PEEK)
            file.seek(max(len(start), about.st_size - _PEEK))
            end = file.read()
    except OSError:
        return None
    records = [
        FILES.record(value, raw) for value, raw in _peeked(start, end) if FILES.recognizes(value)
    ]
    if not records:
        return None
    prompts = [record.prompt for record in records if record.prompt and not record.thread]
    return Listed(
        id=folders.session_id(path),
        assistant=FILES.assistant,
        project=_first(record.project for record in records),
        title=_first(record.title for record in reversed(records))[:SHOWN],
        first_prompt=_first(prompts)[:SHOWN],
        last_prompt=_first(reversed(prompts))[:SHOWN],
        updated=about.st_mtime,
        imported=False,
    )


def _peeked(start: bytes, end: bytes) -> list[tuple[dict[str, Any], bytes]]:
    whole = not end
    return [
        *lines.split(start, last=whole).records,
        *lines.split(end.partition(b"\n")[2], last=True).records,
    ]


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")
