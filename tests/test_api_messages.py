import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import HISTORIES, SIGNATURE, Json, call_dict, patient, result_dict, thinking_dict
from foldmark import replay
from foldmark.errors import InvalidRequest
from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)
from foldmark.reasoning import strip
from foldmark.render import text
from foldmark.transcripts import api
from foldmark.transcripts.api import check, shape

READER = api.READER
PIXEL = "iVBORw0KGgo="  # 8 bytes
EMPTY: Json = {}
REDACTED = Reasoning("", redacted=True)


def read(record: Json) -> Message:
    return READER.message("m", [record])


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param({"role": "user", "content": "hi"}, "anthropic", id="plain words"),
        pytest.param({"role": "assistant", "content": None}, "anthropic", id="C13 null content"),
        pytest.param({"role": "assistant", "content": []}, "anthropic", id="C13 no content"),
        pytest.param({"role": "user"}, "anthropic", id="C13 content missing"),
        pytest.param(
            {"role": "assistant", "content": [thinking_dict(), call_dict()]},
            "anthropic",
            id="Anthropic blocks",
        ),
        pytest.param(
            {"type": "message", "role": "assistant", "content": "x", "stop_reason": "end_turn"},
            "anthropic",
            id="an answer of Anthropic's API",
        ),
        pytest.param({"role": "user", "content": [{"text": "hi"}]}, "converse", id="Converse"),
        pytest.param({"role": "system", "content": "x"}, "openai", id="OpenAI system"),
        pytest.param({"role": "developer", "content": "x"}, "openai", id="OpenAI developer"),
        pytest.param({"role": "tool", "tool_call_id": "c", "content": "x"}, "openai", id="tool"),
        pytest.param({"role": "assistant", "tool_calls": []}, "openai", id="OpenAI calls"),
        pytest.param(
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            "openai",
            id="OpenAI image",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
            "responses",
            id="Responses message without a type",
        ),
        pytest.param(
            {"type": "message", "role": "user", "content": "x"}, "responses", id="Responses message"
        ),
        pytest.param({"type": "function_call", "name": "x"}, "responses", id="Responses call"),
        pytest.param({"type": "reasoning", "summary": []}, "responses", id="Responses reasoning"),
        pytest.param({"role": "model", "parts": []}, "gemini", id="Gemini"),
        pytest.param({"parts": [{"text": "x"}]}, "gemini", id="Gemini without a role"),
        pytest.param({"info": {"role": "user"}, "parts": []}, "opencode", id="opencode"),
        pytest.param({}, "", id="empty"),
        pytest.param({"content": "x"}, "", id="no role"),
        pytest.param({"role": "critic", "content": "x"}, "", id="unheard-of role"),
        pytest.param({"role": ["user"], "content": "x"}, "", id="role of another type"),
        pytest.param({"type": "user", "message": {}}, "", id="a line of a session file"),
        pytest.param({"role": "critic", "parts": []}, "", id="parts with an unheard-of role"),
    ],
)
def test_shapes_are_told_apart(record: Json, expected: str) -> None:
    assert shape(record) == expected
    assert bool(shape(record)) is bool(expected)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({"role": "assistant", "content": [thinking_dict("hm")]}, id="Anthropic"),
        pytest.param(
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": SIGNATURE}}}
                ],
            },
            id="Converse",
        ),
        pytest.param(
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": SIGNATURE,
            },
            id="Responses summary",
        ),
        pytest.param(
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "short"}],
                "content": [{"type": "reasoning_text", "text": "hm"}],
            },
            id="Responses content, which says more",
        ),
        pytest.param({"role": "assistant", "reasoning_content": "hm"}, id="reasoning_content"),
        pytest.param({"role": "assistant", "reasoning": "hm"}, id="reasoning"),
        pytest.param(
            {"role": "assistant", "reasoning": {"summary": [{"text": "hm"}]}}, id="reasoning object"
        ),
        pytest.param(
            {
                "role": "assistant",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "h", "signature": SIGNATURE},
                    {"type": "reasoning.summary", "summary": "m"},
                    {"type": "reasoning.encrypted", "data": SIGNATURE},
                ],
            },
            id="reasoning_details",
        ),
        pytest.param(
            {
                "role": "assistant",
                "reasoning": "hm",
                "reasoning_content": "hm",
                "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
            },
            id="one thought given three times",
        ),
        pytest.param(
            {"role": "model", "parts": [{"text": "hm", "thought": True}]}, id="Gemini thought"
        ),
        pytest.param(
            {"info": {"role": "assistant"}, "parts": [{"type": "reasoning", "text": "hm"}]},
            id="opencode",
        ),
        pytest.param(
            {"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}]},
            id="a reasoning part",
        ),
    ],
)
def test_30_readable_reasoning_is_recognized_in_every_dress(record: Json) -> None:
    assert read(record).role == "assistant"
    assert read(record).blocks == (Reasoning("hm"),)
    assert SIGNATURE not in repr(read(record))


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": SIGNATURE}]},
            id="Anthropic",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [{"reasoningContent": {"redactedContent": SIGNATURE}}],
            },
            id="Converse",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [{"reasoningContent": {"redactedReasoning": {"data": SIGNATURE}}}],
            },
            id="Converse in older words",
        ),
        pytest.param({"type": "reasoning", "encrypted_content": SIGNATURE}, id="Responses"),
        pytest.param(
            {
                "role": "assistant",
                "reasoning_details": [{"type": "reasoning.encrypted", "data": SIGNATURE}],
            },
            id="reasoning_details",
        ),
        pytest.param(
            {
                "info": {"role": "assistant"},
                "parts": [
                    {
                        "type": "reasoning",
                        "text": "",
                        "metadata": {"bedrock": {"redactedData": SIGNATURE}},
                    }
                ],
            },
            id="opencode",
        ),
    ],
)
def test_30_redacted_reasoning_is_recognized_in_every_dress(record: Json) -> None:
    assert read(record).blocks == (REDACTED,)
    assert strip(read(record)) is None
    assert SIGNATURE not in repr(read(record))


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"type": "thinking", "thinking": "x"}, id="signature missing"),
        pytest.param({"type": "thinking", "thinking": "x", "signature": ""}, id="signature empty"),
        pytest.param({"type": "thinking", "thinking": "x", "signature": "s" * 24}, id="short"),
    ],
)
def test_c02_thinking_is_read_whatever_its_signature(block: Json) -> None:
    assert read({"role": "assistant", "content": [block]}).blocks == (Reasoning("x"),)


@pytest.mark.parametrize(
    ("record", "role", "expected"),
    [
        # Anthropic
        pytest.param(
            {"role": "assistant", "content": ["a", {"type": "text", "text": "b"}, call_dict()]},
            "assistant",
            [Text("a"), Text("b"), ToolCall("c1", "bash", {"command": "ls"})],
            id="Anthropic call",
        ),
        pytest.param(
            {
                "role": "user",
                "content": [
                    result_dict(),
                    {"type": "tool_result", "tool_use_id": "c2", "is_error": True},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c3",
                        "content": [
                            {"type": "text", "text": "a"},
                            {
                                "type": "image",
                                "source": {
                                    "type": "base64",
                                    "media_type": "image/png",
                                    "data": PIXEL,
                                },
                            },
                        ],
                    },
                ],
            },
            "user",
            [
                ToolResult("c1", "OUT"),
                ToolResult("c2", "", is_error=True),
                ToolResult("c3", "a", False, (Attachment("image/png", "", 8),)),
            ],
            id="Anthropic results",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "web_search_tool_result",
                        "tool_use_id": "s1",
                        "content": [
                            {
                                "type": "web_search_result",
                                "url": "u",
                                "encrypted_content": SIGNATURE,
                            }
                        ],
                    }
                ],
            },
            "assistant",
            [ToolResult("s1", '{"type":"web_search_result","url":"u"}')],
            id="a result that holds encrypted content",
        ),
        pytest.param(
            {
                "role": "user",
                "content": [
                    {"type": "document", "title": "d.pdf", "source": {"data": PIXEL}},
                    {"type": "image", "source": {"type": "url", "url": "http://x"}},
                    {"type": "video"},
                ],
            },
            "user",
            [Attachment("application/pdf", "d.pdf", 8), Attachment("image/*"), Unknown("video")],
            id="Anthropic files",
        ),
        # Converse
        pytest.param(
            {
                "role": "assistant",
                "content": [
                    {"text": "a"},
                    {"toolUse": {"toolUseId": "c1", "name": "bash", "input": {"n": 1}}},
                    {"cachePoint": {"type": "default"}},
                    {"citationsContent": {"content": [{"text": "cited"}], "citations": []}},
                ],
            },
            "assistant",
            [Text("a"), ToolCall("c1", "bash", {"n": 1}), Text("cited")],
            id="Converse call",
        ),
        pytest.param(
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "c1",
                            "status": "error",
                            "content": [
                                {"text": "a"},
                                {"json": {"n": 1}},
                                {"image": {"format": "png", "source": {"bytes": b"1234"}}},
                            ],
                        }
                    },
                    {"image": {"format": "jpeg", "source": {"bytes": PIXEL}}},
                    {"document": {"format": "pdf", "name": "d", "source": {"s3Location": EMPTY}}},
                    {"document": {"format": "txt", "name": "t"}},
                    {"guardContent": {"text": {"text": "guarded"}}},
                ],
            },
            "user",
            [
                ToolResult("c1", 'a\n{"n":1}', True, (Attachment("image/png", "", 4),)),
                Attachment("image/jpeg", "", 8),
                Attachment("application/pdf", "d"),
                Attachment("text/plain", "t"),
                Text("guarded"),
            ],
            id="Converse results and files",
        ),
        # OpenAI chat completions
        pytest.param(
            {"role": "developer", "content": "be brief"},
            "system",
            [Text("be brief")],
            id="developer",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": None,
                "refusal": "no",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "bash", "arguments": '{"n": 1}'}},
                    {"id": "c2", "function": {"name": "bash", "arguments": '{"n": '}},
                    {"id": "c3", "function": {"name": "bash", "arguments": ""}},
                    {"id": "c4", "type": "custom", "custom": {"name": "patch", "input": "+ a"}},
                    {"id": None, "function": None},
                ],
            },
            "assistant",
            [
                Text("no"),
                ToolCall("c1", "bash", {"n": 1}),
                ToolCall("c2", "bash", '{"n": '),
                ToolCall("c3", "bash", {}),
                ToolCall("c4", "patch", "+ a"),
                ToolCall("", "", None),
            ],
            id="OpenAI calls, well and badly formed",
        ),
        pytest.param(
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a"}]},
            "user",
            [ToolResult("c1", "a")],
            id="OpenAI result",
        ),
        pytest.param(
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            "assistant",
            [ToolCall("f", "f", {})],
            id="OpenAI call before there were ids",
        ),
        pytest.param(
            {"role": "function", "name": "f", "content": "a"},
            "user",
            [ToolResult("f", "a")],
            id="OpenAI result before there were ids",
        ),
        pytest.param(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                    {"type": "image_url", "image_url": "https://x/y.png"},
                    {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}},
                    {
                        "type": "file",
                        "file": {"filename": "d.pdf", "file_data": f"data:application/pdf,{PIXEL}"},
                    },
                ],
            },
            "user",
            [
                Text("see"),
                Attachment("image/png", "", 8),
                Attachment("image/*", "https://x/y.png"),
                Attachment("audio/wav", "", 8),
                Attachment("application/pdf", "d.pdf", 12),
            ],
            id="OpenAI files",
        ),
        # OpenAI Responses
        pytest.param(
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "a"},
                    {"type": "refusal", "refusal": "b"},
                ],
            },
            "assistant",
            [Text("a"), Text("b")],
            id="Responses message",
        ),
        pytest.param(
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "a"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
                    {"type": "input_file", "filename": "d.pdf", "file_data": PIXEL},
                    {"type": "input_file", "file_id": "file-1"},
                ],
            },
            "user",
            [
                Text("a"),
                Attachment("image/png", "", 8),
                Attachment("application/*", "d.pdf", 8),
                Attachment("application/*", "file-1"),
            ],
            id="Responses files",
        ),
        pytest.param(
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"n":1}'},
            "assistant",
            [ToolCall("c1", "f", {"n": 1})],
            id="Responses call",
        ),
        pytest.param(
            {"type": "function_call", "call_id": "c1", "name": "f", "namespace": "mcp__x__"},
            "assistant",
            [ToolCall("c1", "mcp__x__f", None)],
            id="Responses call of a server's tool",
        ),
        pytest.param(
            {"type": "function_call_output", "call_id": "c1", "output": "OUT"},
            "user",
            [ToolResult("c1", "OUT")],
            id="Responses result",
        ),
        pytest.param(
            {
                "type": "custom_tool_call_output",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "OUT"}],
            },
            "user",
            [ToolResult("c1", "OUT")],
            id="Responses result in parts",
        ),
        pytest.param(
            {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "{+ a"},
            "assistant",
            [ToolCall("c1", "patch", "{+ a")],
            id="Responses custom call",
        ),
        pytest.param(
            {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}},
            "assistant",
            [ToolCall("c1", "shell", {"command": ["ls"]})],
            id="Responses shell call",
        ),
        pytest.param(
            {"type": "mcp_call", "id": "c1", "name": "f", "arguments": "{}", "output": "OUT"},
            "assistant",
            [ToolCall("c1", "f", {}), ToolResult("c1", "OUT")],
            id="Responses call that holds its result",
        ),
        pytest.param(
            {"type": "tool_search_output", "call_id": "c1", "tools": "f"},
            "user",
            [Unknown("tool_search_output")],
            id="Responses output of another kind",
        ),
        pytest.param(
            {"type": "web_search_call", "id": "w1"},
            "assistant",
            [Unknown("web_search_call")],
            id="Responses item of another kind",
        ),
        # Gemini
        pytest.param(
            {
                "role": "model",
                "parts": [
                    {"text": "a", "thoughtSignature": SIGNATURE},
                    {
                        "functionCall": {"name": "read_file", "args": {"n": 1}},
                        "thoughtSignature": SIGNATURE,
                    },
                    {"function_call": {"id": "c1", "name": "ls"}, "thought_signature": SIGNATURE},
                    {"thoughtSignature": SIGNATURE},
                    {"executableCode": {"language": "PYTHON", "code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "x"}},
                ],
            },
            "assistant",
            [
                Text("a"),
                ToolCall("read_file", "read_file", {"n": 1}),
                ToolCall("c1", "ls", None),
                ToolCall("code_execution", "code_execution", {"language": "PYTHON", "code": "1"}),
                ToolResult("code_execution", "x", is_error=True),
            ],
            id="Gemini calls",
        ),
        pytest.param(
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "read_file", "response": {"output": "OUT"}}},
                    {"functionResponse": {"id": "c1", "name": "f", "response": {"error": "no"}}},
                    {"functionResponse": {"id": "c2", "response": {"content": [{"text": "a"}]}}},
                    {
                        "functionResponse": {
                            "id": "c3",
                            "response": {"a": 1},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}],
                        }
                    },
                    {"functionResponse": {"id": "c4"}},
                    {"inlineData": {"mimeType": "image/png", "data": PIXEL, "displayName": "p"}},
                    {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://v"}},
                ],
            },
            "user",
            [
                ToolResult("read_file", "OUT"),
                ToolResult("c1", "no", is_error=True),
                ToolResult("c2", "a"),
                ToolResult("c3", '{"a":1}', False, (Attachment("image/png", "", 8),)),
                ToolResult("c4", ""),
                Attachment("image/png", "p", 8),
                Attachment("video/mp4", "gs://v"),
            ],
            id="Gemini results and files",
        ),
        # Odd
        pytest.param({"role": "user", "content": None}, "user", [], id="C13 null"),
        pytest.param({"role": "user", "content": ""}, "user", [Text("")], id="C13 empty"),
        pytest.param({"role": "user", "content": 7}, "user", [Text("7")], id="a number"),
        pytest.param(
            {"role": "user", "content": [None, 7, EMPTY]}, "user", [Text("7")], id="a mixture"
        ),
        pytest.param(
            {"role": "user", "content": [{"type": ["text"]}, {"type": "text", "text": None}]},
            "user",
            [Unknown("type"), Text("")],
            id="fields of other types",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": None, "input": ["a"]}, call_dict("")],
            },
            "assistant",
            [ToolCall("", "", ["a"]), ToolCall("", "bash", {"command": "ls"})],
            id="C12 null and empty ids, a list as input",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "tool_result", "content": {"n": 1}}]},
            "user",
            [ToolResult("", '{"n":1}')],
            id="C12 a result without id",
        ),
        pytest.param(
            {"role": "user", "content": "hello \ud83d!"}, "user", [Text("hello \ufffd!")], id="C38"
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [{"text": "a"}, thinking_dict("t"), {"functionCall": {"name": "f"}}],
                "tool_calls": [{"id": "c1", "function": {"name": "g", "arguments": {"n": 1}}}],
            },
            "assistant",
            [Text("a"), Reasoning("t"), ToolCall("f", "f", None), ToolCall("c1", "g", {"n": 1})],
            id="parts of every API in one message",
        ),
    ],
)
def test_every_part_of_every_api_is_read(record: Json, role: Role, expected: list[Block]) -> None:
    message = read(record)

    assert message.role == role
    assert list(message.blocks) == expected


def test_a_message_becomes_a_record_named_by_nobody() -> None:
    source = {
        "role": "user",
        "content": [{"type": "text", "text": " do it "}, result_dict("c1", "four")],
        "timestamp": "2026-01-02T03:04:05Z",
    }
    raw = json.dumps(source).encode()

    record = api.record(source, raw)

    assert (record.kind, record.id, record.raw) == ("message", "", raw)
    assert (record.role, record.prompt, record.chars) == ("user", "do it", 11)
    assert record.at == "2026-01-02T03:04:05Z"


def test_the_model_of_a_message_is_kept() -> None:
    assert read({"role": "assistant", "content": "x", "model": "m-1"}).model == "m-1"


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        pytest.param(
            [{"role": "user", "content": "x"}, {"foo": 1, "bar": 2}],
            "messages[1] is an object with the keys ['bar', 'foo']",
            id="an object of no known shape",
        ),
        pytest.param(["hi"], "messages[0] is a value of type str", id="no object"),
        pytest.param([EMPTY], "messages[0] is an object with the keys []", id="an empty object"),
    ],
)
def test_a_message_of_no_known_shape_is_refused_by_its_place(
    messages: list[Any], told: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check(messages)

    assert told in str(refusal.value)
    assert "Known shapes: Anthropic {role, content}" in str(refusal.value)
    assert "nothing was stored" in str(refusal.value)


def test_a_mixed_list_of_known_shapes_is_accepted() -> None:
    check(
        [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"toolUse": {}}]},
            {"type": "function_call_output", "output": "x"},
            {"role": "model", "parts": []},
            {"info": {}, "parts": []},
        ]
    )
    check([])


NAMES = """
    type role content text parts info id input tool_calls function toolUse toolResult functionCall
    functionResponse response reasoning reasoningContent image source image_url summary thought
    state time metadata
"""
KINDS = """
    text tool_use tool_result thinking function_call reasoning user model assistant tool image_url
    compaction message data:a
"""
KEYS = st.sampled_from(NAMES.split())
VALUES = st.sampled_from(KINDS.split()) | st.sampled_from([None, 1, True])
JSON = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@patient
@given(st.dictionaries(KEYS, JSON, max_size=5))
def test_no_record_however_odd_raises(record: Json) -> None:
    message = read(record)

    assert shape(record) in {
        "",
        "anthropic",
        "converse",
        "openai",
        "responses",
        "gemini",
        "opencode",
    }
    assert api.record(record, b"").role in ("user", "assistant", "system")
    assert isinstance(text(message), str)


@pytest.mark.parametrize("write", [replay.anthropic, replay.converse, replay.openai])
@patient
@given(history=HISTORIES)
def test_what_is_written_for_an_api_reads_back_as_the_same(
    write: Callable[[list[Message]], list[Json]], history: list[Message]
) -> None:
    told = write(history)

    check(told)
    assert write([READER.message(str(place), [turn]) for place, turn in enumerate(told)]) == told
