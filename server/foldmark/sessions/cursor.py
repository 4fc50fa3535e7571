"""Where the next page begins, as text that a caller hands back unread."""

import base64
import binascii
import json
from dataclasses import dataclass

from foldmark.errors import InvalidRequest

_FARTHEST = 2**53


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in one `view` of a session: a position in its log, or in one text.

    `boundary` is the compaction that was in force: once another one is, old pages do not fit
    the new ones.
    """

    view: str
    at: int
    boundary: str = ""

    def __str__(self) -> str:
        """Write the cursor for the caller."""
        text = json.dumps([self.view, self.at, self.boundary], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read(text: str, view: str, boundary: str) -> int:
    """Find the place that a cursor names.

    Raises:
        InvalidRequest: It was made for something else, or is no cursor at all.

    """
    try:
        padded = text + "=" * (-len(text) % 4)
        made_for, at, then = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise InvalidRequest(
            f"{text!r} is no cursor. Nothing was changed. Pass next_cursor of the page before "
            "exactly as it came, or call again without a cursor."
        ) from error
    if (made_for, then) != (view, boundary) or not _is_place(at):
        raise InvalidRequest(
            f"The cursor {text!r} has expired: it belongs to another view, or the session was "
            "compacted meanwhile. Nothing was changed. Call again without a cursor."
        )
    return at


def _is_place(at: object) -> bool:
    return isinstance(at, int) and not isinstance(at, bool) and 0 <= at < _FARTHEST
