import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import patient
from foldmark.messages import (
    Attachment,
    Block,
    Marker,
    Message,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from foldmark.transcripts.amp.reader import READER
from foldmark.transcripts.record import Document
from readings import Reading, of_document

NAME = "T-0199c0de-0000-7000-8000-000000000001"
THREAD = (Path(__file__).parent / "fixtures" / "amp" / f"{NAME}.json").read_bytes()
OPUS = "claude-opus-4-6"

Json = dict[str, Any]

DOCUMENT = next(place for place in READER.places if isinstance(place, Document))


def user(id: Any, words: str, **meta: Any) -> Json:
    content = [{"type": "text", "text": words}]
    return {"role": "user", "messageId": id, "content": content, "meta": meta}


def reply(id: Any, words: str, state: Json | None = None) -> Json:
    content = [{"type": "text", "text": words}]
    state = state or {"type": "complete", "stopReason": "end_turn"}
    return {"role": "assistant", "messageId": id, "content": content, "state": state}


def compacted(id: Any, summary: Any, *beside: Json) -> Json:
    return {"role": "info", "messageId": id, "content": [*beside, {"type": "summary", **summary}]}


def summarized(words: str) -> Json:
    return {"summary": {"type": "message", "summary": words}}


def thread(*messages: Any, **about: Any) -> bytes:
    return json.dumps({"v": 1, "id": "T-1", "messages": messages, **about}).encode()


def read(*versions: bytes) -> Reading:
    return of_document(READER, *versions)


def texts(messages: list[Message]) -> list[str]:
    return [block.text for one in messages for block in one.blocks if isinstance(block, Text)]


def built(*content: Any, role: str = "assistant", **native: Any) -> Message:
    return READER.message("m", [{"role": role, "content": list(content), **native}])


def result(run: Json) -> tuple[Block, ...]:
    block = {"type": "tool_result", "toolUseID": "c", "run": run}
    return built(block, role="user").blocks


# A thread as Amp keeps it


def test_a_thread_is_read_message_by_message() -> None:
    reading = read(THREAD)
    assert reading.messages == [
        Message(
            "0",
            "user",
            (
                Text("Port the parser to Rust."),
                Text("Selected: src/parser.py", injected=True),
                Attachment("image/png", "/tmp/tree.png", 8),
            ),
            "2026-11-30T18:56:41.500Z",
        ),
        Message(
            "1",
            "assistant",
            (
                Reasoning("Look at the files first."),
                Reasoning("", redacted=True),
                Reasoning("", redacted=True),
                Text("I will look at it."),
                ToolCall("toolu_1", "Bash", {"cmd": "ls"}),
                ToolCall("toolu_2", "Read", {"path": "a.py"}),
                ToolCall("toolu_3", "Bash", {"cmd": "false"}),
                ToolCall("toolu_4", "Bash", {"cmd": "rm -r ."}),
                ToolCall("toolu_5", "Bash", {"cmd": "sleep 60"}),
            ),
            "2026-11-30T19:16:45.000Z",
            model=OPUS,
            usage=Usage(12, 80, 4000),
        ),
        Message(
            "2",
            "user",
            (
                ToolResult("toolu_1", "a.py\n"),
                ToolResult("toolu_2", "a.py: no such file", is_error=True),
                ToolResult("toolu_3", "[exit code 1]", is_error=True),
                ToolResult("toolu_4", "not here", is_error=True),
                ToolResult("toolu_5", "[Tool execution was cancelled]\nzzz", is_error=True),
            ),
        ),
        Message("3", "assistant", (Text("It is all in a.py, and I"),), error="aborted"),
        Message("4", "user", (Text("$ git status\nclean", injected=True),)),
        Message(
            "6",
            "user",
            (Text("The tests of the parser pass.", injected=True),),
            "2026-11-30T19:00:00.000Z",
        ),
        Message("8", "user", (Text("Go on."),), "2026-11-30T19:01:40.000Z"),
        Message(
            "9",
            "assistant",
            (
                Text("Now I write it."),
                ToolCall("toolu_6", "mcp__foldmark__get_history", {}),
            ),
            "2026-11-30T19:21:50.000Z",
            model=OPUS,
            usage=Usage(3, 7),
        ),
        Message("10", "user", ()),
    ]
    assert reading.prompts == ["Port the parser to Rust.", "Go on."]
    assert reading.fact("title") == "Port the parser"
    assert reading.fact("project") == "/home/ada/my parser"
    assert reading.fact("branch") == "port"
    assert reading.fact("parent_session") == ""
    assert not reading.skipped
    assert not reading.unknown


def test_what_stands_after_a_summary_is_what_a_model_sees() -> None:
    reading = read(THREAD)
    assert reading.markers == [Marker("7/marker")]
    assert reading.summaries == [
        Summary("7", "7/marker", "The parser is in a.py; port it to Rust.", "end_turn")
    ]
    assert [message.id for message in reading.visible] == ["8", "9", "10"]


def test_a_command_that_amp_never_sent_is_no_message() -> None:
    reading = read(THREAD)
    [hidden] = [record for record in reading.records if record.id == "5"]
    assert hidden.kind == "other"
    assert b"hunter2" in hidden.raw


def test_reading_again_adds_nothing() -> None:
    assert read(THREAD, THREAD).records == read(THREAD).records


def test_no_traces_are_kept_of_a_thread() -> None:
    assert b"traces" not in b"".join(record.raw for record in read(THREAD).records)


# How a thread changes


def test_a_message_that_grew_is_read_anew_in_its_place() -> None:
    first = thread(user(0, "Hello"), reply(1, "Hel", {"type": "streaming"}))
    later = thread(user(0, "Hello"), reply(1, "Hello, Ada"), user(2, "Thanks"))
    reading = read(first, later)
    assert texts(reading.messages) == ["Hello", "Hello, Ada", "Thanks"]


@pytest.mark.parametrize("at", [0, 2])
def test_an_edited_prompt_takes_back_what_followed(at: int) -> None:
    said = [user(0, "one"), reply(1, "1"), user(2, "two"), reply(3, "2")]
    edited = [*said[:at], user(4, "three"), reply(5, "3")]
    reading = read(thread(*said), thread(*edited))
    assert [message.id for message in reading.messages] == [*map(str, range(at)), "4", "5"]
    assert [message.id for message in reading.rewound] == [str(n) for n in range(at, 4)]


def test_a_thread_that_was_cut_short_is_cut_short_here() -> None:
    said = [user(0, "one"), reply(1, "1"), user(2, "two"), reply(3, "2")]
    assert texts(read(thread(*said), thread(*said[:2])).messages) == ["one", "1"]


def test_an_edit_before_a_compaction_takes_the_compaction_back() -> None:
    said = [user(0, "one"), reply(1, "1"), compacted(2, summarized("All is one.")), user(3, "two")]
    reading = read(thread(*said), thread(said[0], said[1], user(4, "three")))
    assert texts(reading.visible) == ["one", "1", "three"]
    assert not reading.markers


def test_messages_of_one_id_are_told_apart() -> None:
    reading = read(thread(user(0, "one"), user(0, "two")))
    assert [message.id for message in reading.messages] == ["0", "0#2"]


# Single messages


@pytest.mark.parametrize(
    ("summary", "stands"),
    [
        pytest.param(summarized("All is one."), True, id="a summary"),
        pytest.param(summarized(" \n"), False, id="a blank one"),
    ],
)
def test_only_a_usable_summary_hides_anything(summary: Json, stands: bool) -> None:
    reading = read(thread(user(0, "one"), compacted(1, summary), user(2, "two")))
    assert (texts(reading.visible) == ["two"]) is stands


@pytest.mark.parametrize("state", ["streaming", "cancelled", "error"])
def test_a_summary_that_never_came_to_its_end_hides_nothing(state: str) -> None:
    broken = {**compacted(1, summarized("All is")), "role": "assistant", "state": {"type": state}}
    assert texts(read(thread(user(0, "one"), broken)).visible) == ["one"]


def test_a_summary_of_another_kind_is_kept_and_hides_nothing() -> None:
    told = compacted(1, {"summary": {"type": "thread", "thread": "T-2"}})
    reading = read(thread(user(0, "one"), told))
    assert reading.unknown == {"summary/thread": 1}
    assert texts(reading.visible) == ["one"]


def test_what_stands_beside_a_summary_is_a_message_before_it() -> None:
    beside = {"type": "text", "text": "Compacted by hand."}
    reading = read(thread(user(0, "one"), compacted(1, summarized("All is one."), beside)))
    assert reading.messages[1] == Message("1", "user", (Text("Compacted by hand.", injected=True),))
    assert reading.summaries[0].id == "1/summary"
    assert reading.visible == []


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param({"status": "done", "result": "text"}, ToolResult("c", "text"), id="words"),
        pytest.param({"status": "done", "result": 0}, ToolResult("c", "0"), id="a number"),
        pytest.param({"status": "done"}, ToolResult("c", ""), id="nothing"),
        pytest.param(
            {"status": "done", "result": {"absolutePath": "/a", "content": "x = 1"}},
            ToolResult("c", "x = 1"),
            id="a file",
        ),
        pytest.param(
            {"status": "done", "result": {"diff": "- a"}}, ToolResult("c", "- a"), id="a diff"
        ),
        pytest.param(
            {"status": "done", "result": {"output": "", "content": "x"}},
            ToolResult("c", "x"),
            id="the first words there are",
        ),
        pytest.param(
            {"status": "done", "result": ["a:1", "b:2"]}, ToolResult("c", "a:1\nb:2"), id="lines"
        ),
        pytest.param(
            {"status": "done", "result": [{"file": "a", "line": 1}]},
            ToolResult("c", '{"file":"a","line":1}'),
            id="objects",
        ),
        pytest.param(
            {"status": "done", "result": [{"type": "image", "data": "AAAA", "mimeType": "i/png"}]},
            ToolResult("c", "", attachments=(Attachment("i/png", "", 3),)),
            id="an image",
        ),
        pytest.param(
            {"status": "done", "result": {"success": False, "content": "no"}},
            ToolResult("c", "no", is_error=True),
            id="no success",
        ),
        pytest.param(
            {"status": "error"}, ToolResult("c", "[unknown error]", is_error=True), id="no words"
        ),
    ],
)
def test_a_result_is_what_its_run_says(run: Json, expected: ToolResult) -> None:
    assert result(run) == (expected,)


@pytest.mark.parametrize("status", ["in-progress", "queued", "blocked-on-user", None])
def test_a_run_that_has_not_ended_is_no_result(status: Any) -> None:
    assert result({"status": status}) == ()


def test_results_of_other_shapes_are_read_too() -> None:
    searched = {
        "type": "tool_search_tool_result",
        "toolUseID": "s",
        "content": [{"type": "text", "text": "shell"}],
    }
    assert built(
        {"type": "tool_result", "tool_use_id": "c", "content": "ok"},
        {"type": "server_tool_use", "id": "s", "name": "search", "input": {"q": 1}},
        searched,
        {"type": "hologram"},
        "words",
    ).blocks == (
        ToolResult("c", "ok"),
        ToolCall("s", "search", {"q": 1}),
        ToolResult("s", "shell"),
        Unknown("hologram"),
        Text("words"),
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"message": "too long", "type": "context_length"}, "context_length"),
        ({"message": "too long", "errorCode": "E1"}, "E1"),
        (None, "error"),
    ],
)
def test_a_failed_turn_names_its_error(error: Any, expected: str) -> None:
    assert built(state={"type": "error", "error": error}).error == expected


def test_a_subagent_names_the_thread_it_works_for() -> None:
    reading = read(thread(user(0, "one"), mainThreadID="T-9"))
    assert reading.fact("parent_session") == "T-9"


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///home/ada/my%20parser", "/home/ada/my parser"),
        ("file:///c%3A/Users/ada", "c:/Users/ada"),
        ("vscode-remote://ssh/home/ada", ""),
        (None, ""),
    ],
)
def test_the_project_is_the_first_folder_of_a_thread(uri: Any, folder: str) -> None:
    reading = read(thread(user(0, "one"), env={"initial": {"trees": [{"uri": uri}]}}))
    assert reading.fact("project") == folder


@pytest.mark.parametrize("sent", [1e300, float("nan"), 10**400, "1", None, 0, -1e14])
def test_a_time_that_is_none_is_none(sent: Any) -> None:
    told = user(0, "one")
    assert READER.message("0", [{**told, "meta": {"sentAt": sent}}]).at == ""


def test_an_export_names_messages_by_words() -> None:
    exported = {"role": "user", "protocolMessageID": "M-1", "content": "Hello"}
    assert read(thread(exported)).messages == [Message("M-1", "user", (Text("Hello"),))]


def test_one_bad_message_blocks_no_other() -> None:
    reading = read(thread(user(0, "one"), None, 7, {"role": "alien"}, user(1, "two")))
    assert texts(reading.messages) == ["one", "two"]
    assert [skip.place for skip in reading.skipped] == ["message 1", "message 2"]
    assert reading.unknown == {"role/alien": 1}


def test_what_is_no_thread_says_so() -> None:
    assert [skip.reason for skip in DOCUMENT.read(b"{").skipped] == ["not JSON"]


# Whose it is


@pytest.mark.parametrize(
    ("data", "known"),
    [
        (THREAD, True),
        (thread(), True),
        (b'{"id": "T-1"}', False),
        (b'{"id": "1", "messages": []}', False),
        (b"[]", False),
        (b"no", False),
    ],
)
def test_a_thread_is_known_by_its_id_and_its_messages(data: bytes, known: bool) -> None:
    assert DOCUMENT.recognizes(data) is known


@pytest.mark.parametrize(
    ("path", "head", "name"),
    [
        (f"{NAME}.json", b"", NAME),
        (f"{NAME}.json", THREAD, NAME),
        ("export.json", THREAD, NAME),
        ("export.json", b"", ""),
    ],
)
def test_a_thread_is_named_by_its_file_or_by_itself(path: str, head: bytes, name: str) -> None:
    assert DOCUMENT.session(path, head) == name


def test_amp_names_itself_and_not_its_thread() -> None:
    assert READER.hosts == ("amp",)
    assert READER.variables == ()


# Whatever stands in it

FIELDS = st.sampled_from(
    [
        *("type", "text", "role", "content", "messageId", "state", "usage", "meta", "run", "id"),
        *("summary", "status", "result", "toolUseID", "env", "hidden", "args", "source"),
        "exitCode",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["text", "thinking", "tool_use", "tool_result", "summary", "image"])


def block(kind: str, rest: Json) -> Json:
    return {**rest, "type": kind}


def native(role: str, content: Any, rest: Json) -> Json:
    return {**rest, "role": role, "content": content}


BLOCKS = st.builds(block, KINDS, st.dictionaries(FIELDS, VALUES, max_size=4))
MESSAGES = st.builds(
    native,
    st.sampled_from(["user", "assistant", "info"]),
    st.lists(BLOCKS, max_size=3) | VALUES,
    st.dictionaries(FIELDS, VALUES, max_size=3),
)


@patient
@given(st.lists(MESSAGES | VALUES, max_size=4), st.dictionaries(FIELDS, VALUES, max_size=3))
def test_no_value_in_any_field_breaks_the_reading(found: list[Any], about: Json) -> None:
    data = json.dumps({**about, "messages": found}).encode()
    reading = read(data, data)
    assert reading.records == read(data).records
    assert len(reading.entries) >= len(reading.messages)
    DOCUMENT.recognizes(data)
