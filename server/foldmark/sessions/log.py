"""One session's log as the rules need it: what stands, what is visible, what folds."""

import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from foldmark import boundary, messages
from foldmark.boundary import Boundary
from foldmark.messages import Marker, Message, Summary
from foldmark.sessions import own_rows, owner
from foldmark.store.overview import Overview
from foldmark.store.rows import Claim, Extent, Rewound, Session, Stored
from foldmark.store.store import Store
from foldmark.transcripts import lines
from foldmark.transcripts.record import Reader

_WHOLE = "what it had folded is shown again"
_UNDER_WAY = "the compaction is under way"
_BATCH = 200  # messages read at once while folding


@dataclass(frozen=True, slots=True)
class Placed:
    """A message and the position of its first row."""

    pos: int
    message: Message


@dataclass(frozen=True, slots=True)
class Orphan:
    """A marker that hides nothing, and what its summary lacked."""

    marker: Marker
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What is in force in a session at one moment.

    A model sees the summary of `boundary`, if there is one, and the live messages from position
    `start` on. `end` measures the whole log, `before` the part before `start`; `details` is what
    the compaction in force wrote down of itself.
    """

    boundary: Boundary | None
    start: int
    end: Extent
    before: Extent
    rewound: tuple[Rewound, ...]
    orphans: tuple[Orphan, ...]
    details: Mapping[str, Any]
    warning: str = ""

    @property
    def total(self) -> int:
        """Count the messages on the active branch."""
        return self.end.messages - sum(gone.messages for gone in self.rewound)

    @property
    def visible_messages(self) -> int:
        """Count the messages that a model sees."""
        gone = sum(gone.messages for gone in self.rewound if gone.first >= self.start)
        return self.end.messages - self.before.messages - gone

    @property
    def visible_chars(self) -> int:
        """Count the characters that a model reads, the summary's among them."""
        gone = sum(gone.chars for gone in self.rewound if gone.first >= self.start)
        summary = len(self.boundary.summary.text) if self.boundary else 0
        return max(self.end.chars - self.before.chars - gone, 0) + summary

    def state(self, pos: int) -> str:
        """Label the row at `pos`: live, folded behind the boundary, or rewound."""
        if _is_rewound(pos, self.rewound):
            return "rewound"
        return "live" if pos >= self.start else "folded"


@dataclass(frozen=True, slots=True)
class SessionLog:
    """A session in the store, and the reader that understands its records."""

    store: Store
    session: Session
    reader: Reader

    async def overview(self) -> Overview:
        """Look at the session anew."""
        return await self.store.overview(self.session.id)

    async def standing(self, seen: Overview | None = None) -> Standing:
        """Derive what is in force, from what was just seen or from a new look.

        Nothing about it is stored as a fact.
        """
        view = seen or await self.overview()
        live = [row for row in view.attempts if not _is_rewound(row.head, view.rewound)]
        rows = {row.id: row for row in reversed(live)}
        found = list(own_rows.read(live, self.reader))
        stands = boundary.in_force(found)
        start, before, warning, details = 1, Extent(), "", dict[str, Any]()
        if stands is None and len(live) < len(view.attempts):
            gone = boundary.in_force(own_rows.read(view.attempts, self.reader))
            warning = f"compaction {gone.marker.id!r} was rewound; {_WHOLE}" if gone else ""
        if stands is not None:
            marked = rows[stands.marker.id].head
            kept, measured = await self.store.tail(
                self.session.key, stands.marker.first_kept, marked
            )
            tail = boundary.tail_start(stands.marker, marked, kept)
            if tail is None:
                warning = boundary.missing_tail(stands.marker)
                stands = None
            else:
                start, before = tail, measured
                details = {
                    **own_rows.details(rows[stands.marker.id]),
                    **own_rows.details(rows[stands.summary.id]),
                }
        return Standing(
            boundary=stands,
            start=start,
            end=view.end,
            before=before,
            rewound=tuple(view.rewound),
            orphans=_orphans(found, view.claim),
            details=details,
            warning=warning,
        )

    async def folded(self, cut: int) -> AsyncGenerator[Sequence[Message]]:
        """Read every live message before position `cut`, oldest first, in batches."""
        first = 1
        while first < cut:
            rows = await self.store.page(self.session.key, first=first, last=cut - 1, limit=_BATCH)
            if not rows:
                return
            batch = self.messages(rows)
            yield [placed.message for placed in batch]
            first = batch[-1].pos + 1

    async def newest(self, start: int, chars: int) -> list[Placed]:
        """Read live messages, newest first, until they hold more than `chars` or `start` comes."""
        found: list[Placed] = []
        last: int | None = None
        size = 0
        while size <= chars:
            rows = await self.store.page(
                self.session.key, first=start, last=last, limit=_BATCH // 4, backward=True
            )
            if not rows:
                break
            batch = self.messages(rows)
            size += sum(messages.size(placed.message.blocks) for placed in batch)
            found.extend(reversed(batch))
            last = batch[0].pos - 1
        return found

    def messages(self, rows: Iterable[Stored]) -> list[Placed]:
        """Build messages from their rows, which come in the order of their heads."""
        return [Placed(group[0].head, self.message(group)) for group in self.grouped(rows)]

    def grouped(self, rows: Iterable[Stored]) -> list[list[Stored]]:
        """Part rows into those of each message."""
        return [list(group) for _, group in groupby(rows, key=lambda row: row.head)]

    def message(self, rows: Sequence[Stored]) -> Message:
        """Build one message from all its rows; of rows with one id the newest counts."""
        newest = {row.id: row for row in rows}
        records = [lines.loads(row.raw) for row in newest.values()]
        built = self.reader.message(rows[0].id, records)
        model = next((row.model for row in newest.values() if row.model), "")
        return replace(built, model=model) if model and not built.model else built


def _is_rewound(pos: int, rewound: Iterable[Rewound]) -> bool:
    return any(gone.first <= pos <= gone.last for gone in rewound)


def _orphans(found: Sequence[Marker | Summary], claim: Claim | None) -> tuple[Orphan, ...]:
    """List the markers that hide nothing; one of them may be a compaction still under way."""
    answers = {a.marker: a for a in reversed(found) if isinstance(a, Summary)}
    held = claim is not None and claim.expires > time.time() and not owner.is_dead(claim.owner)
    running = claim.marker if claim and held else ""
    return tuple(
        Orphan(
            marker, _UNDER_WAY if marker.id == running else boundary.lack(answers.get(marker.id))
        )
        for marker in boundary.orphans(found)
    )
