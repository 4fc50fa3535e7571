"""The readers there are."""

from collections.abc import Mapping

from foldmark.transcripts import (
    aider,
    amp,
    api,
    claude_code,
    cline,
    cline_classic,
    codex,
    copilot_cli,
    cursor,
    gemini_cli,
    goose,
    opencode_sessions,
    pi,
)
from foldmark.transcripts.record import Reader

ASSISTANTS: tuple[Reader, ...] = (
    claude_code.READER,
    codex.READER,
    opencode_sessions.READER,
    gemini_cli.READER,
    goose.READER,
    cline.READER,
    cline_classic.ROO,
    cline_classic.KILO,
    copilot_cli.READER,
    pi.READER,
    cursor.READER,
    amp.READER,
    aider.READER,
)
"""The readers of transcripts, in the order in which a file of unknown make is tried."""

READERS: Mapping[str, Reader] = {reader.assistant: reader for reader in (*ASSISTANTS, api.READER)}
"""Every reader, by the name of the assistant it reads."""
