"""`list_sessions`: which sessions there are."""

from typing import Annotated

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import BaseModel, Field

from foldmark.requests import ALL_PROJECTS, Filter, Listing
from foldmark_tools.services import Services, caller
from foldmark_tools.tool import answer, tool


class ListedSession(BaseModel):
    """One session."""

    session_id: str
    assistant: str
    project: str
    title: str
    first_prompt: str
    last_prompt: str
    updated_at: str
    imported: bool
    transcript_gone: bool


class SessionsResult(BaseModel):
    """A page of sessions, newest first."""

    sessions: list[ListedSession]
    project: str
    total: int
    next_cursor: str | None
    next_step: str


async def list_sessions(
    ctx: Context[Services],
    project: Annotated[
        str | None, Field(description="Absolute folder; '*' for all. Default: the current one.")
    ] = None,
    assistant: Annotated[str | None, Field(description="E.g. claude-code or messages.")] = None,
    query: Annotated[
        str | None, Field(description="Words in a session's id, title, prompts or project.")
    ] = None,
    cursor: Annotated[str | None, Field(description="next_cursor of the page before.")] = None,
    limit: Annotated[int, Field(ge=1, le=50, description="1 to 50 (20).")] = 20,
) -> Annotated[CallToolResult, SessionsResult]:
    """List coding sessions, newest first: stored ones and those on disk not imported yet.

    Use it to find the session_id for get_history or compact_session.
    """
    services = ctx.request_context.lifespan_context
    wanted = Filter(project or "", assistant or "", query or "", cursor or "", limit)
    sessions = await services.sessions()
    return answer(result(await sessions.list(wanted, caller(ctx))))


def result(page: Listing) -> SessionsResult:
    """Publish a page of sessions."""
    return SessionsResult(
        sessions=[
            ListedSession(
                session_id=one.id,
                assistant=one.assistant,
                project=one.project,
                title=one.title,
                first_prompt=one.first_prompt,
                last_prompt=one.last_prompt,
                updated_at=one.updated_at,
                imported=one.imported,
                transcript_gone=one.gone,
            )
            for one in page.sessions
        ],
        project=page.project,
        total=page.total,
        next_cursor=page.next_cursor,
        next_step=_next_step(page),
    )


def _next_step(page: Listing) -> str:
    if page.next_cursor:
        return "Pass next_cursor as cursor for more."
    if page.project == ALL_PROJECTS:
        return "Pass a session_id to get_history or compact_session."
    return "These are the project's sessions; project='*' lists all projects'."


TOOL = tool(
    list_sessions,
    title="List sessions",
    annotations=ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
)
