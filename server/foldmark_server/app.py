"""The composition root: the MCP server with its tools, over an engine opened at the first call."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from mcp.server import CacheHint
from mcp.server.mcpserver import MCPServer

from foldmark_server import __version__
from foldmark_tools import TOOLS
from foldmark_tools.services import Services

if TYPE_CHECKING:
    from foldmark.sessions.service import Sessions

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
        async with _services(surroundings) as services:
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
async def _services(environ: Mapping[str, str]) -> AsyncGenerator[Services]:
    """Open the engine when it is first asked for, and close it whatever happens to the host."""
    resources = AsyncExitStack()
    opened: list[Sessions] = []
    turn = asyncio.Lock()

    async def sessions() -> "Sessions":
        async with turn:
            if not opened:
                from foldmark_server.engine import open_engine

                opened.append(await resources.enter_async_context(open_engine(environ)))
        return opened[0]

    try:
        yield Services(sessions, environ, Path.cwd())
    finally:
        with anyio.CancelScope(shield=True):
            await resources.aclose()
