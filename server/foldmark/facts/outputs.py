"""What a tool's output says: how it ended, and which of its lines are errors."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from foldmark.facts.words import LONGEST_LINE, clean, ends, one_line
from foldmark.messages import ToolResult

_SCAN = 48_000
_NEAR = 400
_PARSED = 400_000

_EXIT = re.compile(
    r"(?:exit(?:ed)?[ _]?(?:with )?(?:code|status)|exit_?code)\W{0,4}(-?\d{1,3})\b", re.IGNORECASE
)
_STRONG = re.compile(
    r"(?:^|[^\w/.-])(?:error|fatal|panic|exception|failure|err!)\s?[:\[(!]"
    r"|\berror(?: TS| CS|\[)\w{1,8}"
    r"|\b[A-Z]\w{2,60}(?:Error|Exception)\b"
    r"|(?:^|\s)(?:FAIL|FAILED|ERROR|PANIC|FATAL)\b"
    r"|^--- FAIL|^E\s{2,}|^Traceback \(most recent"
    r"|command not found|[Nn]o such file|[Pp]ermission denied|[Cc]annot find|not found:|undefined:"
    r"|[Cc]onnection refused|timed out|[Ss]egmentation fault|assertion failed"
    r"|[Uu]nable to |[Cc]ould not "
)
_WEAK = re.compile(
    r"error|fail|fatal|panic|exception|invalid|cannot|can't|denied|refused|undefined|unexpected"
    r"|not found|no such|does not|must |missing|blocked|rejected",
    re.IGNORECASE,
)
_CALM = re.compile(
    r"\b(?:0|no) (?:errors?|failures?|failed)\b|\berrors?: 0\b|failed: 0\b"
    r"|^(?:\d{1,6}[:\-|\u2192]|[-+ ]\s|//|#|\*)"
    r"|^(?:ok|PASS|=== RUN|--- PASS)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"^(?:FAIL\b|--- FAIL|FAILED\b|fatal: |panic: |npm ERR!|error: |make: \*\*\*|E   |Error: "
    r"|\w{0,40}(?:Error|Exception): |bash: .{0,200}: command not found|\S{0,200}: error TS)"
)


def unwrapped(text: str) -> str:
    """Take the words out of an output that a program wrapped in JSON."""
    if text[:1] not in "{[" or len(text) > _PARSED:
        return clean(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return clean(text)
    words = "\n".join(_leaves(value, 0))
    return clean(words) if words else clean(text)


def _leaves(value: Any, depth: int) -> Iterator[str]:
    if depth > 4:
        return
    if isinstance(value, list):
        for entry in cast("list[Any]", value)[:200]:
            yield from _leaves(entry, depth + 1)
    elif isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        code = given.get("exit_code", given.get("exitCode"))
        if isinstance(code, int):
            yield f"exit code {code}"
        for key in ("output", "stdout", "stderr", "result", "error", "text", "content", "metadata"):
            if key in given:
                inner = given[key]
                if isinstance(inner, str):
                    yield inner
                else:
                    yield from _leaves(inner, depth + 1)


def exit_code(result: ToolResult, text: str) -> int | None:
    """Tell the exit code of a command, None if the output does not say.

    A failed result without a code counts as -1.
    """
    found = _EXIT.search(text[:_NEAR]) or _EXIT.search(text[-_NEAR:])
    if found:
        return int(found[1])
    return -1 if result.is_error else None


def failed(text: str, code: int | None) -> bool:
    """Tell whether a command failed; without a code, its last lines tell."""
    if code is not None:
        return code != 0
    tail = text[-2500:].splitlines()[-25:]
    return any(_FAILED.match(line) for line in tail)


def error_lines(text: str, *, failure: bool, most: int = 6) -> list[str]:
    """List the lines that say what went wrong, strong ones before weak, each on one line.

    Without a failure only strong lines count: programs talk of errors all the time.
    """
    strong: list[str] = []
    weak: list[str] = []
    for line in ends(text, _SCAN).splitlines():
        line = line[:LONGEST_LINE].strip()
        if len(line) < 8:
            continue
        if _STRONG.search(line):
            if not _CALM.search(line):
                strong.append(line)
        elif failure and len(weak) < most and not _EXIT.fullmatch(line) and _WEAK.search(line):
            weak.append(line)
    if len(strong) > most:
        strong = [*strong[: most // 2], *strong[-(most - most // 2) :]]
    kept = strong or weak
    if not kept and failure:
        kept = [
            line
            for line in ends(text, 4000).splitlines()
            if line.strip() and not _EXIT.search(line)
        ][:1]
    return list(dict.fromkeys(one_line(line)[:LONGEST_LINE] for line in kept))
