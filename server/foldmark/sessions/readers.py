"""The readers there are."""

from collections.abc import Mapping

from foldmark.transcripts.api import Messages
from foldmark.transcripts.claude_code import ClaudeCode
from foldmark.transcripts.record import Reader

FILES: Reader = ClaudeCode()
"""The reader of transcript files."""

READERS: Mapping[str, Reader] = {reader.assistant: reader for reader in (FILES, Messages())}
"""Every reader, by the name of the assistant it reads."""
