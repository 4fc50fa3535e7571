"""What a person typed to Cline, Roo or Kilo, which all put it into wrappers of their own.

Around the wrappers stand the program's words: results of tools, reminders, what the editor shows.
A tool's output can hold the same wrappers, so only one that asks a person something may answer in
them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from foldmark.messages import Block, Text, ToolResult
from foldmark.transcripts.injected import parted

_SDK = re.compile(r"<(user_input)(?:\s[^<>]{0,200})?>")
_COMMAND = re.compile(r"</?user_command(?:\s[^<>]{0,200})?>")
_CLASSIC = re.compile(r"<(task|feedback|user_message|answer)>")
_HEAD = re.compile(r"\s*\[([A-Za-z]\w{0,80})(?=[\s\]])")
_RESULT = "] Result:"
_AUTOMATIC = ("[ERROR]", "[NOTE]", "[TASK RESUMPTION]", "[Sliding window", "<")
_ASKING = frozenset(
    {"ask_followup_question", "attempt_completion", "plan_mode_respond", "plan_mode_response"}
    | {"new_task", "condense", "report_bug"}
)


def sdk(words: str) -> Iterator[Text]:
    """Part a text that Cline's SDK stored: typed is what `<user_input mode="...">` holds.

    A text without that wrapper was typed as it is, or it is told apart by the tags in it.
    """
    found = list(_pieces(words, _SDK)) if words.lstrip().startswith("<") else []
    if len(found) < 2:
        yield from parted(_COMMAND.sub("", words))
    else:
        yield from _told(found)


def classic(blocks: Iterable[Block], tools: Mapping[str, str]) -> Iterator[Block]:
    """Go through a user's message of the extensions; `tools` names those that results are of.

    Without native tools a result is text as well: "[read_file for 'a.py'] Result:", and what it
    read stands behind it or in the next text.
    """
    found = list(blocks)
    automatic = any(map(_is_result, found))
    output_of = ""
    for block in found:
        match block:
            case ToolResult():
                yield from _answered(block, tools.get(block.call_id) or _tool(block.text))
            case Text(text=words):
                told = _tool(words)
                if told and words.rstrip().endswith(_RESULT):
                    output_of = told
                    yield Text(words, injected=True)
                    continue
                of, output_of = told or output_of, ""
                if of and of not in _ASKING:
                    yield Text(words, injected=True)
                else:
                    yield from _said(words, automatic)
            case _:
                yield block


def _said(words: str, automatic: bool) -> Iterator[Text]:
    """Part a text that is no tool's output; `automatic` if the program began the message."""
    found = list(_pieces(words, _CLASSIC))
    if len(found) == 1:
        if automatic or words.lstrip().startswith(_AUTOMATIC):
            yield Text(words, injected=True)
        else:
            yield from parted(words)
        return
    yield from _told(found)


def _told(pieces: Iterable[tuple[str, bool]]) -> Iterator[Text]:
    for piece, wrapped in pieces:
        if words := _COMMAND.sub("", piece).strip():
            yield from parted(words) if wrapped else (Text(words, injected=True),)


def _answered(result: ToolResult, tool: str) -> Iterator[Block]:
    """Take a person's answer out of the result of a tool that asked for it."""
    found = list(_pieces(result.text, _CLASSIC)) if tool in _ASKING else []
    if len(found) < 2:
        yield result
        return
    rest = "\n".join(piece.strip() for piece, wrapped in found if not wrapped and piece.strip())
    yield ToolResult(result.call_id, rest, result.is_error, result.attachments)
    yield from _told(one for one in found if one[1])


def _is_result(block: Block) -> bool:
    if isinstance(block, Text):
        return bool(_tool(block.text)) or block.text.lstrip().startswith(_AUTOMATIC[:-1])
    return isinstance(block, ToolResult)


def _tool(words: str) -> str:
    """Name the tool whose result begins so."""
    head = _HEAD.match(words)
    return head[1] if head and _RESULT in words else ""


def _pieces(words: str, wrappers: re.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """Part words into those in a wrapper and those around them; a wrapper left open is none."""
    at, left_open = 0, set[str]()
    for opened in wrappers.finditer(words):
        end = -1
        if opened.start() >= at and opened[1] not in left_open:
            end = words.find(f"</{opened[1]}>", opened.end())
            if end < 0:
                left_open.add(opened[1])
        if end >= 0:
            yield words[at : opened.start()], False
            yield words[opened.end() : end], True
            at = end + len(opened[1]) + 3
    yield words[at:], False
