"""Sessions on disk and in the store, and the two doors to them: the engine and the MCP tools.

`Host` is a machine of its own in a test's folder: transcripts, a project, a database.
"""

import json
import os
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp.types import CallToolResult, TextContent

from foldmark.requests import Caller
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sessions.service import Sessions
from foldmark.sources.places import Places
from foldmark.store.store import open_store
from foldmark_server.app import build

Json = dict[str, Any]
Mode = Literal["auto", "legacy"]

SESSION = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


@dataclass(frozen=True)
class Host:
    """A machine with Claude Code on it, all in one folder."""

    root: Path

    @property
    def projects(self) -> Path:
        return self.root / "claude" / "projects"

    @property
    def project(self) -> Path:
        return self.root / "work"

    @property
    def database(self) -> Path:
        return self.root / "data" / "foldmark.db"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "FOLDMARK_DB": str(self.database),
            "CLAUDE_CONFIG_DIR": str(self.root / "claude"),
            "CLAUDE_PROJECT_DIR": str(self.project),
        }

    @property
    def places(self) -> Places:
        return Places(ASSISTANTS, self.environ, project=self.project)

    @property
    def caller(self) -> Caller:
        return Caller(self.project)

    def path(self, session: str = SESSION, project: Path | None = None) -> Path:
        slug = "".join(
            c if c.isascii() and c.isalnum() else "-" for c in str(project or self.project)
        )
        return self.projects / slug / f"{session}.jsonl"

    def save(
        self,
        records: Iterable[Json],
        session: str = SESSION,
        *,
        project: Path | None = None,
        age: float = 0.0,
    ) -> Path:
        """Write a transcript, last touched `age` seconds ago."""
        path = self.path(session, project)
        path.parent.mkdir(parents=True, exist_ok=True)
        told = linked(records, session, project or self.project)
        path.write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
        self.touch(path, age)
        return path

    def add(
        self, path: Path, records: Sequence[Json], *, after: int, project: Path | None = None
    ) -> None:
        """Append records to a transcript that holds `after` of them."""
        told = linked(records, path.stem, project or self.project, after=after)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(one) + "\n" for one in told)

    def touch(self, path: Path, age: float) -> None:
        if age:
            moment = path.stat().st_mtime - age
            os.utime(path, (moment, moment))


def linked(
    records: Iterable[Json], session: str, project: Path, *, after: int = 0
) -> Iterable[Json]:
    """Give records what Claude Code would: ids, each other as parents, times, a folder."""
    parent = f"r{after}" if after else None
    for number, record in enumerate(records, start=after + 1):
        told = {
            "uuid": f"r{number}",
            "parentUuid": parent,
            "sessionId": session,
            "timestamp": f"2026-01-02T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            "cwd": str(project),
            "isSidechain": False,
            **record,
        }
        parent = told["uuid"]
        yield told


def typed(text: str, **more: Any) -> Json:
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


def said(*content: Json | str, **more: Any) -> Json:
    blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    body = {"role": "assistant", "model": "claude-opus-4-6", "content": blocks}
    return {"type": "assistant", "message": body, **more}


def answered(id: str, text: str, **more: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": id, "content": text, **more}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def talk(turns: int, *, size: int = 40, start: int = 0) -> list[Json]:
    """Write a conversation of questions and answers, each of `size` characters or more."""
    records: list[Json] = []
    for turn in range(start, start + turns):
        records.append(typed(f"Question {turn}: {'why ' * (size // 4)}"))
        records.append(said(f"Answer {turn}: {'so ' * (size // 3)}"))
    return records


@asynccontextmanager
async def engine(host: Host, **more: Any) -> AsyncGenerator[Sessions]:
    """Open the engine on a host's database."""
    async with open_store(host.database) as store:
        sessions = Sessions(store, host.places, **more)
        try:
            yield sessions
        finally:
            await sessions.stop()


def connected(host: Host, mode: Mode = "auto", **more: str) -> Client:
    """Connect to a server of its own on a host; use it in `async with`, inside the test."""
    return Client(build({**host.environ, **more}), mode=mode)


def answer(result: CallToolResult) -> Json:
    """Take what a tool answered, which must say the same as text and as structure."""
    [content] = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    assert result.structured_content == json.loads(content.text)
    return json.loads(content.text)


def refusal(result: CallToolResult) -> str:
    """Take the words in which a tool refused."""
    [content] = result.content
    assert isinstance(content, TextContent)
    assert result.is_error, content.text
    return content.text


async def ask(client: Client, tool: str, **arguments: Any) -> Json:
    return answer(await client.call_tool(tool, arguments))


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    return refusal(await client.call_tool(tool, arguments))


def size(page: Json) -> int:
    """Count the characters of an answer as it is sent."""
    return len(json.dumps(page, ensure_ascii=False, separators=(",", ":")))


async def pages(client: Client, *, most: int = 20_000, **arguments: Any) -> list[Json]:
    """Read every page, each of which must keep to its size."""
    found: list[Json] = []
    seen: set[str] = set()
    while True:
        page = await ask(client, "get_history", **arguments)
        assert size(page) <= arguments.get("max_chars", 10_000), page
        found.append(page)
        if page["next_cursor"] is None:
            return found
        assert page["next_cursor"] not in seen, "a page leads back to itself"
        assert len(found) < most
        seen.add(page["next_cursor"])
        arguments["cursor"] = page["next_cursor"]


async def visible(client: Client, **arguments: Any) -> list[Json]:
    """Read what a model should see."""
    return [one for page in await pages(client, **arguments) for one in page["messages"]]
