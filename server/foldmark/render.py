"""Messages as labelled plain text, for summarizers and for people.

A line that starts in the first column is Foldmark's; every further line of what somebody said is
indented. So nothing said inside a message can pass for a label, and nothing closes the frame.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from foldmark.messages import (
    Attachment,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)
from foldmark.own import is_own_tool
from foldmark.reasoning import strip
from foldmark.transcripts.fields import dumps

Clean: TypeAlias = Callable[[str], str]

NO_RESULT = "[no result recorded]"
NO_OUTPUT = "[no output]"
OWN_RESULT = "[Foldmark's own answer, left out: it repeats this session]"

_SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "System"}
_LONGEST_NAME = 100
_TAG = re.compile(r"<(?=[^\w<>]{0,8}transcript)", re.IGNORECASE)
_DATA_URL = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,60})[\w.;=+-]{0,100};base64,([\w+/=-]{64,})")


def record(
    messages: Iterable[Message],
    *,
    limit: int | None = None,
    echo: bool = True,
    own: Collection[str] = (),
    unanswered: Collection[str] = (),
    clean: Clean = str,
) -> str:
    """Write messages one below the other, without those that say nothing; see `text`.

    They need not be stripped of reasoning before: here it gets a label of its own.
    """
    told = list(messages)
    known = own_calls(told).union(own)
    texts = (
        text(message, limit=limit, echo=echo, own=known, unanswered=unanswered, clean=clean)
        for message in told
        if strip(message) is not None
    )
    return "\n\n".join(filter(None, texts))


def frame(body: str) -> str:
    """Put a body of rendered text between tags that it cannot close."""
    return f"<transcript>\n{_TAG.sub('&lt;', body)}\n</transcript>"


def text(
    message: Message,
    *,
    limit: int | None = None,
    echo: bool = True,
    own: Collection[str] = (),
    unanswered: Collection[str] = (),
    clean: Clean = str,
) -> str:
    """Write one message, a labelled paragraph for each block that can be read.

    `limit` is the room for each tool result, each tool input and each thought, in characters.
    With `echo` false the answers of Foldmark's own tools are left out; `own` holds the ids of such
    calls in other messages. `unanswered` holds the ids of the calls to be noted as having no
    result. `clean` goes over all words before any are cut out of their middle.
    """
    left_out = frozenset[str]() if echo else own_calls([message]).union(own)
    return "\n".join(_paragraphs(message, limit, left_out, unanswered, clean))


def own_calls(messages: Iterable[Message]) -> frozenset[str]:
    """Collect the ids of the calls to Foldmark's own tools."""
    calls = (call for message in messages for call in message.calls)
    return frozenset(call.id for call in calls if call.id and is_own_tool(call.name))


def unanswered(messages: Iterable[Message]) -> frozenset[str]:
    """Collect the ids of the calls that none of these messages answers."""
    told = list(messages)
    answered = {result.call_id for message in told for result in message.results}
    return frozenset(call.id for message in told for call in message.calls) - answered


def labelled(label: str, words: str) -> str:
    """Put a label before words and indent every line after the first.

    Whatever Unicode calls a line break ends a line here, not only a newline.
    """
    first, *rest = words.strip().splitlines() or [""]
    return "\n".join([f"[{label}]: {first}", *(f"  {x}" if x.strip() else "" for x in rest)])


def placeholder(attachment: Attachment) -> str:
    """Name an attachment in place of its bytes, such as `[image/png 12 KB plan.png]`."""
    kind = _one_line(attachment.media_type) or "file"
    facts = (kind, _bytes(attachment.size), _one_line(attachment.name))
    return f"[{' '.join(filter(None, facts))}]"


def without_data(words: str) -> str:
    """Put a placeholder for each file that was written into the words as a data URL."""
    if ";base64," not in words:
        return words
    return _DATA_URL.sub(
        lambda url: placeholder(Attachment(url[1], "", len(url[2]) * 3 // 4)), words
    )


def result_text(result: ToolResult) -> str:
    """Write what a tool answered, attachments named; never blank."""
    words = without_data(result.text).rstrip()
    return "\n".join(filter(None, [words, *map(placeholder, result.attachments)])) or NO_OUTPUT


def clip(words: str, limit: int | None, *, indent: str = "") -> str:
    """Keep the first and the last part of words that are too long, and say how much is gone.

    `indent` goes before the last part, which in rendered text may begin inside somebody's words.
    """
    if limit is None or len(words) <= limit:
        return words
    head, tail = limit - limit // 2, len(words) - limit // 2
    if _parts_a_pair(words, head):
        head -= 1
    if _parts_a_pair(words, tail):
        tail += 1
    gone = tail - head
    note = f"[{gone} character{'s' if gone > 1 else ''} omitted]"
    return "\n".join(filter(None, [words[:head], note, f"{indent}{words[tail:]}"]))


def _paragraphs(
    message: Message,
    limit: int | None,
    left_out: Collection[str],
    unanswered: Collection[str],
    clean: Clean,
) -> Iterator[str]:
    speaker = _SPEAKERS[message.role]
    for block in message.blocks:
        match block:
            case Text(text=words, injected=injected):
                if words.strip():
                    yield labelled("Injected" if injected else speaker, clean(without_data(words)))
            case Reasoning(text=words, redacted=redacted):
                if words.strip() and not redacted:
                    yield labelled("Reasoning", clip(clean(words.strip()), limit))
            case Attachment():
                yield labelled(speaker, placeholder(block))
            case ToolCall():
                name = _one_line(block.name).replace("]", "_") or "unnamed"
                given = clean(without_data(dumps(block.input)))
                yield labelled(f"Tool call {name}", clip(given, limit))
                if block.id in unanswered:
                    yield labelled("Tool result", NO_RESULT)
            case ToolResult():
                label = "Tool error" if block.is_error else "Tool result"
                own = block.call_id in left_out
                words = OWN_RESULT if own else clip(clean(result_text(block)), limit)
                yield labelled(label, words)
            case Unknown():
                pass


def _one_line(words: str) -> str:
    return " ".join(words[: _LONGEST_NAME * 2].split())[:_LONGEST_NAME]


def _bytes(size: int) -> str:
    if size <= 0:
        return ""
    if size < 1024:
        return f"{size} B"
    return f"{round(size / 1024)} KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MB"


def _parts_a_pair(words: str, at: int) -> bool:
    """Tell whether a cut would fall between the halves of a surrogate pair."""
    return (
        0 < at < len(words)
        and "\ud800" <= words[at - 1] <= "\udbff"
        and "\udc00" <= words[at] <= "\udfff"
    )
