import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import patient
from foldmark import boundary
from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from foldmark.sources.places import Places
from foldmark.transcripts.codex.items import CALLS, OUTPUTS, TYPES
from foldmark.transcripts.codex.reader import READER
from foldmark.transcripts.record import Base, Lines, State
from readings import Reading, of_lines, shared

FIXTURES = Path(__file__).parent / "fixtures" / "codex"
PLACE = next(place for place in READER.places if isinstance(place, Lines))
SESSION = "01a22dd2-55f1-7872-b7ef-67b4b1fe037b"
CODEX, GPT = "gpt-5.1-codex", "gpt-5.4"
USED = Usage(1500, 80, 0, 20)
SUMMARY = (
    "## Goal\nPort the parser.\n\n## Done\n- listed files\n- ran tests (2 failed)\n\n"
    "## Next\nFix tokenizer.py line 42."
)
AGENTS = (
    "# AGENTS.md instructions for /home/dev/projects/ws-codex\n\n"
    "<INSTRUCTIONS>\n# rules\nUse tabs.\n\n</INSTRUCTIONS>"
)
ENVIRONMENT = (
    "<environment_context>\n  <cwd>/home/dev/projects/ws-codex</cwd>\n"
    "  <approval_policy>never</approval_policy>\n"
    "  <sandbox_mode>danger-full-access</sandbox_mode>\n"
    "  <network_access>enabled</network_access>\n  <shell>bash</shell>\n</environment_context>"
)
PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking "
    "process. Use the information in this summary to assist with your own analysis:\n"
)

Json = dict[str, Any]


def fixture(name: str) -> Reading:
    return of_lines(READER, (FIXTURES / f"{name}.jsonl").read_bytes())


def plain(found: Sequence[Message]) -> list[Message]:
    return [replace(one, id="") for one in found]


def user(at: str, *blocks: Block) -> Message:
    return Message("", "user", blocks, at)


def answered(at: str, call: str, words: str, *, failed: bool = False) -> Message:
    return user(at, ToolResult(call, words, failed))


# Lines as Codex writes them


def line(outer: str, payload: Any, at: int = 0, **beside: Any) -> Json:
    when = f"2026-01-02T03:{at // 60:02}:{at % 60:02}.000Z"
    return {"timestamp": when, "type": outer, "payload": payload} | beside


def item(kind: str, **fields: Any) -> Json:
    return line("response_item", {"type": kind} | fields)


def event(kind: str, **fields: Any) -> Json:
    return line("event_msg", {"type": kind} | fields)


def spoken(role: str, *parts: str | Json, **fields: Any) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": part} if isinstance(part, str) else part for part in parts]
    return item("message", role=role, content=content, **fields)


def thought(words: str) -> Json:
    return item("reasoning", summary=[{"type": "summary_text", "text": words}])


def called(id: str) -> Json:
    return item("function_call", name="shell", arguments="{}", call_id=id)


def output(id: str, told: Any = "ok") -> Json:
    return item("function_call_output", call_id=id, output=told)


def tokens(total: int, last: int) -> Json:
    counts = {"input_tokens": last, "output_tokens": 1}
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": counts}
    return event("token_count", info=info)


def meta(id: str = SESSION, **fields: Any) -> Json:
    return line("session_meta", {"id": id, "cwd": "/p", "git": {"branch": "main"}} | fields)


def jsonl(*found: Json) -> bytes:
    """Number the seconds, as no two lines are written at once."""
    timed = [one | {"timestamp": line("", {}, n)["timestamp"]} for n, one in enumerate(found)]
    return b"".join(json.dumps(one).encode() + b"\n" for one in timed)


def reading(*found: Json) -> Reading:
    return of_lines(READER, jsonl(*found))


def bare(*found: Json) -> Reading:
    return of_lines(READER, b"".join(json.dumps(one).encode() + b"\n" for one in found))


def told(found: Reading) -> list[str]:
    return [f"{one.role[0].upper()}:{_words(one)}" for one in found.messages]


def _words(one: Message) -> str:
    return " ".join(_word(block) for block in one.blocks)


def _word(block: Block) -> str:
    match block:
        case Text(text=words) | Reasoning(text=words):
            return words
        case ToolCall(id=id):
            return f"call-{id}"
        case ToolResult(call_id=id):
            return f"result-{id}"
        case _:
            return type(block).__name__


# The real files, trimmed


def test_version_0_73_with_a_summary_and_nothing_else() -> None:
    found = fixture("v0.73")
    assert plain(found.messages) == [
        user("2026-11-30T19:12:41.994Z", Text(AGENTS, injected=True)),
        user("2026-11-30T19:12:41.994Z", Text(ENVIRONMENT, injected=True)),
        user("2026-11-30T19:12:41.995Z", Text("first TOOL PARALLEL")),
        Message(
            "",
            "assistant",
            (
                Reasoning("I should look at the request number 67 first."),
                Text("Let me run a command."),
                ToolCall("call_mock67_1", "shell_command", {"command": "echo hello-67"}),
                ToolCall("call_mock67_2", "shell_command", {"command": "ls /nonexistent-67"}),
            ),
            "2026-11-30T19:12:42.170Z",
            CODEX,
            usage=USED,
        ),
        answered(
            "2026-11-30T19:12:42.266Z",
            "call_mock67_1",
            "Exit code: 0\nWall time: 0 seconds\nOutput:\nhello-67\n",
        ),
        answered(
            "2026-11-30T19:12:42.267Z",
            "call_mock67_2",
            "Exit code: 2\nWall time: 0 seconds\nOutput:\n"
            "ls: cannot access '/nonexistent-67': No such file or directory\n",
            failed=True,
        ),
        Message(
            "",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (68)."),
                Text("Done: the command finished. (reply 68)"),
            ),
            "2026-11-30T19:12:42.459Z",
            CODEX,
            usage=USED,
        ),
        user("2026-11-30T19:12:43.398Z", Text("third big TOOL")),
        Message(
            "",
            "assistant",
            (
                Reasoning("I should look at the request number 70 first."),
                Text("Let me run a command."),
                ToolCall("call_mock70_1", "shell_command", {"command": "echo hello-70"}),
            ),
            "2026-11-30T19:12:43.547Z",
            CODEX,
            usage=Usage(150_000, 80, 0, 20),
        ),
        answered(
            "2026-11-30T19:12:43.617Z",
            "call_mock70_1",
            "Exit code: 0\nWall time: 0 seconds\nOutput:\nhello-70\n",
        ),
        Message(
            "",
            "assistant",
            (Reasoning("resuming after compaction 72"), Text("Resumed after the compaction (72).")),
            "2026-11-30T19:12:43.866Z",
            CODEX,
            usage=Usage(150_000, 80, 0, 20),
        ),
        Message(
            "",
            "assistant",
            (Reasoning("resuming after compaction 74"), Text("Resumed after the compaction (74).")),
            "2026-11-30T19:12:44.145Z",
            CODEX,
            usage=Usage(150_000, 80, 0, 20),
        ),
        user("2026-11-30T19:13:43.624Z", Text("fourth")),
        Message(
            "",
            "assistant",
            (
                Reasoning("I should look at the request number 587 first."),
                Text("Answer 587 to your message."),
            ),
            "2026-11-30T19:13:43.742Z",
            CODEX,
            usage=USED,
        ),
    ]
    assert found.prompts == ["first TOOL PARALLEL", "third big TOOL", "fourth"]
    assert [one.text for one in found.summaries] == [SUMMARY, SUMMARY]
    assert [_words(one) for one in found.visible] == [
        "resuming after compaction 74 Resumed after the compaction (74).",
        "fourth",
        "I should look at the request number 587 first. Answer 587 to your message.",
    ]
    assert found.fact("project") == "/home/dev/projects/ws-codex"
    assert found.fact("branch") == "master"
    assert (found.unknown, found.skipped) == (Counter(), [])


def test_version_0_125_with_the_history_that_replaces_the_old() -> None:
    found = fixture("v0.125")
    assert found.messages[0].role == "system"
    assert found.messages[0].blocks == (
        Text("<permissions instructions>\nTrimmed.\n</permissions instructions>"),
        Text("<skills_instructions>\nTrimmed.\n</skills_instructions>"),
    )
    assert found.prompts == ["first TOOL PARALLEL", "third big TOOL"]
    assert plain(found.messages[3:6]) == [
        Message(
            "",
            "assistant",
            (
                Reasoning("I should look at the request number 588 first."),
                Text("Let me run a command."),
                ToolCall("call_mock588_1", "exec_command", {"cmd": "echo hello-588"}),
                ToolCall("call_mock588_2", "exec_command", {"cmd": "ls /nonexistent-588"}),
            ),
            "2026-11-30T19:13:45.392Z",
            CODEX,
            usage=USED,
        ),
        answered(
            "2026-11-30T19:13:45.480Z",
            "call_mock588_1",
            "Chunk ID: 9332b0\nWall time: 0.0000 seconds\nProcess exited with code 0\n"
            "Original token count: 3\nOutput:\nhello-588\n",
        ),
        answered(
            "2026-11-30T19:13:45.483Z",
            "call_mock588_2",
            "Chunk ID: 9d8219\nWall time: 0.0000 seconds\nProcess exited with code 2\n"
            "Original token count: 16\nOutput:\n"
            "ls: cannot access '/nonexistent-588': No such file or directory\n",
            failed=True,
        ),
    ]
    [marker], [summary] = found.markers, found.summaries
    assert (marker.first_kept, marker.at) == ("", "2026-11-30T19:13:48.014Z")
    assert summary == Summary(
        summary.id, marker.id, SUMMARY, "stop", "", at="2026-11-30T19:13:48.014Z"
    )
    assert [_words(one) for one in found.visible] == [
        "resuming after compaction 593 Resumed after the compaction (593)."
    ]


def test_version_0_171_whose_summary_is_no_reply() -> None:
    found = fixture("v0.171-local")
    assert told(found)[2:] == [
        "U:B first TOOL",
        "A:I should look at the request number 1 first. Let me run a command. call-call_mock1_1",
        "U:result-call_mock1_1",
        "A:The tool returned; I can answer now (2). Done: the command finished. (reply 2)",
        "U:B third",
        "U:B fourth after",
        "A:I should look at the request number 7 first. Answer 7 to your message.",
    ]
    assert found.prompts == ["B first TOOL", "B third", "B fourth after"]
    assert [one.usage for one in found.messages if one.role == "assistant"] == [USED] * 3
    assert {one.model for one in found.messages if one.role == "assistant"} == {GPT}
    assert [one.text for one in found.summaries] == [SUMMARY]
    assert [_words(one) for one in found.visible] == [
        "B fourth after",
        "I should look at the request number 7 first. Answer 7 to your message.",
    ]


def test_a_summary_that_only_openai_can_read_hides_nothing() -> None:
    found = fixture("v0.171-remote")
    assert found.markers == []
    assert found.visible == found.messages
    assert told(found) == [
        "U:remote first TOOL",
        "A:I should look at the request number 6 first. Let me run a command. call-call_mock6_1",
        "U:result-call_mock6_1",
        "A:The tool returned; I can answer now (7). Done: the command finished. (reply 7)",
        "U:remote fifth during failure",
        "U:remote sixth",
        "A:I should look at the request number 16 first. Answer 16 to your message.",
    ]
    assert found.unknown == Counter()


def test_an_image_goes_by_the_name_that_stands_before_it() -> None:
    [asked, *_] = fixture("v0.171-image").messages
    assert asked.blocks == (
        Attachment("image/png", "/home/dev/projects/red.png", 75),
        Text("third image TOOL"),
    )
    assert asked.prompt == "third image TOOL"


def test_a_call_of_an_mcp_server_has_the_servers_name() -> None:
    _, _, call, result, _ = fixture("v0.171-mcp").messages
    assert call.calls == (ToolCall("call_mock1_1", "mcp__probe__get_history", {}),)
    assert result.results == (
        ToolResult("call_mock1_1", "Wall time: 0.0037 seconds\nOutput:\nprobe ok"),
    )


def test_a_call_that_was_killed_stays_without_its_result() -> None:
    assert told(fixture("v0.171-killed")) == [
        "U:kill me SLOW TOOL",
        "A:I should look at the request number 3 first. Let me run a command. call-call_mock3_1",
        "U:continue after kill",
        "A:I should look at the request number 4 first. Answer 4 to your message.",
    ]


def test_a_fork_names_what_it_begins_with() -> None:
    data = (FIXTURES / "v0.171-fork.jsonl").read_bytes()
    found = of_lines(READER, data)
    first = json.loads(data.partition(b"\n")[0])
    assert found.fact("forked_from") == "01a22dd1-ab11-7f72-bbd3-9061c926ec2f"
    assert PLACE.base is not None
    assert PLACE.base(first) == Base("01a22dd1-ab11-7f72-bbd3-9061c926ec2f", 132_001)
    assert told(found) == [
        "U:forked question",
        "A:I should look at the request number 5 first. Answer 5 to your message.",
    ]


# Older files, written out


def test_version_0_40_tells_what_a_response_cost_before_its_items() -> None:
    found = reading(
        meta(),
        spoken("user", "go"),
        line("turn_context", {"model": CODEX, "cwd": "/p"}),
        event("agent_reasoning", text="look"),
        tokens(11, 10),
        thought("look"),
        called("c1"),
        output("c1"),
        line("turn_context", {"model": CODEX}),
        tokens(32, 20),
        thought("again"),
        called("c2"),
        output("c2"),
        line("turn_context", {"model": CODEX}),
        tokens(32, 20),
        spoken("assistant", "unpaid"),
        tokens(63, 30),
    )
    assert [(_words(one), one.usage) for one in found.messages if one.role == "assistant"] == [
        ("look call-c1", Usage(10, 1)),
        ("again call-c2", Usage(20, 1)),
        ("unpaid", Usage(30, 1)),
    ]
    assert {one.model for one in found.messages if one.role == "assistant"} == {CODEX}


BARE: list[Json] = [
    {"id": SESSION, "timestamp": "2025-07-21T10:00:00.000Z", "instructions": None},
    {"record_type": "state"},
    {
        "type": "message",
        "role": "user",
        "content": [
            {
                "type": "input_text",
                "text": "<environment_context><cwd>/p</cwd></environment_context>",
            }
        ],
    },
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "well"}]},
    {"type": "function_call", "name": "shell", "arguments": '{"a":1}', "call_id": "c1"},
    {
        "type": "function_call_output",
        "call_id": "c1",
        "output": '{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}',
    },
    {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c2"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
]


def test_items_without_an_envelope() -> None:
    found = bare(*BARE)
    assert plain(found.messages) == [
        user("", Text("<environment_context><cwd>/p</cwd></environment_context>", injected=True)),
        user("", Text("go on")),
        Message("", "assistant", (Reasoning("well"), ToolCall("c1", "shell", {"a": 1}))),
        answered("", "c1", "Exit code: 1\nOutput:\nno", failed=True),
        Message("", "assistant", (ToolCall("c2", "shell", {}),)),
        user("", Text("go on")),
    ]
    assert found.prompts == ["go on", "go on"]
    assert found.fact("project") == "/p"
    assert all(PLACE.recognizes(one) for one in BARE)


# Typed or not


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        pytest.param("fix it", "fix it", id="typed"),
        pytest.param("# AGENTS.md instructions for /p\n\nbe nice", "", id="AGENTS.md"),
        pytest.param("<user_instructions>\nbe nice\n</user_instructions>", "", id="instructions"),
        pytest.param("<turn_aborted>\nThe user stopped.\n</turn_aborted>", "", id="aborted"),
        pytest.param("<user_shell_command>\nls\n</user_shell_command>", "", id="shell command"),
        pytest.param(
            "# Context from my IDE setup:\n\n## Open tabs:\n- a.md: a.md\n\n"
            "## My request for Codex:\nfix it\n",
            "fix it",
            id="IDE",
        ),
        pytest.param("# Context from my IDE setup: is wrong", None, id="about the IDE"),
        pytest.param("<image> tags are what I want", None, id="about images"),
    ],
)
def test_what_a_person_typed_is_told_by_how_a_text_begins(words: str, typed: str | None) -> None:
    expected = words if typed is None else typed
    [found] = reading(spoken("user", words)).messages
    texts = [block for block in found.blocks if isinstance(block, Text) and not block.injected]
    assert texts == ([Text(expected)] if expected else [])


def test_new_versions_say_of_each_part_who_wrote_it() -> None:
    sources = [{"provenance": {"type": kind}} for kind in ("user", "skills", "user")]
    passed = {"content_item_metadata": sources}
    [found] = reading(
        spoken(
            "user",
            "<skill> is a tag",
            "words of a skill",
            "and so on",
            internal_chat_message_metadata_passthrough=passed,
        )
    ).messages
    assert found.blocks == (
        Text("<skill> is a tag"),
        Text("words of a skill", injected=True),
        Text("and so on"),
    )


def test_what_agents_say_to_each_other_is_no_prompt() -> None:
    found = reading(
        line("inter_agent_communication_metadata", {"trigger_turn": True}),
        item("agent_message", content=[{"type": "input_text", "text": "look there"}]),
        line("inter_agent_communication", {"author": "/root", "content": "and there"}),
        line("inter_agent_communication", {"author": "/root", "encrypted_content": "gA"}),
    )
    assert plain(found.messages) == [
        user("2026-01-02T03:00:01.000Z", Text("look there", injected=True)),
        user("2026-01-02T03:00:02.000Z", Text("and there", injected=True)),
        user("2026-01-02T03:00:03.000Z", Unknown("encrypted_content")),
    ]


# Calls and what came of them


@pytest.mark.parametrize(
    ("told", "words", "failed"),
    [
        pytest.param("done", "done", False, id="words"),
        pytest.param('{"output":"a","metadata":{"exit_code":0}}', "a", False, id="JSON, well"),
        pytest.param(
            '{"output":"a","metadata":{"exit_code":2}}',
            "Exit code: 2\nOutput:\na",
            True,
            id="JSON, failed",
        ),
        pytest.param(
            '{"output": "of a tool"}', '{"output": "of a tool"}', False, id="its own JSON"
        ),
        pytest.param('{"output":"a', '{"output":"a', False, id="cut JSON"),
        pytest.param(
            "Wall time: 1 s\nExit code: 7\n", "Wall time: 1 s\nExit code: 7\n", True, id="7"
        ),
        pytest.param("It said Exit code: 7", "It said Exit code: 7", False, id="said later"),
        pytest.param({"content": "no", "success": False}, "no", True, id="told apart"),
        pytest.param(
            {"content": [{"type": "text", "text": "no"}], "isError": True}, "no", True, id="MCP"
        ),
        pytest.param(
            [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
            "a\nb",
            False,
            id="parts",
        ),
        pytest.param(None, "", False, id="nothing"),
    ],
)
def test_what_a_tool_answered(told: Any, words: str, failed: bool) -> None:
    [found] = reading(output("c1", told)).messages
    assert found.results == (ToolResult("c1", words, failed),)


def test_an_image_that_a_tool_answered() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    [found] = reading(output("c1", [image])).messages
    assert found.results == (ToolResult("c1", "", attachments=(Attachment("image/png", size=3),)),)


@pytest.mark.parametrize(
    ("found", "blocks"),
    [
        pytest.param(
            item("custom_tool_call", call_id="c", name="apply_patch", input="*** Begin"),
            (ToolCall("c", "apply_patch", "*** Begin"),),
            id="custom",
        ),
        pytest.param(
            item("custom_tool_call_output", call_id="c", output="Exit code: 1\nno"),
            (ToolResult("c", "Exit code: 1\nno", is_error=True),),
            id="custom output",
        ),
        pytest.param(
            item("local_shell_call", call_id="c", action={"type": "exec", "command": ["ls"]}),
            (ToolCall("c", "shell", {"type": "exec", "command": ["ls"]}),),
            id="shell",
        ),
        pytest.param(
            item("web_search_call", status="completed", action={"type": "search", "query": "q"}),
            (
                ToolCall("web_search", "web_search", {"type": "search", "query": "q"}),
                ToolResult("web_search", "completed"),
            ),
            id="search",
        ),
        pytest.param(
            item("image_generation_call", id="i", status="completed", result="AAAA"),
            (
                ToolCall("i", "image_generation", {"prompt": None}),
                ToolResult("i", "completed", attachments=(Attachment("image/*", size=3),)),
            ),
            id="image",
        ),
        pytest.param(
            item("tool_search_call", call_id="c", arguments={"query": "q"}),
            (ToolCall("c", "tool_search", {"query": "q"}),),
            id="tools",
        ),
        pytest.param(
            item("tool_search_output", call_id="c", tools=[{"type": "function", "name": "f"}]),
            (ToolResult("c", '{"type":"function","name":"f"}'),),
            id="tools found",
        ),
        pytest.param(
            item("reasoning", summary=[], content=None, encrypted_content="gA"),
            (Reasoning("", redacted=True),),
            id="encrypted",
        ),
    ],
)
def test_other_items(found: Json, blocks: tuple[Block, ...]) -> None:
    [built] = reading(found).messages
    assert built.blocks == blocks


def test_a_response_is_one_message_until_the_next_one_begins() -> None:
    found = reading(
        spoken("user", "go"),
        thought("a"),
        spoken("assistant", "b"),
        called("1"),
        output("1"),
        tokens(11, 10),  # told behind the output
        called("2"),
        called("3"),
        output("2"),
        called("4"),  # made with the two before it
        output("3"),
        output("4"),
        called("5"),
        output("5"),
        thought("c"),
        spoken("developer", "d"),
        spoken("assistant", "e"),
    )
    assert told(found) == [
        "U:go",
        "A:a b call-1",
        "U:result-1",
        "A:call-2 call-3 call-4",
        "U:result-2",
        "U:result-3",
        "U:result-4",
        "A:call-5",
        "U:result-5",
        "A:c",
        "S:d",
        "A:e",
    ]


def paid(found: Reading) -> list[tuple[str, int]]:
    """Tell what each response took in, 0 where that is unknown."""
    said = (one for one in found.messages if one.role == "assistant")
    return [(_words(one), one.usage.input if one.usage else 0) for one in said]


def test_what_a_response_cost_ends_it() -> None:
    found = reading(thought("a"), tokens(11, 10), thought("b"), tokens(11, 10), tokens(32, 20))
    assert paid(found) == [("a", 10), ("b", 20)]


def test_the_newer_record_of_tokens_makes_the_older_one_a_copy() -> None:
    usage = line("token_usage_record", {"usage": {"input_tokens": 10}})
    compacting = line("token_usage_record", {"usage": {"input_tokens": 90}})
    found = reading(
        called("1"), usage, output("1"), tokens(11, 99), thought("b"), compacting, thought("c")
    )
    assert paid(found) == [("call-1", 10), ("b", 90), ("c", 0)]
    assert paid(reading(usage, thought("a"), tokens(11, 99))) == [("a", 0)]


def test_what_a_compaction_cost_is_not_told_of_the_next_response() -> None:
    compacted = line("compacted", {"message": "We port it."})
    assert paid(reading(tokens(11, 10), compacted, thought("a"))) == [("a", 0)]
    assert paid(reading(tokens(11, 10), spoken("user", "go"), thought("a"))) == [("a", 0)]


def test_what_is_told_before_a_response_is_told_of_one_only() -> None:
    found = reading(tokens(11, 10), thought("a"), line("turn_context", {}), thought("b"))
    assert paid(found) == [("a", 10), ("b", 0)]
    assert paid(reading(tokens(11, 10), thought("a"), tokens(32, 20))) == [("a", 20)]


def test_a_resumed_session_counts_anew() -> None:
    nothing = event("token_count", info=None)
    found = reading(thought("a"), tokens(11, 10), nothing, thought("b"), tokens(11, 10))
    assert paid(found) == [("a", 10), ("b", 10)]


@pytest.mark.parametrize(
    "between",
    [
        line("turn_context", {"model": "m"}),
        event("task_complete"),
        event("task_started"),
        event("turn_aborted"),
        event("thread_rolled_back", num_turns=0),
        line("compacted", {"message": ""}),
        spoken("user", "<skill>s</skill>"),
        spoken("assistant", "sum") | {"metadata": {"compaction_output": True}},
    ],
)
def test_what_ends_a_response(between: Json) -> None:
    found = reading(thought("a"), between, thought("b"))
    assert [_words(one) for one in found.messages if one.role == "assistant"] == ["a", "b"]


def test_what_openai_answers_itself_is_not_waited_for() -> None:
    search = item("web_search_call", id="w", status="completed")
    found = reading(search, called("1"), output("1"), called("2"))
    assert told(found) == ["A:call-w result-w call-1", "U:result-1", "A:call-2"]


def test_words_after_an_answer_are_a_new_response_though_a_call_is_open() -> None:
    found = reading(called("1"), called("2"), output("1"), spoken("assistant", "a"))
    assert told(found) == ["A:call-1 call-2", "U:result-1", "A:a"]


@pytest.mark.parametrize("between", [event("task_started"), line("compacted", {"message": "a"})])
def test_a_turn_that_was_stopped_before_it_said_anything(between: Json) -> None:
    found = reading(thought("a"), between, event("turn_aborted"))
    assert [one.error for one in found.messages] == [""]


def test_a_turn_that_a_person_stopped() -> None:
    stop = event("turn_aborted", reason="interrupted")
    found = reading(
        event("task_started"),
        spoken("user", "go"),
        thought("a"),
        called("1"),
        output("1", "aborted by user"),
        spoken("user", "<turn_aborted>\nstopped\n</turn_aborted>"),
        stop,
        event("task_started"),
        spoken("user", "again"),
        stop,  # before anything was said
        spoken("user", "and again"),
        tokens(11, 10),
        stop,  # in early versions before the items
        thought("b"),
        called("2"),
        spoken("user", "go on"),
        spoken("assistant", "c"),
    )
    assert [(_words(one), one.error) for one in found.messages if one.role == "assistant"] == [
        ("a call-1", "aborted"),
        ("b call-2", "aborted"),
        ("c", ""),
    ]


# Compactions and rollbacks


@pytest.mark.parametrize(
    ("message", "text", "stands"),
    [
        pytest.param("We port the parser.", "We port the parser.", True, id="no prefix"),
        pytest.param(f"{PREFIX}We port it.", "We port it.", True, id="prefix"),
        pytest.param(PREFIX, "", False, id="only the prefix"),
        pytest.param(f"{PREFIX}(no summary available)", "", False, id="none was written"),
        pytest.param(
            "Another language model started to solve this problem. Well.",
            "Another language model started to solve this problem. Well.",
            True,
            id="another prefix",
        ),
    ],
)
def test_the_words_that_codex_puts_before_a_summary_are_left_out(
    message: str, text: str, stands: bool
) -> None:
    found = reading(spoken("user", "go"), line("compacted", {"message": message}))
    [summary] = found.summaries
    assert (summary.text, boundary.stands(summary)) == (text, stands)
    assert (found.visible == []) is stands


def test_what_was_rolled_back_leaves_the_history() -> None:
    found = reading(
        spoken("user", "one"),
        spoken("assistant", "1"),
        spoken("user", "two"),
        spoken("assistant", "2"),
        spoken("user", "<skill>s</skill>"),  # no turn
        spoken("user", "three"),
        spoken("assistant", "3"),
        event("thread_rolled_back", num_turns=2),
        spoken("user", "four"),
        spoken("assistant", "4"),
        event("thread_rolled_back", num_turns=1),
        spoken("user", "five"),
    )
    assert told(found) == ["U:one", "A:1", "U:five"]
    assert [_words(one) for one in found.rewound] == [
        "two", "2", "<skill>s</skill>", "three", "3", "four", "4"
    ]  # fmt: skip


def test_a_rollback_ends_the_response_before_it() -> None:
    rolled = event("thread_rolled_back", num_turns=1)
    found = reading(spoken("user", "one"), thought("a"), rolled, thought("b"))
    assert told(found) == ["A:b"]


def test_as_many_prompts_as_matter_are_kept_for_a_rollback() -> None:
    prompts = [spoken("user", str(n)) for n in range(201)]
    found = reading(*prompts, event("thread_rolled_back", num_turns=300))
    assert found.prompts == ["0"]
    assert len(reading(*prompts).state["prompts"]) == 200


@pytest.mark.parametrize(
    ("turns", "left"),
    [(0, ["one", "two"]), (1, ["one"]), (2, []), (9, []), (2**60, []), ("x", ["one", "two"])],
)
def test_no_more_can_be_rolled_back_than_there_is(turns: Any, left: list[str]) -> None:
    rolled = event("thread_rolled_back", num_turns=turns)
    assert reading(spoken("user", "one"), spoken("user", "two"), rolled).prompts == left


# Sessions


@pytest.mark.parametrize(
    ("path", "first", "session"),
    [
        (f"2026/11/30/rollout-2026-11-30T18-58-09-{SESSION}.jsonl", {}, SESSION),
        (f"rollout-2026-11-30T18-58-09-{SESSION}.jsonl.zst", {}, SESSION),
        (f"rollout-2026-11-30T18-58-09-{SESSION}_b.jsonl", {}, SESSION),
        (f"rollout-2026-11-30T18-58-09-{SESSION}.jsonl", meta("other"), SESSION),
        ("copy.jsonl", meta("other"), "other"),
        ("copy.jsonl", BARE[0], SESSION),
        ("copy.jsonl", spoken("user", "go"), ""),
        ("rollout-none.jsonl", {}, ""),
    ],
)
def test_a_session_is_named_by_its_file_or_else_by_its_first_line(
    path: str, first: Json, session: str
) -> None:
    assert PLACE.session(path, first) == session


@pytest.mark.parametrize(
    ("fields", "parent"),
    [
        ({"source": "cli"}, ""),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}, "p"),
        ({"parent_thread_id": "p", "source": {"subagent": "review"}}, "p"),
        ({"session_id": "p", "source": {"subagent": "review"}}, "p"),
        ({"session_id": SESSION, "source": {"subagent": "review"}}, ""),
        ({"session_id": "p", "source": "cli"}, ""),
    ],
)
def test_a_subagent_names_the_session_it_worked_for(fields: Json, parent: str) -> None:
    assert reading(meta(**fields)).fact("parent_session") == parent


def test_an_old_fork_holds_what_the_first_session_said() -> None:
    found = reading(
        meta(),
        meta("parent", cwd="/other"),
        spoken("user", "in the parent"),
        meta("grandparent"),
        meta(),
        spoken("user", "in the fork"),
    )
    assert found.prompts == ["in the parent", "in the fork"]
    assert [one.forked_from for one in found.records if one.forked_from] == ["parent"]
    assert found.fact("project") == "/p"


def test_a_fork_that_names_its_parent_is_believed() -> None:
    found = reading(meta(forked_from_id="parent"), meta("grandparent"))
    assert [one.forked_from for one in found.records] == ["parent", ""]


def test_the_project_is_taken_from_words_only_where_nothing_names_it() -> None:
    words = spoken("user", "<environment_context><cwd>/other</cwd></environment_context>")
    assert [one.project for one in reading(meta(), words).records] == ["/p", ""]
    assert [one.project for one in reading(words, words).records] == ["/other", ""]


@pytest.mark.parametrize(
    "told",
    [{}, {"thread_id": "p"}, {"thread_id": SESSION, "end_byte_offset": 5}, {"end_byte_offset": 5}],
)
def test_what_does_not_name_another_session_is_no_base(told: Json) -> None:
    assert PLACE.base is not None
    assert PLACE.base(meta(history_base=told)) is None


def test_a_session_may_have_a_name() -> None:
    named = event("thread_name_updated", thread_name="Port the parser")
    assert reading(meta(), named).fact("title") == "Port the parser"


def test_the_places_that_codex_keeps_its_sessions_in(tmp_path: Path) -> None:
    name = f"rollout-2026-11-30T18-58-09-{SESSION}.jsonl"
    files = [
        f"sessions/2026/11/30/{name}",
        f"archived_sessions/{name}",
        f"sessions/2026/11/30/{name}.zst",
        "sessions/2026/11/30/notes.jsonl",
    ]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(b"")
    for environ in ({"CODEX_HOME": str(tmp_path)}, {"HOME": str(tmp_path / "home")}):
        there = Places([READER], environ, project=tmp_path).transcripts()
        found = {str(one.path.relative_to(tmp_path)) for one in there if one.path.exists()}
        assert found == (set(files[:3]) if "CODEX_HOME" in environ else set())


def test_a_fork_is_found_to_begin_with_a_part_of_its_parent(tmp_path: Path) -> None:
    parent = "01a22dd1-ab11-7f72-bbd3-9061c926ec2f"
    fork = "01a22dd3-3815-7b93-bba1-92d46e67059d"
    for fixture, session in (("v0.171-image", parent), ("v0.171-fork", fork)):
        data = (FIXTURES / f"{fixture}.jsonl").read_bytes()
        (tmp_path / "sessions").mkdir(exist_ok=True)
        (tmp_path / "sessions" / f"rollout-2026-11-30T18-57-25-{session}.jsonl").write_bytes(data)
    places = Places([READER], {"CODEX_HOME": str(tmp_path)}, project=tmp_path)
    [found] = places.find(fork)
    [base], missing = places.bases(found)
    assert (base.session, base.length, missing) == (fork, 132_001, "")
    assert parent in base.path.name


@pytest.mark.parametrize(
    ("record", "ours"),
    [
        (meta(), True),
        (event("token_count"), True),
        (line("compacted", {"message": "a"}), True),
        (line("session_meta", None), False),
        (line("something", {}), False),
        ({"type": "user", "uuid": "u", "sessionId": "s", "message": {}}, False),
        ({"type": "message", "id": "a", "message": {"role": "user", "content": "a"}}, False),
        ({"type": "message", "role": "user", "content": [{"type": "text", "text": "a"}]}, False),
        ({"type": "session", "id": "a", "timestamp": "t", "cwd": "/p"}, False),
        ({"id": "a", "timestamp": "t"}, False),
        ({"role": "user", "content": "a"}, False),
        ({}, False),
    ],
)
def test_its_records_are_told_from_those_of_others(record: Json, ours: bool) -> None:
    assert PLACE.recognizes(record) is ours


@pytest.mark.parametrize(
    ("record", "unknown"),
    [
        (line("brand_new", {}), "brand_new"),
        (event("brand_new"), "event_msg/brand_new"),
        (item("brand_new"), "response_item/brand_new"),
        (line("event_msg", None), "event_msg/no type"),
        (line("world_state", {}), ""),
        (event("user_message", message="a"), ""),
        (item("ghost_snapshot"), ""),
        (item("compaction", encrypted_content="gA"), ""),
        ({"timestamp": "t", "payload": 1}, "no type"),
    ],
)
def test_types_that_nobody_knows_are_named(record: Json, unknown: str) -> None:
    [found] = reading(record).records
    assert (found.kind, found.unknown) == ("other", unknown)


# Whatever is in a file

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
OUTER = st.sampled_from(sorted(TYPES))
KINDS = st.sampled_from(sorted(CALLS | OUTPUTS)) | st.sampled_from(
    ["message", "reasoning", "agent_message", "token_count", "turn_aborted", "thread_rolled_back"]
)
FIELDS = st.one_of(
    st.sampled_from(["role", "id", "call_id", "name", "arguments", "output", "content", "tools"]),
    st.sampled_from(["summary", "text", "info", "usage", "num_turns", "message", "model", "cwd"]),
    st.sampled_from(["git", "source", "history_base", "action", "result", "replacement_history"]),
    st.just("internal_chat_message_metadata_passthrough"),
)
ROLES = st.sampled_from(["user", "assistant"]) | JSON
NESTED = {
    "info": st.fixed_dictionaries({"last_token_usage": JSON, "total_token_usage": JSON}),
    "content": st.lists(st.fixed_dictionaries({"type": JSON, "text": JSON}), max_size=2),
}
BODIES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"type": KINDS, "role": ROLES}, optional=NESTED
) | st.dictionaries(FIELDS, JSON, max_size=4)
ENVELOPE: dict[str, st.SearchStrategy[Any]] = {"type": OUTER, "payload": BODIES | JSON}
BESIDE: dict[str, st.SearchStrategy[Any]] = {"timestamp": st.text(max_size=4), "metadata": JSON}
RECORDS: st.SearchStrategy[Json] = st.one_of(
    st.fixed_dictionaries(ENVELOPE, optional=BESIDE),
    st.fixed_dictionaries(ENVELOPE | {"timestamp": JSON}),
    BODIES,
    st.dictionaries(st.text(max_size=8), JSON, max_size=3),
)


@patient
@given(st.lists(RECORDS, max_size=6))
def test_no_record_whatever_raises(found: list[Json]) -> None:
    state: State = {}
    for record in found:
        raw = json.dumps(record).encode()
        PLACE.recognizes(record)
        PLACE.session("a.jsonl", record)
        if PLACE.base:
            PLACE.base(record)
        made = list(PLACE.records(record, raw, state))
        assert made
        assert made[0].raw in (raw, b"{}")
        for one in made:
            if one.kind == "message":
                READER.message(one.id, [json.loads(one.raw)])
            elif one.kind == "summary":
                READER.summary(one.id, one.parent, json.loads(one.raw))
        json.dumps(state)


@pytest.mark.parametrize(
    "kind", ["message", "function_call", "function_call_output", "token_count"]
)
def test_what_is_nested_too_deep_or_counted_too_high_does_not_raise(kind: str) -> None:
    deep: Any = 10**5000
    for _ in range(5000):
        deep = [deep]
    fields = ("content", "arguments", "output", "info", "message", "id", "name")
    body = {"type": kind, "role": "user"} | dict.fromkeys(fields, deep)
    usage = {"input_tokens": 10**5000, "output_tokens": 1}
    state: State = {}
    for outer in ("response_item", "event_msg", "compacted", "session_meta"):
        [found, *_] = PLACE.records(line(outer, body), b"{}", state)
        if found.kind == "message":
            READER.message(found.id, [line(outer, body)])
    info = {"last_token_usage": usage, "total_token_usage": {"total_tokens": 10**5000}}
    list(PLACE.records(event("token_count", info=info), b"{}", state))
    [_, told] = PLACE.records(thought("a"), b"{}", state)
    assert READER.message("a", [json.loads(told.raw)]).usage == Usage(2**53, 1)


WHOLE = {path.stem: path.read_bytes() for path in sorted(FIXTURES.glob("*.jsonl"))}


@patient
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_file_that_was_cut_anywhere_comes_right_when_the_rest_arrives(
    name: str, data: st.DataObject
) -> None:
    whole = WHOLE[name]
    at = data.draw(st.integers(0, len(whole)))
    cut = of_lines(READER, whole[:at])
    complete = of_lines(READER, b"".join(whole[:at].splitlines(keepends=True)[:-1]))
    assert cut.records[: len(complete.records)] == complete.records
    assert of_lines(READER, whole[:at], whole[at:]).records == of_lines(READER, whole).records


def test_reading_again_adds_nothing() -> None:
    for whole in (*WHOLE.values(), b"".join(json.dumps(one).encode() + b"\n" for one in BARE)):
        found = of_lines(READER, whole)
        before = found.records
        found.state.clear()
        for raw in whole.splitlines():
            found.add(PLACE.records(json.loads(raw), raw, found.state))
        assert found.records == before


def test_many_compactions_are_read_in_one_go() -> None:
    turn = [spoken("user", "go"), spoken("assistant", "a"), line("compacted", {"message": "sum"})]
    found = reading(*turn * 1000)
    assert (len(found.markers), found.visible) == (1000, [])


# Real files beside the project


@pytest.mark.parametrize("path", shared("codex", "**/*.jsonl"))
def test_every_message_of_a_real_file_is_accounted_for(path: Path) -> None:
    native, summaries, hidden = Counter[str](), 0, 0
    typed = list[str]()
    for raw in path.read_bytes().splitlines():
        try:
            record = json.loads(raw)
        except ValueError:
            continue
        body = record["payload"]
        marked = record.get("metadata", {}).get("compaction_output", False)
        if record["type"] == "compacted":
            summaries += bool(body["message"])
            hidden += not body["message"]  # encrypted
        elif record["type"] == "response_item" and (marked or body["type"] == "ghost_snapshot"):
            hidden += 1
        elif record["type"] == "response_item":
            native[body["type"]] += 1
        elif record["type"] == "event_msg" and body["type"] == "user_message":
            typed.append(body["message"])
        elif record["type"] == "event_msg" and body.get("item", {}).get("type") == "UserMessage":
            typed.append(body["item"]["content"][-1]["text"])
    found = of_lines(READER, path.read_bytes())
    blocks = Counter(type(block).__name__ for one in found.messages for block in one.blocks)
    assert found.kinds["message"] == native.total()
    assert found.kinds["marker"] == found.kinds["summary"] == summaries
    assert all(boundary.stands(one) for one in found.summaries)
    assert blocks["Reasoning"] == native["reasoning"]
    assert blocks["ToolCall"] == sum(n for kind, n in native.items() if kind.endswith("_call"))
    assert blocks["ToolResult"] == sum(n for kind, n in native.items() if kind.endswith("_output"))
    assert blocks["Unknown"] == 0
    ids = {call.id for one in found.messages for call in one.calls}
    assert all(result.call_id in ids for one in found.messages for result in one.results)
    assert found.unknown == Counter()
    assert len(found.prompts) == len(typed)
    assert all(prompt in event for prompt, event in zip(found.prompts, typed, strict=True))
    assert b"encrypted_content" not in repr(found.messages).encode()
