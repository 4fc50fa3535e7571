"""The summary-required boundary check: what a compaction may hide, and when.

    log      u1 a1 u2 a2 M1 S1 u3 a3 M2 u4        M1 keeps from u2, M2 has no summary
    visible        S1 u2 a2    u3 a3    u4        M2 is an orphan and hides nothing

Every reader goes through `stands`. Visible history is derived from the log each time it is asked
for, so a failed attempt has nothing to undo.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foldmark.messages import Entry, Marker, Message, Summary
from foldmark.refusal import is_refusal

_NORMAL_FINISH = frozenset({"end_turn", "stop", "stop_sequence"})


@dataclass(frozen=True, slots=True)
class Boundary:
    """A marker that stands, and the summary that makes it stand."""

    marker: Marker
    summary: Summary


@dataclass(frozen=True, slots=True)
class View:
    """What a model should see: the summary of `boundary`, if any, then `messages`."""

    boundary: Boundary | None
    messages: tuple[Message, ...]
    warning: str = ""


def stands(summary: Summary) -> bool:
    """Tell whether a summary is usable: finished normally, no error, no tool call, real text.

    A refusal or a provider's error message, stored as a summary by whoever wrote it, is not.
    """
    return not lack(summary)


def lack(summary: Summary | None) -> str:
    """Say why a summary does not make its marker stand; nothing if it does."""
    if summary is None:
        return "no summary was ever written"
    if summary.error:
        return summary.error
    if summary.tool_call:
        return "a tool call instead of a summary"
    if not summary.text.strip():
        return "the summary is blank"
    if is_refusal(summary.text.strip()):
        return "the summary is a refusal or an error message"
    return "" if summary.finish.lower() in _NORMAL_FINISH else "the summary never finished"


def in_force(attempts: Iterable[Marker | Summary]) -> Boundary | None:
    """Find the newest marker that stands among `attempts`, given newest first.

    Reads no further than it must. A summary that answers no marker is not a boundary.
    """
    usable: dict[str, Summary] = {}
    for attempt in attempts:
        match attempt:
            case Summary():
                if stands(attempt):
                    usable.setdefault(attempt.marker, attempt)
            case Marker():
                if attempt.id in usable:
                    return Boundary(attempt, usable[attempt.id])
    return None


def orphans(attempts: Iterable[Marker | Summary]) -> list[Marker]:
    """List the markers without a usable summary, in the order given."""
    seen = list(attempts)
    answered = {a.marker for a in seen if isinstance(a, Summary) and stands(a)}
    return [a for a in seen if isinstance(a, Marker) and a.id not in answered]


def visible(entries: Sequence[Entry]) -> View:
    """Derive what a model should see from a whole log, oldest first."""
    messages = [(at, e) for at, e in enumerate(entries) if isinstance(e, Message)]
    everything = tuple(message for _, message in messages)
    boundary = in_force(e for e in reversed(entries) if not isinstance(e, Message))
    if boundary is None:
        return View(None, everything)
    marked = entries.index(boundary.marker)
    kept = tail_start(
        boundary.marker,
        marked,
        next((at for at, m in messages if m.id == boundary.marker.first_kept), None),
    )
    if kept is None:
        return View(None, everything, missing_tail(boundary.marker))
    return View(boundary, tuple(message for at, message in messages if at >= kept))


def tail_start(marker: Marker, marked: int, kept: int | None) -> int | None:
    """Place the start of visible history, given where the marker and its first kept message are.

    None when the marker names a first kept message that does not stand before it: then nothing
    may be hidden.
    """
    if not marker.first_kept:
        return marked
    return kept if kept is not None and kept < marked else None


def missing_tail(marker: Marker) -> str:
    """Say why a marker that stands hides nothing."""
    return (
        f"compaction {marker.id!r} keeps messages from {marker.first_kept!r} on, and that message "
        "does not stand before it, so the whole history is shown"
    )
