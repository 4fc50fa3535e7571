"""The engine's front door: compact a session, read it back, list what there is."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace

from foldmark import compaction, cut
from foldmark.compaction import Brief, Outcome, Plan
from foldmark.errors import CompactionConflict, InvalidRequest, SummarizerUnavailable
from foldmark.messages import CHARS_PER_TOKEN, Message, ToolCall, tokens
from foldmark.offload import Progress
from foldmark.own import is_own_tool
from foldmark.requests import (
    MOST_INSTRUCTIONS,
    Caller,
    Compact,
    Compaction,
    Filter,
    History,
    Listing,
    Query,
    Which,
)
from foldmark.sessions.attempt import Attempt, LogGrew, Taken
from foldmark.sessions.history import history
from foldmark.sessions.listing import listing
from foldmark.sessions.log import Standing
from foldmark.sessions.opening import NothingGiven, Opened, open_session
from foldmark.sessions.running import Running
from foldmark.sources.places import Places
from foldmark.store.store import Store
from foldmark.summarizers.caller import CallersOwn
from foldmark.summarizers.extractive import Extractive
from foldmark.summary import Summarizer

SUMMARY_CHARS = 7_000
"""The room for an offline summary, in characters: the most that surely fits one default page."""

_PLANS = 5  # times to plan anew while messages keep arriving


class Sessions:
    """All that Foldmark does with sessions, over one store."""

    def __init__(
        self,
        store: Store,
        places: Places,
        *,
        summary_chars: int = SUMMARY_CHARS,
        model: Summarizer | None = None,
        fallback: bool = False,
    ):
        """Use an open store and the transcripts that may be read.

        `model` is the summarizer that is paid for, if there is one; `fallback` lets the offline
        one write where that one fails.
        """
        self._store = store
        self._places = places
        self._summary_chars = summary_chars
        self._model = model
        self._fallback = fallback
        self._running: Running[Compaction] = Running()

    async def compact(
        self,
        which: Which,
        wish: Compact,
        caller: Caller,
        progress: Progress | None = None,
        *,
        wait: float | None = None,
    ) -> Compaction:
        """Compact a session, or join the compaction of it that is under way.

        After `wait` seconds the answer is `running`, and the work goes on.

        Raises:
            FoldmarkError: Nothing was compacted; the history is as it was.

        """
        _check(wish)
        summarizer = _summarizer(wish, self._model)
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            opened = await self._open(which, caller, progress)
        except NothingGiven:
            return Compaction("nothing_to_compact", which.session_id, "messages")
        done = await self._running.join(
            opened.log.session.id,
            wish,
            lambda: self._compact(opened, wish, summarizer, caller, progress),
            None if wait is None else max(wait - (loop.time() - started), 0),
        )
        return done or Compaction("running", opened.log.session.id, opened.how)

    async def history(
        self, which: Which, query: Query, caller: Caller, progress: Progress | None = None
    ) -> History:
        """Read one page of a session's history; see `history.history`."""
        return await history(await self._open(which, caller, progress), query)

    async def list(self, wanted: Filter, caller: Caller) -> Listing:
        """List sessions, newest first; see `listing.listing`."""
        return await listing(self._store, self._places, wanted, caller)

    async def stop(self) -> None:
        """End what is under way; what it did not finish hides nothing."""
        await self._running.stop()

    async def _open(self, which: Which, caller: Caller, progress: Progress | None) -> Opened:
        async def reading(done: int, total: int) -> None:
            if progress:
                await progress("reading the transcript", done, total)

        return await open_session(self._store, self._places, which, caller, reading)

    async def _compact(
        self,
        opened: Opened,
        wish: Compact,
        summarizer: Summarizer,
        caller: Caller,
        progress: Progress | None,
    ) -> Compaction:
        session = opened.log.session
        brief = Brief(
            self._summary_chars,
            wish.instructions,
            session.project,
            session.branch,
            fallback=Extractive() if self._fallback and summarizer is self._model else None,
        )
        asked = hashlib.sha256(wish.summary.encode()).hexdigest()[:16] if wish.summary else ""
        for _ in range(_PLANS):
            standing = await opened.log.standing()
            plan = await _plan(opened, standing, wish.keep_recent_tokens, caller)
            writer = summarizer.name if wish.summarizer == "bedrock" else ""
            if plan is None or _is_done(plan, standing, brief, asked, writer):
                return _nothing(opened, standing)
            earlier = standing.boundary.summary.text if standing.boundary else ""
            brief = replace(brief, earlier=earlier)
            attempt = Attempt(opened.log, brief, summarizer.name, asked)
            try:
                if wish.preview:
                    outcome = await compaction.draw_up(attempt, plan, summarizer, brief, progress)
                else:
                    outcome = await compaction.compact(attempt, plan, summarizer, brief, progress)
            except LogGrew:
                continue
            except Taken as other:
                return Compaction("running", session.id, opened.how, other.marker)
            return _done(opened, wish, plan, attempt, outcome)
        raise CompactionConflict(
            f"Messages kept arriving in the session {session.id!r} while its compaction was "
            "planned. Nothing was lost and nothing was changed. Call compact_session again."
        )


def _check(wish: Compact) -> None:
    if len(wish.instructions) > MOST_INSTRUCTIONS:
        raise InvalidRequest(
            f"instructions has {len(wish.instructions):,} characters, and {MOST_INSTRUCTIONS:,} "
            "are the most. Nothing was changed. Say in fewer words what to keep above all."
        )


def _summarizer(wish: Compact, model: Summarizer | None) -> Summarizer:
    """Choose who writes: the caller's own text if there is one, else a model, else the extractor.

    Raises:
        InvalidRequest: The choice and the rest of the call do not go together.
        SummarizerUnavailable: A model is asked for, and none is set.

    """
    match wish.summarizer, bool(wish.summary.strip()):
        case "auto" | "caller", True:
            return CallersOwn(wish.summary)
        case "auto" | "bedrock", False if model is not None:
            return model
        case "auto" | "extractive", False:
            return Extractive()
        case "caller", False:
            raise InvalidRequest(
                "summarizer='caller' needs your own summary of the session in `summary`. Nothing "
                "was changed. Write it with the goal, what the user asked for, decisions, files, "
                "errors and a last section 'Next step:', or use summarizer='extractive'."
            )
        case "bedrock", False:
            raise SummarizerUnavailable(
                "summarizer='bedrock' needs a model, and FOLDMARK_BEDROCK_MODEL is not set. "
                "Nothing was changed. Set it to a model id, an inference profile or an ARN where "
                "the server is started, pass your own `summary`, or use summarizer='extractive', "
                "which needs no model."
            )
        case chosen, _:
            raise InvalidRequest(
                f"A summary was passed together with summarizer={chosen!r}, which would not use "
                "it. Nothing was changed. Leave summarizer out, or leave summary out."
            )


async def _plan(
    opened: Opened, standing: Standing, keep_tokens: int, caller: Caller
) -> Plan | None:
    """Find what to fold; None when all of it may stay or is not worth a summary."""
    newest = await opened.log.newest(standing.start, int(keep_tokens * CHARS_PER_TOKEN))
    own = _own_call([placed.message for placed in newest], caller)
    tail = cut.tail([placed.message for placed in newest[own:]], keep_tokens)
    if tail.whole and standing.boundary is None:
        return None
    # Behind a boundary whose tail may stay as it is, only the summary could be written anew.
    kept = newest if tail.whole else newest[: own + tail.count]
    cut_at = kept[-1].pos if kept else standing.end.pos + 1
    before = await opened.log.store.before(opened.log.session.key, cut_at)
    gone = [one for one in standing.rewound if one.last < cut_at]
    plan = Plan(
        first_kept=kept[-1].message.id if kept else "",
        cut=cut_at,
        end=standing.end.pos,
        folded=before.messages - sum(one.messages for one in gone),
        kept=len(kept),
        source=before.chars - sum(one.chars for one in gone),
        tokens_before=tokens(standing.visible_chars),
        tokens_kept=tokens(tail.chars),
    )
    return plan if compaction.is_worth_it(plan) else None


def _own_call(newest: Sequence[Message], caller: Caller) -> int:
    """Count the messages at the end that the call being answered came with: it is no history yet.

    Results of calls made beside it may stand after it.
    """
    answered: set[str] = set()
    for at, message in enumerate(newest, start=1):
        unanswered = [call for call in message.calls if call.id not in answered]
        if any(_is_own_call(call, caller) for call in unanswered):
            return at
        if message.calls or not message.results:
            break
        answered.update(result.call_id for result in message.results)
    return 0


def _is_own_call(call: ToolCall, caller: Caller) -> bool:
    return call.id == caller.tool_use if caller.tool_use else is_own_tool(call.name)


def _is_done(plan: Plan, standing: Standing, brief: Brief, asked: str, writer: str) -> bool:
    """Tell whether the compaction in force already does what this one would do.

    `writer` is set where a model was asked for by name: then nobody else's will do.
    """
    return (
        standing.boundary is not None
        and plan.folded == standing.total - standing.visible_messages
        and brief.instructions in ("", standing.details.get("instructions", ""))
        and asked in ("", standing.details.get("asked", ""))
        and writer in ("", standing.details.get("summarizer", ""))
    )


def _done(
    opened: Opened, wish: Compact, plan: Plan, attempt: Attempt, outcome: Outcome
) -> Compaction:
    warnings = [*opened.warnings, *filter(None, [outcome.warning])]
    if outcome.tokens_after >= plan.tokens_before:
        warnings.append("what is visible now is no shorter than before: there was little to fold")
    return Compaction(
        status="preview" if wish.preview else "compacted",
        session_id=opened.log.session.id,
        how=opened.how,
        compaction_id="" if wish.preview else attempt.marker,
        summary=outcome.text,
        summarizer=outcome.summarizer,
        tokens_before=plan.tokens_before,
        tokens_after=outcome.tokens_after,
        messages_folded=plan.folded,
        messages_kept=plan.kept,
        input_tokens=outcome.usage.input_tokens,
        output_tokens=outcome.usage.output_tokens,
        warnings=tuple(warnings),
    )


def _nothing(opened: Opened, standing: Standing) -> Compaction:
    boundary = standing.boundary
    visible = tokens(standing.visible_chars)
    return Compaction(
        status="nothing_to_compact",
        session_id=opened.log.session.id,
        how=opened.how,
        compaction_id=boundary.marker.id if boundary else "",
        summary=boundary.summary.text if boundary else "",
        summarizer=str(standing.details.get("summarizer", "assistant" if boundary else "")),
        tokens_before=visible,
        tokens_after=visible,
        messages_folded=standing.total - standing.visible_messages,
        messages_kept=standing.visible_messages,
        warnings=opened.warnings,
    )
