"""What pi's messages hold, made canonical, as pi itself gives them to a model."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from foldmark.messages import Attachment, Block, Message, Reasoning, Text, ToolCall, Unknown, Usage
from foldmark.transcripts import blocks
from foldmark.transcripts.fields import count, dumps, mapping, name, text
from foldmark.transcripts.injected import told_apart
from foldmark.transcripts.record import Json

# Files named on the command line come before the words typed there.
_FILES = re.compile(r'\A(?:<file name="[^"\n]*">.*?</file>\n)+', re.DOTALL)
_PROVIDER_ERROR = re.compile(r'"type":\s*"(\w+_error)"')


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message from its entry."""
    entry = records[-1]
    body = _body(entry)
    role = "assistant" if body.get("role") == "assistant" else "user"
    return Message(
        id=id,
        role=role,
        blocks=tuple(_blocks(body)),
        at=name(entry.get("timestamp")),
        model=text(body.get("model")) if role == "assistant" else "",
        error=_error(body) if role == "assistant" else "",
        usage=_usage(mapping(body.get("usage"))) if role == "assistant" else None,
    )


def _body(entry: Json) -> Json:
    """Take the message out of an entry; some entries are messages themselves."""
    match entry.get("type"):
        case "custom_message":
            return {"role": "custom", "content": entry.get("content")}
        case "branch_summary":
            return {"role": "branchSummary", "summary": entry.get("summary")}
        case _:
            return mapping(entry.get("message"))


def _blocks(body: Json) -> Iterator[Block]:
    """Read a message as pi gives it to the model."""
    match body.get("role"):
        case "assistant":
            yield from map(_block, blocks.parts(body.get("content")))
        case "toolResult":
            yield blocks.result(
                text(body.get("toolCallId")),
                body.get("content"),
                is_error=body.get("isError") is True,
            )
        case "user":
            yield from told_apart(_typed(body.get("content")))
        case "bashExecution":
            yield Text(_executed(body), injected=True)
        case "branchSummary":
            yield Text(
                "The following is a summary of a branch that this conversation came back from:\n\n"
                f"<summary>\n{text(body.get('summary'))}</summary>",
                injected=True,
            )
        case "compactionSummary":
            yield Text(
                "The conversation history before this point was compacted into the following "
                f"summary:\n\n<summary>\n{text(body.get('summary'))}\n</summary>",
                injected=True,
            )
        case _:
            for block in map(_block, blocks.parts(body.get("content"))):
                yield Text(block.text, injected=True) if isinstance(block, Text) else block


def _block(part: str | Json) -> Block:
    if isinstance(part, str):
        return Text(part)
    match part.get("type"):
        case "text":
            return Text(text(part.get("text")))
        case "thinking":
            words = text(part.get("thinking"))
            hidden = part.get("redacted") is True or not words.strip()
            return Reasoning("" if hidden else words, redacted=hidden)
        case "toolCall":
            return ToolCall(text(part.get("id")), text(part.get("name")), part.get("arguments"))
        case "image":
            return Attachment(
                text(part.get("mimeType")) or "image/*",
                "",
                blocks.decoded_size(text(part.get("data"))),
            )
        case kind:
            return Unknown(name(kind) or "block")


def _typed(content: Any) -> Iterator[Block]:
    """Read what a person sent, the files that were named with it told apart."""
    for block in map(_block, blocks.parts(content)):
        if isinstance(block, Text) and (files := _FILES.match(block.text)):
            yield Text(files[0], injected=True)
            block = Text(block.text[files.end() :])
            if not block.text:
                continue
        yield block


def _executed(body: Json) -> str:
    """Say what a person ran in the shell and what came out, in pi's words."""
    output = text(body.get("output"))
    words = f"Ran `{text(body.get('command'))}`\n"
    words += f"```\n{output}\n```" if output else "(no output)"
    if body.get("cancelled") is True:
        words += "\n\n(command cancelled)"
    elif code := body.get("exitCode"):
        words += f"\n\nCommand exited with code {dumps(code)}"
    if body.get("truncated") is True and text(body.get("fullOutputPath")):
        words += f"\n\n[Output truncated. Full output: {text(body.get('fullOutputPath'))}]"
    return words


def _error(body: Json) -> str:
    match body.get("stopReason"):
        case "aborted":
            return "aborted"
        case "error":
            named = _PROVIDER_ERROR.search(text(body.get("errorMessage")))
            return named[1] if named else "error"
        case _:
            return ""


def _usage(told: Json) -> Usage | None:
    """Read what the provider billed; `input` leaves out what was cached."""
    counts = Usage(
        input=count(told.get("input")),
        output=count(told.get("output")),
        cached=count(told.get("cacheRead")),
        reasoning=count(told.get("reasoning")),
    )
    return counts if counts != Usage() else None
