"""Claude Code transcripts for tests, line by line, and a look at what the log made of them.

A line is a dict; `jsonl` writes several. Every line built gets a later timestamp than the one
before, and a `parent` only when the test gives one.
"""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from foldmark.messages import Message, Text, ToolCall, ToolResult
from foldmark.sessions.log import SessionLog
from foldmark.sessions.sync import sync
from foldmark.sources.transcript import Transcript
from foldmark.store.rows import Source
from foldmark.store.store import Store
from foldmark.transcripts import claude_code

Json = dict[str, Any]

READER = claude_code.READER
SESSION = "11111111-1111-4111-8111-111111111111"

_clock = count(1)


def moment() -> str:
    """Tell a time later than any told before."""
    seconds = next(_clock)
    return f"2026-09-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


def line(kind: str, uuid: str, parent: str = "", **more: Any) -> Json:
    return {
        "parentUuid": parent or None,
        "isSidechain": False,
        "cwd": "/home/dev/demo",
        "sessionId": SESSION,
        "version": "2.1.200",
        "gitBranch": "main",
        "type": kind,
        "uuid": uuid,
        "timestamp": moment(),
        **more,
    }


def user(uuid: str, content: Any, parent: str = "", **more: Any) -> Json:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **more)


def assistant(
    uuid: str,
    *content: Json | str,
    parent: str = "",
    message: str = "",
    model: str = "claude-opus-4-8",
    **more: Any,
) -> Json:
    body = {
        "id": message or f"msg_{uuid}",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": c} if isinstance(c, str) else c for c in content],
    }
    return line("assistant", uuid, parent, message=body, **more)


def tool_use(uuid: str, call: str, parent: str = "", *, name: str = "Bash", **more: Any) -> Json:
    block = {"type": "tool_use", "id": call, "name": name, "input": {"command": "ls"}}
    return assistant(uuid, block, parent=parent, **more)


def tool_result(uuid: str, call: str, parent: str = "", content: Any = "OUT", **more: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return user(uuid, [block], parent, **more)


def queued(uuid: str, prompt: Any, parent: str = "") -> Json:
    attachment = {"type": "queued_command", "prompt": prompt}
    return line("attachment", uuid, parent, attachment=attachment)


def boundary(uuid: str, kept: str = "", **more: Any) -> Json:
    metadata: Json = {"trigger": "auto", "preTokens": 1000}
    if kept:
        metadata["preservedSegment"] = {"headUuid": kept}
    return line("system", uuid, subtype="compact_boundary", compactMetadata=metadata, **more)


def summary(uuid: str, marker: str, text: str = "Summary: half done.") -> Json:
    return user(uuid, text, marker, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def turns(first: int, last: int, parent: str = "", words: str = "") -> list[Json]:
    """Build the prompts `u1`, `u2`, ... and their answers `a1`, `a2`, ..., each under the last."""
    made: list[Json] = []
    for number in range(first, last + 1):
        made.append(user(f"u{number}", f"ask {number}{words}", parent))
        parent = f"a{number}"
        made.append(assistant(parent, f"answer {number}{words}", parent=f"u{number}"))
    return made


def jsonl(*lines: Json | bytes) -> bytes:
    """Write lines, each with its end; bytes go in as they are, with an end too."""
    written = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines)
    return b"".join(one + b"\n" for one in written)


def transcript(path: Path, session: str = SESSION) -> Transcript:
    return Transcript(path, READER, READER.places[0], session)


async def read_in(store: Store, path: Path, session: str = SESSION) -> Source:
    """Sync a transcript as the server does: knowing how far it was read before."""
    return await sync(store, transcript(path, session), held=await store.source(str(path)))


async def log_of(store: Store, session: str = SESSION) -> SessionLog:
    found = (await store.overview(session)).session
    assert found is not None
    return SessionLog(store, found, READER)


async def messages(
    store: Store, session: str = SESSION, *, first: int = 1, live: bool = True
) -> list[Message]:
    log = await log_of(store, session)
    rows = await store.page(log.session.key, first=first, limit=100_000, live=live)
    return [placed.message for placed in log.messages(rows)]


async def told(store: Store, session: str = SESSION, *, live: bool = True) -> list[str]:
    """Tell who said what, messages without words left out."""
    return spoken(await messages(store, session, live=live))


async def seen_by_a_model(store: Store, session: str = SESSION) -> list[str]:
    """Tell what a model should see: the summary, if one stands, then the visible messages."""
    standing = await (await log_of(store, session)).standing()
    start = ["SUMMARY"] if standing.boundary else []
    return start + spoken(await messages(store, session, first=standing.start))


def spoken(found: Iterable[Message]) -> list[str]:
    said = ((one, "".join(b.text for b in one.blocks if isinstance(b, Text))) for one in found)
    return [f"{one.role[0].upper()}:{words}" for one, words in said if words]


def pairs(found: Iterable[Message]) -> dict[str, str]:
    """Tell what came of each call, "pending" when nothing did."""
    blocks = [block for one in found for block in one.blocks]
    results = {block.call_id: block.text for block in blocks if isinstance(block, ToolResult)}
    calls = [block.id for block in blocks if isinstance(block, ToolCall)]
    return {call: results.get(call, "pending") for call in calls}


def rows(database: Path, sql: str = "") -> list[tuple[Any, ...]]:
    """Read the database file from outside: the whole log, unless another query is given."""
    whole = (
        "SELECT sessions.id, pos, head, kind, log.id, log.parent, prompt, messages, chars, raw"
        " FROM log JOIN sessions ON key = session ORDER BY sessions.id, pos"
    )
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(sql or whole).fetchall()
