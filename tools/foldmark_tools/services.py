"""What a tool is given to work with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.mcpserver import Context

from foldmark.requests import Caller

if TYPE_CHECKING:
    from foldmark.sessions.service import Sessions


@dataclass(frozen=True, slots=True)
class Services:
    """The engine, opened at the first call, and the surroundings of this process."""

    sessions: "Callable[[], Awaitable[Sessions]]"
    environ: Mapping[str, str]
    folder: Path


def caller(ctx: Context[Services]) -> Caller:
    """Tell who calls, from what the host says in the call and around this process."""
    services = ctx.request_context.lifespan_context
    params = ctx.session.client_params
    host = params.client_info.name if params and params.client_info else ""
    meta = dict(ctx.request_context.meta or {})
    return Caller.of(meta, services.environ, services.folder, host)
