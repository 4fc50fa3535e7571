"""Where the tail begins: which recent messages stay word for word after a compaction."""

from collections.abc import Iterable
from dataclasses import dataclass

from foldmark import messages
from foldmark.messages import CHARS_PER_TOKEN, Message


@dataclass(frozen=True, slots=True)
class Tail:
    """The messages that stay: the first one's id (empty when none stays), how many, their size.

    `whole` says that every message given stays, so there is nothing to fold.
    """

    first_kept: str
    count: int
    chars: int
    whole: bool


def tail(newest_first: Iterable[Message], keep_tokens: int) -> Tail:
    """Find the longest run of recent messages that fits and parts no call from its result.

    The run may be empty: `keep_tokens` is a promise about the size of what stays. A call and its
    results are tied within one run of assistant messages and what follows it; a result whose call
    was never recorded binds nothing.
    """
    room = keep_tokens * CHARS_PER_TOKEN
    best = Tail("", 0, 0, whole=False)
    chars = count = 0
    unanswered: set[str] = set()
    previous = ""
    for message in newest_first:
        chars += messages.size(message.blocks)
        if chars > room:
            return best
        count += 1
        if previous == "assistant" != message.role:
            unanswered.clear()
        unanswered.update(result.call_id for result in message.results)
        unanswered.difference_update(call.id for call in message.calls)
        previous = message.role
        if not unanswered and not message.results:
            best = Tail(message.id, count, chars, whole=False)
    return Tail(best.first_kept, count, chars, whole=True)
