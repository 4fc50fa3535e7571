"""Every assistant's sessions through the MCP tools, lying where the assistant itself puts them."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import Implementation

from foldmark_server.app import build
from session_files import Host, Json, ask

FIXTURES = Path(__file__).parent / "fixtures"
CODEX = "01a22dd2-dc16-79c2-8d08-aa6883e324b2"


@dataclass(frozen=True)
class Kept:
    """A session as its assistant keeps it, and how the assistant calls Foldmark from it."""

    id: str
    install: Callable[[Path], None]
    prompt: str
    client: str
    meta: Json = field(default_factory=dict[str, Any])
    environ: dict[str, str] = field(default_factory=dict[str, str])


def copied(fixture: str, below: str) -> Callable[[Path], None]:
    """Copy a fixture, a file or a folder, to its place below the user's home."""

    def install(home: Path) -> None:
        source, target = FIXTURES / fixture, home / below
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)

    return install


def database(fixture: str, below: str) -> Callable[[Path], None]:
    """Make a database of a fixture at its place below the user's home."""

    def install(home: Path) -> None:
        (home / below).parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(home / below)) as made:
            made.executescript((FIXTURES / fixture).read_text(encoding="utf-8"))

    return install


KEPT = {
    "codex": Kept(
        id=CODEX,
        install=copied(
            "codex/v0.171-mcp.jsonl",
            f".codex/sessions/2026/11/30/rollout-2026-11-30T18-58-43-{CODEX}.jsonl",
        ),
        prompt="please MCPCALL",
        client="codex-mcp-client",
        meta={"threadId": CODEX, "sessionId": CODEX, "callId": "call_1"},
    ),
    "goose": Kept(
        id="20261130_3",
        install=database("goose/sessions.sql", ".local/share/goose/sessions/sessions.db"),
        prompt="",
        client="goose-cli",
        meta={"agent-session-id": "20261130_3"},
        environ={"AGENT_SESSION_ID": "20261130_3"},
    ),
}
EVERY = pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.project.mkdir()
    return host


def calling(host: Host, name: str = "", **environ: str) -> Client:
    """Connect as a host of this name does; one without a name says nothing of itself."""
    info = Implementation(name=name, version="1") if name else None
    return Client(build({**host.environ, **environ}), client_info=info)


@EVERY
async def test_a_session_is_listed_read_and_compacted(host: Host, kept: Kept):
    kept.install(host.root)
    async with calling(host) as client:
        listed = await ask(client, "list_sessions", project="*")
        before = await ask(client, "get_history", session_id=kept.id, view="full")
        done = await ask(client, "compact_session", session_id=kept.id, keep_recent_tokens=0)
        after = await ask(client, "get_history", session_id=kept.id)

    [found] = [one for one in listed["sessions"] if one["session_id"] == kept.id]
    assert found["first_prompt"].startswith(kept.prompt)
    assert before["total_messages"] == after["total_messages"]
    assert done["status"] == "compacted"
    assert after["boundary"]["compaction_id"] == done["compaction_id"]
    assert not [warning for warning in before["warnings"] if "not know" in warning]
