"""A compaction under way in the store: the marker, the claim that protects it, and the answer."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from foldmark.compaction import Brief, Outcome, Plan
from foldmark.errors import CompactionConflict, StoreError
from foldmark.messages import Marker, Message, Summary
from foldmark.sessions import own_rows, owner
from foldmark.sessions.log import SessionLog
from foldmark.sessions.memory import SessionMemory
from foldmark.store.rows import Batch, Claim
from foldmark.summary import Memory
from foldmark.transcripts.record import Record

CLAIM_SECONDS = 30.0
"""How long a compaction holds its session without a sign of life."""


class LogGrew(CompactionConflict):
    """Messages arrived after the plan was made: plan again."""


class Taken(CompactionConflict):
    """Another process compacts this session under the marker `marker`."""

    def __init__(self, marker: str) -> None:
        """Name the compaction that is under way."""
        super().__init__(
            f"The session is being compacted by another process as {marker!r}. Nothing was "
            "changed. Call again in a while to see its result."
        )
        self.marker = marker


class Attempt:
    """Writes one compaction of a session to its log; see `compaction.Log`."""

    def __init__(self, log: SessionLog, brief: Brief, summarizer: str, asked: str):
        """Prepare; nothing is written before `mark`."""
        self._log = log
        self._notes = {"summarizer": summarizer, "instructions": brief.instructions, "asked": asked}
        self._claim = Claim(f"cmp-{uuid.uuid4().hex[:16]}", owner.current(), 0.0)
        self._renewing: asyncio.Task[None] | None = None
        self._lost = False

    @property
    def marker(self) -> str:
        """The id of the compaction, which is that of its marker."""
        return self._claim.marker

    @property
    def memory(self) -> Memory:
        """What a paid summarizer keeps of its work on this session."""
        return SessionMemory(self._log.store, self._log.session.key, self._ours)

    def folded(self, plan: Plan) -> AsyncIterator[Sequence[Message]]:
        """Read the messages that the plan folds, oldest first."""
        return self._log.folded(plan.cut)

    async def mark(self, plan: Plan) -> None:
        """Append the marker and hold the session.

        Raises:
            Taken: Somebody else compacts this session.
            LogGrew: Messages arrived since the plan was made.

        """
        marker = Marker(self.marker, plan.first_kept, _now())
        details = {**self._notes, "folded": plan.folded, "kept": plan.kept, "cut": plan.cut}
        record = own_rows.marker_record(marker, details)
        claim = replace(self._claim, expires=time.time() + CLAIM_SECONDS)
        while held := await self._log.store.mark(
            self._batch(record), claim, end=plan.end, now=time.time()
        ):
            if held == claim:
                raise LogGrew("The session grew while its compaction was planned.")
            if not await self._bury(held):
                raise Taken(held.marker)
        self._renewing = asyncio.create_task(self._renew())

    async def seal(self, plan: Plan, outcome: Outcome | None, error: str) -> None:
        """Append the answer to the marker, and let go of the session.

        Raises:
            CompactionConflict: The session was taken over by another compaction meanwhile.

        """
        if self._renewing:
            self._renewing.cancel()
        summary = Summary(
            id=f"{self.marker}-summary",
            marker=self.marker,
            text=outcome.text if outcome else "",
            finish=outcome.finish if outcome else "",
            error=error,
            at=_now(),
        )
        details = {
            **self._notes,
            **({"summarizer": outcome.summarizer} if outcome else {}),
            "tokens_before": plan.tokens_before,
            "tokens_after": outcome.tokens_after if outcome else plan.tokens_before,
        }
        record = own_rows.summary_record(summary, details)
        sealed = await self._log.store.seal(
            self._batch(record), self._claim, drafts_are_done=outcome is not None
        )
        self._lost = not sealed
        if outcome:
            self._ours()

    def _ours(self) -> None:
        if self._lost:
            raise CompactionConflict(
                f"Compaction {self.marker!r} took so long that another one took the session over. "
                "Nothing was lost and nothing of this one counts. Call compact_session again to "
                "see what stands."
            )

    def _batch(self, record: Record) -> Batch:
        session = self._log.session
        return Batch(session.id, session.assistant, [record], ours=True)

    async def _renew(self) -> None:
        held = True
        while held:
            await asyncio.sleep(CLAIM_SECONDS / 3)
            with contextlib.suppress(StoreError):  # a locked database may open before it expires
                held = await self._log.store.renew(
                    replace(self._claim, expires=time.time() + CLAIM_SECONDS)
                )
        self._lost = True

    async def _bury(self, held: Claim) -> bool:
        """Take a claim away whose owner is gone."""
        if not owner.is_dead(held.owner):
            return False
        await self._log.store.renew(replace(held, expires=0.0))
        return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
