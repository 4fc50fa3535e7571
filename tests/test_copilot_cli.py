import json
from collections import Counter
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
from foldmark.sources.places import Places
from foldmark.transcripts.copilot_cli import reader as copilot_cli
from foldmark.transcripts.copilot_cli.reader import READER
from readings import Reading, of_lines, shared

FIXTURES = Path(__file__).parent / "fixtures" / "copilot_cli"
SESSION = "c0b1107e-0000-4000-8000-000000000001"
SONNET = "claude-sonnet-4.6"
AGENT = "agent-toolu_3"

Json = dict[str, Any]


def fixture(name: str) -> bytes:
    return (FIXTURES / f"{name}.jsonl").read_bytes()


def jsonl(*values: Json) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def id(number: int) -> str:
    """Name an event of a fixture by its number."""
    return f"c0000000-0000-4000-8000-{number:012d}"


def at(number: int) -> str:
    return f"2026-10-01T12:{number // 60:02d}:{number % 60:02d}.000Z"


def of_thread(data: bytes, thread: str = "") -> Reading:
    """Read what one agent did, as the store keeps it: a session for each."""
    reading = Reading(READER)
    records = of_lines(READER, data).records
    reading.add(record for record in records if record.thread == thread)
    return reading


def event(number: int, type: str, parent: int | None = None, **data: Any) -> Json:
    before = number - 1 if parent is None else parent
    return {
        "type": type,
        "data": data,
        "id": id(number),
        "timestamp": at(number),
        "parentId": id(before),
    }


def user(number: int, words: str, parent: int | None = None, **data: Any) -> Json:
    return event(number, "user.message", parent, content=words, **data)


def answer(number: int, words: str, parent: int | None = None, **data: Any) -> Json:
    more: Json = {"messageId": f"m{number}", "content": words, "toolRequests": []}
    return event(number, "assistant.message", parent, **(more | data))


def blocks(type: str, **data: Any) -> tuple[Block, ...]:
    return READER.message("m", [{"type": type, "data": data}]).blocks


# A whole session


def test_every_message_of_a_session_is_read_as_a_model_saw_it():
    assert of_thread(fixture("session")).messages == [
        Message(
            id(6),
            "user",
            (
                Text(
                    "<current_datetime>2026-10-01T14:00:06.000+02:00</current_datetime>",
                    injected=True,
                ),
                Text("list the files"),
                Text("<system_reminder>\nNo tables exist.\n</system_reminder>", injected=True),
                Attachment("image/png", "/home/dev/parser/shot.png", 1234),
                Attachment("inode/directory", "/home/dev/parser/src"),
            ),
            at(6),
        ),
        Message(
            id(8),
            "assistant",
            (
                Reasoning("They want to see the files."),
                ToolCall("toolu_1", "bash", {"command": "ls", "description": "List"}),
                ToolCall("toolu_2", "view", {"path": "/nowhere"}),
            ),
            at(8),
            SONNET,
            usage=Usage(output=174),
        ),
        Message(
            id(13),
            "user",
            (ToolResult("toolu_2", "/nowhere does not exist", is_error=True),),
            at(13),
        ),
        Message(
            id(14),
            "user",
            (ToolResult("toolu_1", "parser.py\n<shellId: 0 completed with exit code 0>"),),
            at(14),
        ),
        Message(
            id(18),
            "assistant",
            (Reasoning("", redacted=True), Text("There is parser.py.")),
            at(18),
            SONNET,
            usage=Usage(output=12),
        ),
        Message(
            id(20),
            "user",
            (
                Text(
                    "<system_notification>\nShell 7 has completed.\n</system_notification>",
                    injected=True,
                ),
            ),
            at(20),
        ),
        Message(
            id(22),
            "user",
            (
                Text(
                    '<skill-context name="review">\nRead it twice.\n</skill-context>',
                    injected=True,
                ),
            ),
            at(22),
        ),
        Message(
            id(23),
            "assistant",
            (
                Text("I ask a reviewer."),
                ToolCall(
                    "toolu_3",
                    "task",
                    {
                        "description": "Review",
                        "prompt": "Review parser.py",
                        "agent_type": "task",
                    },
                ),
            ),
            at(23),
            SONNET,
            usage=Usage(output=30),
        ),
        Message(id(28), "user", (ToolResult("toolu_3", "Line 42 is wrong."),), at(28)),
        Message(
            id(31),
            "assistant",
            (Text("I fix line 42."),),
            at(31),
            SONNET,
            usage=Usage(output=6),
        ),
        Message(
            id(33),
            "user",
            (
                Text(
                    "<current_datetime>2026-10-01T14:00:33.000+02:00</current_datetime>",
                    injected=True,
                ),
                Text("and the tests?"),
            ),
            at(33),
        ),
        Message(
            id(37),
            "assistant",
            (Text("I run th"),),
            at(37),
            SONNET,
            "aborted",
            Usage(output=3),
        ),
        Message(id(39), "user", (Text("The user ran local_shell: pytest", injected=True),), at(39)),
        Message(id(40), "user", (Text("2 passed", injected=True),), at(40)),
    ]


def test_a_compaction_keeps_what_was_said_while_it_ran_and_a_failed_one_hides_nothing():
    reading = of_thread(fixture("session"))

    assert reading.markers == [
        Marker(f"{id(32)}/marker", id(31), at(32)),
        Marker(id(35), "", at(35)),
    ]
    assert reading.summaries == [
        Summary(
            id(32),
            f"{id(32)}/marker",
            "<overview>\nThe parser is ported; line 42 is wrong.\n</overview>",
            "end_turn",
            at=at(32),
        )
    ]
    assert [message.id for message in reading.visible] == [*map(id, (31, 33, 37, 39, 40))]


def test_a_subagent_is_told_apart_even_where_its_first_prompt_names_nobody():
    reading = of_thread(fixture("session"), AGENT)

    assert reading.messages == [
        Message(id(26), "user", (Text("Review parser.py"),), at(26)),
        Message(
            id(27),
            "assistant",
            (Text("Line 42 is wrong."),),
            at(27),
            "claude-haiku-4.5",
            usage=Usage(output=8),
        ),
    ]
    assert reading.fact("title") == "Reviewer"
    assert reading.kinds == {"message": 2, "other": 2}


def test_the_records_tell_of_the_session():
    reading = of_lines(READER, fixture("session"))
    main = of_thread(fixture("session"))

    assert reading.fact("project") == "/home/dev/parser"
    assert reading.fact("branch") == "main"
    assert reading.unknown == {"session.levitated": 1}
    assert main.prompts == ["list the files", "and the tests?"]
    assert [(r.id, r.model) for r in reading.records if r.model] == [(id(18), SONNET)]
    assert main.kinds == {"message": 15, "other": 21, "marker": 2, "summary": 1}
    assert len(main.messages) == 14  # an abort is a row of the answer that it stopped


def test_nothing_that_only_a_provider_can_read_gets_into_a_message():
    told = repr(of_lines(READER, fixture("session")).messages)

    assert "b3BhcXVl" not in told
    assert "ZW5jcnlwdGVk" not in told
    assert "only the user saw" not in told


# What a rewind leaves


def rewound(*data: bytes) -> Reading:
    """Read a file anew each time, as for every file that was cut short."""
    reading = Reading(READER)
    for one in data:
        reading.state.clear()
        for line in one.splitlines():
            reading.add(copilot_cli.records(json.loads(line), line, reading.state))
    return reading


def test_a_prompt_after_a_rewind_replaces_what_was_cut_from_the_file():
    reading = rewound(fixture("before_rewind"), fixture("after_rewind"))

    assert reading.prompts == ["one", "two, but better"]
    assert [message.prompt for message in reading.rewound] == ["two", ""]
    assert [m.id for m in reading.messages] == [*map(id, (3, 4, 22, 23))]


def test_a_rewind_to_the_start_replaces_all():
    before = fixture("before_rewind")
    after = jsonl(*map(json.loads, before.splitlines()[:2]), user(20, "start over", parent=2))

    assert rewound(before, after).prompts == ["start over"]


def test_a_file_that_goes_on_is_never_taken_for_a_rewind():
    assert rewound(fixture("before_rewind")).prompts == ["one", "two"]
    assert rewound(fixture("after_rewind")).prompts == ["one", "two, but better"]


def test_two_programs_that_write_to_one_session_hide_nothing():
    data = jsonl(
        user(1, "one"),
        answer(2, "1"),
        user(3, "two", parent=2),
        answer(4, "2"),
        user(5, "three", parent=2),  # of the other, which saw no more than number 2
        answer(6, "3"),
        user(7, "four", parent=4),
    )

    assert of_lines(READER, data).prompts == ["one", "two", "three", "four"]


def test_a_rewind_that_is_written_down_takes_back_all_from_the_event_it_names():
    rewind = event(5, "session.snapshot_rewind", upToEventId=id(3), eventsRemoved=2)
    data = jsonl(user(1, "one"), answer(2, "1"), user(3, "two"), answer(4, "2"), rewind)

    assert [m.id for m in of_lines(READER, data).messages] == [id(1), id(2)]


# Compactions


@pytest.mark.parametrize(
    ("done", "visible"),
    [
        pytest.param({"success": True, "summaryContent": "S"}, [4], id="usable"),
        pytest.param({"success": True, "summaryContent": " "}, [1, 2, 4], id="blank"),
        pytest.param({"success": True}, [1, 2, 4], id="without words"),
        pytest.param({"success": False, "summaryContent": "S"}, [1, 2, 4], id="failed"),
        pytest.param({"summaryContent": "S"}, [1, 2, 4], id="not said to be done"),
        pytest.param({"success": "yes", "summaryContent": "S"}, [1, 2, 4], id="no answer"),
        pytest.param({"success": True, "summaryContent": ["S"]}, [1, 2, 4], id="no text"),
    ],
)
def test_what_is_visible_after_a_compaction_that_is(done: Json, visible: list[int]):
    data = jsonl(
        user(1, "one"),
        answer(2, "1"),
        event(3, "session.compaction_complete", **done),
        user(4, "two"),
    )
    reading = of_lines(READER, data)

    assert [message.id for message in reading.visible] == [*map(id, visible)]
    assert len(reading.markers) == 1
    assert len(reading.summaries) == (visible == [4])


def test_a_compaction_of_a_subagents_is_the_subagents():
    done: Json = {"success": True, "summaryContent": "S"}
    data = jsonl(
        user(1, "one"),
        {**event(2, "session.compaction_start"), "agentId": "a/1"},
        answer(3, "main"),
        {**answer(4, "sub"), "agentId": "a/1"},
        {**event(5, "session.compaction_complete", **done), "agentId": "a/1"},
    )

    assert [(r.kind, r.thread) for r in of_lines(READER, data).records] == [
        ("message", ""),
        ("other", "agent-a-1"),
        ("message", ""),
        ("message", "agent-a-1"),
        ("marker", "agent-a-1"),
        ("summary", "agent-a-1"),
    ]
    assert of_thread(data).markers == []
    assert [m.id for m in of_thread(data, "agent-a-1").visible] == [id(4)]


# Prompts


@pytest.mark.parametrize(
    ("data", "prompt"),
    [
        pytest.param({"content": "do it"}, "do it", id="typed"),
        pytest.param({"content": "do it", "source": "user"}, "do it", id="by the user"),
        pytest.param({"content": "stop", "source": "immediate-prompt"}, "stop", id="steering"),
        pytest.param({"content": "x", "source": "skill-pdf"}, "", id="a skill's"),
        pytest.param({"content": "x", "source": "agent-7"}, "", id="an agent's"),
        pytest.param({"content": "go on", "source": "autopilot"}, "", id="autopilot's"),
        pytest.param(
            {"content": "go on", "source": "thinking-exhausted-continuation"}, "", id="its own"
        ),
        pytest.param({"content": "x", "isAutopilotContinuation": True}, "", id="a continuation"),
        pytest.param({"content": "x", "crossSession": {"version": 1}}, "", id="another session's"),
        pytest.param(
            {"content": '<skill-context name="a">b</skill-context>'}, "", id="a skill's by its tag"
        ),
        pytest.param({"content": ["x"]}, "", id="no text"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_a_prompt_is_what_a_person_typed(data: Json, prompt: str):
    [record] = copilot_cli.records({"type": "user.message", "data": data}, b"{}", {})

    assert (record.kind, record.prompt) == ("message", prompt)


@pytest.mark.parametrize(
    ("data", "read"),
    [
        pytest.param(
            {"content": "in", "transformedContent": "begin\n\nin\n\nindeed"},
            [Text("begin", True), Text("in"), Text("indeed", True)],
            id="a line of its own",
        ),
        pytest.param(
            {"content": "/plan", "transformedContent": "Make a plan."},
            [Text("Make a plan.", True), Text("/plan")],
            id="other words altogether",
        ),
        pytest.param({"content": "a", "transformedContent": "a"}, [Text("a")], id="the same"),
        pytest.param(
            {"content": "", "transformedContent": "look"}, [Text("look", True)], id="only its own"
        ),
        pytest.param(
            {"content": "a", "transformedContent": "b", "source": "skill-x"},
            [Text("b", True)],
            id="nothing typed",
        ),
        pytest.param(
            {
                "content": "see",
                "attachments": [
                    {"type": "selection", "filePath": "a.py", "text": "four", "displayName": "s"},
                    {"type": "blob", "mimeType": "image/png", "data": "QUJD"},
                    {"type": "github_reference", "title": "Bug", "url": "https://x"},
                    {"type": "github_url", "url": "https://y"},
                    {"type": "file", "path": "b.txt"},
                    None,
                ],
            },
            [
                Text("see"),
                Attachment("text/plain", "a.py", 4),
                Attachment("image/png", "", 3),
                Attachment("application/*", "Bug"),
                Attachment("application/*", "https://y"),
                Attachment("application/*", "b.txt"),
                Attachment("application/*"),
            ],
            id="attachments",
        ),
    ],
)
def test_a_message_is_what_a_model_saw_of_it(data: Json, read: list[Block]):
    assert list(blocks("user.message", **data)) == read


@pytest.mark.parametrize(
    ("data", "read"),
    [
        ({"result": {"content": "a", "detailedContent": "b"}, "success": True}, ("a", False)),
        ({"result": {"content": "", "detailedContent": "b"}}, ("", False)),
        ({"result": {"detailedContent": "b"}}, ("b", False)),
        ({"result": "plain"}, ("plain", False)),
        ({"success": False, "error": {"message": "no"}}, ("no", True)),
        ({"success": False, "result": {"content": "half"}, "error": {}}, ("half", True)),
        ({"success": False}, ("", True)),
        ({}, ("", False)),
    ],
)
def test_a_tool_result_is_what_the_model_was_told(data: Json, read: tuple[str, bool]):
    words, is_error = read

    assert blocks("tool.execution_complete", toolCallId="c", **data) == (
        ToolResult("c", words, is_error),
    )


def test_images_of_a_tool_are_attachments():
    binary = [
        {"type": "image", "data": "QUJD", "mimeType": "image/png", "description": "a shot"},
        {"type": "image", "assetId": "sha256:1", "byteLength": 9, "mimeType": "image/gif"},
    ]
    contents = [
        {"type": "text", "text": "seen"},
        {"type": "image", "data": "QQ==", "mimeType": "image/x"},
    ]
    result = {"content": "seen", "binaryResultsForLlm": binary, "contents": contents}

    assert blocks("tool.execution_complete", toolCallId="c", result=result) == (
        ToolResult(
            "c",
            "seen",
            attachments=(Attachment("image/png", "a shot", 3), Attachment("image/gif", "", 9)),
        ),
    )
    del result["binaryResultsForLlm"]
    assert blocks("tool.execution_complete", toolCallId="c", result=result) == (
        ToolResult("c", "seen", attachments=(Attachment("image/x", "", 1),)),
    )


def test_an_answer_may_hold_more_than_words():
    assert blocks(
        "assistant.message",
        content="found",
        reasoningBlocks={"provider": "openai", "blocks": [{"encrypted_content": "x"}]},
        serverTools={"provider": "openai", "items": [{}]},
        toolRequests=[
            {"toolCallId": "1", "name": "edit", "arguments": '{"path": "a"}', "type": "function"},
            {"toolCallId": "2", "name": "patch", "arguments": "*** Begin", "type": "custom"},
            "no call",
        ],
    ) == (
        Reasoning("", redacted=True),
        Text("found"),
        Unknown("serverTools"),
        ToolCall("1", "edit", {"path": "a"}),
        ToolCall("2", "patch", "*** Begin"),
        ToolCall("", "", None),
    )


@pytest.mark.parametrize(
    ("between", "reason", "errors"),
    [
        pytest.param([], "user_initiated", ["aborted"], id="while it answers"),
        pytest.param([], "user interrupt", ["aborted"], id="in other words"),
        pytest.param([], "autopilot_credit_limit", ["autopilot_credit_limit"], id="by no person"),
        pytest.param(
            [event(3, "tool.execution_complete", toolCallId="c", success=False)],
            "user_initiated",
            ["aborted", ""],
            id="while a tool runs",
        ),
        pytest.param(
            [event(3, "assistant.turn_end", turnId="0")], "user_initiated", [""], id="after it"
        ),
        pytest.param([user(3, "no")], "user_initiated", ["", ""], id="before the next"),
        pytest.param(
            [event(3, "session.compaction_complete", success=True, summaryContent="S")],
            "user_initiated",
            [""],
            id="after a compaction",
        ),
    ],
)
def test_an_abort_marks_the_answer_that_it_stopped(
    between: list[Json], reason: str, errors: list[str]
):
    data = jsonl(user(1, "one"), answer(2, "1"), *between, event(4, "abort", reason=reason))

    assert [m.error for m in of_lines(READER, data).messages[1:]] == errors


# Types and names


@pytest.mark.parametrize(
    ("type", "unknown"),
    [
        ("session.info", ""),
        ("session.todos_changed", ""),
        ("hook.dreamt_up_later", ""),
        ("permission.requested", ""),
        ("mcp.oauth_required", ""),
        ("assistant.message_delta", ""),
        ("session.context_cleared", ""),
        ("abort", ""),
        ("assistant.dream", "assistant.dream"),
        ("user.gesture", "user.gesture"),
        ("", "no type"),
        (7, "no type"),
        ("x" * 100, "x" * 60),
    ],
)
def test_bookkeeping_is_kept_and_what_is_new_is_counted(type: Any, unknown: str):
    [record] = copilot_cli.records({"type": type, "data": {}}, b"{}", {})

    assert (record.kind, record.unknown) == ("other", unknown)


def test_events_without_ids_are_told_apart_even_if_they_are_alike():
    data = jsonl(*[{"type": "user.message", "data": {"content": "again"}}] * 2)

    assert of_lines(READER, data).prompts == ["again", "again"]
    assert of_lines(READER, data).records == of_lines(READER, data).records


@pytest.mark.parametrize(
    ("path", "first", "name"),
    [
        (f"{SESSION}/events.jsonl", {}, SESSION),
        (f"{SESSION}.jsonl", {}, SESSION),
        ("my-session/events.jsonl", {"data": {"sessionId": "my-session"}}, "my-session"),
        ("copies/a.events.jsonl", {"data": {"sessionId": SESSION}}, SESSION),
        ("events.jsonl", {"data": None}, ""),
    ],
)
def test_a_session_is_named_by_its_folder_or_by_its_first_event(path: str, first: Json, name: str):
    assert READER.places[0].session(path, first) == name  # type: ignore[union-attr]


def test_old_and_new_sessions_are_found(tmp_path: Path):
    old = "c0b1107e-0000-4000-8000-000000000002"
    root = tmp_path / "session-state"
    named = {SESSION: root / SESSION / "events.jsonl", old: root / f"{old}.jsonl"}
    (root / SESSION).mkdir(parents=True)
    for path in named.values():
        path.write_bytes(fixture("session"))
    places = Places((READER,), {"HOME": "/nobody", "COPILOT_HOME": str(tmp_path)})

    assert {session: [one.path for one in places.find(session)] for session in named} == {
        session: [path] for session, path in named.items()
    }
    assert not places.may_read(root / SESSION / "workspace.yaml")


@pytest.mark.parametrize(
    ("record", "is_copilot"),
    [
        ({"type": "session.start", "data": {}, "parentId": None}, True),
        ({"type": "hook.start", "data": {}, "parentId": "x"}, True),
        ({"type": "session.start", "data": {}}, False),
        ({"type": "session", "data": {}, "parentId": None}, False),
        ({"type": "user.message", "data": "x", "parentId": None}, False),
        ({"type": "user", "message": {}, "parentUuid": None}, False),
    ],
)
def test_an_event_tells_whose_file_it_is(record: Json, is_copilot: bool):
    assert copilot_cli.recognizes(record) is is_copilot


# Whatever comes


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
DATA = st.dictionaries(
    st.sampled_from(
        [
            "content",
            "transformedContent",
            "source",
            "attachments",
            "toolRequests",
            "reasoningText",
            "messageId",
            "model",
            "outputTokens",
            "toolCallId",
            "success",
            "result",
            "error",
            "arguments",
            "toolName",
            "prompt",
            "reason",
            "context",
            "summaryContent",
            "upToEventId",
            "newModel",
            "parentToolCallId",
            "isUserRequested",
            "serverTools",
        ]
    ),
    st.just(True) | st.lists(st.dictionaries(st.text(max_size=4), ANY, max_size=2)) | ANY,
    max_size=6,
)
EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["user.message", "assistant.message", "tool.execution_complete", "abort"]
        )
        | st.sampled_from(["tool.execution_start", "session.start", "session.compaction_complete"])
        | st.sampled_from(
            ["session.compaction_start", "system.notification", "tool.user_requested"]
        )
        | ANY
    },
    optional={"data": DATA | ANY, "id": ANY, "timestamp": ANY, "parentId": ANY, "agentId": ANY},
)


def built(reading: Reading) -> list[Any]:
    return [*reading.entries, *reading.rewound, reading.view]


@patient
@given(st.lists(EVENT, max_size=5))
def test_nothing_in_any_field_raises_and_every_event_is_kept(values: list[Json]):
    reading = of_lines(READER, jsonl(*values))

    built(reading)
    json.dumps(reading.state)
    held = {record.raw for record in reading.records}
    assert held >= {json.dumps(value).encode() for value in values}


@pytest.mark.parametrize("name", ["session", "after_rewind"])
def test_a_file_that_is_cut_anywhere_is_read_on(name: str):
    data = fixture(name)
    whole = of_lines(READER, data)
    for cut in range(0, len(data), 211):
        reading = of_lines(READER, data[:cut])
        complete = data[:cut].count(b"\n")
        assert len({r.raw for r in reading.records if r.raw != b"{}"}) >= complete
        rest = of_lines(READER, data[:cut], data[cut:])
        assert rest.records == whole.records
        assert rest.state == whole.state


@pytest.mark.parametrize("name", ["session", "before_rewind", "after_rewind"])
def test_reading_again_changes_nothing(name: str):
    once = rewound(fixture(name))
    again = rewound(fixture(name), fixture(name))

    assert again.records == once.records
    assert built(again) == built(once)


# Every real file


@pytest.mark.parametrize("path", shared("copilot-cli", "*.jsonl"))
def test_every_message_in_real_files_is_accounted_for(path: Path):
    native = [json.loads(line) for line in path.read_bytes().splitlines()]
    types = Counter(value["type"] for value in native)
    reading = of_lines(READER, path.read_bytes())

    assert reading.unknown == {}
    assert reading.skipped == []
    assert len(reading.records) == len(native)
    assert len(reading.messages) == (
        types["user.message"]
        + types["assistant.message"]
        + types["tool.execution_complete"]
        + types["system.notification"]
    )
    assert reading.prompts == [
        value["data"]["content"].strip() for value in native if value["type"] == "user.message"
    ]
    results = [result for message in reading.messages for result in message.results]
    called = {call.id for message in reading.messages for call in message.calls}
    assert len(results) == types["tool.execution_complete"]
    assert {result.call_id for result in results} <= called
    assert sum(result.is_error for result in results) == sum(
        value["data"].get("success") is False for value in native
    )
    assert all(message.model for message in reading.messages if message.role == "assistant")
    assert (reading.markers, reading.rewound) == ([], [])
