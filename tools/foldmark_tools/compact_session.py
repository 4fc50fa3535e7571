"""`compact_session`: fold the older part of a session behind a summary."""

import json
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import BaseModel, Field

from foldmark.requests import MOST_CHARS, Choice, Compact, Compaction, Status, Which
from foldmark_tools.services import Services, caller
from foldmark_tools.tool import answer, tool
from foldmark_tools.waiting import patience, progress


class CompactionResult(BaseModel):
    """What a compaction did. `input_tokens` and `output_tokens` are billed, the rest guessed."""

    status: Status
    session_id: str
    found_by: str
    compaction_id: str
    summary: str
    summarizer: str
    tokens_before: int
    tokens_after: int
    messages_folded: int
    messages_kept: int
    input_tokens: int
    output_tokens: int
    warnings: list[str]
    next_step: str


async def compact_session(
    ctx: Context[Services],
    session_id: Annotated[
        str | None, Field(description="Default: the calling session. Also names new `messages`.")
    ] = None,
    transcript_path: Annotated[str | None, Field(description="A session's file.")] = None,
    messages: Annotated[
        list[dict[str, Any]] | None,
        Field(
            description="The conversation itself: Anthropic, Converse, OpenAI chat or Responses, "
            "or Gemini messages. Sent again, only new ones are stored."
        ),
    ] = None,
    summary: Annotated[
        str | None,
        Field(
            description="Your own summary, best of all: goal, user's constraints word for word, "
            "decisions, files, errors, open tasks; end with a section 'Next step:'."
        ),
    ] = None,
    instructions: Annotated[str | None, Field(description="What to keep above all.")] = None,
    keep_recent_tokens: Annotated[
        int, Field(ge=0, le=1_000_000, description="Recent tokens to keep verbatim (default 8000).")
    ] = 8000,
    summarizer: Annotated[
        Choice,
        Field(
            description="auto: your summary if given, else Bedrock if set up, else extractive "
            "(offline)."
        ),
    ] = "auto",
    preview: Annotated[bool, Field(description="Show the result, change nothing.")] = False,
) -> Annotated[CallToolResult, CompactionResult]:
    """Fold the older part of a session behind a summary.

    Loses nothing: every message stays readable with get_history, and a failed attempt changes
    nothing. With no arguments it takes the session you are in. Takes seconds, with a model
    minutes; on status `running` call again to join.
    """
    services = ctx.request_context.lifespan_context
    which = Which(session_id or "", transcript_path or "", messages)
    wish = Compact(summary or "", instructions or "", keep_recent_tokens, summarizer, preview)
    async with progress(ctx, "compacting") as report:
        sessions = await services.sessions()
        done = await sessions.compact(which, wish, caller(ctx), report, wait=patience(ctx))
    return answer(result(done))


def result(done: Compaction) -> CompactionResult:
    """Publish what was done, and what comes next."""
    summary, warnings = done.summary, list(done.warnings)
    if len(json.dumps(summary, ensure_ascii=False)) > _MOST_SUMMARY:
        summary = summary[: _MOST_SUMMARY // 6]  # what is escaped takes up to six characters
        warnings.append("the summary is cut here; get_history(view='summary') reads all of it")
    return CompactionResult(
        status=done.status,
        session_id=done.session_id,
        found_by=done.how,
        compaction_id=done.compaction_id,
        summary=summary,
        summarizer=done.summarizer,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        messages_folded=done.messages_folded,
        messages_kept=done.messages_kept,
        input_tokens=done.input_tokens,
        output_tokens=done.output_tokens,
        warnings=warnings,
        next_step=_NEXT_STEP[done.status],
    )


_MOST_SUMMARY = MOST_CHARS - 4_000

_NEXT_STEP = {
    "compacted": "Continue from the summary. get_history(session_id) shows what is visible now, "
    "view='full' every message.",
    "nothing_to_compact": "Nothing was changed. To fold more, lower keep_recent_tokens; the "
    "summary in force, if any, is above.",
    "preview": "Nothing was changed. Call again without preview to compact.",
    "running": "The compaction goes on. Call compact_session again with the same session_id to "
    "join it; nothing is done twice.",
}

TOOL = tool(
    compact_session,
    title="Compact a session",
    annotations=ToolAnnotations(
        read_only_hint=False,
        destructive_hint=False,
        idempotent_hint=False,
        open_world_hint=True,
    ),
)
