"""The readers there are."""

from collections.abc import Mapping

from foldmark.transcripts import aider, api, claude_code
from foldmark.transcripts.amp import reader as amp
from foldmark.transcripts.cline import classic
from foldmark.transcripts.cline import reader as cline
from foldmark.transcripts.codex import reader as codex
from foldmark.transcripts.copilot_cli import reader as copilot_cli
from foldmark.transcripts.cursor import reader as cursor
from foldmark.transcripts.gemini_cli import reader as gemini_cli
from foldmark.transcripts.goose import reader as goose
from foldmark.transcripts.opencode import reader as opencode
from foldmark.transcripts.pi import reader as pi
from foldmark.transcripts.record import Reader

ASSISTANTS: tuple[Reader, ...] = (
    claude_code.READER,
    codex.READER,
    opencode.READER,
    gemini_cli.READER,
    goose.READER,
    cline.READER,
    classic.ROO,
    classic.KILO,
    copilot_cli.READER,
    pi.READER,
    cursor.READER,
    amp.READER,
    aider.READER,
)
"""The readers of transcripts, in the order in which a file of unknown make is tried."""

READERS: Mapping[str, Reader] = {reader.assistant: reader for reader in (*ASSISTANTS, api.READER)}
"""Every reader, by the name of the assistant it reads."""
