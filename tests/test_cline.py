"""Sessions of Cline's SDK and CLI: the real ones of 3.0.65, and what their format allows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
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
from foldmark.transcripts.cline.reader import READER
from foldmark.transcripts.record import Folder
from readings import FakeFiles, Reading, of_folder, shared

FIXTURES = Path(__file__).parent / "fixtures" / "cline"
MODEL = "mock-model"
SUMMARY = (
    "## Goal\nPort the parser.\n\n## Done\n- listed files\n- ran tests (2 failed)\n\n"
    "## Next\nFix tokenizer.py line 42.\n\n## Files\nRead:\n- none\nModified:\n- none"
)
ID = "1796065600000_abcde"
FILE = f"{ID}/{ID}.messages.json"

Json = dict[str, Any]

SDK = next(place for place in READER.places if isinstance(place, Folder))


def fixture(id: str) -> dict[str, bytes]:
    return {f"{id}/{path.name}": path.read_bytes() for path in (FIXTURES / id).iterdir()}


def real(id: str) -> Reading:
    return of_folder(READER, f"{id}/{id}.messages.json", fixture(id))


def user(id: str, said: str = "", **more: Any) -> Json:
    words = f'<user_input mode="act">{said or id}</user_input>'
    return {"id": id, "role": "user", "content": [{"type": "text", "text": words}], **more}


def reply(id: str, *content: Json, **more: Any) -> Json:
    listed = content or ({"type": "text", "text": id},)
    return {"id": id, "role": "assistant", "content": list(listed), **more}


def call(id: str, *calls: str) -> Json:
    nothing: Json = {}
    return reply(
        id,
        *({"type": "tool_use", "id": one, "name": "run", "input": nothing} for one in calls),
    )


def answer(id: str, *calls: str, said: Any = "done") -> Json:
    results = [{"type": "tool_result", "tool_use_id": one, "content": said} for one in calls]
    return {"id": id, "role": "user", "content": results}


def files(
    *told: Any, sidecar: Any = None, about: Any = None, path: str = FILE, **head: Any
) -> dict[str, bytes]:
    stem = path.removesuffix(".messages.json")
    whole = {"version": 1, "agent": "lead", "sessionId": ID, **head, "messages": told}
    made = {path: whole, f"{stem}.compaction.json": sidecar, f"{stem}.json": about}
    return {name: json.dumps(one).encode() for name, one in made.items() if one is not None}


def compacted(
    count: int, last: str, *tail: Json, said: str = "The summary.", when: int = 1796065626869
) -> Json:
    """Write what a model's compaction of the first `count` messages left."""
    written = {
        "role": "user",
        "content": [{"type": "text", "text": f"Context summary:\n\n{said}"}],
        "metadata": {"kind": "compaction_summary", "summary": said, "generatedAt": when},
    }
    return {
        "version": 1,
        "source_message_count": count,
        "source_last_message_key": f"id:{last}",
        "messages": [written, *tail],
    }


def read(*versions: Mapping[str, bytes], path: str = FILE) -> Reading:
    return of_folder(READER, path, *versions)


def ids(found: Sequence[Message]) -> list[str]:
    return [one.id for one in found]


# What Cline 3.0.65 wrote


def test_a_session_with_parallel_calls_is_read_as_it_was() -> None:
    reading = real("1796065503068_f3oat")
    failed = (
        "[Command exited with code 2]\n\n[stderr]\nls: cannot access '/nonexistent-72': "
        "No such file or directory\n"
    )

    assert reading.entries == [
        Message(
            "fed2a73b-dccc-4095-919a-92dece245dd0",
            "user",
            (Text("first TOOL PARALLEL"),),
            "2026-11-30T19:05:03.475Z",
        ),
        Message(
            "msg_V1yV0E8a",
            "assistant",
            (
                Reasoning("I should look at the request number 72 first."),
                Text("Let me run a command."),
                ToolCall("call_mock72_0", "run_commands", {"commands": ["echo hello-72"]}),
                ToolCall("call_mock72_1", "run_commands", {"commands": ["ls /nonexistent-72"]}),
            ),
            "2026-11-30T19:05:03.847Z",
            MODEL,
            usage=Usage(1500, 80),
        ),
        Message(
            "call_mock72_0/result",
            "user",
            (ToolResult("call_mock72_0", "hello-72\n"),),
            "2026-11-30T19:05:03.921Z",
        ),
        Message(
            "call_mock72_1/result",
            "user",
            (ToolResult("call_mock72_1", failed, is_error=True),),
            "2026-11-30T19:05:03.954Z",
        ),
        Message(
            "msg_2tYEmB0n",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (73)."),
                Text("Done: the command finished. (reply 73)"),
            ),
            "2026-11-30T19:05:04.028Z",
            MODEL,
            usage=Usage(1500, 80),
        ),
    ]
    assert reading.prompts == ["first TOOL PARALLEL"]
    assert reading.fact("project") == "/home/dev/projects/ws-cline"
    assert reading.fact("title") == "first TOOL PARALLEL"
    assert not reading.unknown
    assert reading.skipped == []


def test_an_error_that_was_only_shown_is_marked_as_one() -> None:
    said = "Cannot connect to API: Was there a typo in the url or port?"

    assert real("1796065417238_vaaog").messages == [
        Message(
            "f468e8e6-0622-4c90-8fcb-59a5335fb28f",
            "user",
            (Text("first TOOL PARALLEL"),),
            "2026-11-30T19:03:38.046Z",
        ),
        Message(
            "error_98c27f90-f785-4bd1-a026-2333c5db74cb",
            "assistant",
            (Text(f"{said}: Was there a typo in the url or port? (FailedToOpenSocket)"),),
            "2026-11-30T19:04:40.794Z",
            "aion-labs/aion-3.5",
            error="api_error",
        ),
    ]


def test_a_compaction_by_a_model_keeps_the_tail_it_kept() -> None:
    reading = real("1796065621848_qg0hm")
    summary = reading.summaries[0]
    marker = f"{summary.id}/marker"

    assert reading.markers == [Marker(marker, "msg_Ue2a0Yhk", "2026-11-30T19:07:06.869Z")]
    assert reading.summaries == [
        Summary(summary.id, marker, SUMMARY, "end_turn", at="2026-11-30T19:07:06.869Z")
    ]
    assert [one.id for one in reading.entries] == [
        "e72b14b3-60b9-4877-b68c-367855b722ce",
        "msg_5wL6kzAD",
        "call_mock1_0/result",
        "msg_Ue2a0Yhk",
        "call_mock12_0/result",
        marker,
        summary.id,
        "msg_Au7XOkOe",
    ]
    assert ids(reading.visible) == ["msg_Ue2a0Yhk", "call_mock12_0/result", "msg_Au7XOkOe"]
    assert reading.view.warning == ""


def test_a_compaction_without_a_model_hides_nothing() -> None:
    reading = real("1796065640260_0svv9")

    assert reading.kinds == {"message": 6, "other": 3}
    assert ids(reading.visible) == ids(reading.messages)
    assert reading.prompts == ["loop TOOL basic"]
    assert b"SYSTEM_NOTICE" in reading.records[-1].raw


# Prompts


@pytest.mark.parametrize(
    ("told", "typed"),
    [
        pytest.param(user("u", "fix it"), "fix it", id="wrapped"),
        pytest.param(user("u", "a < b\n\nand c"), "a < b\n\nand c", id="of several lines"),
        pytest.param({"id": "u", "role": "user", "content": "fix it"}, "fix it", id="bare"),
        pytest.param(
            user("u", "<mode_notice>You switched.</mode_notice>\nfix it"), "fix it", id="notice in"
        ),
        pytest.param(
            {
                "id": "u",
                "role": "user",
                "content": '<mode_notice>x</mode_notice><user_input mode="plan">go</user_input> y',
            },
            "go",
            id="notice outside",
        ),
        pytest.param(
            user("u", '<user_command slash="team">inspect it</user_command>'),
            "inspect it",
            id="command",
        ),
        pytest.param(
            user("u", "go\n\n<environment_details>\n# Current Mode\n</environment_details>"),
            "go",
            id="environment",
        ),
        pytest.param(
            user("u", "look\n<file_content path='a'>\nx = 1\n</file_content>"), "look", id="file"
        ),
        pytest.param(user("u", "[TASK RESUMPTION] This task was interrupted."), "", id="resumed"),
        pytest.param(
            user("u", "The user approved switching to act mode. Continue now."), "", id="approved"
        ),
        pytest.param(
            user("u", "Use the tool.", metadata={"kind": "completion_reminder"}), "", id="reminder"
        ),
        pytest.param(user("u", "x", metadata={"displayRole": "system"}), "", id="system"),
        pytest.param(user("u", "x", metadata={"kind": "chat"}), "x", id="other metadata"),
        pytest.param(
            user("u", "why is <user_input> there?"), "why is <user_input> there?", id="mentioned"
        ),
        pytest.param(answer("r", "c", said="<user_input>evil</user_input>"), "", id="a result"),
    ],
)
def test_only_what_a_person_typed_is_a_prompt(told: Json, typed: str) -> None:
    reading = read(files(told))

    assert [record.prompt for record in reading.records if record.kind == "message"] == [typed]
    assert reading.messages[0].prompt == typed


# Blocks


def outcome(query: str, result: Any, *, success: bool = True, **more: Any) -> Json:
    return {"query": query, "result": result, "success": success, **more}


IMAGE = {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"}
PNG = Attachment("image/png", "", 5)


@pytest.mark.parametrize(
    ("part", "block"),
    [
        pytest.param({"type": "thinking", "thinking": "hm", "signature": "s"}, Reasoning("hm")),
        pytest.param(
            {"type": "redacted_thinking", "data": "x"}, Reasoning("", redacted=True), id="redacted"
        ),
        pytest.param(
            {"type": "file", "path": "/p/a.py", "content": "é = 1"},
            Attachment("text/plain", "/p/a.py", 6),
            id="file",
        ),
        pytest.param(IMAGE, PNG, id="image"),
        pytest.param(
            {"type": "image", "data": "data:image/gif;base64,aGVsbG8=", "mediaType": "image/png"},
            Attachment("image/gif", "", 5),
            id="image as a link",
        ),
        pytest.param({"type": "hologram"}, Unknown("hologram"), id="unknown"),
        pytest.param("words", Text("words"), id="string"),
    ],
)
def test_every_kind_of_block_is_read(part: Any, block: Block) -> None:
    assert READER.message("m", [reply("m", part)]).blocks == (block,)


@pytest.mark.parametrize(
    ("content", "text", "is_error", "attachments"),
    [
        pytest.param("plain", "plain", False, (), id="text"),
        pytest.param([{"type": "text", "text": "a"}], "a", False, (), id="blocks"),
        pytest.param([outcome("ls", "a\n")], "a\n", False, (), id="outcome"),
        pytest.param(json.dumps(outcome("edit:a", "Edited a")), "Edited a", False, (), id="JSON"),
        pytest.param(
            [outcome("ls", "", success=False, error="aborted")], "aborted", True, (), id="failed"
        ),
        pytest.param(
            [outcome("a", "1"), outcome("b", "2", success=False)], "a\n1\nb\n2", True, (), id="two"
        ),
        pytest.param([outcome("a.png", [IMAGE])], "", False, (PNG,), id="image"),
        pytest.param(
            '{"content":[{"type":"text","text":"probe ok"}]}', "probe ok", False, (), id="MCP"
        ),
        pytest.param(
            '{"content":[{"type":"text","text":"no"}],"isError":true}', "no", True, (), id="MCP no"
        ),
        pytest.param(
            '{"content":["a"],"name":"x"}', '{"content":["a"],"name":"x"}', False, (), id="own JSON"
        ),
        pytest.param('{"query": broken', '{"query": broken', False, (), id="broken"),
        pytest.param(None, "", False, (), id="nothing"),
    ],
)
def test_results_of_every_tool_are_read(
    content: Any, text: str, is_error: bool, attachments: tuple[Attachment, ...]
) -> None:
    built = READER.message("m", [answer("m", "c", said=content)])

    assert built.blocks == (ToolResult("c", text, is_error, attachments),)


def test_what_a_provider_ran_for_its_model_is_a_call_and_a_result() -> None:
    ran = {"toolCallId": "s1", "toolName": "web_search", "input": {"q": "x"}, "output": "found"}
    pending = {"toolCallId": "s2", "toolName": "web_search", "input": None}
    told = reply("m", metadata={"modelToolActivities": [ran, pending]})

    assert READER.message("m", [told]).blocks == (
        ToolCall("s1", "web_search", {"q": "x"}),
        ToolResult("s1", "found"),
        ToolCall("s2", "web_search", None),
        Text("m"),
    )


def test_a_status_that_was_only_shown_is_kept_and_is_no_message() -> None:
    status = reply("s", metadata={"displayRole": "status", "displayOnly": True})

    assert read(files(user("u1"), status)).kinds == {"message": 1, "other": 2}


def test_unknown_roles_are_kept_and_counted() -> None:
    reading = read(files({"id": "x", "role": "narrator", "content": "once"}, user("u1"), 7))

    assert reading.unknown == {"message/narrator": 1}
    assert ids(reading.messages) == ["u1"]
    assert [(skip.place, skip.reason) for skip in reading.skipped] == [(2, "not an object")]


# A file that is written anew


def test_reading_again_adds_nothing_and_a_longer_file_only_what_is_new() -> None:
    first = files(user("u1"), call("a1", "c1"))
    second = files(user("u1"), call("a1", "c1"), answer("r1", "c1"), reply("a2"))

    assert len(read(first, first, second, second).rows) == len(read(second).rows)
    assert ids(read(first, second).messages) == ["u1", "a1", "c1/result", "a2"]


def test_a_session_that_was_resumed_does_not_hold_its_results_twice() -> None:
    """Each resumption parts results that stood together, and gives their messages new ids."""
    before = files(user("u1"), call("a1", "c1", "c2"), answer("r1", "c1", "c2"), reply("a2"))
    once = [answer("r1_tool_c1", "c1"), answer("r1_tool_c2", "c2")]
    twice = [answer("r1_tool_c1_tool_c1", "c1"), answer("msg_new_1_tool_c2", "c2")]
    after = [files(user("u1"), call("a1", "c1", "c2"), *r, reply("a2")) for r in (once, twice)]
    reading = read(before, *after)

    assert ids(reading.messages) == ["u1", "a1", "c1/result", "c2/result", "a2"]
    assert reading.rewound == []


def test_what_a_resumption_adds_to_an_id_adds_no_rows() -> None:
    once = files(call("a1", "c1"), answer("r1_tool_c1", "c1"))

    assert len(read(once, files(call("a1", "c1"), answer("r1_tool_c1_tool_c1", "c1"))).rows) == 3


def test_a_message_with_results_and_words_is_parted_as_cline_parts_it() -> None:
    mixed = answer("r1", "c1")
    mixed["content"].append({"type": "text", "text": "and hurry"})
    reading = read(files(call("a1", "c1"), mixed))

    assert ids(reading.messages) == ["a1", "c1/result", "r1"]
    assert reading.prompts == ["and hurry"]


def test_calls_that_share_an_id_keep_their_results_apart() -> None:
    told = [call("a1", "c"), answer("r1", "c"), call("a2", "c"), answer("r2", "c")]

    assert ids(read(files(*told)).messages) == ["a1", "c/result", "a2", "c/result~2"]


def test_messages_that_were_taken_back_leave_the_active_branch() -> None:
    before = files(user("u1"), reply("a1"), user("u2"), reply("a2"))
    reading = read(before, files(user("u1"), reply("a1"), user("u3")))

    assert ids(reading.messages) == ["u1", "a1", "u3"]
    assert ids(reading.rewound) == ["u2", "a2"]


@pytest.mark.parametrize("torn", [b"", b'{"messages": [', b"[]", b'{"messages": 3}'])
def test_a_torn_file_takes_nothing_back(torn: bytes) -> None:
    reading = read(files(user("u1"), reply("a1")), {FILE: torn})

    assert ids(reading.messages) == ["u1", "a1"]
    assert [skip.place for skip in reading.skipped] == [FILE]


# Compactions


HISTORY = [user("u1"), call("a1", "c1"), answer("r1", "c1"), reply("a2"), user("u2"), reply("a3")]


@pytest.mark.parametrize(
    "versions",
    [
        pytest.param([(6, True)], id="read once"),
        pytest.param([(4, False), (6, True)], id="as it came"),
        pytest.param([(4, True), (6, True)], id="at once"),
        pytest.param([(6, False), (6, True)], id="late"),
    ],
)
def test_whenever_a_compaction_is_read_the_same_is_visible(
    versions: list[tuple[int, bool]],
) -> None:
    sidecar = compacted(4, "a2", answer("r1_tool_c1", "c1"), reply("a2"))
    written = [files(*HISTORY[:n], sidecar=sidecar if s else None) for n, s in versions]
    reading = read(*written)

    assert ids(reading.visible) == ["c1/result", "a2", "u2", "a3"]
    assert reading.view.boundary is not None
    assert reading.view.boundary.summary.text == "The summary."


def test_a_second_compaction_adds_a_second_boundary() -> None:
    first = compacted(4, "a2", reply("a2"))
    second = compacted(6, "a3", reply("a3"), said="The second.", when=1796065700000)
    reading = read(files(*HISTORY, sidecar=first), files(*HISTORY, user("u3"), sidecar=second))

    assert [summary.text for summary in reading.summaries] == ["The summary.", "The second."]
    assert ids(reading.visible) == ["a3", "u3"]
    assert reading.view.boundary is not None
    assert reading.view.boundary.summary.text == "The second."


def test_a_compaction_that_kept_nothing_hides_everything_before_it() -> None:
    assert ids(read(files(*HISTORY, sidecar=compacted(4, "a2"))).visible) == ["u2", "a3"]


@pytest.mark.parametrize(
    "sidecar",
    [
        pytest.param(compacted(4, "a1"), id="the last message is another"),
        pytest.param(compacted(9, "a3"), id="more than there are"),
        pytest.param(compacted(0, "a2"), id="none"),
        pytest.param({"messages": compacted(4, "a2")["messages"]}, id="of an older version"),
        pytest.param({"messages": [user("u1")], "source_message_count": 4}, id="no summary"),
        pytest.param([], id="no object"),
        pytest.param("{", id="nonsense"),
    ],
)
def test_a_compaction_of_other_messages_hides_nothing(sidecar: Any) -> None:
    reading = read(files(*HISTORY, sidecar=sidecar))

    assert reading.markers == []
    assert ids(reading.visible) == ids(reading.messages)


def test_a_blank_summary_hides_nothing() -> None:
    reading = read(files(*HISTORY, sidecar=compacted(4, "a2", reply("a2"), said="  ")))

    assert len(reading.markers) == 1
    assert len(reading.visible) == 6


def test_a_tail_that_cannot_be_found_hides_nothing_and_says_so() -> None:
    reading = read(files(*HISTORY, sidecar=compacted(4, "a2", reply("gone"))))

    assert len(reading.visible) == 6
    assert "'gone'" in reading.view.warning


def test_going_back_before_a_compaction_takes_it_back() -> None:
    sidecar = compacted(4, "a2", reply("a2"))
    reading = read(files(*HISTORY, sidecar=sidecar), files(*HISTORY[:2], sidecar=sidecar))

    assert reading.markers == []
    assert ids(reading.visible) == ["u1", "a1"]


# Sessions


@pytest.mark.parametrize(
    ("path", "session"),
    [
        pytest.param(FILE, ID, id="by its file"),
        pytest.param("mine/mine.messages.json", "mine", id="a name of one's own"),
        pytest.param(f"{ID}/agent_x.messages.json", f"{ID}/agent_x", id="a subagent"),
        pytest.param(f"backup/{ID}.messages.json", ID, id="a copy"),
        pytest.param("backup/copy.messages.json", "", id="a renamed copy"),
    ],
)
def test_a_session_is_named_by_its_file(path: str, session: str) -> None:
    assert SDK.session(path) == session


def test_a_subagent_belongs_to_its_session_and_works_in_the_same_place() -> None:
    path = f"{ID}/agent_x.messages.json"
    about = {f"{ID}/{ID}.json": b'{"cwd": "/p", "metadata": {"title": "t"}}'}
    reading = read({**files(user("u1"), path=path), **about}, path=path)

    assert reading.fact("parent_session") == ID
    assert reading.fact("project") == "/p"
    assert reading.fact("title") == ""


def test_a_fork_names_the_session_it_came_from() -> None:
    about = {"cwd": "/p", "metadata": {"fork": {"forkedFromSessionId": "1784094053271_p8pzo"}}}
    reading = read(files(user("u1"), about=about))

    assert reading.fact("forked_from") == "1784094053271_p8pzo"
    assert reading.fact("parent_session") == ""


def test_what_changes_all_the_time_adds_no_rows() -> None:
    about = {"cwd": "/p", "metadata": {"title": "t", "totalCost": 1}, "status": "running"}
    later = {"cwd": "/p", "metadata": {"title": "t", "totalCost": 2}, "status": "completed"}
    first = files(user("u1"), about=about, updated_at="1")

    assert len(read(first, files(user("u1"), about=later, updated_at="2")).rows) == 3


@pytest.mark.parametrize(
    ("head", "known"),
    [
        pytest.param((FIXTURES / "1796065503068_f3oat").joinpath(
            "1796065503068_f3oat.messages.json").read_bytes(), True, id="real"),
        pytest.param(b'{"messages": []}', False, id="anybody's"),
        pytest.param(b'[{"role": "user", "content": "x"}]', False, id="a list"),
        pytest.param(b"{", False, id="torn"),
        pytest.param(b"", False, id="empty"),
    ],
)  # fmt: skip
def test_only_clines_files_are_recognized(head: bytes, known: bool) -> None:
    assert SDK.recognizes(head) is known


# Whatever is in it

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["user", "assistant", "text", "tool_result", "compaction_summary", "error"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("id", "role", "content", "type", "text", "ts", "metadata", "kind"),
                    *("tool_use_id", "displayRole", "modelInfo", "metrics", "query", "success"),
                    *("result", "data", "modelToolActivities", "mediaType", "path"),
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(["role", "content", "ts", "metadata", "modelInfo", "metrics", "id"])


@patient
@given(
    told=st.lists(JSON | st.dictionaries(KEYS, JSON, max_size=6), max_size=4),
    sidecar=JSON | st.fixed_dictionaries({"messages": st.lists(JSON, max_size=3)}),
    about=JSON,
)
@example(told=[{"role": "user", "ts": 10**400}], sidecar={"source_message_count": 10**30}, about=0)
@example(told=[{"id": "\0", "role": "user", "content": "\ud800"}], sidecar=None, about=None)
def test_nothing_in_the_files_raises(told: list[Any], sidecar: Any, about: Any) -> None:
    written = files(*told, sidecar=sidecar, about=about)
    reading = read(written, written)

    assert len(reading.skipped) == sum(not isinstance(one, dict) for one in told)
    assert len({record.id for record in reading.records}) == len(reading.rows)
    assert reading.entries is not None


@patient
@given(data=st.binary(max_size=60), side=st.binary(max_size=30))
def test_no_bytes_raise(data: bytes, side: bytes) -> None:
    beside = {f"{ID}/{ID}.compaction.json": side, f"{ID}/{ID}.json": side}
    SDK.read(FakeFiles({FILE: data, **beside}), FILE)
    SDK.recognizes(data)


# Every real file


@pytest.mark.parametrize("path", shared("cline", "**/*.messages.json"))
def test_every_message_of_the_real_sessions_is_accounted_for(path: Path) -> None:
    beside = {f"{path.parent.name}/{one.name}": one.read_bytes() for one in path.parent.iterdir()}
    reading = read(beside, beside, path=f"{path.parent.name}/{path.name}")
    native = json.loads(path.read_bytes())["messages"]
    results = [[part for part in one["content"] if part["type"] == "tool_result"] for one in native]
    whole = [one["id"] for one, found in zip(native, results, strict=True) if not found]
    calls = [f"{part['tool_use_id']}/result" for found in results for part in found]

    assert sorted(ids(reading.messages)) == sorted([*whole, *calls])
    assert reading.kinds["message"] == len(native)
    assert not reading.unknown
    assert reading.skipped == []
    assert reading.rewound == []
    typed = [one for one in native if one["role"] == "user" and one["id"] in whole]
    assert len(reading.prompts) == len(typed)
    made = [block for message in reading.messages for block in message.calls]
    answered = [block.call_id for message in reading.messages for block in message.results]
    assert {block.id for block in made} == set(answered)
