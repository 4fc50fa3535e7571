import json
import re
from pathlib import Path

import pytest
from mcp.types import TextContent

from session_files import (
    OTHER,
    SESSION,
    Host,
    Json,
    Mode,
    ask,
    connected,
    refused,
    said,
    size,
    talk,
    typed,
)

MODES = ["auto", "legacy"]
HI = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]
NOTHING = re.compile(
    r"[Nn]othing was (changed|done|lost|read|stored|listed|started)|none was touched"
    r"|was not opened"
)


@pytest.mark.parametrize("mode", MODES)
async def test_three_tools_are_published_with_all_that_a_host_wants_to_know(
    tmp_path: Path, mode: Mode
) -> None:
    async with connected(Host(tmp_path), mode) as client:
        tools = (await client.list_tools()).tools

    assert [tool.name for tool in tools] == ["compact_session", "get_history", "list_sessions"]
    for tool in tools:
        assert tool.title
        assert tool.description
        assert tool.input_schema["additionalProperties"] is False
        assert all(one["description"] for one in tool.input_schema["properties"].values())
        assert tool.output_schema
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (tool.name != "compact_session")
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is (tool.name == "compact_session")


@pytest.mark.parametrize("mode", MODES)
async def test_the_list_of_tools_costs_a_context_no_more_than_8000_characters(
    tmp_path: Path, mode: Mode
) -> None:
    async with connected(Host(tmp_path), mode) as client:
        listed = await client.list_tools()

    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) <= 8_000


@pytest.mark.parametrize("mode", MODES)
async def test_each_answer_has_every_field_that_its_schema_names(
    tmp_path: Path, mode: Mode
) -> None:
    host = Host(tmp_path)
    host.save(talk(10))
    async with connected(host, mode) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for tool, arguments in (
            ("compact_session", {"session_id": SESSION, "keep_recent_tokens": 60}),
            ("get_history", {"session_id": SESSION}),
            ("list_sessions", {}),
        ):
            told = await ask(client, tool, **arguments)
            assert list(told) == list((schemas[tool] or {})["properties"])


@pytest.mark.parametrize(
    ("tool", "name", "hint"),
    [
        pytest.param("get_history", "sesion_id", "did you mean 'session_id'?", id="a typo"),
        pytest.param("get_history", "limit", "It takes: session_id,", id="of another tool"),
        pytest.param("list_sessions", "limt", "did you mean 'limit'?", id="a letter short"),
        pytest.param("compact_session", "keepRecentTokens", "keep_recent_tokens", id="camel case"),
        pytest.param("compact_session", "dry_run", "preview", id="another word"),
        pytest.param("compact_session", "", "It takes:", id="no name"),
    ],
)
async def test_an_unknown_argument_is_refused_with_the_names_that_there_are(
    tmp_path: Path, tool: str, name: str, hint: str
) -> None:
    host = Host(tmp_path)
    host.save(talk(10))
    async with connected(host) as client:
        told = await refused(client, tool, **{name: 1})

    assert hint in told
    assert "Nothing was done" in told
    assert not host.database.exists()


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        pytest.param("get_history", {"max_chars": "lots"}, "max_chars", id="words for a number"),
        pytest.param("get_history", {"max_chars": 1_999}, "2000", id="too small a page"),
        pytest.param("get_history", {"max_chars": 40_001}, "40000", id="too large a page"),
        pytest.param("get_history", {"view": "all"}, "'visible', 'full' or 'summary'", id="view"),
        pytest.param("get_history", {"format": "gemini"}, "'anthropic'", id="format"),
        pytest.param("get_history", {"session_id": 5}, "session_id", id="a number for an id"),
        pytest.param("get_history", {"include_reasoning": "maybe"}, "boolean", id="no boolean"),
        pytest.param("list_sessions", {"limit": 0}, "limit", id="no session at all"),
        pytest.param("list_sessions", {"limit": 51}, "limit", id="too many sessions"),
        pytest.param("list_sessions", {"project": ["/w"]}, "project", id="a list of projects"),
        pytest.param("compact_session", {"keep_recent_tokens": -1}, "keep_recent", id="negative"),
        pytest.param("compact_session", {"keep_recent_tokens": 1.5}, "keep_recent", id="a half"),
        pytest.param("compact_session", {"summarizer": "gpt"}, "'extractive'", id="summarizer"),
        pytest.param("compact_session", {"messages": "hi"}, "messages", id="words for messages"),
        pytest.param("compact_session", {"messages": ["hi"]}, "messages.0", id="words in a list"),
        pytest.param("compact_session", {"messages": [{"a": 1}]}, "messages[0]", id="no message"),
        pytest.param(
            "compact_session", {"messages": [*HI, {"role": "x"}]}, "messages[2]", id="one of three"
        ),
        pytest.param("compact_session", {"summary": {"text": "x"}}, "summary", id="no text"),
    ],
)
async def test_a_wrong_value_is_refused_by_name_and_nothing_is_stored(
    tmp_path: Path, tool: str, arguments: Json, hint: str
) -> None:
    async with connected(Host(tmp_path)) as client:
        told = await refused(client, tool, **arguments)
        listed = await ask(client, "list_sessions")

    assert hint in told
    assert NOTHING.search(told)
    assert "pydantic.dev" not in told
    assert listed["total"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        pytest.param("get_history", {}, "2 sessions", id="several could be meant"),
        pytest.param(
            "get_history", {"session_id": SESSION[:-1]}, f"nearest are '{SESSION}'", id="near an id"
        ),
        pytest.param("get_history", {"session_id": "zz"}, "list_sessions", id="near none"),
        pytest.param("get_history", {"session_id": "../../x"}, "list_sessions", id="a path"),
        pytest.param("get_history", {"session_id": "*"}, "list_sessions", id="a pattern"),
        pytest.param(
            "get_history", {"transcript_path": "/etc/passwd"}, "FOLDMARK_ALLOWED_DIRS", id="outside"
        ),
        pytest.param(
            "get_history", {"transcript_path": "~/.ssh/id_rsa"}, "FOLDMARK_ALLOWED_DIRS", id="a key"
        ),
        pytest.param(
            "get_history", {"transcript_path": "a\0b"}, "FOLDMARK_ALLOWED_DIRS", id="a NUL"
        ),
        pytest.param(
            "compact_session",
            {"messages": HI, "transcript_path": "/w/x.jsonl"},
            "Pass one of them",
            id="two sources",
        ),
        pytest.param(
            "compact_session", {"messages": HI, "session_id": SESSION}, "transcript", id="not ours"
        ),
        pytest.param(
            "compact_session", {"session_id": SESSION, "summarizer": "caller"}, "`summary`",
            id="no summary of the caller's",
        ),
        pytest.param(
            "compact_session", {"session_id": SESSION, "summarizer": "caller", "summary": " "},
            "`summary`", id="a blank summary of the caller's",
        ),
        pytest.param(
            "compact_session", {"session_id": SESSION, "summarizer": "bedrock"}, "extractive",
            id="bedrock",
        ),
        pytest.param(
            "compact_session",
            {"session_id": SESSION, "summarizer": "extractive", "summary": "x"},
            "Leave summarizer out",
            id="a summary that would not be used",
        ),
        pytest.param("list_sessions", {"project": "work"}, "absolute folder", id="C50 relative"),
        pytest.param("list_sessions", {"cursor": "x"}, "without a cursor", id="no cursor"),
    ],
)  # fmt: skip
async def test_every_refusal_says_that_nothing_changed_and_what_to_do(
    tmp_path: Path, tool: str, arguments: Json, hint: str
) -> None:
    host = Host(tmp_path)
    host.save(talk(10))
    host.save(talk(10), OTHER)
    async with connected(host) as client:
        await ask(client, "get_history", session_id=SESSION)
        told = await refused(client, tool, **arguments)
        page = await ask(client, "get_history", session_id=SESSION)

    assert hint in told
    assert NOTHING.search(told)
    assert page["visible_messages"] == 20
    assert page["boundary"] is None


@pytest.mark.parametrize("mode", MODES)
async def test_hosts_of_both_eras_hear_the_same_refusals(tmp_path: Path, mode: Mode) -> None:
    async with connected(Host(tmp_path), mode) as client:
        told = [
            await refused(client, "get_history", sesion_id="x"),
            await refused(client, "get_history", max_chars=1),
            await refused(client, "get_history", session_id="x"),
        ]

    assert [bool(NOTHING.search(words)) for words in told] == [True] * 3


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("get_history", {"session_id": "\ud83d"}, id="half an emoji as id"),
        pytest.param(
            "get_history", {"session_id": SESSION, "message_id": "\ud83d"}, id="as a message's id"
        ),
        pytest.param("get_history", {"transcript_path": "/\ud83d"}, id="half an emoji in a path"),
        pytest.param("list_sessions", {"project": "/a\0b"}, id="a NUL in a project"),
        pytest.param("list_sessions", {"project": "~nobody-here/x"}, id="no user"),
        pytest.param("get_history", {"transcript_path": "~nobody-here/x"}, id="no user's file"),
    ],
)  # fmt: skip
async def test_text_that_no_file_or_database_can_hold_is_refused_in_words(
    tmp_path: Path, tool: str, arguments: Json
) -> None:
    host = Host(tmp_path)
    host.save(talk(10))
    async with connected(host) as client:
        told = await refused(client, tool, **arguments)

    assert NOTHING.search(told)


async def test_half_an_emoji_in_a_message_or_a_summary_is_replaced_and_stored(
    tmp_path: Path,
) -> None:
    async with connected(Host(tmp_path)) as client:
        given = [{"role": "user", "content": f"half \ud83d of {n} {'why ' * 20}"} for n in range(9)]
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        page = await ask(client, "get_history", session_id="s")

    assert "half \ufffd of 0" in page["messages"][0]["text"]


async def test_half_an_emoji_in_a_new_session_s_name_is_replaced(tmp_path: Path) -> None:
    async with connected(Host(tmp_path)) as client:
        done = await ask(client, "compact_session", messages=HI, session_id="a \udc81")
        page = await ask(client, "get_history", session_id=done["session_id"])

    assert page["session_id"] == "a \ufffd"
    assert page["total_messages"] == 2


async def test_half_an_emoji_in_the_caller_s_summary_does_not_break_it(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(talk(10))
    own = f"The user asked questions \ud83d and got answers. {'Why so. ' * 9}\n\nNext step: wait."
    async with connected(host) as client:
        done = await ask(
            client, "compact_session", session_id=SESSION, keep_recent_tokens=0, summary=own
        )

    assert "questions \ufffd and got answers" in done["summary"]


@pytest.mark.parametrize("mode", MODES)
async def test_emoji_and_every_script_come_back_as_they_went_in(tmp_path: Path, mode: Mode) -> None:
    words = "Messger\u00e4t \U0001f600 \u6f22\u5b57 \u0645\u0631\u062d\u0628\u0627 a\0b"
    async with connected(Host(tmp_path), mode) as client:
        given = [{"role": "user", "content": words}, {"role": "assistant", "content": words}]
        await ask(client, "compact_session", messages=given, session_id="\u6f22 1", preview=True)
        page = await ask(client, "get_history", session_id="\u6f22 1")

    assert [item["text"] for item in page["messages"]] == [
        f"[User]: {words}", f"[Assistant]: {words}"
    ]  # fmt: skip


async def test_the_start_of_an_id_brings_up_the_session(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(talk(10))
    async with connected(host) as client:
        assert SESSION in await refused(client, "get_history", session_id=SESSION[:8])


async def test_many_broken_subagents_do_not_make_an_answer_too_long(tmp_path: Path) -> None:
    host = Host(tmp_path)
    path = host.save(talk(2))
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for number in range(400):
        (folder / f"agent-{number:04}.jsonl").write_text("no record\n" * 3, encoding="utf-8")
    async with connected(host) as client:
        page = await ask(client, "get_history", session_id=SESSION)

    assert len(page["messages"]) == 4
    assert size(page) <= 10_000


async def test_a_call_is_answered_for_the_session_it_stands_in(tmp_path: Path) -> None:
    host = Host(tmp_path)
    call: Json = {"type": "tool_use", "id": "toolu_1", "name": "mcp__foldmark__get_history"}
    host.save([*talk(2), typed("read"), said({**call, "input": {}})])
    host.save(talk(3), OTHER)
    async with connected(host, CLAUDE_CODE_SESSION_ID=OTHER) as client:
        result = await client.call_tool("get_history", {}, meta={"claudecode/toolUseId": "toolu_1"})

    [content] = result.content
    assert isinstance(content, TextContent)
    page = json.loads(content.text)
    assert page["session_id"] == SESSION
    assert page["found_by"] == "the id of this very tool call in the newest transcripts"
