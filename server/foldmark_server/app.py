"""The composition root: the MCP server with its tools, over a store opened at the first call."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
from mcp.server import CacheHint
from mcp.server.mcpserver import MCPServer

from foldmark.sessions import Sessions
from foldmark.store import open_store
from foldmark_server import __version__, settings
from foldmark_tools import TOOLS
from foldmark_tools.services import Services

INSTRUCTIONS = (
    "Foldmark keeps coding sessions and compacts them without losing a message. When the context "
    "fills up, call compact_session, best with a summary of your own; after a compaction or in a "
    "new session, call get_history to continue. Both take the session you are in by default."
)


def build(environ: Mapping[str, str] | None = None) -> MCPServer[Services]:
    """Make the server; it opens nothing before a tool is called."""
    surroundings = os.environ if environ is None else environ

    @asynccontextmanager
    async def lifespan(_: MCPServer[Services]) -> AsyncGenerator[Services]:
        async with _engine(surroundings) as services:
            yield services

    return MCPServer(
        "foldmark",
        title="Foldmark",
        description="Compacts the sessions of coding assistants and never loses them.",
        instructions=INSTRUCTIONS,
        version=__version__,
        tools=list(TOOLS),
        log_level="WARNING",
        lifespan=lifespan,
        cache_hints={"tools/list": CacheHint(ttl_ms=300_000, scope="public")},
    )


@asynccontextmanager
async def _engine(environ: Mapping[str, str]) -> AsyncGenerator[Services]:
    """Hold what is opened on demand, and close it whatever happens to the host."""
    opened: list[Sessions] = []
    turn = asyncio.Lock()
    async with AsyncExitStack() as resources:

        async def sessions() -> Sessions:
            async with turn:
                if not opened:
                    chosen = settings.read(environ)
                    store = await resources.enter_async_context(open_store(chosen.database))
                    opened.append(
                        Sessions(store, chosen.folders, summary_chars=chosen.summary_chars)
                    )
            return opened[0]

        try:
            yield Services(sessions, environ, Path.cwd())
        finally:
            with anyio.CancelScope(shield=True):
                for engine in opened:
                    await engine.stop()
                await resources.aclose()
