# ruff: noqa: ASYNC240 - a test has its event loop to itself
import json
from pathlib import Path
from typing import Any

import pytest

from foldmark.messages import (
    Attachment,
    Message,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)
from foldmark.store.rows import decompress
from foldmark.store.store import Store
from foldmark.transcripts import claude_code
from foldmark.transcripts.record import Record
from transcript_builder import (
    READER,
    SESSION,
    Json,
    assistant,
    boundary,
    jsonl,
    line,
    log_of,
    messages,
    pairs,
    queued,
    read_in,
    rows,
    seen_by_a_model,
    summary,
    told,
    tool_result,
    turns,
    user,
)

FIXTURES = Path(__file__).parent / "fixtures" / "claude_code"
SHARED = Path(__file__).parents[2] / "shared" / "transcripts"
OTHERS = sorted(
    [
        *(SHARED / "real" / "claude-code").rglob("*.jsonl"),
        *(SHARED / "claude-code" / "synthetic").glob("*.jsonl"),
    ]
)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"


def read(record: Json) -> Record:
    return claude_code.read(record, json.dumps(record).encode())


def built(*records: Json) -> Message:
    return READER.message("m", records)


def image(data: str | None = PNG, kind: str = "image") -> Json:
    source = {"type": "base64", "media_type": "image/png"} | ({"data": data} if data else {})
    return {"type": kind, "source": source}


async def imported(store: Store, name: str) -> None:
    await read_in(store, FIXTURES / f"{name}.jsonl")


# The hand-made transcripts, each with what must come of it


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("thinking_kinds", ["U:start", "A:hello", "U:again", "A:hi"]),
        ("parallel_tools", ["U:go", "A:two calls", "A:done"]),
        ("compact_ok", ["U:one", "A:1", "U:two", "A:2"]),
        ("compact_orphan_boundary", ["U:one", "A:1", "U:two", "A:2"]),
        ("compact_orphan_then_ok", ["U:one", "A:1", "U:two", "A:2"]),
        ("compact_blank_summary", ["U:one", "A:1", "U:two", "A:2"]),
        ("compact_preserved_before", ["U:one", "A:1", "U:two", "A:2", "U:three", "A:3"]),
        ("compact_preserved_after", ["U:one", "A:1", "U:two", "A:2", "U:three", "A:3"]),
        ("rewind", ["U:one", "A:1", "U:retry", "A:good"]),
        ("concat_and_truncated", ["U:one", "A:1", "U:two", "A:2"]),
        ("sidechain_inline", ["U:one", "A:done"]),
        ("missing_parent", ["U:one", "A:1", "U:two", "A:2"]),
        ("images_errors_spill", ["U:look", "A:ok"]),
        ("pending_own_call", ["U:please compact"]),
        ("fork_parent", ["U:one", "A:1"]),
        ("fork_child", ["U:one", "A:1", "U:branch", "A:b"]),
    ],
)
async def test_the_live_history_of(store: Store, name: str, expected: list[str]):
    await imported(store, name)

    assert await told(store) == expected


@pytest.mark.parametrize(
    ("name", "view"),
    [
        pytest.param("compact_ok", ["SUMMARY", "U:two", "A:2"], id="a summary hides what it folds"),
        pytest.param("compact_orphan_then_ok", ["SUMMARY", "U:two", "A:2"], id="the second stands"),
        pytest.param(
            "compact_orphan_boundary",
            ["U:one", "A:1", "U:two", "A:2"],
            id="an orphan hides nothing",
        ),
        pytest.param(
            "compact_blank_summary", ["U:one", "A:1", "U:two", "A:2"], id="a blank one neither"
        ),
        pytest.param(
            "compact_preserved_before",
            ["SUMMARY", "U:two", "A:2", "U:three", "A:3"],
            id="a tail that stands before the marker",
        ),
        pytest.param(
            "compact_preserved_after",
            ["SUMMARY", "U:two", "A:2", "U:three", "A:3"],
            id="a tail that is written again after it",
        ),
    ],
)
async def test_a_compaction_of_claude_codes_counts_only_with_a_usable_summary(
    store: Store, name: str, view: list[str]
):
    await imported(store, name)

    assert await seen_by_a_model(store) == view


async def test_a_summary_that_stands_is_the_one_that_was_written(store: Store):
    await imported(store, "compact_orphan_then_ok")
    standing = await (await log_of(store)).standing()

    assert standing.boundary is not None
    assert standing.boundary.marker.id == "00000000-0000-4000-8000-000000000004"
    assert standing.boundary.summary.text == (
        "This session is being continued from a previous conversation that ran out of context. "
        "Summary: parser half ported."
    )
    assert [orphan.marker.id[-1] for orphan in standing.orphans] == ["3"]


async def test_thinking_of_every_kind_is_read(store: Store):
    await imported(store, "thinking_kinds")
    reasoning = [
        block
        for message in await messages(store)
        for block in message.blocks
        if isinstance(block, Reasoning)
    ]

    assert reasoning == [Reasoning("plan secretly"), Reasoning("", redacted=True), Reasoning("")]


async def test_results_of_parallel_calls_are_all_found(store: Store):
    await imported(store, "parallel_tools")

    assert pairs(await messages(store)) == {"toolu_A": "out A", "toolu_B": "out B"}
    assert [len(message.calls) for message in await messages(store)] == [0, 2, 0, 0, 0]


async def test_a_call_under_way_is_pending(store: Store):
    await imported(store, "pending_own_call")

    assert pairs(await messages(store)) == {"toolu_OWN": "pending"}


async def test_a_rewound_branch_stays_in_the_log(store: Store):
    await imported(store, "rewind")

    assert await told(store, live=False) == [
        *("U:one", "A:1", "U:abandoned", "A:bad", "U:retry", "A:good")
    ]


async def test_glued_records_are_parted_and_a_torn_tail_waits(store: Store):
    path = FIXTURES / "concat_and_truncated.jsonl"
    source = await read_in(store, path)

    assert source.skipped == 0
    assert path.read_bytes()[source.consumed :].startswith(b'{"parentUuid":"x"')


async def test_a_sidechain_is_a_session_of_its_own(store: Store):
    await imported(store, "sidechain_inline")

    assert (await store.overview(SESSION)).children == [f"{SESSION}/sidechain"]
    assert await told(store, f"{SESSION}/sidechain") == ["U:sub job", "A:sub answer"]


async def test_images_errors_and_spilled_output_are_kept(store: Store):
    await imported(store, "images_errors_spill")
    found = await messages(store)
    results = [block for message in found for block in message.results]

    assert found[0].blocks == (Attachment("image/png", "", 69), Text("look"))
    assert results[0] == ToolResult("toolu_R", "", attachments=(Attachment("image/png", "", 69),))
    assert results[1] == ToolResult("toolu_E", "Error: exit 1", is_error=True)
    assert "Full output saved to: /home/dev/w/.claude/tool-results/toolu_P.txt" in results[2].text


async def test_noise_is_no_prompt(store: Store):
    await imported(store, "noise")

    assert [m.prompt for m in await messages(store) if m.prompt] == ["real question"]
    assert [m.error for m in await messages(store) if m.role == "assistant"] == [
        "no_response",
        "rate_limit",
    ]


async def test_a_fork_keeps_what_it_shares_with_its_parent_in_both(store: Store):
    await read_in(store, FIXTURES / "fork_parent.jsonl", "parent")
    await read_in(store, FIXTURES / "fork_child.jsonl", "child")

    assert await told(store, "parent") == ["U:one", "A:1"]
    assert await told(store, "child") == ["U:one", "A:1", "U:branch", "A:b"]


# What a person typed


@pytest.mark.parametrize(
    ("content", "prompt"),
    [
        pytest.param("do it", "do it", id="words"),
        pytest.param([{"type": "text", "text": "do"}, {"type": "text", "text": "it"}], "do\nit"),
        pytest.param([image(), {"type": "text", "text": "look"}], "look", id="beside an image"),
        pytest.param("  \n", "", id="blank"),
        pytest.param("<system-reminder>x</system-reminder>do it", "do it", id="after a reminder"),
        pytest.param(
            "do <system-reminder>x\ny</system-reminder> it <ide_selection>z</ide_selection>",
            "do\nit",
            id="around what was put in",
        ),
        pytest.param('<ide_opened_file path="x">y</ide_opened_file>', "", id="a tag with more"),
        pytest.param("<command-name>/clear</command-name>\n<command-args></command-args>", ""),
        pytest.param("<bash-input>ls</bash-input>", "", id="bash input"),
        pytest.param("<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>", "", id="output"),
        pytest.param("<local-command-stdout>x</local-command-stdout>", "", id="command output"),
        pytest.param("<task-notification>x</task-notification>", "", id="notification"),
        pytest.param("<teammate-message from='x'>y</teammate-message>", "", id="teammate"),
        pytest.param("[Request interrupted by user for tool use]", "", id="interrupted"),
        pytest.param("Caveat: The messages below were generated by the user while x", ""),
        pytest.param("Stop hook feedback:\n- x", "", id="hook"),
        pytest.param("This session is being continued from a previous conversation", ""),
        pytest.param("<system-reminder>cut off", "", id="a tag that never ends"),
        pytest.param("<b>bold</b> words", "<b>bold</b> words", id="other tags are words"),
        pytest.param("a < b > c", "a < b > c", id="comparisons are words"),
        pytest.param([{"type": "tool_result", "tool_use_id": "x", "content": "out"}], ""),
        pytest.param([{"type": "tool_result", "content": "out"}, "typed"], "typed", id="a string"),
    ],
)
def test_a_prompt_is_what_a_person_typed(content: Any, prompt: str):
    assert read(user("u", content)).prompt == prompt
    assert built(user("u", content)).prompt == prompt


def test_words_that_are_no_prompt_stay_in_the_message():
    message = built(user("u", "do <system-reminder>hidden</system-reminder> it"))

    assert message.blocks == (
        Text("do"),
        Text("<system-reminder>hidden</system-reminder>", injected=True),
        Text("it"),
    )


def test_a_meta_line_is_no_prompt():
    assert read(user("u", "the body of a skill", isMeta=True)).prompt == ""
    assert built(user("u", "a skill", isMeta=True)).blocks == (Text("a skill", injected=True),)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param("also this", "also this", id="words"),
        pytest.param([{"type": "text", "text": "also"}, image()], "also", id="blocks"),
        pytest.param("<task-notification>done</task-notification>", "", id="notification"),
        pytest.param(None, "", id="null"),
    ],
)
def test_what_was_typed_while_the_assistant_was_busy_is_a_prompt(prompt: Any, expected: str):
    record = read(queued("q", prompt))

    assert (record.kind, record.role, record.prompt) == ("message", "user", expected)


def test_an_assistant_types_no_prompt():
    record = read(assistant("a", "<system-reminder>words</system-reminder>"))

    assert record.prompt == ""
    assert built(assistant("a", "<b>x</b>")).blocks == (Text("<b>x</b>"),)


# Kinds of records


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        pytest.param(user("u", "x"), "message", id="user"),
        pytest.param(user("u", "x", isVisibleInTranscriptOnly=True), "message", id="shown only"),
        pytest.param(assistant("a", "x"), "message", id="assistant"),
        pytest.param(queued("q", "x"), "message", id="queued"),
        pytest.param(boundary("m"), "marker", id="boundary"),
        pytest.param(summary("s", "m"), "summary", id="summary"),
        pytest.param(user("u", "x", isCompactSummary="true"), "message", id="no true summary"),
        pytest.param(line("system", "x", subtype="microcompact_boundary"), "other", id="micro"),
        pytest.param(line("system", "x", subtype="api_error"), "other", id="api error"),
        pytest.param(
            line("attachment", "x", attachment={"type": "hook_success"}), "other", id="hook"
        ),
        pytest.param(line("progress", "x", data={}), "other", id="progress"),
        pytest.param({"type": "summary", "summary": "Title", "leafUuid": "x"}, "other", id="title"),
        pytest.param({"type": "file-history-snapshot", "messageId": "x"}, "other", id="snapshot"),
        pytest.param({"type": "invented-tomorrow", "uuid": "x"}, "other", id="unknown"),
        pytest.param({"type": ["user"], "uuid": "x"}, "other", id="a type that is no string"),
        pytest.param({}, "other", id="an empty object"),
        pytest.param(line("user", "x"), "other", id="no message"),
        pytest.param(line("assistant", "x", message=None), "other", id="a null message"),
        pytest.param(line("user", "x", message=[1]), "other", id="a list for a message"),
    ],
)
def test_a_record_is_of_the_kind(record: Json, kind: str):
    assert read(record).kind == kind


def test_what_a_record_tells_of_itself_is_taken():
    message = user("u1", "hi", "a0")
    record = read(message)

    assert record == Record(
        kind="message",
        id="u1",
        raw=json.dumps(message).encode(),
        parent="a0",
        role="user",
        at=message["timestamp"],
        prompt="hi",
        chars=2,
        project="/home/dev/demo",
        branch="main",
    )


@pytest.mark.parametrize(
    ("more", "thread"),
    [
        ({"isSidechain": True}, "sidechain"),
        ({"isSidechain": True, "agentId": "7f"}, "agent-7f"),
        ({"isSidechain": True, "agentId": 7}, "sidechain"),
        ({"isSidechain": False, "agentId": "7f"}, ""),
        ({"isSidechain": "yes"}, ""),
    ],
)
def test_a_sidechain_has_a_thread(more: Json, thread: str):
    assert read(user("u", "x") | more).thread == thread


@pytest.mark.parametrize("uuid", [None, "", 7, [7], {"x": 1}])
def test_a_record_without_a_name_is_named_by_its_bytes(uuid: Any):
    record = user("u", "x") | {"uuid": uuid}

    assert read(record).id == read(dict(record)).id
    assert read(record).id.startswith("~")
    assert read(record).id != read(record | {"more": 1}).id


@pytest.mark.parametrize(
    ("record", "title"),
    [
        ({"type": "custom-title", "customTitle": "Mine", "sessionId": "s"}, "Mine"),
        ({"type": "ai-title", "aiTitle": "Its", "sessionId": "s"}, "Its"),
        ({"type": "summary", "summary": "Old", "leafUuid": "s"}, "Old"),
        ({"type": "ai-title", "aiTitle": None, "sessionId": "s"}, ""),
        (user("u", "words"), ""),
    ],
)
def test_a_title_is_taken_from_where_claude_code_keeps_it(record: Json, title: str):
    assert read(record).title == title


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        (None, ""),
        ({}, ""),
        ({"preservedSegment": {"headUuid": "h"}}, "h"),
        ({"preservedMessages": {"uuids": ["x", "y"]}, "preservedSegment": {"headUuid": "h"}}, "x"),
        ({"preservedMessages": {"uuids": []}, "preservedSegment": {"headUuid": "h"}}, "h"),
        ({"preservedMessages": {"uuids": [7]}}, ""),
        ({"preservedMessages": "?", "preservedSegment": ["?"]}, ""),
    ],
)
def test_a_marker_names_the_first_message_it_keeps(metadata: Any, kept: str):
    assert read(boundary("m") | {"compactMetadata": metadata}).first_kept == kept


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(summary("s", "m", " done "), Summary("s", "m", "done", "end_turn"), id="text"),
        pytest.param(summary("s", "m", " \n"), Summary("s", "m", "", "end_turn"), id="blank"),
        pytest.param(
            user("s", [{"type": "thinking", "thinking": "x"}], isCompactSummary=True),
            Summary("s", "m", "", "end_turn"),
            id="reasoning is not text",
        ),
        pytest.param(
            user("s", [{"type": "tool_use", "id": "t", "name": "n"}], isCompactSummary=True),
            Summary("s", "m", "", "end_turn", tool_call=True),
            id="a tool call",
        ),
        pytest.param(
            summary("s", "m", "API Error") | {"isApiErrorMessage": True},
            Summary("s", "m", "API Error", "end_turn", error="api_error"),
            id="an error",
        ),
    ],
)
def test_a_summary_is_read_for_the_same_judgement_as_ours(record: Json, expected: Summary):
    found = READER.summary("s", "m", record | {"timestamp": ""})

    assert found == expected


# Messages and their blocks


def test_the_lines_of_a_message_are_one_message():
    first = assistant("a1", {"type": "thinking", "thinking": "hm"}, message="msg_1")
    second = assistant("a2", "words", message="msg_1")
    third = assistant("a3", {"type": "tool_use", "id": "t", "name": "n", "input": {}})

    assert built(first, second, third) == Message(
        id="m",
        role="assistant",
        blocks=(Reasoning("hm"), Text("words"), ToolCall("t", "n", {})),
        at=first["timestamp"],
        model="claude-opus-4-8",
    )


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        pytest.param(None, (), id="null"),
        pytest.param([], (), id="no block"),
        pytest.param("", (Text(""),), id="an empty string"),
        pytest.param([{"type": "text", "text": ""}], (Text(""),), id="an empty text"),
        pytest.param([{"type": "text"}], (Text(""),), id="a text without text"),
        pytest.param([{"type": "text", "text": None}], (Text(""),), id="a null text"),
        pytest.param([None, "x", 7], (Text("x"), Text("7")), id="no blocks in a list"),
        pytest.param({"type": "text", "text": "x"}, (Text("x"),), id="a block without a list"),
        pytest.param(7, (Text("7"),), id="a number"),
        pytest.param([{"type": "hologram"}], (Unknown("hologram"),), id="unknown"),
        pytest.param([{"text": 1}], (Unknown("block"),), id="no type"),
        pytest.param([{"type": ["x"]}], (Unknown("block"),), id="a type that is no string"),
        pytest.param([{"type": "thinking"}], (Reasoning(""),), id="thinking without words"),
        pytest.param(
            [{"type": "thinking", "thinking": "x", "signature": ""}],
            (Reasoning("x"),),
            id="unsigned",
        ),
        pytest.param(
            [{"type": "redacted_thinking", "data": "x"}],
            (Reasoning("", redacted=True),),
            id="redacted",
        ),
        pytest.param([{"type": "tool_use"}], (ToolCall("", "", None),), id="a call of nothing"),
        pytest.param(
            [{"type": "tool_use", "id": None, "name": "n", "input": "words"}],
            (ToolCall("", "n", "words"),),
            id="a string for an input",
        ),
        pytest.param(
            [{"type": "tool_use", "id": "t", "name": "n", "input": [1]}],
            (ToolCall("t", "n", [1]),),
            id="a list for an input",
        ),
        pytest.param([{"type": "tool_result"}], (ToolResult("", ""),), id="a result of nothing"),
        pytest.param(
            [{"type": "tool_result", "tool_use_id": "", "content": None, "is_error": "yes"}],
            (ToolResult("", ""),),
            id="an empty id",
        ),
        pytest.param(
            [{"type": "tool_result", "tool_use_id": "t", "content": {"exit": 1}}],
            (ToolResult("t", '{"exit":1}'),),
            id="an object for a result",
        ),
        pytest.param(
            [{"type": "tool_result", "tool_use_id": "t", "content": ["a", {"text": "b"}, 3]}],
            (ToolResult("t", "a\nb\n3"),),
            id="a mixed result",
        ),
        pytest.param([image()], (Attachment("image/png", "", 69),), id="image"),
        pytest.param([image(None)], (Attachment("image/png"),), id="image without bytes"),
        pytest.param([{"type": "image"}], (Attachment("image/*"),), id="image without a source"),
        pytest.param([{"type": "image", "source": "x"}], (Attachment("image/*"),), id="odd source"),
        pytest.param(
            [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}],
            (Attachment("image/*"),),
            id="image elsewhere",
        ),
        pytest.param(
            [{"type": "document", "title": "a.pdf", "source": {"data": "QUJD"}}],
            (Attachment("application/pdf", "a.pdf", 3),),
            id="document",
        ),
    ],
)
def test_content_of_any_shape_is_read(content: Any, blocks: Any):
    record = line("assistant", "a", message={"id": "m", "content": content})

    assert built(record).blocks == blocks
    assert read(record).kind == "message"


def test_a_message_may_be_a_bare_string():
    assert built(line("user", "u", message="hi")).blocks == (Text("hi"),)


@pytest.mark.parametrize(
    ("record", "error"),
    [
        pytest.param(assistant("a", "fine"), "", id="an answer"),
        pytest.param(
            assistant("a", "No response requested.", model="<synthetic>"), "no_response", id="none"
        ),
        pytest.param(
            assistant("a", "API Error: 429", isApiErrorMessage=True, error="rate_limit"),
            "rate_limit",
            id="a named error",
        ),
        pytest.param(
            assistant("a", "API Error", isApiErrorMessage=True, error={"status": 500}),
            "api_error",
            id="an error that is an object",
        ),
        pytest.param(user("u", "x", isApiErrorMessage=True), "", id="a person makes none"),
    ],
)
def test_an_answer_that_is_none_is_told_apart(record: Json, error: str):
    assert built(record).error == error


@pytest.mark.parametrize(
    "record",
    [
        user("u", "x"),
        assistant("a", "x"),
        boundary("m"),
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        {"type": "queue-operation", "sessionId": "x"},
    ],
)
def test_claude_codes_records_are_recognized(record: Json):
    assert claude_code.recognizes(record)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({}, id="an empty object"),
        pytest.param({"role": "user", "content": "x"}, id="an API message"),
        pytest.param({"type": "session_meta", "payload": {}, "timestamp": "x"}, id="Codex"),
        pytest.param({"type": "message", "id": "x", "parentId": "y", "message": {}}, id="pi"),
        pytest.param({"type": "user", "content": "x"}, id="a user of somebody else's"),
        pytest.param({"type": [], "uuid": "x"}, id="a type that is no string"),
    ],
)
def test_what_others_write_is_not(record: Json):
    assert not claude_code.recognizes(record)


def test_a_tool_input_nested_a_little_is_no_trouble():
    record = assistant("a", {"type": "tool_use", "id": "t", "name": "n", "input": nested(200)})

    assert read(record).chars > 200


def test_a_tool_input_nested_as_deep_as_json_is_read_is_no_trouble():
    record = assistant("a", {"type": "tool_use", "id": "t", "name": "n", "input": nested(1010)})

    assert claude_code.read(record, b"{}").kind == "message"
    assert built(record).calls[0].name == "n"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


# Whole sessions


async def test_records_nobody_knows_are_kept_in_the_log(
    store: Store, tmp_path: Path, database: Path
):
    odd = {"type": "invented-tomorrow", "uuid": "x", "payload": [1, 2]}
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(*turns(1, 1), odd, *turns(2, 2, "a1")))
    await read_in(store, path)

    kinds = [(row[4], row[3]) for row in rows(database)]
    assert kinds == [
        *(
            ("u1", "message"),
            ("a1", "message"),
            ("x", "other"),
            ("u2", "message"),
            ("a2", "message"),
        )
    ]
    assert json.dumps(odd).encode() in {row[0] for row in kept(database)}
    assert await told(store) == ["U:ask 1", "A:answer 1", "U:ask 2", "A:answer 2"]


async def test_one_odd_record_never_blocks_the_rest(store: Store, tmp_path: Path):
    odd = [
        user("o1", None),
        user("o2", ""),
        assistant("o3"),
        assistant("o4", "  "),
        line("assistant", "o5", message={"content": [{"type": "tool_use", "input": "?"}]}),
        tool_result("o6", "", content=[]),
        line("user", "o7", message=7),
        {**user("o8", "x"), "timestamp": 8, "cwd": 8, "gitBranch": None, "parentUuid": 8},
        user("o9", "x" * 20_000),
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(*turns(1, 1), *odd, *turns(2, 2, "a1")))
    source = await read_in(store, path)

    assert source.skipped == 0
    assert (await told(store))[:2] == ["U:ask 1", "A:answer 1"]
    assert (await told(store))[-2:] == ["U:ask 2", "A:answer 2"]


async def test_calls_and_results_meet_across_every_session_of_the_hand_made_set(store: Store):
    for path in sorted(FIXTURES.glob("*.jsonl")):
        await read_in(store, path, path.stem)
    found = {path.stem: await messages(store, path.stem) for path in FIXTURES.glob("*.jsonl")}

    pending = [
        call for some in found.values() for call, out in pairs(some).items() if out == "pending"
    ]
    assert pending == ["toolu_OWN"]


@pytest.mark.skipif(not OTHERS, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
async def test_every_line_of_a_real_session_is_accounted_for(
    store: Store, database: Path, path: Path
):
    source = await read_in(store, path)
    before = rows(database)
    raws = {raw for (raw,) in kept(database)}
    skipped = {number for number, _ in source.places}

    for number, text in enumerate(path.read_bytes()[: source.consumed].split(b"\n"), start=1):
        whole = text.strip() in raws
        assert whole or not text.strip() or number in skipped or in_pieces(text.strip(), raws)
    assert source.skipped == len(source.places) or source.skipped > 20
    assert len(path.read_bytes()) - source.consumed < 1000  # a torn tail at most

    await read_in(store, path)
    assert rows(database) == before


def kept(database: Path) -> list[tuple[bytes]]:
    return [(decompress(row[9]),) for row in rows(database)]


def in_pieces(text: bytes, raws: set[bytes]) -> bool:
    """Tell whether a line is several records that are all in the log."""
    if not text:
        return True
    starts = [at for at in range(1, len(text) + 1) if at == len(text) or text[at : at + 1] == b"{"]
    return any(text[:at] in raws and in_pieces(text[at:].strip(), raws) for at in starts)
