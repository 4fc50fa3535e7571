"""Foldmark's own rows: the marker it writes before a summarizer runs, and the summary after it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from foldmark.messages import Marker, Summary
from foldmark.store.rows import Stored
from foldmark.transcripts import lines
from foldmark.transcripts.fields import dumps, mapping, text
from foldmark.transcripts.record import Reader, Record


def marker_record(marker: Marker, details: Mapping[str, Any]) -> Record:
    """Write a marker for the log."""
    body = {"type": "marker", "first_kept": marker.first_kept, **details}
    return Record(
        kind="marker",
        id=marker.id,
        raw=dumps(body).encode(),
        first_kept=marker.first_kept,
        at=marker.at,
    )


def summary_record(summary: Summary, details: Mapping[str, Any]) -> Record:
    """Write the answer to a marker for the log, usable or not."""
    body = {
        "type": "summary",
        "text": summary.text,
        "finish": summary.finish,
        "error": summary.error,
        "tool_call": summary.tool_call,
        **details,
    }
    return Record(
        kind="summary",
        id=summary.id,
        raw=dumps(body).encode(),
        parent=summary.marker,
        at=summary.at,
    )


def read(rows: Iterable[Stored], reader: Reader) -> Iterator[Marker | Summary]:
    """Read markers and summaries, newest first, one at a time and only the newest of an id."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            continue
        seen.add(row.id)
        if row.kind == "marker":
            yield Marker(row.id, row.target, row.at)
        elif row.ours:
            yield _summary(row)
        else:
            yield reader.summary(row.id, row.parent, lines.loads(row.raw))


def details(row: Stored) -> Mapping[str, Any]:
    """Read what a compaction of ours wrote down of itself."""
    return mapping(lines.loads(row.raw)) if row.ours else {}


def _summary(row: Stored) -> Summary:
    body = mapping(lines.loads(row.raw))
    return Summary(
        id=row.id,
        marker=row.parent,
        text=text(body.get("text")),
        finish=text(body.get("finish")),
        error=text(body.get("error")),
        tool_call=body.get("tool_call") is True,
        at=row.at,
    )
