"""Everything Foldmark raises on purpose.

FoldmarkError
    InvalidRequest          the arguments make no sense together
    SessionNotFound         no session, transcript or message by that name
    AmbiguousSession        several sessions could be meant, and none was written to
    TranscriptRefused       the path is outside every folder we may read
    TranscriptUnreadable    the file is there but cannot be read as a session
    SummaryRejected         the summary would lose the session, so it was not accepted
    SummarizerUnavailable   the chosen summarizer cannot run here
    CompactionConflict      the session is being compacted by somebody else, or moved on
    StoreError              the database
        StoreTooNew         it was written by a newer Foldmark
        StoreDamaged        it is not a sound SQLite file
        StoreUnusable       it cannot be opened, written or finished

Every message says what is wrong, that nothing was lost, and what to do next.
"""


class FoldmarkError(Exception):
    """A failure that the caller can understand and act on."""


class InvalidRequest(FoldmarkError):
    """The arguments make no sense, alone or together."""


class SessionNotFound(FoldmarkError):
    """No session, transcript or message has that name."""


class AmbiguousSession(FoldmarkError):
    """More than one session could be meant."""


class TranscriptRefused(FoldmarkError):
    """The transcript lies outside every folder that may be read."""


class TranscriptUnreadable(FoldmarkError):
    """The transcript exists but is no session that Foldmark can read."""


class SummaryRejected(FoldmarkError):
    """A summary was not good enough to stand in for the messages behind it."""

    _AGAIN = (
        "Write it again with the goal, what the user asked for, decisions, files, errors and, as "
        "its last section, 'Next step:'"
    )

    def __init__(self, code: str, reason: str, advice: str = "") -> None:
        """Say what was wrong and what to do next; for the short `code` see `summary.accept`."""
        super().__init__(
            f"The summary was not accepted ({code}): {reason}. Nothing was lost: the history is as "
            f"it was. {advice or self._AGAIN}; or use summarizer='extractive', which needs no "
            "model."
        )
        self.code = code
        self.reason = reason


class SummarizerUnavailable(FoldmarkError):
    """The summarizer that was asked for cannot run."""


class CompactionConflict(FoldmarkError):
    """Another compaction of the same session is under way, or the session moved on."""


class StoreError(FoldmarkError):
    """The database cannot do what was asked."""


class StoreTooNew(StoreError):
    """The database was written by a newer version of Foldmark."""


class StoreDamaged(StoreError):
    """The database file is not a sound SQLite database."""


class StoreUnusable(StoreError):
    """The database cannot be opened, written or completed (permissions, disk, lock)."""
