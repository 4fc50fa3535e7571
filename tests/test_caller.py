import asyncio
import os
import time
from pathlib import Path

import pytest

from foldmark.errors import AmbiguousSession, SessionNotFound
from foldmark.requests import Caller
from foldmark.sessions.caller import find
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sources.places import Places
from transcript_builder import Json, assistant, jsonl, tool_result, tool_use, turns

PROJECT = Path("/home/dev/demo")
ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"
NOBODY = "99999999-9999-4999-8999-999999999999"


class Home:
    """A machine to put transcripts of Claude Code onto."""

    def __init__(self, root: Path):
        self.projects = root / "projects"
        self.places = Places(ASSISTANTS, {"CLAUDE_CONFIG_DIR": str(root), "HOME": str(root)})

    def put(
        self, session: str, *more: Json, project: Path = PROJECT, age: float = 0, agent: str = ""
    ) -> Path:
        path = self.projects / str(project).replace("/", "-") / f"{session}.jsonl"
        if agent:
            path = path.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*({**one, "cwd": str(project)} for one in (*turns(1, 1), *more))))
        modified = time.time() - age
        os.utime(path, (modified, modified))
        return path


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture(name="hurried")
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look once for a call, where the test knows that it never comes."""
    monkeypatch.setattr("foldmark.sessions.caller._RETRIES", (0.0,))


def caller(environment: str = "", **more: str) -> Caller:
    return Caller(PROJECT, environ={"CLAUDE_CODE_SESSION_ID": environment}, **more)


async def found(home: Home, **more: str) -> Path:
    [one] = (await find(caller(**more), home.places)).transcripts
    return one.path


# What a host says


def test_a_host_says_who_calls_in_its_meta_and_its_environment():
    meta = {"claudecode/toolUseId": "toolu_1", "threadId": "t", "progressToken": 7}
    environ = {"CLAUDE_CODE_SESSION_ID": ONE, "CLAUDE_PROJECT_DIR": "/p"}

    assert Caller.of(meta, environ, Path("/cwd"), "codex-mcp-client") == Caller(
        project=Path("/p"),
        tool_use="toolu_1",
        session="t",
        host="codex-mcp-client",
        environ=environ,
    )
    assert Caller.of({}, {}, Path("/cwd")) == Caller(project=Path("/cwd"))
    assert Caller.of({"sessionId": "s", "threadId": "t"}, {}, Path("/")).session == "t"
    assert Caller.of({}, {"CLAUDE_PROJECT_DIR": ""}, Path("/cwd")).project == Path("/cwd")


async def test_a_session_named_in_the_call_beats_everything(home: Home):
    named = home.put(ONE, age=9999, project=Path("/elsewhere"))
    home.put(TWO, tool_use("t", "toolu_1", "a1"))

    got = await find(caller(session=ONE, tool_use="toolu_1", environment=TWO), home.places)

    assert got.transcripts[0].path == named
    assert "_meta" in got.how


async def test_the_call_itself_beats_a_stale_environment(home: Home):
    """After /clear the environment still names the session before."""
    home.put(ONE)
    calling = home.put(TWO, tool_use("t", "toolu_1", "a1"))

    got = await find(caller(tool_use="toolu_1", environment=ONE), home.places)

    assert got.transcripts[0].path == calling
    assert "tool call" in got.how


async def test_the_session_in_the_environment_beats_the_newest(home: Home, hurried: None):
    named = home.put(ONE, age=9999)
    home.put(TWO)

    got = await find(caller(environment=ONE), home.places)

    assert got.transcripts[0].path == named
    assert "environment" in got.how
    assert await found(home, environment=ONE, tool_use="toolu_never_written") == named


async def test_an_environment_that_names_nobody_is_passed_over(home: Home):
    only = home.put(ONE)

    assert await found(home, environment=NOBODY) == only


# The call that is under way


async def test_a_call_is_found_where_it_has_no_result_yet(home: Home, hurried: None):
    home.put(ONE, tool_use("t", "toolu_1", "a1"), tool_result("r", "toolu_1", "t"))
    pending = home.put(TWO, tool_use("t", "toolu_1", "a1"), age=500)

    assert await found(home, tool_use="toolu_1") == pending


async def test_a_call_that_was_answered_long_ago_is_not_the_one(home: Home, hurried: None):
    home.put(ONE, tool_use("t", "toolu_1", "a1"), tool_result("r", "toolu_1", "t"))
    home.put(TWO)

    with pytest.raises(AmbiguousSession):
        await found(home, tool_use="toolu_1")


async def test_a_call_is_waited_for(home: Home):
    home.put(ONE)
    late = home.put(TWO)
    asyncio.get_running_loop().call_later(
        0.03, lambda: home.put(TWO, tool_use("t", "toolu_1", "a1"))
    )

    assert await found(home, tool_use="toolu_1") == late


async def test_a_call_is_found_in_another_project_too(home: Home):
    """A host resumed from elsewhere writes on in the first project's folder."""
    home.put(ONE)
    elsewhere = home.put(TWO, tool_use("t", "toolu_1"), project=Path("/elsewhere"))

    assert await found(home, tool_use="toolu_1") == elsewhere


async def test_a_call_of_a_subagents_is_found_in_its_own_transcript(home: Home):
    home.put(ONE)
    agent = home.put(ONE, tool_use("t", "toolu_1"), agent="x")

    assert await found(home, tool_use="toolu_1") == agent


async def test_a_call_is_found_at_the_end_of_a_long_transcript(home: Home):
    home.put(ONE)
    long = home.put(TWO, assistant("b", "x" * 3_000_000), tool_use("t", "toolu_1"))

    assert await found(home, tool_use="toolu_1") == long


@pytest.mark.parametrize("id", [".*", "toolu_.", "toolu_", '"', "\\", "(", "toolu_12", "\n"])
async def test_an_id_is_matched_to_the_letter(home: Home, hurried: None, id: str):
    home.put(ONE, tool_use("t", "toolu_1"))
    home.put(TWO, tool_use("t", "toolu_2"))

    with pytest.raises(AmbiguousSession):
        await found(home, tool_use=id)


async def test_words_that_mention_a_call_are_not_the_call(home: Home, hurried: None):
    home.put(ONE, assistant("b", 'the line says "id": "toolu_1", look'))
    calling = home.put(TWO, tool_use("t", "toolu_1"), age=100)

    assert await found(home, tool_use="toolu_1") == calling


async def test_of_two_live_sessions_the_one_with_our_call_under_way_is_calling(home: Home):
    """A host that says nothing at all still writes down what it is doing."""
    own = "mcp__foldmark__compact_session"
    home.put(ONE, tool_use("t", "toolu_1", "a1", name=own), tool_result("r", "toolu_1", "t"))
    calling = home.put(TWO, tool_use("t", "toolu_2", "a1", name=own), age=300)

    got = await find(caller(), home.places)

    assert got.transcripts[0].path == calling
    assert "with this very call under way" in got.how


@pytest.mark.parametrize("name", ["Bash", "mcp__other__search"])
async def test_another_tools_call_under_way_says_nothing(home: Home, name: str):
    home.put(ONE)
    home.put(TWO, tool_use("t", "toolu_2", "a1", name=name))

    with pytest.raises(AmbiguousSession):
        await found(home)


async def test_two_sessions_that_both_call_are_ambiguous(home: Home):
    for session in (ONE, TWO):
        home.put(session, tool_use("t", "toolu_2", "a1", name="mcp__foldmark__get_history"))

    with pytest.raises(AmbiguousSession):
        await found(home)


async def test_a_session_that_was_picked_is_told_by_its_first_and_last_words(home: Home):
    home.put(ONE, *turns(2, 2))

    assert "(begins 'ask 1', last asked 'ask 2')" in (await find(caller(), home.places)).how


async def test_candidates_are_told_by_their_words_too(home: Home):
    home.put(ONE)
    home.put(TWO)

    with pytest.raises(AmbiguousSession, match=rf"'{ONE}' \(begins 'ask 1'\)"):
        await found(home)


async def test_a_host_whose_sessions_are_not_read_is_told_so(home: Home):
    home.put(ONE)
    places = Places([], {"HOME": str(home.projects.parent)})

    with pytest.raises(SessionNotFound, match="FOLDMARK_SOURCES leaves them out"):
        await find(caller(host="claude-code"), places)


# Hosts whose sessions are not known


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"session": NOBODY, "host": "codex-mcp-client"}, id="Codex"),
        pytest.param({"session": NOBODY}, id="an id that nobody knows"),
        pytest.param({"session": "../../x"}, id="a hostile id"),
        pytest.param({"session": NOBODY, "environment": ONE}, id="an inherited environment"),
        pytest.param({"host": "opencode"}, id="opencode"),
        pytest.param({"host": "gemini-cli-mcp-client"}, id="Gemini"),
        pytest.param({"host": "goose-cli", "environment": ONE}, id="Goose"),
        pytest.param({"host": "@cline/core"}, id="Cline"),
    ],
)
async def test_a_session_of_another_host_is_never_guessed(home: Home, more: dict[str, str]):
    home.put(ONE)

    with pytest.raises(SessionNotFound, match="Nothing was changed"):
        await found(home, **more)


# The project's transcripts


async def test_the_only_transcript_is_taken_however_old(home: Home):
    only = home.put(ONE, age=10**6)
    home.put(TWO, project=Path("/elsewhere"))

    got = await find(caller(), home.places)

    assert got.transcripts[0].path == only
    assert repr(str(PROJECT)) in got.how


async def test_the_only_live_transcript_is_taken(home: Home):
    home.put(ONE, age=10**6)
    live = home.put(TWO)

    got = await find(caller(), home.places)

    assert got.transcripts[0].path == live
    assert "live" in got.how


@pytest.mark.parametrize("age", [0, 10**6], ids=["both live", "both old"])
async def test_two_sessions_are_ambiguous_and_named(home: Home, age: float):
    home.put(ONE, age=age + 5)
    home.put(TWO, age=age)

    with pytest.raises(AmbiguousSession, match="2 sessions") as raised:
        await found(home)

    assert str(raised.value).index(TWO) < str(raised.value).index(ONE)
    assert "none was touched" in str(raised.value)


async def test_a_project_without_transcripts_has_no_session(home: Home):
    home.put(ONE, project=Path("/elsewhere"))

    with pytest.raises(SessionNotFound, match="no transcript"):
        await found(home)


async def test_a_project_whose_name_only_looks_alike_is_not_taken(home: Home):
    """Claude Code gives both projects the same folder."""
    home.put(ONE, project=Path("/home/dev-demo"))

    with pytest.raises(SessionNotFound):
        await found(home)
