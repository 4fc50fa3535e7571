"""The summary: what a summarizer is asked, what it gives, and when that may stand in.

`boundary.stands` looks at what was stored; `accept` decides what may be stored as usable at all.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from foldmark.errors import SummaryRejected
from foldmark.ledger import Ledger
from foldmark.messages import Message
from foldmark.offload import Progress
from foldmark.refusal import HEADING, is_refusal

END_MARK = "</summary>"

_TRUNCATED = frozenset(
    {"max_tokens", "length", "model_context_window_exceeded", "max_output_tokens"}
)
_NORMAL = frozenset({"end_turn", "stop", "stop_sequence"})
SMALL_ENOUGH = 400
"""Characters that a summary may always have: of a tiny source a share says nothing."""

_BLANK_ITEM = re.compile(
    r"\s*[-*]?\s*(\(?(none|n/a|tbd|todo)\)?|\[[^\]]*\]|<[^>]*>|\.\.\.)?\s*$", re.IGNORECASE
)
_NEXT_STEP = re.compile(
    r"^[\s#*\d.)_-]*(?:optional\s+)?next\s+(?:steps?|actions?|moves?)(?![^\W_])[*_]*(?P<rest>.*)(?P<below>(?:\n.*)*)",
    re.IGNORECASE | re.MULTILINE,
)
_CALL = re.compile(
    r"\W*(?:\{\s*\"(?:type|name|tool|function)\"|type\"\s*:\s*\"(?:tool_use|function)"
    r"|(?:antml:)?(?:function_calls?|invoke|tool_call|tool_use)\b)"
)
_CALL_BELOW = re.compile(r"^\s*<(?:antml:)?(?:function_calls>|invoke name=)", re.MULTILINE)
_TURN = re.compile(
    r"\W{0,3}(?:user|assistant|human|tool (?:call|result|error)[^:\]]{0,60})\W{0,3}:",
    re.IGNORECASE,
)
_ANALYSIS = re.compile(r"\A\s*<(analysis|thinking)>.*?</\1>", re.DOTALL)
_WORD = re.compile(r"\w+")
_SHINGLE = 6
_OF_QUOTES = ("empty", "refusal_or_error")  # what would not stand is not accepted either
_COVERAGE_ANCHORS = 12


class Memory(Protocol):
    """What a summarizer that is paid for may keep, so that nothing is paid for twice."""

    async def drafts(self) -> Mapping[str, str]:
        """Read what was written of this session and came to no summary yet, by its digest."""
        ...

    async def keep(self, digest: str, text: str) -> None:
        """Keep a piece that is written."""
        ...

    async def measured(self, model: str) -> tuple[float, int]:
        """Tell how much text a model was sent so far, in units, and the tokens it billed."""
        ...

    async def measure(self, model: str, units: float, tokens: int) -> None:
        """Add one bill."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What a summarizer is asked for.

    `folded` opens the messages to summarize, oldest first, in batches; they are `total` messages
    and `source` characters. `ledger` holds the facts already taken from all of them. `budget` is
    the room for the answer, in characters. `earlier` is the summary in force.
    """

    folded: Callable[[], AsyncIterator[Sequence[Message]]]
    ledger: Ledger
    budget: int
    source: int
    memory: Memory
    instructions: str = ""
    earlier: str = ""
    total: int = 0
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as a provider billed them."""

    input_tokens: int = 0
    output_tokens: int = 0


NOT_BILLED = Usage()


@dataclass(frozen=True, slots=True)
class Draft:
    """What a summarizer gave.

    `finish` is its stop reason, empty where there is none to know; `prompt` what it was told,
    where that could be echoed. `ends` says that it was told to close with END_MARK.
    """

    text: str
    finish: str = ""
    tool_call: bool = False
    prompt: str = ""
    ends: bool = False
    usage: Usage = NOT_BILLED


class Summarizer(Protocol):
    """One way to write a summary.

    `from_ledger` tells that it only quotes the ledger: then nothing is gained by checking it
    against the ledger, or by adding the ledger to it.
    """

    name: str
    from_ledger: bool

    async def summarize(self, request: Request) -> Draft:
        """Write the summary of the folded messages.

        Raises:
            SummarizerUnavailable: It cannot run here.

        """
        ...


def accept(draft: Draft, *, source: int, anchors: Sequence[str] = (), quoted: bool = False) -> None:
    """Let a draft stand in for `source` characters of history, or refuse it.

    `anchors` are words that a summary of this very session would hold. A draft that is `quoted`
    from the session is as good as the session, and only has to be there. The list of reasons and
    their limits were measured on 40 cuts of real sessions, with real summaries and 18 kinds of
    failure.

    Raises:
        SummaryRejected: With a code that names the reason; nothing was changed.

    """
    faults = _faults(draft, source, anchors)
    for code, reason in (fault for fault in faults if not quoted or fault[0] in _OF_QUOTES):
        raise SummaryRejected(code, reason)


def prose(text: str) -> str:
    """Take the summary out of what a model wrote around it: analysis, tags, greetings.

    Only what stands first is its analysis: further down such a tag is a word of the session.
    """
    text = _ANALYSIS.sub("", text)
    body, closed, _ = text.rpartition(END_MARK)
    _, opened, inside = (body if closed else text).partition("<summary>")
    return (inside if opened else body if closed else text).strip()


def _faults(draft: Draft, source: int, anchors: Sequence[str]) -> Iterator[tuple[str, str]]:
    text = prose(draft.text)
    finish = draft.finish.lower()
    if finish in _TRUNCATED:
        yield "truncated", f"the model stopped in the middle ({draft.finish!r})"
    if finish and finish not in _NORMAL:
        yield f"stop:{finish}", f"the model did not finish normally ({draft.finish!r})"
    if draft.tool_call:
        yield "tool_call_instead_of_text", "the model called a tool instead of writing"
    if _CALL.match(text) or _CALL_BELOW.search(text):
        yield "tool_call_instead_of_text", "it is a tool call written as text"
    if not text:
        yield "empty", "it holds no text"
    if is_refusal(text):
        yield "refusal_or_error", f"it reads like a refusal or an error ({text[:80]!r})"
    shortest = min(200, max(60, source // 20))
    if len(text) < shortest:
        yield "too_short", f"it has {len(text)} characters, and needs {shortest} at the least"
    if not _filled(text):
        yield "echo_of_prompt", "it has headings and nothing below them"
    if draft.prompt and _share(_shingles(text), _shingles(draft.prompt)) > 0.5:
        yield "echo_of_prompt", "it repeats what the model was told to do"
    if len(text) > max(source * 0.9, SMALL_ENOUGH):
        yield (
            "not_smaller_than_source",
            f"it has {len(text):,} characters for {source:,} characters of history",
        )
    lines = [line for line in text.splitlines() if line.strip()]
    if sum(bool(_TURN.match(line)) for line in lines) > max(2, 0.3 * len(lines)):
        yield "echo_of_source", "it is a piece of the transcript, not a summary of it"
    shingles = _shingles(text)
    if len(shingles) > 40 and len(set(shingles)) < 0.35 * len(shingles):
        yield "repetitive", "it says the same over and over"
    if len(anchors) >= _COVERAGE_ANCHORS and _covered(text, anchors) < 0.2 * len(anchors):
        yield "coverage", "it names almost nothing that this session is about"
    if re.match(r"\s*<(?:analysis|thinking)>", text):
        yield "truncated", "its analysis was never closed"
    if (draft.ends or "<summary>" in draft.text) and END_MARK not in draft.text:
        yield "truncated", f"it was never closed with {END_MARK}"
    if not finish and END_MARK not in draft.text and not _has_next_step(text):
        yield "truncated", "it has no end: no 'Next step:' section with something in it"


def _filled(text: str) -> bool:
    """Tell whether there is more than headings and placeholders."""
    return any(
        not HEADING.match(line) and not _BLANK_ITEM.match(line) for line in text.splitlines()
    )


def _has_next_step(text: str) -> bool:
    *_, last = [None, *_NEXT_STEP.finditer(text)]
    return last is not None and bool(re.search(r"\w", last["rest"].strip(" :*_") + last["below"]))


def _shingles(text: str) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return list(zip(*(words[at:] for at in range(_SHINGLE)), strict=False))


def _share(these: Sequence[tuple[str, ...]], those: Sequence[tuple[str, ...]]) -> float:
    known = set(those)
    return sum(shingle in known for shingle in these) / len(these) if these else 0.0


def _covered(text: str, anchors: Sequence[str]) -> int:
    lowered = text.lower()
    return sum(anchor.lower() in lowered for anchor in anchors)
