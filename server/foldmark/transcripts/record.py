"""What a reader makes of one record of a transcript, and what it must offer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from foldmark.messages import Message, Summary

Kind: TypeAlias = Literal["message", "marker", "summary", "fork", "other"]

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a transcript as the log keeps it.

    `raw` is the record itself, byte for byte. `id` is its name in the transcript (or a digest of
    `raw`), `parent` the record it follows, and for a summary the marker it answers. Records that
    follow each other and share `message` are one message. `thread` names the subagent that wrote
    it, empty for the main history. `chars` is what a model would read of it. `first_kept` is for
    markers; a fork's `replaces` names the first message that what comes after it stands in for.
    """

    kind: Kind
    id: str
    raw: bytes
    parent: str = ""
    message: str = ""
    thread: str = ""
    role: str = ""
    at: str = ""
    prompt: str = ""
    chars: int = 0
    project: str = ""
    branch: str = ""
    title: str = ""
    first_kept: str = ""
    replaces: str = ""


class Reader(Protocol):
    """What Foldmark needs to know of one assistant's transcripts."""

    assistant: str

    def recognizes(self, record: Json) -> bool:
        """Tell whether this record is of this assistant's making."""
        ...

    def record(self, record: Json, raw: bytes) -> Record:
        """Read one record for the log."""
        ...

    def message(self, id: str, records: Sequence[Json]) -> Message:
        """Build the message that these records hold, oldest first."""
        ...

    def summary(self, id: str, marker: str, record: Json) -> Summary:
        """Build the summary that this record holds."""
        ...
