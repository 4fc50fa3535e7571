"""What can be asked of the engine, and what comes back.

Values only, and light: a server that has just been started needs no more of the engine than this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]
Choice: TypeAlias = Literal["auto", "caller", "extractive", "bedrock"]
Status: TypeAlias = Literal["compacted", "nothing_to_compact", "preview", "running"]
View: TypeAlias = Literal["visible", "full", "summary"]
Format: TypeAlias = Literal["text", "anthropic", "converse", "openai"]

FEWEST_CHARS = 2_000
MOST_CHARS = 40_000
"""The sizes of an answer, in characters: hosts cut or spill what is longer than about 50,000."""
PROJECT_SHOWN = 300
"""The most characters of a project's folder that an answer shows."""

MOST_INSTRUCTIONS = 4_000
"""The most characters of what is to be kept above all: more would be a summary of its own."""

ALL_PROJECTS = "*"

LAST = 253_402_300_799.0
"""Seconds since 1970 at the end of the year 9999: nothing is newer, whatever its clock says."""

_SESSION_KEYS = (
    *("threadId", "sessionId"),  # Codex; in a subagent the thread is its own
    *("agent-session-id", "ai.opencode/sessionID", "vscode.conversationId"),
    "antigravity.google/conversation_id",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """What is known of who calls: ids as the host gave them, and the project's folder.

    `environ` holds the variables in which a host may have told the session's id.
    """

    project: Path
    tool_use: str = ""
    session: str = ""
    host: str = ""
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(
        cls, meta: Mapping[str, Any], environ: Mapping[str, str], folder: Path, host: str = ""
    ) -> "Caller":
        """Read a call's `_meta`, the environment, the server's folder and the client's name."""
        told = (meta.get(key) for key in _SESSION_KEYS)
        working = meta.get("agent-working-dir")
        return cls(
            project=Path(str(working or environ.get("CLAUDE_PROJECT_DIR") or folder)),
            host=host,
            tool_use=str(meta.get("claudecode/toolUseId") or ""),
            session=next((str(id) for id in told if id), ""),
            environ=environ,
        )


@dataclass(frozen=True, slots=True)
class Which:
    """How a call names the session it means; with nothing set it means its own."""

    session_id: str = ""
    transcript_path: str = ""
    messages: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Compact:
    """What a caller wants of a compaction."""

    summary: str = ""
    instructions: str = ""
    keep_recent_tokens: int = 8000
    summarizer: Choice = "auto"
    preview: bool = False


@dataclass(frozen=True, slots=True)
class Compaction:
    """What came of it. `how` tells how the session was found.

    `input_tokens` and `output_tokens` are what a model billed for it, 0 where none was asked; all
    other counts of tokens are estimates.
    """

    status: Status
    session_id: str = ""
    how: str = ""
    compaction_id: str = ""
    summary: str = ""
    summarizer: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    messages_folded: int = 0
    messages_kept: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """Which part of a session to read, and how to write it."""

    view: View = "visible"
    format: Format = "text"
    cursor: str = ""
    max_chars: int = 10_000
    include_reasoning: bool = False
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """One page of a session, and what is in force in it; token counts are estimates."""

    session_id: str
    assistant: str
    project: str
    title: str
    how: str
    view: str
    format: str
    boundary: Json | None
    orphans: list[Json]
    forked_from: str
    subagents: list[str]
    total_messages: int
    visible_messages: int
    visible_tokens: int
    messages: list[Json] = field(default_factory=list[Json])
    next_cursor: str | None = None
    warnings: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions to list; `query` is looked for in ids, titles, prompts and projects."""

    project: str = ""
    assistant: str = ""
    query: str = ""
    cursor: str = ""
    limit: int = 20


@dataclass(frozen=True, slots=True)
class Listed:
    """One session.

    `imported` tells whether the store holds it already, `gone` that only the store still does: its
    transcript was deleted.
    """

    id: str
    assistant: str
    project: str
    title: str
    first_prompt: str
    last_prompt: str
    updated: float
    imported: bool
    gone: bool = False

    @property
    def updated_at(self) -> str:
        """When it was last written to, in ISO 8601."""
        moment = min(max(self.updated, 0.0), LAST)
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of sessions, the project they are limited to, and how many there are in all."""

    sessions: list[Listed]
    project: str
    total: int
    next_cursor: str | None = None
