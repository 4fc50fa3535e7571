"""Every assistant's sessions through the MCP tools, lying where the assistant itself puts them."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import Implementation, RequestParamsMeta

from foldmark.transcripts.gemini_cli import reader as gemini_cli
from foldmark_server.app import build
from readings import of_lines
from session_files import SESSION, Host, answer, ask, refused, said, talk, typed

FIXTURES = Path(__file__).parent / "fixtures"
CODEX = "01a22dd2-dc16-79c2-8d08-aa6883e324b2"


@dataclass(frozen=True)
class Kept:
    """A session as its assistant keeps it, and how the assistant calls Foldmark from it."""

    id: str
    install: Callable[[Path], None]
    prompt: str
    client: str = ""
    meta: RequestParamsMeta = field(default_factory=RequestParamsMeta)
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
    "opencode": Kept(
        id="ses_dd235040cffeRVWhGn0G6HDG7V",
        install=database("opencode/sessions.sql", ".local/share/opencode/opencode.db"),
        prompt="",
        client="opencode",
        meta={"ai.opencode/sessionID": "ses_dd235040cffeRVWhGn0G6HDG7V"},
    ),
    "gemini-cli": Kept(
        id="55b42678-1e4f-46a3-979c-cb1460ac2194",
        install=copied(
            "gemini_cli/v0.61.jsonl",
            ".gemini/tmp/parser/chats/session-2026-11-30T19-00-55b42678.jsonl",
        ),
        prompt="first TOOL PARALLEL",
    ),
    "goose": Kept(
        id="20261130_1",
        install=database("goose/sessions.sql", ".local/share/goose/sessions/sessions.db"),
        prompt="first TOOL PARALLEL",
        client="goose-cli",
        meta={"agent-session-id": "20261130_1"},
        environ={"AGENT_SESSION_ID": "20261130_1"},
    ),
    "cline": Kept(
        id="1796065621848_qg0hm",
        install=copied("cline/1796065621848_qg0hm", ".cline/data/sessions/1796065621848_qg0hm"),
        prompt="loop TOOL agentic",
    ),
    "copilot-cli": Kept(
        id="c0b1107e-0000-4000-8000-000000000001",
        install=copied(
            "copilot_cli/session.jsonl",
            ".copilot/session-state/c0b1107e-0000-4000-8000-000000000001/events.jsonl",
        ),
        prompt="list the files",
        client="github-copilot-developer",
        environ={"COPILOT_AGENT_SESSION_ID": "c0b1107e-0000-4000-8000-000000000001"},
    ),
    "pi": Kept(
        id="01a22dd6-b416-72f7-a8aa-b211c2e360d9",
        install=copied(
            "pi/compacted.jsonl",
            ".pi/agent/sessions/--home-dev--/"
            "2026-11-30T19-02-55-254Z_01a22dd6-b416-72f7-a8aa-b211c2e360d9.jsonl",
        ),
        prompt="first TOOL PARALLEL",
    ),
    "amp": Kept(
        id="T-0199c0de-0000-7000-8000-000000000001",
        install=copied(
            "amp/T-0199c0de-0000-7000-8000-000000000001.json",
            ".local/share/amp/threads/T-0199c0de-0000-7000-8000-000000000001.json",
        ),
        prompt="Port the parser to Rust.",
    ),
    "cursor": Kept(
        id="2b2b2b2b-0000-4000-8000-000000000001",
        install=copied(
            "cursor/agent-transcript.jsonl",
            ".cursor/projects/home-ada-parser/agent-transcripts/"
            "2b2b2b2b-0000-4000-8000-000000000001/2b2b2b2b-0000-4000-8000-000000000001.jsonl",
        ),
        prompt="Port the parser.",
    ),
}
EVERY = pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
SPEAKING = [one for one in KEPT.values() if one.meta or one.environ]


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
    assert KEPT[found["assistant"]] is kept
    assert before["total_messages"] == after["total_messages"]
    assert done["status"] == "compacted"
    assert after["boundary"]["compaction_id"] == done["compaction_id"]


@pytest.mark.parametrize("kept", SPEAKING, ids=[one.client for one in SPEAKING])
async def test_the_calling_session_is_found_by_what_its_host_says(host: Host, kept: Kept):
    for one in KEPT.values():
        one.install(host.root)
    async with calling(host, kept.client, **kept.environ) as client:
        found = answer(await client.call_tool("get_history", {}, meta=kept.meta or None))

    assert found["session_id"] == kept.id
    assert "_meta" in found["found_by"] or "environment" in found["found_by"]


async def test_a_host_started_from_another_is_not_taken_for_it(host: Host):
    """Codex, started from a shell of Claude Code, inherits the variable that names its session."""
    host.save([typed("Claude's own"), said("Yes.")], SESSION)
    KEPT["codex"].install(host.root)
    inherited = {"CLAUDE_CODE_SESSION_ID": SESSION, "CLAUDECODE": "1"}
    async with calling(host, "codex-mcp-client", **inherited) as client:
        named = await client.call_tool("get_history", {}, meta=KEPT["codex"].meta)
        refusal = await refused(client, "compact_session")

    assert answer(named)["session_id"] == CODEX
    assert "Nothing was changed" in refusal


async def test_a_stub_that_is_newer_than_its_session_does_not_hide_what_it_is_about(host: Host):
    """Gemini CLI writes one on each resume, and its own file may be older by hours."""
    KEPT["gemini-cli"].install(host.root)
    chats = host.root / ".gemini" / "tmp" / "parser"
    (chats / ".project_root").write_text(str(host.project))
    copied("gemini_cli/v0.61-stub.jsonl", f"{chats}/chats/session-2026-11-30T19-01-55b42678.jsonl")(
        host.root
    )
    async with calling(host, "gemini-cli-mcp-client") as client:
        [one] = (await ask(client, "list_sessions"))["sessions"]
        own = await ask(client, "get_history")

    assert one["first_prompt"] == "first TOOL PARALLEL"
    assert own["session_id"] == KEPT["gemini-cli"].id
    assert "begins 'first TOOL PARALLEL'" in own["found_by"]
    assert own["total_messages"] > 3


async def test_subagents_of_codex_are_read_with_the_session_they_worked_for(host: Host):
    """Their rollouts lie beside its own, under names of their own."""
    own, agent, other = (f"{n}1111111-1111-4111-8111-111111111111" for n in "abc")
    folder = host.root / ".codex" / "sessions" / "2026" / "12" / "01"
    folder.mkdir(parents=True)
    for id, parent in ((own, None), (agent, own), (other, None)):
        about = {"id": id, "cwd": str(host.project), "parent_thread_id": parent}
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": id}]}
        told = [
            {"timestamp": "2026-12-01T00:00:00Z", "type": type, "payload": payload}
            for type, payload in (("session_meta", about), ("response_item", said))
        ]
        path = folder / f"rollout-2026-12-01T00-00-00-{id}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
    async with calling(host) as client:
        read = await ask(client, "get_history", session_id=own)
        work = await ask(client, "get_history", session_id=agent)
        listed = await ask(client, "list_sessions")

    assert (read["subagents"], work["subagents"]) == ([agent], [])
    assert work["messages"][0]["text"] == f"[User]: {agent}"
    assert {one["session_id"] for one in listed["sessions"]} == {own, other}


# The call that is being answered


async def test_the_very_call_is_not_folded_in_codex(host: Host):
    """It stands in the rollout already, without its output."""
    KEPT["codex"].install(host.root)
    [rollout] = host.root.glob(".codex/sessions/*/*/*/*.jsonl")
    told = rollout.read_text(encoding="utf-8").splitlines(keepends=True)
    called = next(at for at, line in enumerate(told) if '"name":"get_history"' in line)
    rollout.write_text("".join(told[: called + 1]), encoding="utf-8")
    async with calling(host, "codex-mcp-client") as client:
        wish = {"keep_recent_tokens": 0}
        done = answer(await client.call_tool("compact_session", wish, meta=KEPT["codex"].meta))
        seen = await ask(client, "get_history", session_id=CODEX)

    assert (done["status"], done["messages_kept"]) == ("compacted", 1)
    assert [one["role"] for one in seen["messages"]] == ["summary", "assistant"]


async def test_the_very_call_is_found_and_not_folded_in_opencode(host: Host):
    """Nothing but the call itself, running in the database, tells which session it is."""
    kept = KEPT["opencode"]
    kept.install(host.root)
    call = {"type": "tool", "callID": "c", "tool": "foldmark_compact_session"}
    state = {"status": "running", "input": {"keep_recent_tokens": 0}, "time": {"start": 1}}
    now = int(time.time() * 1000)
    with closing(sqlite3.connect(host.root / ".local/share/opencode/opencode.db")) as db, db:
        db.execute("UPDATE session SET time_updated = ? WHERE id = ?", (now, kept.id))
        for id, data in (("msg_zz1", {"role": "user"}), ("msg_zz2", {"role": "assistant"})):
            told = json.dumps({**data, "time": {"created": now}})
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (id, kept.id, now, now, told))
        for id, part in (
            ("1", {"type": "text", "text": "compact"}),
            ("2", call | {"state": state}),
        ):
            row = (f"prt_zz{id}", f"msg_zz{id}", kept.id, now, now, json.dumps(part))
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    environ = {"CLAUDE_PROJECT_DIR": "/home/dev/projects/ws-opencode"}
    async with calling(host, "opencode", **environ) as client:
        done = await ask(client, "compact_session", keep_recent_tokens=0)

    assert (done["session_id"], done["status"]) == (kept.id, "compacted")
    assert "with this very call under way" in done["found_by"]
    assert done["messages_kept"] == 1


async def test_no_record_of_gemini_s_bookkeeping_tells_its_thoughts(host: Host):
    """A chat that is rebuilt holds them as parts of their own."""
    kept = KEPT["gemini-cli"]
    kept.install(host.root)
    data = (FIXTURES / "gemini_cli" / "v0.61.jsonl").read_bytes()
    others = [r for r in of_lines(gemini_cli.READER, data).records if r.kind == "other"]
    assert any(b'"thought":true' in one.raw for one in others)
    async with calling(host) as client:
        told = [
            await ask(client, "get_history", session_id=kept.id, message_id=one.id, max_chars=40000)
            for one in others
        ]

    assert not [page for page in told if "I should look at the request" in str(page["messages"])]


# From one assistant to the other


async def test_a_session_of_codex_goes_on_in_claude_code(host: Host):
    KEPT["codex"].install(host.root)
    host.save([typed("Go on with the other session")], SESSION)
    async with calling(host, "codex-mcp-client") as client:
        told = {"keep_recent_tokens": 0}
        done = answer(await client.call_tool("compact_session", told, meta=KEPT["codex"].meta))
    async with calling(host, "claude-code", CLAUDE_CODE_SESSION_ID=SESSION) as client:
        own = await ask(client, "get_history")
        other = await ask(client, "get_history", session_id=done["session_id"])

    assert own["session_id"] == SESSION
    assert (other["session_id"], other["assistant"]) == (CODEX, "codex")
    assert other["messages"][0]["role"] == "summary"
    assert other["messages"][0]["text"] == done["summary"]


async def test_a_session_of_claude_code_goes_on_in_codex(host: Host):
    KEPT["codex"].install(host.root)
    host.save(talk(6), SESSION)
    async with calling(host, "claude-code", CLAUDE_CODE_SESSION_ID=SESSION) as client:
        done = await ask(client, "compact_session", keep_recent_tokens=0)
    async with calling(host, "codex-mcp-client") as client:
        wanted = {"session_id": done["session_id"], "format": "openai"}
        other = answer(await client.call_tool("get_history", wanted, meta=KEPT["codex"].meta))

    assert (other["session_id"], other["assistant"]) == (SESSION, "claude-code")
    assert done["summary"] in "".join(one["content"] for one in other["messages"])


# Readers that are switched off


async def test_an_assistant_that_is_left_out_is_neither_listed_nor_found(host: Host):
    for one in ("codex", "goose"):
        KEPT[one].install(host.root)
    async with calling(host, FOLDMARK_SOURCES="goose") as client:
        listed = await ask(client, "list_sessions", project="*")
        refusal = await refused(client, "get_history", session_id=CODEX)

    assert {one["assistant"] for one in listed["sessions"]} == {"goose"}
    assert "There is no session" in refusal


async def test_a_session_that_was_read_before_stays_readable_when_it_is_left_out(host: Host):
    KEPT["codex"].install(host.root)
    async with calling(host) as client:
        before = await ask(client, "get_history", session_id=CODEX)
    async with calling(host, FOLDMARK_SOURCES="goose") as client:
        after = await ask(client, "get_history", session_id=CODEX)

    assert after["messages"] == before["messages"]
    assert after["warnings"][0].startswith("This is the copy that Foldmark keeps.")
