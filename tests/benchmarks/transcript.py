"""A Claude Code transcript of any length, invented and the same each time."""

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

_STEMS = (
    *("parse", "config", "cache", "index", "query", "route", "token", "session", "buffer"),
    *("worker", "branch", "commit", "merge", "retry", "timeout", "schema", "record", "ledger"),
    *("summary", "boundary", "render", "folder", "import", "export", "signal", "thread"),
    *("socket", "header", "payload", "cursor", "window", "budget", "margin", "vector", "matrix"),
)
_ENDINGS = ("", "s", "ed", "ing", "er", "_id", "_path", "_count")
_WORDS = tuple(f"{stem}{ending}" for stem in _STEMS for ending in _ENDINGS)


def lines(messages: int, output_words: int = 430, seed: int = 7) -> Iterator[bytes]:
    """Write `messages` messages: a prompt, thinking with text, a call, its output, and again.

    With the default length of a tool's output 100,000 messages are about 500 MB, as in sessions
    that run for weeks: each output stands in a record twice.
    """
    chance = random.Random(seed)
    parent: str | None = None
    for number in range(messages):
        record = _record(chance, number, output_words)
        record |= {
            "parentUuid": parent,
            "isSidechain": False,
            "cwd": "/home/dev/demo",
            "sessionId": "0b5c7a52-2f6e-4a43-9d3e-6a6f0c1f7d11",
            "version": "2.1.200",
            "gitBranch": "main",
            "timestamp": f"2026-09-{1 + number // 86_400:02}T{number // 3600 % 24:02}:"
            f"{number // 60 % 60:02}:{number % 60:02}.000Z",
        }
        parent = str(record["uuid"])
        yield orjson.dumps(record)


def write(path: Path, messages: int, **options: int) -> None:
    """Write such a transcript to a file."""
    with path.open("wb") as file:
        for line in lines(messages, **options):
            file.write(line + b"\n")


def _record(chance: random.Random, number: int, output_words: int) -> dict[str, Any]:
    name = {"uuid": str(uuid.UUID(int=chance.getrandbits(128)))}
    match number % 4:
        case 0:
            prompt = _text(chance, 40)
            return {**name, "type": "user", "message": {"role": "user", "content": prompt}}
        case 1:
            thinking = {"type": "thinking", "thinking": _text(chance, 60), "signature": "c2ln" * 90}
            return {
                **name,
                **_reply(number, [thinking, {"type": "text", "text": _text(chance, 50)}]),
            }
        case 2:
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash"}
            return {**name, **_reply(number, [{**call, "input": {"command": _text(chance, 12)}}])}
        case _:
            output = _text(chance, output_words * (1 + number % 3))
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number - 1}"}
            return {
                **name,
                "type": "user",
                "message": {"role": "user", "content": [{**result, "content": output}]},
                "toolUseResult": {"stdout": output, "stderr": "", "interrupted": False},
            }


def _reply(number: int, content: list[dict[str, Any]]) -> dict[str, Any]:
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": content}
    usage = {"input_tokens": 10, "output_tokens": 7}
    return {
        "type": "assistant",
        "message": {**message, "model": "claude-opus-4-8", "usage": usage},
    }


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))
