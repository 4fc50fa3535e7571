"""Keeping a host patient: progress while a call runs, and an answer before it gives up."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from mcp.server.mcpserver import Context

from foldmark_tools.services import Services

EVERY = 5.0
"""Seconds between signs of life: opencode kills a call that is silent for 60."""

PATIENCE = 50.0
"""Seconds to an answer when the host asked for no progress."""

PATIENCE_WITH_PROGRESS = 230.0
"""Seconds to an answer when it did: Codex gives up after 300, whatever it hears."""

_OFTEN = 0.5  # seconds between two reports of progress

Report = Callable[[str, int, int], Awaitable[None]]


def patience(ctx: Context[Services]) -> float:
    """Tell how long the host that calls waits for an answer, in seconds."""
    asked = "progress_token" in (ctx.request_context.meta or {})
    return PATIENCE_WITH_PROGRESS if asked else PATIENCE


@asynccontextmanager
async def progress(ctx: Context[Services], what: str) -> AsyncGenerator[Report]:
    """Report progress of the work inside, and that it goes on when it has nothing to report."""
    started = last = time.monotonic()
    latest = what

    async def tell() -> None:
        nonlocal last
        last = time.monotonic()
        await ctx.report_progress(round(last - started, 3), None, latest)

    async def report(step: str, done: int, total: int) -> None:
        nonlocal latest
        latest = f"{step}: {done:,} of {total:,}"
        if time.monotonic() - last >= _OFTEN:
            await tell()

    async def beat() -> None:
        while True:
            await asyncio.sleep(EVERY)
            await tell()

    beating = asyncio.create_task(beat())
    try:
        yield report
    finally:
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating
