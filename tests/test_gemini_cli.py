import json
from collections import Counter
from collections.abc import Iterable
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
from foldmark.sources import files
from foldmark.sources.places import Places
from foldmark.transcripts.gemini_cli.reader import READER
from foldmark.transcripts.record import Document, Lines, State
from readings import FakeFiles, Reading, of_document, of_lines, shared

FIXTURES = Path(__file__).parent / "fixtures" / "gemini_cli"
WHOLE = (FIXTURES / "v0.61.jsonl").read_bytes()
STUB = (FIXTURES / "v0.61-stub.jsonl").read_bytes()
V30 = (FIXTURES / "v0.30.json").read_bytes()
V8 = (FIXTURES / "v0.8.json").read_bytes()
LINES = next(place for place in READER.places if isinstance(place, Lines))
DOCUMENT = next(place for place in READER.places if isinstance(place, Document))

SESSION = "55b42678-1e4f-46a3-979c-cb1460ac2194"
PRO = "gemini-3.1-pro-preview"
PAID = Usage(input=1500, output=80, reasoning=20)
CONTEXT = """<session_context>
This is the Gemini CLI. We are setting up the context for our chat.
My operating system is: linux
The project's temporary directory is: /home/dev/.gemini/tmp/ws-gemini
- **Workspace Directories:**
  - /home/dev/projects/ws-gemini
- **Directory Structure:**

/home/dev/projects/ws-gemini/
├───a.txt
└───red.png
</session_context>"""
SUMMARY = (
    "## Goal\nPort the parser.\n\n## Done\n- listed files\n- ran tests (2 failed)\n\n"
    "## Next\nFix tokenizer.py line 42."
)
ACKNOWLEDGED = "Got it. Thanks for the additional context!"

Json = dict[str, Any]


def looked(number: int) -> Reasoning:
    return Reasoning(
        f"**Looking at the request** I should look at the request number {number} first."
    )


def returned(number: int) -> Reasoning:
    return Reasoning(f"**Looking at the request** The tool returned; I can answer now ({number}).")


def untrusted(words: str) -> str:
    return f"<untrusted_context>\n{words}\n</untrusted_context>"


# Lines as Gemini CLI writes them


def header(kind: str = "main", **more: Any) -> Json:
    return {"sessionId": "s", "projectHash": "h", "startTime": "t", "kind": kind, **more}


def user(id: str, content: Any, **more: Any) -> Json:
    parts = [{"text": content}] if isinstance(content, str) else content
    return {"id": id, "timestamp": f"at {id}", "type": "user", "content": parts, **more}


def gemini(id: str, content: Any = "", *calls: Json, **more: Any) -> Json:
    told = {"id": id, "timestamp": f"at {id}", "type": "gemini", "content": content, **more}
    return told | ({"toolCalls": list(calls)} if calls else {})


def call(id: str, output: Any = "done", **more: Any) -> Json:
    return {
        "id": id,
        "name": "run",
        "args": {"command": id},
        "result": [response(id, output)],
        "status": "success",
        **more,
    }


def response(id: str, output: Any = "done") -> Json:
    return {"functionResponse": {"id": id, "name": "run", "response": {"output": output}}}


def asked(id: str) -> Json:
    return {"functionCall": {"id": id, "name": "run", "args": {"command": id}}}


def chat(*turns: Json) -> Json:
    return {"$set": {"messages": list(turns)}}


def context(words: str = CONTEXT) -> Json:
    return user("c", words)


def snapshot(id: str = "snap", words: str = "<state_snapshot>sum</state_snapshot>") -> list[Json]:
    return [user(id, words), gemini(f"{id}-got", [{"text": ACKNOWLEDGED}])]


RESUMED = {"$set": {"sessionId": "s"}}
START = (header(), chat(context()))


def jsonl(*records: Json) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def reading(*records: Json) -> Reading:
    return of_lines(READER, jsonl(*records))


def document(*found: Any, **more: Any) -> bytes:
    whole = {"sessionId": "s", "projectHash": "h", "lastUpdated": "t", "messages": list(found)}
    return json.dumps(whole | more).encode()


def ids(found: Iterable[Message]) -> list[str]:
    return [message.id for message in found]


def read(record: Json) -> tuple[Block, ...]:
    return READER.message("m", [record]).blocks


# What is in the files that the real programs wrote


def test_the_lines_of_0_61_are_read_as_they_were_said() -> None:
    found = of_lines(READER, WHOLE)
    run = "run_shell_command"
    assert found.messages == [
        Message(
            "d04923d38bb0f6017037e74183378ef4/user",
            "user",
            (Text(CONTEXT, injected=True),),
            "2026-11-30T19:00:15.675Z",
        ),
        Message(
            "a56060c1-8102-4b81-bdbb-0d67c4751729/user",
            "user",
            (Text("first TOOL PARALLEL"),),
            "2026-11-30T19:00:15.731Z",
        ),
        Message(
            "9fd804e2-051a-4831-84ac-4d1d5678d8ad/gemini",
            "assistant",
            (
                looked(17),
                Text("Let me run a command."),
                ToolCall(f"{run}__fc17_2", run, {"command": "echo hello-17"}),
                ToolResult(
                    f"{run}__fc17_2", untrusted("Output: hello-17\nProcess Group PGID: 25013")
                ),
                ToolCall(f"{run}__fc17_3", run, {"command": "ls /nonexistent-17"}),
                ToolResult(
                    f"{run}__fc17_3",
                    untrusted(
                        "Output: ls: cannot access '/nonexistent-17': No such file or directory\n"
                        "Exit Code: 2\nProcess Group PGID: 25015"
                    ),
                ),
            ),
            "2026-11-30T19:00:16.286Z",
            PRO,
            usage=PAID,
        ),
        Message(
            "49c2a252-2f3d-4f8b-be4f-7ebeef2da152/gemini",
            "assistant",
            (returned(18), Text("Done: the command finished. (reply 18)")),
            "2026-11-30T19:00:17.074Z",
            PRO,
            usage=PAID,
        ),
        Message(
            "e1f7afad-bc37-4d4f-bfee-e680544e7d67/user",
            "user",
            (Text("second MCPCALL"),),
            "2026-11-30T19:00:42.122Z",
        ),
        Message(
            "6501e180-f81a-4817-88b0-26a708d35763/gemini",
            "assistant",
            (
                looked(19),
                ToolCall("mcp_probe_get_history__fc19_1", "mcp_probe_get_history", {}),
                ToolResult("mcp_probe_get_history__fc19_1", untrusted("probe ok")),
            ),
            "2026-11-30T19:00:42.510Z",
            PRO,
            usage=PAID,
        ),
        Message(
            "dce4609b-46dd-4f6d-a3a8-f17e6a9ff141/gemini",
            "assistant",
            (returned(20), Text("Done: the command finished. (reply 20)")),
            "2026-11-30T19:00:42.692Z",
            PRO,
            usage=PAID,
        ),
        Message(
            "b86f5e76-786a-449f-9a46-c799e8c4d138/user",
            "user",
            (
                Text("third TOOL @red.png what is this"),
                Text("\n--- Content from referenced files ---", injected=True),
                Attachment("image/png", "", 75),
                Text("\n--- End of content ---", injected=True),
            ),
            "2026-11-30T19:00:47.506Z",
        ),
        Message(
            "f87c1ff1-1f37-4dce-888a-a819c2e801ad/gemini",
            "assistant",
            (
                looked(22),
                Text("Let me run a command."),
                ToolCall(f"{run}__fc22_2", run, {"command": "echo hello-22"}),
                ToolResult(
                    f"{run}__fc22_2", untrusted("Output: hello-22\nProcess Group PGID: 25561")
                ),
            ),
            "2026-11-30T19:00:47.763Z",
            PRO,
            usage=PAID,
        ),
        Message(
            "740e14d8-f551-4fbc-9ab9-e9e94d7e99d3/gemini",
            "assistant",
            (returned(23), Text("Done: the command finished. (reply 23)")),
            "2026-11-30T19:00:48.146Z",
            PRO,
            usage=PAID,
        ),
        Message(
            "83ff8ed8-27df-466f-9e93-68382facb216/user",
            "user",
            (Text("fourth TOOL big"),),
            "2026-11-30T19:00:55.557Z",
        ),
        Message(
            "03aab6fa-c9bd-47aa-ba43-58dc310b9980/gemini",
            "assistant",
            (
                looked(24),
                Text("Let me run a command."),
                ToolCall(f"{run}__fc24_2", run, {"command": "echo hello-24"}),
                ToolResult(
                    f"{run}__fc24_2", untrusted("Output: hello-24\nProcess Group PGID: 25661")
                ),
            ),
            "2026-11-30T19:00:56.238Z",
            PRO,
            usage=Usage(input=700000, output=80, reasoning=20),
        ),
        Message(
            "e82a7864-2364-4325-a411-a1f304ff7c30/gemini",
            "assistant",
            (returned(27), Text("Done: the command finished. (reply 27)")),
            "2026-11-30T19:00:56.955Z",
            PRO,
            usage=Usage(input=700000, output=80, reasoning=20),
        ),
        Message(
            "58bb75a1-5600-45eb-b230-29bf35fed56d/user",
            "user",
            (Text("fifth"),),
            "2026-11-30T19:01:05.827Z",
        ),
        Message(
            "cb464b9b-7b2d-43fb-bc57-9877cbd0c8fe/gemini",
            "assistant",
            (looked(28), Text("Answer 28 to your message.")),
            "2026-11-30T19:01:06.136Z",
            PRO,
            usage=PAID,
        ),
        Message(
            "63b0ce3e-9a04-43c5-83ad-5a791db4c40c/user",
            "user",
            (Text("/compress", injected=True),),
            "2026-11-30T19:01:11.862Z",
        ),
        Message(
            "e62cc571-6d85-4602-bc5c-4d24308e0a02/gemini",
            "assistant",
            (looked(30), Text("Answer 30 to your message.")),
            "2026-11-30T19:01:12.187Z",
            PRO,
            usage=PAID,
        ),
    ]
    assert (found.unknown, found.skipped, found.rewound) == (Counter(), [], [])
    assert found.fact("project") == "/home/dev/projects/ws-gemini"
    assert found.prompts == [
        "first TOOL PARALLEL",
        "second MCPCALL",
        "third TOOL @red.png what is this",
        "fourth TOOL big",
        "fifth",
    ]


def test_the_compression_of_0_61_keeps_its_tail_though_that_was_written_under_other_ids() -> None:
    found = of_lines(READER, WHOLE)
    snap = "cd5b64aa-ccd2-46be-8982-9e6571ab1335/user"
    at = "2026-11-30T19:00:56.869Z"
    assert found.markers == [
        Marker(f"{snap}/marker", "83ff8ed8-27df-466f-9e93-68382facb216/user", at)
    ]
    assert found.summaries == [Summary(snap, f"{snap}/marker", SUMMARY, "stop", at=at)]
    assert ids(found.visible) == [
        "83ff8ed8-27df-466f-9e93-68382facb216/user",
        "03aab6fa-c9bd-47aa-ba43-58dc310b9980/gemini",
        "e82a7864-2364-4325-a411-a1f304ff7c30/gemini",
        "58bb75a1-5600-45eb-b230-29bf35fed56d/user",
        "cb464b9b-7b2d-43fb-bc57-9877cbd0c8fe/gemini",
        "63b0ce3e-9a04-43c5-83ad-5a791db4c40c/user",
        "e62cc571-6d85-4602-bc5c-4d24308e0a02/gemini",
    ]


def test_a_file_that_holds_only_headers_adds_nothing_to_its_session() -> None:
    alone = of_lines(READER, STUB)
    assert [(m.id, m.prompt) for m in alone.messages] == [
        ("d04923d38bb0f6017037e74183378ef4/user", "")
    ]
    whole, state = of_lines(READER, WHOLE), State()
    before = (ids(whole.messages), ids(whole.visible))
    for raw in STUB.splitlines():
        whole.add(LINES.records(json.loads(raw), raw, state))
    assert (ids(whole.messages), ids(whole.visible)) == before


def test_the_document_of_0_30_is_read_as_it_was_said() -> None:
    found = of_document(READER, V30)
    run = "run_shell_command"
    assert [(m.id, m.role, m.model, m.usage, m.blocks) for m in found.messages] == [
        (
            "c9d937ab-bc5b-45ed-bdb2-c26296fa2ecc/user",
            "user",
            "",
            None,
            (Text("first TOOL PARALLEL"),),
        ),
        (
            "78877070-52cc-428b-a6a4-1b971c4cf924/gemini",
            "assistant",
            "gemini-2.5-pro",
            PAID,
            (
                looked(598),
                Text("Let me run a command."),
                ToolCall("fc598_2", run, {"command": "echo hello-598"}),
                ToolResult("fc598_2", "Output: hello-598\nProcess Group PGID: 11802"),
                ToolCall("fc598_3", run, {"command": "ls /nonexistent-598"}),
                ToolResult(
                    "fc598_3",
                    "Output: ls: cannot access '/nonexistent-598': No such file or directory\n"
                    "Exit Code: 2\nProcess Group PGID: 11807",
                ),
            ),
        ),
        (
            "39385315-26d8-4993-be2e-8e441b5ecf9e/gemini",
            "assistant",
            "gemini-2.5-pro",
            PAID,
            (returned(599), Text("Done: the command finished. (reply 599)")),
        ),
        ("61e1e0d9-be45-438d-8d9b-6d1053edb6dd/user", "user", "", None, (Text("second TOOL"),)),
        (
            "b6e29bb3-2106-4767-8a29-ea6c6f56f2de/gemini",
            "assistant",
            "gemini-2.5-pro",
            PAID,
            (
                looked(600),
                Text("Let me run a command."),
                ToolCall("fc600_2", run, {"command": "echo hello-600"}),
                ToolResult("fc600_2", "Output: hello-600\nProcess Group PGID: 11922"),
            ),
        ),
        (
            "4179d8d7-9b73-46b2-9c36-11a672ce2447/gemini",
            "assistant",
            "gemini-2.5-pro",
            PAID,
            (returned(601), Text("Done: the command finished. (reply 601)")),
        ),
    ]
    assert (found.unknown, found.skipped, found.rewound) == (Counter(), [], [])


def test_the_document_of_0_8_is_read_as_it_was_said() -> None:
    found = of_document(READER, V8)
    assert [(m.id, m.at, m.blocks) for m in found.messages] == [
        (
            "64f5fcf3-ba34-4958-9663-a155e9696f2e/user",
            "2026-11-30T19:14:11.185Z",
            (Text("first TOOL PARALLEL"),),
        ),
        (
            "6eeab4c5-5c0f-48f9-904f-0c794fc746c4/gemini",
            "2026-11-30T19:14:11.267Z",
            (looked(596), Text("Let me run a command.")),
        ),
        (
            "945e7302-ed01-47ea-974e-a46f8bee7056/gemini",
            "2026-11-30T19:14:11.730Z",
            (returned(597), Text("Done: the command finished. (reply 597)")),
        ),
    ]


# What a message holds


@pytest.mark.parametrize(
    ("record", "blocks"),
    [
        pytest.param(user("u", "go"), (Text("go"),), id="parts"),
        pytest.param(user("u", "") | {"content": "go"}, (Text("go"),), id="a string"),
        pytest.param(user("u", "") | {"content": ["go"]}, (Text("go"),), id="a list of strings"),
        pytest.param(user("u", "") | {"content": {"text": "go"}}, (Text("go"),), id="one part"),
        pytest.param(user("u", "/help"), (Text("/help", injected=True),), id="a command"),
        pytest.param(user("u", " ?"), (Text(" ?", injected=True),), id="a question mark"),
        pytest.param(
            user("u", [{"text": "go"}, {"text": "<hook_context>a</hook_context>"}]),
            (Text("go"), Text("<hook_context>a</hook_context>", injected=True)),
            id="what a hook added",
        ),
        pytest.param(
            user("u", "the expanded command", displayContent=[{"text": "/fix it"}]),
            (Text("/fix it"), Text("the expanded command", injected=True)),
            id="a command of the user's own",
        ),
        pytest.param(
            user("u", "Please continue.", displayContent=[{"text": "go"}]),
            (Text("Please continue.", injected=True),),
            id="the program goes on by itself",
        ),
        pytest.param(
            user("u", "System: Please continue."),
            (Text("System: Please continue.", injected=True),),
            id="an early program goes on by itself",
        ),
        pytest.param(
            user("u", "Here is the user's editor context as a JSON object. This is"),
            (Text("Here is the user's editor context as a JSON object. This is", injected=True),),
            id="what an editor shows",
        ),
        pytest.param(
            user("u", "I ran the following shell command:\n```sh\nls\n```"),
            (Text("I ran the following shell command:\n```sh\nls\n```", injected=True),),
            id="a command that the user ran",
        ),
        pytest.param(
            user(
                "u",
                [
                    {"text": "see @a.txt"},
                    {"text": "\n--- Content from referenced files ---"},
                    {"text": "\nContent from @a.txt:\n"},
                    {"text": "A"},
                    {"text": "\n--- End of content ---"},
                ],
            ),
            (
                Text("see @a.txt"),
                Text("--- Content from referenced files ---", injected=True),
                Text("\nContent from @a.txt:\n", injected=True),
                Text("A", injected=True),
                Text("\n--- End of content ---", injected=True),
            ),
            id="a file that was mentioned",
        ),
        pytest.param(
            user("u", "") | {"content": "see @a\n--- Content from referenced files ---\nA"},
            (Text("see @a"), Text("--- Content from referenced files ---\nA", injected=True)),
            id="a file that was mentioned, in one string",
        ),
        pytest.param(
            user(
                "u",
                "User steering update:\n<user_input>\nuse B\n</user_input>\nInternal instruction",
            ),
            (
                Text("User steering update:\n<user_input>\n", injected=True),
                Text("use B"),
                Text("\n</user_input>\nInternal instruction", injected=True),
            ),
            id="a hint while it works",
        ),
        pytest.param(
            user("u", "")
            | {"type": "info", "content": [{"inlineData": {"mimeType": "audio/mp3"}}]},
            (Attachment("audio/mp3"),),
            id="a file that a tool read",
        ),
        pytest.param(user("u", "") | {"content": None}, (), id="nothing"),
        pytest.param(user("u", [{"odd": 1}]), (Unknown("odd"),), id="a part nobody knows"),
        pytest.param(
            gemini("g", [{"text": "a", "thoughtSignature": "x"}, asked("1")]),
            (Text("a"), ToolCall("1", "run", {"command": "1"})),
            id="parts with signatures",
        ),
        pytest.param(
            gemini(
                "g",
                [{"text": "hm", "thought": True}, asked("1")],
                call("1"),
                thoughts=[{"subject": "", "description": "hm"}],
            ),
            (
                Reasoning("hm"),
                ToolCall("1", "run", {"command": "1"}),
                ToolResult("1", "done"),
            ),
            id="the same in parts and beside them",
        ),
        pytest.param(
            gemini("g", "", thoughts=[{"description": "hm"}, {"subject": "S"}, {}, None]),
            (Reasoning("hm"), Reasoning("**S**")),
            id="thoughts",
        ),
        pytest.param(
            gemini("g", "", call("1", result=None, status="executing")),
            (ToolCall("1", "run", {"command": "1"}),),
            id="a call that still runs",
        ),
        pytest.param(
            gemini("g", "", call("1", result=None, status="cancelled")),
            (ToolCall("1", "run", {"command": "1"}), ToolResult("1", "cancelled", is_error=True)),
            id="a call that was stopped",
        ),
        pytest.param(
            gemini("g", "", call("1", result=None, resultDisplay="shown")),
            (ToolCall("1", "run", {"command": "1"}), ToolResult("1", "shown")),
            id="a call of which only what was displayed is told",
        ),
        pytest.param(
            gemini("g", "", call("1", result="plain")),
            (ToolCall("1", "run", {"command": "1"}), ToolResult("1", "plain")),
            id="a result that is a string",
        ),
        pytest.param(
            gemini(
                "g",
                "",
                call(
                    "1",
                    status="error",
                    result={"functionResponse": {"id": "1", "response": {"error": "no such file"}}},
                ),
            ),
            (
                ToolCall("1", "run", {"command": "1"}),
                ToolResult("1", "no such file", is_error=True),
            ),
            id="a call that failed",
        ),
        pytest.param(
            gemini(
                "g",
                "",
                call(
                    "1",
                    result=[
                        response("0", "other"),
                        response("1", "mine"),
                        {"text": "and more"},
                        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                        response("2", "other"),
                        {"text": "not mine"},
                    ],
                ),
            ),
            (
                ToolCall("1", "run", {"command": "1"}),
                ToolResult("1", "mine\nand more", attachments=(Attachment("image/png", "", 3),)),
            ),
            id="the results of several calls",
        ),
    ],
)
def test_each_part_of_a_message_is_told_for_what_it_is(
    record: Json, blocks: tuple[Block, ...]
) -> None:
    assert read(record) == blocks


@pytest.mark.parametrize("kind", ["info", "warning", "error"])
def test_what_no_model_ever_read_is_kept_as_no_message(kind: str) -> None:
    found = reading(*START, user("i", "") | {"type": kind, "content": "Update available!"})
    assert ids(found.messages) == ["c/user"]
    assert not found.unknown


# Copies


def test_a_message_that_is_written_again_replaces_what_it_held() -> None:
    found = reading(*START, user("u", "go"), gemini("g", "a"), gemini("g", "a", call("1")))
    assert [m.blocks for m in found.messages[1:]] == [
        (Text("go"),),
        (Text("a"), ToolCall("1", "run", {"command": "1"}), ToolResult("1", "done")),
    ]


def test_a_user_message_with_the_id_of_the_models_is_another() -> None:
    found = reading(*START, gemini("x", "a"), user("x", "b"))
    assert ids(found.messages) == ["c/user", "x/gemini", "x/user"]


def test_an_answer_that_stands_with_its_call_is_not_told_again() -> None:
    found = reading(*START, gemini("g", "", call("1")), user("r", [response("1")]))
    assert ids(found.messages) == ["c/user", "g/gemini"]


def test_an_answer_that_stands_nowhere_else_is_told() -> None:
    found = reading(*START, gemini("g", [asked("1")]), user("r", [response("1", "late")]))
    assert found.messages[-1].blocks == (ToolResult("1", "late"),)


def test_what_a_person_added_to_an_answer_stays() -> None:
    found = reading(
        *START, gemini("g", "", call("1")), user("r", [response("1"), {"text": "use B"}])
    )
    assert (found.messages[-1].id, found.messages[-1].blocks) == ("r/user", (Text("use B"),))


@pytest.mark.parametrize("id", ["g_response", "g"])
def test_a_session_that_is_taken_up_again_is_not_told_twice(id: str) -> None:
    before = reading(
        *START, user("u", "go"), gemini("g", "a", call("1")), user("r", [response("1")])
    )
    after = reading(
        *START,
        user("u", "go"),
        gemini("g", "a", call("1")),
        user("r", [response("1")]),
        *START,
        RESUMED,
        chat(
            context(),
            user("u", "go"),
            gemini("g", [{"text": "a"}, asked("1")]),
            user(id, [response("1")]),
            user("r", [response("1")]),
        ),
        user("v", "on"),
    )
    assert after.messages[:-1] == before.messages
    assert (ids(after.messages[-1:]), after.rewound) == (["v/user"], [])


def test_a_chat_that_is_written_again_line_by_line_is_not_told_twice() -> None:
    said = [
        *START,
        user("u", "go"),
        gemini("g", "a", call("1", "long")),
        user("r", [response("1")]),
    ]
    again = [
        user("u2", [{"text": CONTEXT}, {"text": "go"}]),
        {"$set": {"lastUpdated": "t"}},
        gemini("g2", [{"text": "a"}, asked("1")], thoughts=[], tokens=None),
        user("r2", [response("1", "<tool_output_masked>")]),
    ]
    found = reading(*said, *again, chat(*again[:1], *again[2:]), user("v", "on"), gemini("h", "b"))
    assert ids(found.messages) == ["c/user", "u/user", "g/gemini", "v/user", "h/gemini"]
    assert found.rewound == []
    # What is then taken back is named by the id of its copy.
    taken = reading(*said, *again, chat(*again[:1], *again[2:]), {"$rewindTo": "u2"})
    assert ids(taken.messages) == ["c/user"]


def test_a_chat_that_was_half_written_again_when_the_program_died_ends_with_the_next_start() -> (
    None
):
    found = reading(
        *START, user("u", "go"), user("u2", [{"text": CONTEXT}, {"text": "go"}]), *START,
        user("v", "on"),
    )  # fmt: skip
    assert ids(found.messages) == ["c/user", "u/user", "v/user"]


def test_a_chat_of_which_we_hold_nothing_is_read() -> None:
    found = reading(header(), chat(context(), user("u", "go"), gemini("g", [{"text": "a"}])))
    assert [(m.id, m.blocks) for m in found.messages[1:]] == [
        ("u/user", (Text("go"),)),
        ("g/gemini", (Text("a"),)),
    ]


def test_what_the_program_says_of_the_session_is_kept_once_until_it_changes() -> None:
    found = reading(*START, user("u", "go"), *START, header(), chat(context(f"{CONTEXT} ")))
    assert found.kinds["message"] == 2
    changed = reading(
        *START, user("u", "go"), header(), chat(context(CONTEXT.replace("a.txt", "")))
    )
    assert changed.kinds["message"] == 3
    assert ids(changed.messages) == ["c/user", "u/user"]


# What was taken back


def test_a_rewind_takes_back_a_prompt_and_all_behind_it() -> None:
    found = reading(
        *START,
        user("u", "go"),
        gemini("g", "a"),
        user("v", "on"),
        gemini("h", "b"),
        {"$rewindTo": "v"},
        chat(user("u", "go"), gemini("g", [{"text": "a"}])),
        user("w", "elsewhere"),
    )
    assert ids(found.messages) == ["c/user", "u/user", "g/gemini", "w/user"]
    assert ids(found.rewound) == ["v/user", "h/gemini"]


def test_a_rewind_to_what_nobody_knows_takes_nothing_back() -> None:
    found = reading(*START, user("u", "go"), {"$rewindTo": "x"}, {"$rewindTo": "x"})
    assert ids(found.messages) == ["c/user", "u/user"]


def test_a_turn_that_the_person_stopped_is_taken_back() -> None:
    found = reading(
        *START,
        user("u", "go"),
        gemini("g", "a"),
        user("v", "stop me"),
        gemini("h", "", call("1")),
        user("r", [response("1")]),
        chat(context(), user("u", "go"), gemini("g", [{"text": "a"}])),
        user("w", "elsewhere"),
    )
    assert ids(found.messages) == ["c/user", "u/user", "g/gemini", "w/user"]
    assert ids(found.rewound) == ["v/user", "h/gemini"]


def test_a_first_prompt_that_failed_is_taken_back() -> None:
    found = reading(*START, user("u", "go"), chat(context()), user("v", "go"))
    assert ids(found.messages) == ["c/user", "v/user"]


def test_a_new_start_takes_nothing_back() -> None:
    said = [*START, user("u", "go"), gemini("g", "a")]
    assert ids(reading(*said, *START).messages) == ["c/user", "u/user", "g/gemini"]


def test_a_chat_that_ends_with_something_new_takes_nothing_back() -> None:
    found = reading(
        *START, user("u", "go"), gemini("g", "a"),
        chat(context(), user("u", "go"), gemini("x", [{"text": "shortened"}])),
    )  # fmt: skip
    assert ids(found.messages) == ["c/user", "u/user", "g/gemini"]


# Compressions

SAID = (
    *START,
    user("u", "continue"),
    gemini("g", "a"),
    user("v", "continue"),
    gemini("h", "b", call("1")),
    user("w", "continue"),
    gemini("i", "c"),
)
TAIL = (
    user("v2", "continue"),
    gemini("h2", [{"text": "b"}, asked("1")]),
    user("r2", [response("1")]),
    user("w2", "continue"),
    gemini("i2", [{"text": "c"}]),
)

TOGETHER = (user("z", [{"text": "Here is"}, {"text": "continue"}]),)


@pytest.mark.parametrize(
    ("tail", "kept"),
    [
        pytest.param(TAIL, "v/user", id="the last but one of three that say the same"),
        pytest.param(TAIL[3:], "w/user", id="the last of them"),
        pytest.param((user("v", "continue"), *TAIL[1:]), "v/user", id="under its own id"),
        pytest.param(TOGETHER, "w/user", id="put together"),
        pytest.param((), "", id="nothing kept"),
    ],
)  # fmt: skip
def test_the_first_kept_message_is_found_by_what_it_says(tail: tuple[Json, ...], kept: str) -> None:
    found = reading(*SAID, RESUMED, chat(context(), *snapshot(), *tail), user("x", "on"))
    assert [marker.first_kept for marker in found.markers] == [kept]
    assert [(one.id, one.text) for one in found.summaries] == [("snap/user", "sum")]
    everything = ["c/user", "u/user", "g/gemini", "v/user", "h/gemini", "w/user", "i/gemini"]
    assert ids(found.messages) == [*everything, "x/user"]
    assert ids(found.visible) == [*(everything[everything.index(kept) :] if kept else []), "x/user"]


def test_a_tail_that_we_do_not_hold_is_read() -> None:
    tail = (user("y", "unheard of"), gemini("z", [{"text": "new"}]), gemini("q", [{"text": "a"}]))
    found = reading(*SAID, RESUMED, chat(context(), *snapshot(), *tail))
    assert ids(found.visible) == ["y/user", "z/gemini"]
    assert found.markers[0].first_kept == ""


def test_a_chat_that_begins_with_a_summary_of_what_we_never_saw_is_read() -> None:
    found = reading(header(), chat(*snapshot(), user("u", "go")), user("v", "on"))
    assert ids(found.visible) == ["u/user", "v/user"]
    assert [one.text for one in found.summaries] == ["sum"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("<state_snapshot>\nsum\n</state_snapshot>", "sum"),
        ("<scratchpad>hm</scratchpad><state_snapshot>sum</state_snapshot> Done.", "sum"),
        ("<state_snapshot>cut off", "cut off"),
        ("no tags at all", "no tags at all"),
    ],
)
def test_a_summary_is_what_stands_in_the_snapshot(words: str, told: str) -> None:
    found = reading(*SAID, RESUMED, chat(context(), *snapshot("s", words), *TAIL))
    assert [one.text for one in found.summaries] == [told]


@pytest.mark.parametrize("words", ["", " ", "<state_snapshot>\n</state_snapshot>", CONTEXT])
def test_an_empty_snapshot_hides_nothing(words: str) -> None:
    found = reading(*SAID, RESUMED, chat(context(), *snapshot("s", words), *TAIL))
    assert (found.markers, found.visible) == ([], found.messages)
    assert ids(found.messages)[-1] == "i/gemini"


def test_a_compression_is_not_told_again_when_the_chat_is_rebuilt() -> None:
    compressed = (RESUMED, chat(context(), *snapshot(), *TAIL))
    again = [
        user("u9", [{"text": CONTEXT}, {"text": "<state_snapshot>sum</state_snapshot>"}]),
        gemini("g9", [{"text": ACKNOWLEDGED}]),
        user("v9", "continue"),
    ]
    found = reading(
        *SAID, *compressed, user("x", "on"), gemini("y", "d"),
        *START, RESUMED, chat(context(), *snapshot(), *TAIL, user("x", "on")),
        *again, chat(*again),
    )  # fmt: skip
    assert (len(found.markers), found.rewound) == (1, [])
    assert ids(found.visible)[0] == "v/user"
    assert ids(found.visible)[-2:] == ["x/user", "y/gemini"]


def test_the_newest_of_several_compressions_counts() -> None:
    found = reading(
        *SAID,
        RESUMED,
        chat(context(), *snapshot("s1"), *TAIL),
        user("x", "on"),
        gemini("y", "d"),
        RESUMED,
        chat(context(), *snapshot("s2", "<state_snapshot>more</state_snapshot>"), user("x3", "on")),
        user("z", "last"),
    )
    assert [marker.first_kept for marker in found.markers] == ["v/user", "x/user"]
    assert ids(found.visible) == ["x/user", "y/gemini", "z/user"]


@pytest.mark.parametrize(
    ("target", "visible"),
    [
        pytest.param("x", ["v/user", "h/gemini", "w/user", "i/gemini"], id="behind the summary"),
        pytest.param("w2", ["v/user", "h/gemini"], id="a message that was kept"),
        pytest.param("v2", [], id="the first that was kept"),
    ],
)
def test_a_summary_stands_when_something_behind_it_is_taken_back(
    target: str, visible: list[str]
) -> None:
    left = TAIL[: {"x": 5, "w2": 3, "v2": 0}[target]]
    found = reading(
        *SAID,
        RESUMED,
        chat(context(), *snapshot(), *TAIL),
        user("x", "on"),
        {"$rewindTo": target},
        chat(*snapshot(), *left),
        user("z", "elsewhere"),
    )
    assert ids(found.visible) == [*visible, "z/user"]
    assert found.view.boundary
    assert found.view.boundary.summary.text == "sum"


def test_a_subagents_compression_is_read() -> None:
    found = reading(
        header("subagent"),
        user("u", "go"),
        gemini("g", "a"),
        user("v", "on"),
        chat(*snapshot(), user("v2", "on")),
        gemini("h", "b"),
    )
    assert ids(found.visible) == ["v/user", "h/gemini"]


def test_many_compressions_are_read_in_one_go() -> None:
    turns = [
        one
        for n in range(300)
        for one in (
            user(f"u{n}", "go"),
            gemini(f"g{n}", "a"),
            RESUMED,
            chat(context(), *snapshot(f"s{n}"), user(f"k{n}", "go"), gemini(f"l{n}", "a")),
        )
    ]
    found = reading(*START, *turns)
    assert (len(found.markers), ids(found.visible)) == (300, ["u299/user", "g299/gemini"])


# What is said of the whole session


def test_a_title_and_a_project_may_be_told() -> None:
    told = {"$set": {"summary": "Port the parser", "directories": ["/work/a", "/work/b"]}}
    found = reading(header(), user("u", "go"), told)
    assert (found.fact("title"), found.fact("project")) == ("Port the parser", "/work/a")


@pytest.mark.parametrize(
    ("words", "project"),
    [
        ("- **Workspace Directories:**\n  - /work/a\n  - /work/b", "/work/a"),
        ("I'm currently working in the directory: /work/a", "/work/a"),
        ("I'm currently working in the following directories:\n  - /work/a\n  - /b", "/work/a"),
        ("nothing", ""),
    ],
)
def test_the_project_is_found_in_what_the_program_says(words: str, project: str) -> None:
    told = f"<session_context>\n{words}\n</session_context>"
    assert reading(header(), chat(context(told))).fact("project") == project


def test_a_document_that_became_lines_is_the_same_session() -> None:
    whole = json.loads(V30)
    found = of_document(READER, V30)
    before = found.messages
    head = {key: whole[key] for key in ("sessionId", "projectHash", "startTime")}
    state = State()
    for record in (head, *whole["messages"]):
        found.add(LINES.records(record, json.dumps(record).encode(), state))
    assert found.messages == before


def test_a_document_that_lost_its_end_was_taken_back() -> None:
    said = [user("u", "go"), gemini("g", "a"), user("v", "on")]
    found = of_document(READER, document(*said), document(*said[:1], gemini("h", "b")))
    assert ids(found.messages) == ["u/user", "h/gemini"]
    assert ids(found.rewound) == ["g/gemini", "v/user"]


def test_what_is_no_message_of_a_document_is_counted() -> None:
    found = of_document(READER, document(user("u", "go"), 5, {"type": "user", "content": "no id"}))
    assert [skip.place for skip in found.skipped] == ["message 2"]
    assert found.prompts == ["go", "no id"]
    [skip] = of_document(READER, b"{").skipped
    assert skip.reason == "not JSON"
    assert of_document(READER, b'{"messages": []}').records == []


@pytest.mark.parametrize(
    ("record", "unknown"),
    [
        pytest.param({"$other": 1}, "$other", id="a record"),
        pytest.param({"type": "new"}, "new", id="a record with a type"),
        pytest.param({}, "no type", id="nothing"),
        pytest.param(user("u", "x") | {"type": "new"}, "message/new", id="a message"),
        pytest.param({"id": "u"}, "message/no type", id="a message without a type"),
    ],
)
def test_types_that_nobody_knows_are_named(record: Json, unknown: str) -> None:
    assert list(reading(*START, record).unknown) == [unknown]


@pytest.mark.parametrize(
    ("record", "ours"),
    [
        (header(), True),
        (user("u", "go"), True),
        (gemini("g"), True),
        ({"$set": {}}, True),
        ({"$rewindTo": "u"}, True),
        ({"type": "user", "uuid": "1", "message": {"content": "go"}}, False),
        ({"sessionId": "s"}, False),
        ({"type": "user", "id": "1", "content": "go"}, False),
        ({"id": "1", "timestamp": "t", "type": "message", "content": "go"}, False),
        ({}, False),
    ],
)
def test_its_records_are_told_from_those_of_others(record: Json, ours: bool) -> None:
    assert LINES.recognizes(record) is ours


@pytest.mark.parametrize(
    ("data", "ours"),
    [(V8, True), (V30, True), (b"[]", False), (b"", False), (b'{"sessionId": "s"}', False)],
)
def test_its_documents_are_told_from_those_of_others(data: bytes, ours: bool) -> None:
    assert DOCUMENT.recognizes(data) is ours


@pytest.mark.parametrize(
    ("path", "first", "session"),
    [
        ("p/chats/session-2026-11-30T19-00-55b42678.jsonl", header(), "s"),
        ("p/chats/session-2026-11-30T19-00-55b42678.jsonl", {}, ""),
        ("p/chats/session-1-s.jsonl", header("subagent"), "s/session-1-s"),
        ("p/chats/s/agent-1.jsonl", {}, "s/agent-1"),
        ("copy.jsonl", header(), "s"),
    ],
)
def test_a_session_is_named_by_what_it_says(path: str, first: Json, session: str) -> None:
    assert LINES.session(path, first) == session
    if first:
        assert DOCUMENT.session(path, json.dumps(first).encode()) == session


def test_the_projects_folder_is_claimed_in_a_file_beside_its_chats() -> None:
    beside = FakeFiles({"ws-gemini/.project_root": b"/home/dev/projects/ws-gemini\n"})
    for place in (LINES, DOCUMENT):
        assert place.project
        assert place.project(beside, "ws-gemini/chats/session-1.jsonl") == (
            "/home/dev/projects/ws-gemini"
        )
        assert place.project(beside, "0333b5b3/chats/session-1.json") == ""


@pytest.mark.parametrize("moved", [False, True], ids=["at home", "elsewhere"])
def test_sessions_are_found_where_gemini_cli_keeps_them(tmp_path: Path, moved: bool) -> None:
    home = tmp_path / "elsewhere" if moved else tmp_path
    environ = {"HOME": str(tmp_path)} | ({"GEMINI_CLI_HOME": str(home)} if moved else {})
    chats = home / ".gemini" / "tmp" / "ws-gemini" / "chats"
    for name, data in {
        "session-2026-11-30T19-00-55b42678.jsonl": WHOLE,
        "session-2026-11-30T19-01-55b42678.jsonl": STUB,
        "session-2026-11-30T19-14-03324019.json": V30,
        f"{SESSION}/agent-1.jsonl": jsonl(header("subagent"), user("u", "go")),
    }.items():
        (chats / name).parent.mkdir(parents=True, exist_ok=True)
        (chats / name).write_bytes(data)
    (chats.parent / ".project_root").write_text("/home/dev/projects/ws-gemini", encoding="utf-8")
    places = Places([READER], environ, project=tmp_path)
    found = places.find(SESSION)
    assert sorted(one.path.name[22:24] for one in found) == ["00", "01"]
    assert {files.project(one) for one in found} == {"/home/dev/projects/ws-gemini"}
    assert [one.session for one in places.subagents(found[0])] == [f"{SESSION}/agent-1"]
    [old] = places.find("03324019-b7d4-4aed-9cf9-10952e62316f")
    assert old.path.suffix == ".json"
    assert len(places.transcripts("gemini-cli")) == 3


# Whatever is in a file

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
PARTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "text": JSON | st.sampled_from(["go", CONTEXT, ACKNOWLEDGED, "<state_snapshot>s"]),
        "thought": JSON,
        "functionCall": JSON | st.fixed_dictionaries({"id": st.sampled_from("ab")}),
        "functionResponse": JSON
        | st.fixed_dictionaries({"id": st.sampled_from("ab"), "response": JSON}),
        "inlineData": JSON,
    },
)
CONTENT = JSON | st.lists(PARTS, max_size=3)
CALLS = st.lists(
    JSON | st.fixed_dictionaries({"id": st.sampled_from("ab"), "result": CONTENT, "status": JSON}),
    max_size=2,
)
MESSAGES: st.SearchStrategy[Any] = JSON | st.fixed_dictionaries(
    {
        "id": st.sampled_from("uvw") | JSON,
        "type": st.sampled_from(["user", "gemini", "info", "error"]) | JSON,
        "content": CONTENT,
    },
    optional={
        "timestamp": JSON,
        "displayContent": CONTENT,
        "toolCalls": CALLS | JSON,
        "thoughts": JSON | st.lists(st.fixed_dictionaries({"subject": JSON}), max_size=2),
        "tokens": JSON | st.fixed_dictionaries({"input": JSON}),
        "model": JSON,
    },
)
RECORDS: st.SearchStrategy[Any] = st.one_of(
    MESSAGES,
    st.fixed_dictionaries({"$rewindTo": st.sampled_from("uvw") | JSON}),
    st.fixed_dictionaries(
        {
            "$set": JSON
            | st.fixed_dictionaries(
                {}, optional={"messages": st.lists(MESSAGES, max_size=4) | JSON, "sessionId": JSON}
            )
        }
    ),
    st.fixed_dictionaries(
        {"sessionId": st.just("s") | JSON, "projectHash": st.just("h") | JSON},
        optional={"directories": JSON, "summary": JSON, "kind": JSON, "messages": JSON},
    ),
)


@patient
@given(st.lists(RECORDS, max_size=8))
def test_no_record_whatever_raises(found: list[Any]) -> None:
    told: list[Json] = [record for record in found if isinstance(record, dict)]
    state: State = {}
    log = Reading(READER)
    for record in told:
        LINES.recognizes(record)
        LINES.session("p/chats/session-1.jsonl", record)
        raw = json.dumps(record).encode()
        made = list(LINES.records(record, raw, state))
        assert raw in [one.raw for one in made]
        log.add(made)
        state = json.loads(json.dumps(state))
    assert log.entries or not log.messages
    before = log.records
    state.clear()
    for record in told:
        log.add(LINES.records(record, json.dumps(record).encode(), state))
    assert log.records == before


@patient
@given(st.lists(MESSAGES, max_size=4) | JSON, JSON)
def test_no_document_whatever_raises(found: Any, other: Any) -> None:
    for whole in (found, other):
        of_document(READER, json.dumps(whole).encode())
    data = document(**{"messages": found, "directories": other})
    once = of_document(READER, data)
    assert of_document(READER, data, data).records == once.records
    assert once.entries or not once.messages


@pytest.mark.parametrize("field", ["id", "type", "content", "toolCalls", "thoughts", "tokens"])
def test_what_is_nested_too_deep_does_not_raise(field: str) -> None:
    deep: Any = "go"
    for _ in range(5000):
        deep = [deep]
    for outer in (gemini("g", "a"), user("u", "a"), gemini("g", "", call("1"))):
        state: State = {}
        record = outer | {field: deep}
        for one in LINES.records(record, b"{}", state):
            if one.kind == "message":
                READER.message(one.id, [record])
        list(LINES.records(chat(record), b"{}", state))


@patient
@given(st.integers(0, len(WHOLE)))
def test_a_file_that_was_cut_anywhere_comes_right_when_the_rest_arrives(at: int) -> None:
    cut = of_lines(READER, WHOLE[:at])
    complete = of_lines(READER, b"".join(WHOLE[:at].splitlines(keepends=True)[:-1]))
    assert cut.records[: len(complete.records)] == complete.records
    assert of_lines(READER, WHOLE[:at], WHOLE[at:]).records == of_lines(READER, WHOLE).records


def test_reading_again_adds_nothing() -> None:
    for whole in (WHOLE, STUB):
        found = of_lines(READER, whole)
        before = found.records
        found.state.clear()
        for raw in whole.splitlines():
            found.add(LINES.records(json.loads(raw), raw, found.state))
        assert found.records == before
    for whole in (V8, V30):
        assert of_document(READER, whole, whole).records == of_document(READER, whole).records


# Real files beside the project


@pytest.mark.parametrize("path", shared("gemini-cli", "**/*session*"))
def test_every_message_of_a_real_file_is_accounted_for(path: Path) -> None:
    account(path)


@pytest.mark.parametrize("path", shared("gemini-cli", "entire-*"))
def test_every_message_of_another_real_file_is_accounted_for(path: Path) -> None:
    account(path)


def account(path: Path) -> None:
    """Compare what is read of a file with what plain JSON says that there is."""
    data = path.read_bytes()
    if path.suffix == ".json":
        told = json.loads(data)["messages"]
        found = of_document(READER, data)
        rebuilt: list[Json] = []
    else:
        lines = [json.loads(line) for line in data.splitlines()]
        told = [line for line in lines if "id" in line]
        rebuilt = [m for line in lines for m in line.get("$set", {}).get("messages", ())]
        found = of_lines(READER, data)
    spoken = {f"{m['id']}/{m['type']}" for m in told if m["type"] in ("user", "gemini")}
    repeats = {  # answers that stand with their calls
        f"{m['id']}/user"
        for m in told
        if m["type"] == "user"
        and isinstance(m["content"], list)
        and all("functionResponse" in part for part in m["content"])
    }
    contexts = {
        f"{m['id']}/user"
        for m in rebuilt
        if m["type"] == "user" and m["content"][0].get("text", "").startswith("<session_context>")
    }
    snapshots = {
        f"{m['id']}/user"
        for m in rebuilt
        if m["content"] and m["content"][0].get("text", "").startswith("<state_snapshot>")
    }
    assert set(ids(found.messages)) == (spoken - repeats) | contexts
    assert len(found.messages) == len(set(ids(found.messages)))
    assert {one.id for one in found.summaries} == snapshots
    unread = {f"{m['id']}/{m['type']}" for m in told} - spoken  # info, warning, error
    assert unread == {r.id for r in found.records if r.id.endswith(("/info", "/warning", "/error"))}
    assert (found.unknown, found.skipped, found.rewound) == (Counter(), [], [])
    calls = {call["id"] for m in told for call in m.get("toolCalls", ())}
    results = Counter(result.call_id for m in found.messages for result in m.results)
    assert results == Counter(calls)
    assert {c.id for m in found.messages for c in m.calls} == calls
