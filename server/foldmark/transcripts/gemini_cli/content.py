"""What Gemini CLI's messages hold, as it writes them and as it rebuilds them from a chat.

    user     what a person typed, what the program put around it, answers of tools
    gemini   thoughts, words, and the calls, each with what the tool answered
    info     words for the person; or the parts of a file that a tool read, told to the model

A message of the model as written has its words as a string, its thoughts and calls beside them; as
rebuilt it has all of them as parts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Reasoning,
    Role,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from foldmark.transcripts import blocks, parts
from foldmark.transcripts.fields import count, items, mapping, name, text
from foldmark.transcripts.injected import parted, told_apart
from foldmark.transcripts.record import Json

TYPES = frozenset({"user", "gemini", "info", "warning", "error"})

CONTEXT = "<session_context>"
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"
_SNAPSHOT, _SNAPSHOT_END = "<state_snapshot>", "</state_snapshot>"
_COMMANDS = ("/", "?")
_FILES = "--- Content from referenced files ---"
_GO_ON = "Please continue."
_STEERED = re.compile(
    r"\s*User (?:steering update|hints):\n<user_input>\n(.*?)\n</user_input>\n.*", re.DOTALL
)
_FOLDER = re.compile(
    r"^- \*\*Workspace Directories:\*\*\n\s+- (.+)$"
    r"|^I'm currently working in the directory: (.+)$"
    r"|^I'm currently working in the following directories:\n\s+- (.+)$",
    re.MULTILINE,
)
_FAILED = ("error", "cancelled")
_MEDIA = frozenset({"inlineData", "fileData"})


def role(record: Json) -> Role | None:
    """Tell who is speaking; None if no model ever read it."""
    match record.get("type"):
        case "user":
            return "user"
        case "gemini":
            return "assistant"
        case "info" if any(_MEDIA & mapping(p).keys() for p in items(record.get("content"))):
            return "user"
        case _:
            return None


def message(id: str, records: Sequence[Json]) -> Message:
    """Build one message from its newest record."""
    told = records[-1]
    speaker = role(told) or "user"
    read = _of_model(told) if speaker == "assistant" else _of_user(told)
    return Message(
        id=id,
        role=speaker,
        blocks=tuple(read),
        at=name(told.get("timestamp")),
        model=text(told.get("model")) if speaker == "assistant" else "",
        usage=_usage(told.get("tokens")) if speaker == "assistant" else None,
    )


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build the summary that a rebuilt chat begins with.

    The chat is only rebuilt once the model has finished, so its presence is the finish.
    """
    turns = rebuilt(mapping(record.get("$set")) or record) or []
    at, words = snapshot(turns) or (0, "")
    told = turns[at] if turns else mapping(None)
    return Summary(id, marker, words, "stop", at=name(told.get("timestamp")))


def rebuilt(record: Json) -> list[Json] | None:
    """Take the chat as this record says it is from now on; None if it says nothing of it."""
    messages = record.get("messages")
    return [mapping(one) for one in items(messages)] if isinstance(messages, list) else None


def snapshot(messages: Sequence[Json]) -> tuple[int, str] | None:
    """Find the summary in a rebuilt chat, by the answer that the program put behind it.

    Returns its index and its words; None if there is none, or nothing in it.
    """
    for at, (one, after) in enumerate(pairwise(messages[:3])):
        if one.get("type") != "user" or after.get("type") != "gemini":
            continue
        if "".join(_texts(after)).strip() != _ACKNOWLEDGED:
            continue
        words = "\n".join(w for w in _texts(one) if not w.lstrip().startswith(CONTEXT))
        _, opened, rest = words.partition(_SNAPSHOT)
        body = (rest.rpartition(_SNAPSHOT_END)[0] or rest) if opened else words
        body = body.removesuffix(_SNAPSHOT_END).strip()
        return (at, body) if body else None
    return None


def is_context(record: Json) -> bool:
    """Tell whether a user's message opens with what the program says of the session."""
    return record.get("type") == "user" and "".join(passages(record)[:1]).startswith(CONTEXT)


def folder(record: Json) -> str:
    """Find the project's folder in what the program says of the session."""
    found = _FOLDER.search("\n".join(_texts(record)))
    return next(filter(None, found.groups()), "").strip() if found else ""


def passages(record: Json) -> list[str]:
    """List what is said in a message, each passage stripped: the same in every copy of it."""
    return [words.strip() for words in _texts(record) if words.strip()]


def answered(part: Any) -> str:
    """Name the call that a part answers; nothing if it answers none."""
    found = mapping(mapping(part).get("functionResponse"))
    return text(found.get("id")) or text(found.get("name"))


def called(record: Json) -> list[str]:
    """Name the calls in a message and the calls that it answers."""
    ids: list[str] = [text(mapping(call).get("id")) for call in items(record.get("toolCalls"))]
    for part in blocks.parts(record.get("content")):
        call = mapping(mapping(part).get("functionCall"))
        ids += [text(call.get("id")) or text(call.get("name")), answered(part)]
    return list(filter(None, ids))


def _of_user(record: Json) -> Iterator[Block]:
    """Read a user's message; a person's words are what was displayed as typed, if that is told."""
    found = [b for b in parts.read(record.get("content")) if not _is_blank(b)]
    words = "".join(b.text for b in found if isinstance(b, Text)).strip()
    shown = "".join(passages({"content": record.get("displayContent")}))
    if record.get("type") == "info" or words == _GO_ON or words.startswith(_COMMANDS):
        yield from map(_injected, found)
    elif shown:
        yield from _displayed(found, shown)
    else:
        yield from told_apart(_without_files(found))


def _displayed(found: Iterable[Block], shown: str) -> Iterator[Block]:
    told = list(found)
    at = next(
        (n for n, b in enumerate(told) if isinstance(b, Text) and b.text.strip() == shown), -1
    )
    if at < 0:
        yield from parted(shown)
    for number, block in enumerate(told):
        if number == at:
            yield from parted(shown)
        else:
            yield _injected(block)


def _without_files(found: Iterable[Block]) -> Iterator[Block]:
    """Tell what a person typed from the files that it mentions, which stand behind it."""
    behind = False
    for block in found:
        if not isinstance(block, Text):
            yield block
            continue
        typed, mark, rest = ("", "", block.text) if behind else block.text.partition(_FILES)
        behind = behind or bool(mark)
        if steered := _STEERED.fullmatch(typed):
            yield Text(typed[: steered.start(1)], injected=True)
            yield Text(steered[1])
            yield Text(typed[steered.end(1) :], injected=True)
        elif typed.strip():
            yield Text(typed.rstrip() if mark else typed)
        if mark or rest:
            yield Text(mark + rest, injected=True)


def _injected(block: Block) -> Block:
    return Text(block.text, injected=True) if isinstance(block, Text) else block


def _of_model(record: Json) -> Iterator[Block]:
    """Read a message of the model; what stands both in its parts and beside them counts once."""
    said = [b for b in parts.read(record.get("content")) if not _is_blank(b)]
    calls = [mapping(call) for call in items(record.get("toolCalls"))]
    if not any(isinstance(block, Reasoning) for block in said):
        yield from _thoughts(record)
    beside = {_id(call) for call in calls}
    yield from (b for b in said if not isinstance(b, ToolCall) or b.id not in beside)
    for call in calls:
        yield ToolCall(_id(call), text(call.get("name")), call.get("args"))
        if result := _result(call):
            yield result


def _thoughts(record: Json) -> Iterator[Reasoning]:
    for thought in map(mapping, items(record.get("thoughts"))):
        subject, words = text(thought.get("subject")), text(thought.get("description"))
        told = f"**{subject}** {words}" if subject else words
        if told.strip():
            yield Reasoning(told.strip())


def _result(call: Json) -> ToolResult | None:
    """Read what a tool answered; None if it has not yet."""
    id, status = _id(call), text(call.get("status"))
    failed = status in _FAILED
    found = call.get("result")
    if not found:
        words = text(call.get("resultDisplay")) or (status if failed else "")
        return ToolResult(id, words, failed) if failed or status == "success" else None
    said: list[str] = []
    files: list[Attachment] = []
    for block in parts.read(list(_own(id, found))):
        match block:
            case ToolResult():
                said.append(block.text)
                files.extend(block.attachments)
                failed = failed or block.is_error
            case Text(text=words):
                said.append(words)
            case Attachment():
                files.append(block)
            case _:
                pass
    return ToolResult(id, "\n".join(filter(None, said)), failed, tuple(files))


def _own(id: str, found: Any) -> Iterator[Any]:
    """Take a call's own answer out of those of all calls that were made together.

    What stands behind an answer, such as a file, belongs to it.
    """
    told = list(blocks.parts(found))
    own = not any(answered(part) == id for part in told)
    shared = not own
    for part in told:
        if shared and (other := answered(part)):
            own = other == id
        if own:
            yield part


def _usage(tokens: Any) -> Usage | None:
    """Read what an answer cost; `input` contains what was cached."""
    told = mapping(tokens)
    counts = Usage(
        input=count(told.get("input")),
        output=count(told.get("output")),
        cached=count(told.get("cached")),
        reasoning=count(told.get("thoughts")),
    )
    return counts if counts != Usage() else None


def _id(call: Json) -> str:
    return text(call.get("id")) or text(call.get("name"))


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _texts(record: Json) -> list[str]:
    found = (
        p for p in blocks.parts(record.get("content")) if mapping(p).get("thought") is not True
    )
    return [part if isinstance(part, str) else text(part.get("text")) for part in found]
