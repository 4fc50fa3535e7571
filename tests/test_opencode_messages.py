import json
import re
from pathlib import Path
from typing import Any

import pytest

from builders import SIGNATURE, Json, opencode_dict
from foldmark.messages import (
    Attachment,
    Block,
    Entry,
    Marker,
    Message,
    Reasoning,
    Summary,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)
from foldmark.render import record, text
from foldmark.replay import anthropic
from foldmark.transcripts import api
from foldmark.transcripts.opencode import messages as opencode

CASES: dict[str, list[Json]] = {
    case["name"]: case["messages"]
    for case in json.loads(
        (Path(__file__).parent / "fixtures" / "converter_cases.json").read_text()
    )
}
CALL = "[Tool call bash]: {}"
LONG = "[Tool result]: " + "x" * 2500
INTERRUPTED = "[Tool error]: [Tool execution was interrupted]"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(
            "same_model_bedrock_signature", "[Reasoning]: think\n[Assistant]: answer", id="01"
        ),
        pytest.param(
            "same_model_anthropic_signature_empty_separator",
            "[Reasoning]: t1\n[Reasoning]: t2\n[Assistant]: answer",
            id="03 signed by anthropic",
        ),
        pytest.param(
            "same_model_bedrock_signature_empty_separator",
            "[Reasoning]: t1\n[Reasoning]: t2\n[Assistant]: answer",
            id="03 signed by bedrock",
        ),
        pytest.param("redacted_with_text", "[Assistant]: answer", id="05"),
        pytest.param("redacted_only", "", id="06"),
        pytest.param("empty_thinking_with_signature", "[Assistant]: answer", id="07"),
        pytest.param("whitespace_reasoning", "[Assistant]: answer", id="08"),
        pytest.param("unsigned_reasoning", "[Reasoning]: hm\n[Assistant]: answer", id="09"),
        pytest.param("reasoning_only", "[Reasoning]: only think", id="reasoning only"),
        pytest.param(
            "reasoning_pending_tool", f"[Reasoning]: think\n{CALL}\n{INTERRUPTED}", id="14"
        ),
        pytest.param(
            "reasoning_running_tool",
            f'[Reasoning]: think\n[Tool call bash]: {{"a":1}}\n{INTERRUPTED}',
            id="15",
        ),
        pytest.param(
            "reasoning_completed_tool",
            '[Reasoning]: think\n[Tool call bash]: {"a":1}\n[Tool result]: OUT',
            id="13",
        ),
        pytest.param("completed_tool_long_output", f"{CALL}\n{LONG}", id="long output"),
        pytest.param(
            "completed_tool_pruned",
            f"{CALL}\n[Tool result]: [Old tool result content cleared]",
            id="23",
        ),
        pytest.param(
            "completed_tool_metadata_same_model", f"{CALL}\n[Tool result]: OUT", id="21 on a tool"
        ),
        pytest.param("errored_tool", f"{CALL}\n[Tool error]: nope", id="16"),
        pytest.param(
            "interrupted_tool_with_partial_output", f"{CALL}\n[Tool result]: partial", id="17"
        ),
        pytest.param(
            "completed_tool_image_attachment",
            f"{CALL}\n[Tool result]: img\n  [image/png 1 B a.png]",
            id="24 in a result",
        ),
        pytest.param(
            "completed_tool_pdf_attachment",
            f"{CALL}\n[Tool result]: pdf\n  [application/pdf 1 B a.pdf]",
            id="24 a document in a result",
        ),
        pytest.param("aborted_reasoning_only", "", id="18"),
        pytest.param("aborted_reasoning_and_text", "[Reasoning]: think\n[Assistant]: par", id="19"),
        pytest.param("api_error_message", "", id="20"),
        pytest.param("different_model", "[Reasoning]: think\n[Assistant]: answer", id="10 21"),
        pytest.param(
            "different_provider_same_model_id", "[Reasoning]: think\n[Assistant]: answer", id="11"
        ),
        pytest.param("different_model_whitespace_reasoning", "[Assistant]: answer", id="08 10"),
        pytest.param("marker_user", "", id="27 a marker says nothing"),
        pytest.param("step_start_only", "", id="a step without content"),
        pytest.param("user_ignored_text", "", id="25 ignored"),
        pytest.param("user_synthetic_text", "[Injected]: injected", id="25 synthetic"),
        pytest.param("user_empty_text", "", id="empty"),
        pytest.param("user_image", "[User]: look\n[User]: [image/png 1 B a.png]", id="24"),
        pytest.param(
            "user_plain_text_file", "[User]: see", id="a file whose text stands beside it"
        ),
        pytest.param("unknown_parts", "[Assistant]: answer", id="bookkeeping"),
        pytest.param("no_parts", "", id="no parts"),
    ],
)
def test_reasoning_and_tools_become_labelled_text(case: str, expected: str) -> None:
    entries = opencode.entries(CASES[case])
    told = [entry for entry in entries if isinstance(entry, Message)]

    assert record(told) == expected
    assert not re.search("BLOB|signature|metadata", repr(entries), re.IGNORECASE)


def test_each_case_of_the_fixture_is_tested() -> None:
    assert len(CASES) == 34


def test_02_the_provider_that_signed_makes_no_difference() -> None:
    told = [
        opencode.message(
            opencode_dict(
                "assistant",
                {"type": "reasoning", "text": "think", "metadata": {signer: {"signature": "S"}}},
                {"type": "text", "text": "answer"},
            )
        )
        for signer in ("bedrock", "anthropic", "openai", "nobody")
    ]

    assert {message.blocks for message in told} == {(Reasoning("think"), Text("answer"))}


def test_04_reasoning_then_empty_text_then_the_answer() -> None:
    record = opencode_dict(
        "assistant",
        {"type": "reasoning", "text": "t", "metadata": {"bedrock": {"signature": "S"}}},
        {"type": "text", "text": ""},
        {"type": "text", "text": "answer"},
    )

    assert anthropic([opencode.message(record)])[1]["content"] == [
        {"type": "text", "text": "[Reasoning]: t"},
        {"type": "text", "text": "answer"},
    ]


def test_21_native_metadata_on_any_part_stays_behind() -> None:
    native = {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": SIGNATURE}}
    record = opencode_dict(
        "assistant",
        {"type": "reasoning", "text": "t", "metadata": native},
        {"type": "text", "text": "x", "metadata": native},
        {
            "type": "tool",
            "callID": "c1",
            "tool": "bash",
            "metadata": native,
            "state": {"status": "completed", "input": {}, "output": "OUT", "metadata": native},
        },
    )

    assert SIGNATURE not in repr(opencode.message(record))
    assert "rs_1" not in json.dumps(anthropic([opencode.message(record)]))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param(
            {"type": "subtask", "prompt": "p"}, [Text(opencode.SUBTASK, True)], id="subtask"
        ),
        pytest.param(
            {"type": "skill", "name": "s", "content": "do"}, [Text("do", True)], id="skill"
        ),
        pytest.param({"type": "skill", "name": "s"}, [], id="skill without content"),
        pytest.param({"type": "agent", "name": "x"}, [], id="agent"),
        pytest.param({"type": "retry", "attempt": 1}, [], id="retry"),
        pytest.param(
            {"type": "file", "mime": "application/x-directory", "url": "file:///d"}, [], id="folder"
        ),
        pytest.param(
            {"type": "file", "mime": "application/pdf", "url": "file:///d.pdf"},
            [Attachment("application/pdf", "file:///d.pdf")],
            id="a file by its address",
        ),
        pytest.param({"type": "hologram"}, [Unknown("hologram")], id="a part of an unknown kind"),
        pytest.param({}, [Unknown("part")], id="a part of no kind"),
        pytest.param(
            {"type": "tool"},
            [ToolCall("", "", None), ToolResult("", opencode.INTERRUPTED, True)],
            id="C12 a tool part with nothing in it",
        ),
        pytest.param(
            {
                "type": "tool",
                "callID": "c1",
                "tool": "bash",
                "state": {
                    "status": "completed",
                    "input": {"n": 1},
                    "output": "secret",
                    "attachments": [{"type": "file", "mime": "image/png"}],
                    "time": {"compacted": 5},
                },
            },
            [ToolCall("c1", "bash", {"n": 1}), ToolResult("c1", opencode.CLEARED)],
            id="23 a cleared result loses its files too",
        ),
        pytest.param(
            {
                "type": "tool",
                "callID": "c1",
                "tool": "bash",
                "state": {
                    "status": "error",
                    "error": "aborted",
                    "metadata": {"interrupted": True, "output": None},
                },
            },
            [ToolCall("c1", "bash", None), ToolResult("c1", "aborted", True)],
            id="interrupted before there was output",
        ),
    ],
)
def test_each_part_is_read(part: Json, expected: list[Block]) -> None:
    assert list(opencode.message(opencode_dict("user", part)).blocks) == expected


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"error": None}, "", id="null"),
        pytest.param({"error": {"name": "MessageAbortedError"}}, "aborted", id="stopped"),
        pytest.param({"error": {"name": "APIError"}}, "APIError", id="failed"),
        pytest.param({"error": "odd"}, "error", id="of another type"),
    ],
)
def test_an_error_is_named(info: Json, expected: str) -> None:
    assert opencode.message(opencode_dict("assistant", **info)).error == expected


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (None, ""),
        ("soon", ""),
        (10**30, ""),
        (0, ""),
    ],
)
def test_times_are_iso(created: Any, expected: str) -> None:
    assert opencode.message(opencode_dict("user", created=created)).at == expected


def test_messages_come_in_the_order_of_time_then_id() -> None:
    given = [
        opencode_dict("user", id="msg_b", created=2),
        opencode_dict("user", id="msg_c", created=1),
        opencode_dict("user", id="msg_a", created=2),
    ]

    assert [entry.id for entry in opencode.entries(given)] == ["msg_c", "msg_a", "msg_b"]


def test_messages_without_time_stay_as_given() -> None:
    given = [opencode_dict("user", id="msg_b"), opencode_dict("user", id="msg_a", created=1)]

    assert [entry.id for entry in opencode.entries(given)] == ["msg_b", "msg_a"]


def said(words: str) -> Json:
    return {"type": "text", "text": words}


def marked(**more: Any) -> Json:
    return opencode_dict("user", {"type": "compaction", "auto": True, **more}, id="msg_m")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([marked()], [Marker("msg_m")], id="an orphan marker"),
        pytest.param(
            [marked(tail_start_id="msg_u")], [Marker("msg_m", "msg_u")], id="a marker with a tail"
        ),
        pytest.param(
            [
                marked(),
                opencode_dict(
                    "assistant",
                    {"type": "reasoning", "text": "thought"},
                    said("one"),
                    said(" "),
                    said("two"),
                    id="msg_s",
                    parentID="msg_m",
                    summary=True,
                    finish="stop",
                ),
            ],
            [Marker("msg_m"), Summary("msg_s", "msg_m", "one\ntwo", "stop")],
            id="a summary is its text, not its reasoning",
        ),
        pytest.param(
            [
                marked(),
                opencode_dict(
                    "assistant",
                    {"type": "tool", "callID": "c1"},
                    id="msg_s",
                    parentID="msg_m",
                    summary=True,
                    error={"name": "APIError"},
                ),
            ],
            [Marker("msg_m"), Summary("msg_s", "msg_m", "", "", "APIError", tool_call=True)],
            id="a summary that failed keeps why",
        ),
        pytest.param(
            [
                opencode_dict("user", said("q"), id="msg_u", summary={"diffs": []}),
                opencode_dict(
                    "assistant",
                    said("a"),
                    id="msg_a",
                    parentID="msg_u",
                    summary=True,
                    finish="stop",
                ),
            ],
            [Message("msg_u", "user", (Text("q"),)), Summary("msg_a", "msg_u", "a", "stop")],
            id="48 a summary under an ordinary question answers no marker",
        ),
        pytest.param(
            [
                marked(),
                opencode_dict("assistant", said("a"), id="msg_a", parentID="msg_m", summary="yes"),
            ],
            [Marker("msg_m"), Message("msg_a", "assistant", (Text("a"),))],
            id="50 only true is true",
        ),
    ],
)
def test_markers_and_summaries_are_told_from_messages(
    records: list[Json], expected: list[Entry]
) -> None:
    assert opencode.entries(records) == expected


def test_27_markers_and_failed_summaries_are_never_sent_and_a_summary_only_once() -> None:
    failed = opencode_dict(
        "assistant",
        said("half a summ"),
        id="msg_s",
        parentID="msg_m",
        summary=True,
        error={"name": "APIError"},
    )
    entries = opencode.entries([marked(), failed, opencode_dict("user", said("go on"), id="msg_u")])
    history = [entry for entry in entries if isinstance(entry, Message)]

    assert record(history) == "[User]: go on"
    assert json.dumps(anthropic(history, "old summary")).count("old summary") == 1
    assert "half a summ" not in json.dumps(anthropic(history, "old summary"))


def test_31_the_original_stays_in_the_log_byte_for_byte() -> None:
    source = opencode_dict(
        "assistant",
        {"type": "reasoning", "text": "t", "metadata": {"bedrock": {"signature": SIGNATURE}}},
    )
    raw = json.dumps(source, indent=3).encode()

    assert api.record(source, raw).raw is raw


def test_the_log_keeps_each_message_under_its_own_id() -> None:
    reply = opencode_dict(
        "assistant", said("s"), id="msg_s", created=5, parentID="msg_m", summary=True
    )
    prompt = opencode_dict("user", said("do it"), id="msg_u")

    marker = api.record(marked(tail_start_id="msg_u"), b"1")
    summary = api.record(reply, b"2")
    message = api.record(prompt, b"3")

    assert (marker.kind, marker.id, marker.first_kept) == ("marker", "msg_m", "msg_u")
    assert (summary.kind, summary.id, summary.parent) == ("summary", "msg_s", "msg_m")
    assert (message.kind, message.id, message.prompt, message.chars) == (
        "message",
        "msg_u",
        "do it",
        5,
    )
    assert api.summary("7", "6", reply) == Summary("7", "6", "s", at="1970-01-01T00:00:00.005Z")
    assert text(api.message("8", [prompt])) == "[User]: do it"
    assert api.message("8", [prompt]).id == "8"
