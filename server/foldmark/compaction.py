"""One compaction: plan the cut, mark, ask, accept, seal.

    plan ---- nothing to fold? ---------------------------------> nothing changes
      |
    mark      the marker is in the log, and hides nothing yet
      |
    ask       no transaction is open; messages that arrive stay visible
      |
    accept -- no ----> a failed summary is appended: the marker is an orphan for good
      |
    seal      the summary is appended: from this moment the boundary stands

Whatever breaks off in between leaves an orphan, and an orphan hides nothing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from foldmark.errors import (
    CompactionConflict,
    FoldmarkError,
    SummarizerUnavailable,
    SummaryRejected,
)
from foldmark.ledger import Ledger
from foldmark.messages import Message, tokens
from foldmark.offload import Progress, offload, unbroken
from foldmark.redaction import redacted
from foldmark.summary import (
    NOT_BILLED,
    SMALL_ENOUGH,
    Draft,
    Memory,
    Request,
    Summarizer,
    Usage,
    accept,
    prose,
)

LEDGER_CHARS = 3500
"""Room for the facts under a summary that a model wrote: about 1,000 tokens, which brought
state recall of real model summaries from .39 to .76."""

_FEWEST = 2  # messages that are worth folding,
_LARGE = 10_000  # unless they have as many characters
_SHARE = 0.6  # of its source is the most that an offline summary takes


@dataclass(frozen=True, slots=True)
class Plan:
    """What a compaction will do.

    `first_kept` is the id of the first message that stays, `cut` its position (one past the end
    when none stays), `end` the last position that was read. `source` counts the characters of
    all the folded messages, those behind earlier boundaries too.
    """

    first_kept: str
    cut: int
    end: int
    folded: int
    kept: int
    source: int
    tokens_before: int
    tokens_kept: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """A summary that was accepted, how its writer finished, and what it did.

    `usage` is what was billed for it; `warning` says why another summarizer wrote it than was
    asked to.
    """

    text: str
    finish: str
    summarizer: str
    tokens_after: int
    usage: Usage = NOT_BILLED
    warning: str = ""


class Log(Protocol):
    """What a compaction needs of a session's log."""

    @property
    def memory(self) -> Memory:
        """What a paid summarizer keeps of its work on this session."""
        ...

    def folded(self, plan: Plan) -> AsyncIterator[Sequence[Message]]:
        """Read the messages that the plan folds, oldest first."""
        ...

    async def mark(self, plan: Plan) -> None:
        """Append the marker.

        Raises:
            CompactionConflict: Somebody else compacts, or the log grew since the plan was made.

        """
        ...

    async def seal(self, plan: Plan, outcome: Outcome | None, error: str) -> None:
        """Append the answer to the marker: a usable summary, or what went wrong."""
        ...


def is_worth_it(plan: Plan) -> bool:
    """Tell whether what a plan folds is worth a summary."""
    return plan.folded >= (_FEWEST if plan.source < _LARGE else 1)


async def compact(
    log: Log, plan: Plan, summarizer: Summarizer, brief: "Brief", progress: Progress | None = None
) -> Outcome:
    """Carry out a plan; the history a reader sees changes only if this returns.

    Raises:
        SummaryRejected: The summary could not stand in for what it covers.
        SummarizerUnavailable: The summarizer broke down.
        CompactionConflict: Somebody else compacts, or the log grew since the plan was made.

    """
    try:
        await log.mark(plan)
        outcome = await draw_up(log, plan, summarizer, brief, progress)
    except CompactionConflict:
        raise
    except BaseException as error:
        with contextlib.suppress(FoldmarkError):  # what went wrong first is what matters
            await unbroken(log.seal(plan, None, _reason(error)))
        raise
    await unbroken(log.seal(plan, outcome, ""))
    return outcome


async def draw_up(
    log: Log, plan: Plan, summarizer: Summarizer, brief: "Brief", progress: Progress | None = None
) -> Outcome:
    """Write and judge the summary that a plan needs, without a mark in the log."""
    ledger = Ledger(project=brief.project, branch=brief.branch)
    done = 0
    async for messages in log.folded(plan):
        await offload(ledger.add, messages)
        done += len(messages)
        if progress:
            await progress("reading", done, plan.folded)
    budget = min(brief.budget, max(int(plan.source * _SHARE), SMALL_ENOUGH))
    request = Request(
        lambda: log.folded(plan),
        ledger,
        budget,
        plan.source,
        log.memory,
        instructions=brief.instructions,
        earlier=brief.earlier,
        total=plan.folded,
        progress=progress,
    )
    try:
        return await _written(request, plan, summarizer)
    except (SummarizerUnavailable, SummaryRejected) as error:
        if brief.fallback is None:
            raise
        outcome = await _written(request, plan, brief.fallback)
        instead = f"{outcome.summarizer} wrote the summary instead of {summarizer.name}: {error}"
        return replace(outcome, warning=instead)


async def _written(request: Request, plan: Plan, summarizer: Summarizer) -> Outcome:
    """Let one summarizer write, judge what it wrote, and add the facts to it."""
    draft, ledger = await _ask(summarizer, request), request.ledger
    accept(draft, source=plan.source, anchors=ledger.anchors(), quoted=summarizer.from_ledger)
    text = redacted(prose(draft.text))
    if not summarizer.from_ledger:
        room = min(LEDGER_CHARS, int(plan.source * 0.9) - len(text) - 2)
        text = "\n\n".join(part for part in (text, ledger.block(max(room, 0))) if part)
    after = tokens(len(text)) + plan.tokens_kept
    return Outcome(text, draft.finish or "end_turn", summarizer.name, after, draft.usage)


@dataclass(frozen=True, slots=True)
class Brief:
    """What is wanted of the summary; `budget` in characters.

    `earlier` is the summary in force; `fallback` writes if the summarizer cannot, where a user
    wants that.
    """

    budget: int
    instructions: str = ""
    project: str = ""
    branch: str = ""
    earlier: str = ""
    fallback: Summarizer | None = None


async def _ask(summarizer: Summarizer, request: Request) -> Draft:
    """Let the summarizer write; whatever it breaks with becomes an error that can be acted on."""
    try:
        return await summarizer.summarize(request)
    except FoldmarkError:
        raise
    except Exception as error:
        raise SummarizerUnavailable(
            f"The summarizer {summarizer.name!r} failed ({type(error).__name__}: {error}). Nothing "
            "was lost: the history is as it was. Try again, pass a summary of your own, or use "
            "summarizer='extractive', which needs no model."
        ) from error


def _reason(error: BaseException) -> str:
    match error:
        case SummaryRejected():
            return error.code
        case FoldmarkError():
            return str(error)
        case asyncio.CancelledError():
            return "cancelled"
        case _:
            return type(error).__name__
