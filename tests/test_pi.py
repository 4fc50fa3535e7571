import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import patient
from foldmark.messages import (
    Attachment,
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
from foldmark.transcripts.pi import reader as pi
from foldmark.transcripts.pi.reader import READER
from readings import Reading, of_lines, shared

FIXTURES = Path(__file__).parent / "fixtures" / "pi"
FIRST = "01a22dd6-b416-72f7-a8aa-b211c2e360d9"
FORK = "01a22dd6-b92c-7246-b7c0-830595488c3e"
OPUS = "claude-opus-4-5"
USED = Usage(1500, 80)
HEADER = {
    "type": "session",
    "version": 3,
    "id": "s",
    "timestamp": "2026-11-01T00:00:00Z",
    "cwd": "/p",
}

Json = dict[str, Any]


def fixture(name: str) -> bytes:
    return (FIXTURES / f"{name}.jsonl").read_bytes()


def entries(name: str) -> list[Json]:
    return [json.loads(line) for line in fixture(name).splitlines()]


def jsonl(*values: Json) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def told(messages: list[Message]) -> list[str]:
    """Tell messages by their role's letter and their words, or how many blocks of another kind."""
    return [
        f"{m.role[0].upper()}:"
        + (" ".join(b.text for b in m.blocks if isinstance(b, Text)) or f"{len(m.blocks)} more")
        for m in messages
    ]


def entry(id: str, parent: str | None, words: str | None = None, **fields: Any) -> Json:
    """Write an entry: what a person said, or what `fields` say it is."""
    said = {"type": "message", "message": {"role": "user", "content": words}}
    return {"id": id, "parentId": parent, "timestamp": f"at {id}", **(fields or said)}


def reply(id: str, parent: str | None, words: str) -> Json:
    body = {"role": "assistant", "content": [{"type": "text", "text": words}], "stopReason": "stop"}
    return entry(id, parent, type="message", message=body)


# A session with a compaction, written by the real program


def test_every_message_of_a_session_is_read_as_a_model_saw_it():
    reading = of_lines(READER, fixture("compacted"))

    assert reading.messages == [
        Message("a1f3f5be", "user", (Text("first TOOL PARALLEL"),), "2026-11-30T19:02:55.445Z"),
        Message(
            "52ea0a30",
            "assistant",
            (
                Reasoning("I should look at the request number 56 first."),
                Text("Let me run a command."),
                ToolCall("toolu_mock0056_1", "bash", {"command": "echo hello-56"}),
                ToolCall("toolu_mock0056_2", "bash", {"command": "ls /nonexistent-56"}),
            ),
            "2026-11-30T19:02:55.785Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "3b518b9f",
            "user",
            (ToolResult("toolu_mock0056_1", "hello-56\n"),),
            "2026-11-30T19:02:55.885Z",
        ),
        Message(
            "7389483f",
            "user",
            (
                ToolResult(
                    "toolu_mock0056_2",
                    "ls: cannot access '/nonexistent-56': No such file or directory\n\n\n"
                    "Command exited with code 2",
                    is_error=True,
                ),
            ),
            "2026-11-30T19:02:55.886Z",
        ),
        Message(
            "aed11d18",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (57)."),
                Text("Done: the command finished. (reply 57)"),
            ),
            "2026-11-30T19:02:55.927Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "e409aaa1", "user", (Text("second REDACTED EMPTYTHINK"),), "2026-11-30T19:02:55.942Z"
        ),
        Message(
            "71845b1e",
            "assistant",
            (
                Reasoning("", redacted=True),
                Reasoning("I should look at the request number 58 first."),
                Reasoning("", redacted=True),
                Text("Answer 58 to your message."),
            ),
            "2026-11-30T19:02:55.982Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "0f354287",
            "user",
            (Text("third TOOL image"), Attachment("image/png", "", 75)),
            "2026-11-30T19:02:55.994Z",
        ),
        Message(
            "fabd6030",
            "assistant",
            (
                Reasoning("I should look at the request number 59 first."),
                Text("Let me run a command."),
                ToolCall("toolu_mock0059_1", "bash", {"command": "echo hello-59"}),
            ),
            "2026-11-30T19:02:56.037Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "70cd2660",
            "user",
            (ToolResult("toolu_mock0059_1", "hello-59\n"),),
            "2026-11-30T19:02:56.055Z",
        ),
        Message(
            "5bbc0a64",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (60)."),
                Text("Done: the command finished. (reply 60)"),
            ),
            "2026-11-30T19:02:56.094Z",
            OPUS,
            usage=USED,
        ),
        Message("e83207fa", "user", (Text("filler 0"),), "2026-11-30T19:02:56.110Z"),
        Message(
            "472e1b6c",
            "assistant",
            (
                Reasoning("I should look at the request number 61 first."),
                Text("Answer 61 to your message."),
            ),
            "2026-11-30T19:02:56.142Z",
            OPUS,
            usage=USED,
        ),
        Message("d324f074", "user", (Text("after compaction TOOL"),), "2026-11-30T19:02:56.377Z"),
        Message(
            "adb454fe",
            "assistant",
            (
                Reasoning("I should look at the request number 67 first."),
                Text("Let me run a command."),
                ToolCall("toolu_mock0067_1", "bash", {"command": "echo hello-67"}),
            ),
            "2026-11-30T19:02:56.414Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "672b5ca3",
            "user",
            (ToolResult("toolu_mock0067_1", "hello-67\n"),),
            "2026-11-30T19:02:56.447Z",
        ),
        Message(
            "69fbd178",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (68)."),
                Text("Done: the command finished. (reply 68)"),
            ),
            "2026-11-30T19:02:56.482Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "2000df1f",
            "user",
            (Text("Ran `echo user-bash`\n```\nuser-bash\n\n```", injected=True),),
            "2026-11-30T19:02:56.514Z",
        ),
        Message("bfc826b0", "user", (Text("last"),), "2026-11-30T19:02:56.521Z"),
        Message(
            "d0cef771",
            "assistant",
            (
                Reasoning("I should look at the request number 69 first."),
                Text("Answer 69 to your message."),
            ),
            "2026-11-30T19:02:56.546Z",
            OPUS,
            usage=USED,
        ),
    ]


def test_a_compaction_shows_its_summary_and_what_it_kept():
    reading = of_lines(READER, fixture("compacted"))

    assert reading.markers == [Marker("e0df5b9f/marker", "e83207fa", "2026-11-30T19:02:56.363Z")]
    assert reading.summaries == [
        Summary(
            "e0df5b9f",
            "e0df5b9f/marker",
            "## Goal\nPort the parser.\n\n## Done\n- listed files\n- ran tests (2 failed)\n\n"
            "## Next\nFix tokenizer.py line 42.",
            "stop",
            at="2026-11-30T19:02:56.363Z",
        )
    ]
    assert [message.id for message in reading.visible] == [
        *("e83207fa", "472e1b6c", "d324f074", "adb454fe", "672b5ca3", "69fbd178", "2000df1f"),
        *("bfc826b0", "d0cef771"),
    ]


def test_the_records_tell_of_the_session():
    reading = of_lines(READER, fixture("compacted"))

    assert reading.fact("project") == "/home/dev/projects/ws-pi"
    assert reading.fact("forked_from") == ""
    assert reading.kinds == {"message": 20, "other": 3, "marker": 1, "summary": 1}
    assert reading.unknown == {}
    assert [record.chars for record in reading.records[3:5]] == [19, 45 + 21 + 32 + 37]
    assert [record.prompt for record in reading.records if record.prompt] == [
        *("first TOOL PARALLEL", "second REDACTED EMPTYTHINK", "third TOOL image", "filler 0"),
        *("after compaction TOOL", "last"),
    ]


def test_a_fork_holds_all_that_it_begins_with_and_names_where_it_came_from():
    reading = of_lines(READER, fixture("forked"))

    assert reading.fact("forked_from") == FIRST
    assert [message.id for message in reading.visible] == [
        *("e83207fa", "472e1b6c", "c81d15f5", "8541a702"),
    ]


def test_no_signature_gets_into_a_message():
    assert "c2ln" not in repr(of_lines(READER, fixture("compacted")).messages)


# Branches


def test_what_is_off_the_branch_is_gone_whatever_entry_the_new_one_begins_under():
    reading = of_lines(READER, fixture("tree"))

    assert told(reading.messages) == [
        "U:port the parser",
        "A:reading",
        "U:1 more",
        "U:The following is a summary of a branch that this conversation came back from:\n\n"
        "<summary>\nA generator was tried: too slow.</summary>",
        "U:by hand then",
        "A:done by hand",
    ]
    assert told(reading.rewound) == ["A:by hand?", "U:no, with a generator", "A:generator it is"]
    assert reading.prompts == ["port the parser", "by hand then"]


BRANCHES = (HEADER, entry("u1", None, "one"), reply("a1", "u1", "1"), entry("u2", "a1", "two"))


@pytest.mark.parametrize(
    ("more", "live"),
    [
        pytest.param([reply("a2", "u2", "2")], ["u1", "a1", "u2", "a2"], id="none"),
        pytest.param([entry("u3", "a1", "three")], ["u1", "a1", "u3"], id="another prompt"),
        pytest.param([entry("u3", "u1", "three")], ["u1", "u3"], id="under a prompt"),
        pytest.param([entry("u3", None, "three")], ["u3"], id="another beginning"),
        pytest.param([reply("a2", "u1", "again")], ["u1", "a2"], id="another answer"),
        pytest.param(
            [entry("m", "a1", type="model_change"), entry("u3", "m", "three")],
            ["u1", "a1", "u3"],
            id="under what is no message",
        ),
        pytest.param([entry("m", "u1", type="label")], ["u1"], id="by what is no message"),
        pytest.param(
            [entry("u3", "a1", "three"), reply("a2", "u2", "2")],
            ["u1", "a1", "u2", "a2"],
            id="back to one that was left",
        ),
        pytest.param(
            [entry("u3", None, "three"), entry("u4", "u1", "four"), entry("u5", "u3", "five")],
            ["u1", "a1", "u2", "u3", "u5"],  # a fork takes back no more than the end of a log
            id="back and forth: rather too much is shown than too little",
        ),
        pytest.param([*BRANCHES[1:]], ["u1", "a1", "u2"], id="all of it again"),
        pytest.param(
            [reply("a1", "u1", "1"), entry("u3", "a1", "three")],
            ["u1", "a1", "u3"],
            id="under what was written again",
        ),
        pytest.param(
            [entry("u2", "a1", "two"), entry("u3", "u2", "three")],
            ["u1", "a1", "u2", "u3"],
            id="under the last, written again",
        ),
        pytest.param([entry("u3", "lost", "three")], ["u1", "a1", "u2", "u3"], id="a lost parent"),
        pytest.param([entry("u3", "u3", "three")], ["u1", "a1", "u2", "u3"], id="its own parent"),
        pytest.param(
            [{**entry("u3", None, "three"), "parentId": 7}],
            ["u1", "a1", "u2", "u3"],
            id="a parent that is no name",
        ),
        pytest.param(
            [
                entry("c", "u2", type="compaction", summary="S", firstKeptEntryId="u2"),
                entry("u3", "u2", "three"),
            ],
            ["u1", "a1", "u2", "u3"],
            id="before a compaction",
        ),
    ],
)
def test_the_last_entry_and_its_ancestors_are_live(more: list[Json], live: list[str]):
    reading = of_lines(READER, jsonl(*BRANCHES, *more))

    assert [message.id for message in reading.messages] == live
    assert reading.markers == []


def test_a_branch_that_is_taken_up_again_brings_its_compaction_back():
    compacted = entry("c", "u2", type="compaction", summary="S", firstKeptEntryId="u2")
    reading = of_lines(
        READER,
        jsonl(*BRANCHES, compacted, entry("u3", "a1", "three"), entry("u4", "c", "four")),
    )

    assert [message.id for message in reading.visible] == ["u2", "u4"]
    assert reading.view.boundary is not None


def ancestors(values: list[Json]) -> list[str]:
    by_id = {value["id"]: value for value in values}
    path: list[str] = []
    at = values[-1]["id"] if values else None
    while at is not None:
        path.append(at)
        at = by_id[at]["parentId"]
    return path[::-1]


@patient
@given(st.lists(st.integers(0, 30), max_size=12), st.booleans())
def test_no_ancestor_is_hidden_and_nothing_else_shown_while_no_left_branch_is_taken_up(
    steps: list[int], only_back: bool
):
    values: list[Json] = []
    for number, step in enumerate(steps):
        known = ancestors(values) if only_back else [value["id"] for value in values]
        under = [None, *known][-1 - step % (len(known) + 1)]
        values.append(entry(f"e{number}", under, f"{number}"))
    live = [message.id for message in of_lines(READER, jsonl(HEADER, *values)).messages]

    assert set(ancestors(values)) <= set(live)
    if only_back:
        assert live == ancestors(values)


# Compactions


@pytest.mark.parametrize(
    ("fields", "visible"),
    [
        pytest.param({"firstKeptEntryId": "a1"}, ["a1", "u2", "u3"], id="keeps from a message on"),
        pytest.param({"firstKeptEntryId": "m"}, ["u2", "u3"], id="keeps from another entry on"),
        pytest.param({"firstKeptEntryId": "l"}, ["u3"], id="keeps only what is no message"),
        pytest.param({"firstKeptEntryId": "c"}, ["u3"], id="keeps nothing but itself"),
        pytest.param({}, ["u3"], id="keeps nothing"),
        pytest.param(
            {"firstKeptEntryId": "lost"},
            ["u1", "a1", "u2", "u3"],
            id="keeps from an entry that is not there",
        ),
        pytest.param({"summary": " \n"}, ["u1", "a1", "u2", "u3"], id="has a blank summary"),
        pytest.param({"summary": None}, ["u1", "a1", "u2", "u3"], id="has no summary"),
    ],
)
def test_what_is_visible_after_a_compaction_that(fields: Json, visible: list[str]):
    reading = of_lines(
        READER,
        jsonl(
            HEADER,
            entry("u1", None, "one"),
            reply("a1", "u1", "1"),
            entry("m", "a1", type="model_change"),
            entry("u2", "m", "two"),
            entry("l", "u2", type="label"),
            entry("c", "l", **{"type": "compaction", "summary": "S"} | fields),
            entry("u3", "c", "three"),
        ),
    )

    assert [message.id for message in reading.visible] == visible


# Old and new versions


def test_the_first_version_is_read_without_ids():
    reading = of_lines(READER, fixture("oldest"))

    assert reading.messages == [
        Message("~1", "user", (Text("one"),), "2025-12-01T08:00:01.000Z"),
        Message("~2", "assistant", (Text("1"),), "2025-12-01T08:00:02.000Z", OPUS),
        Message("~4", "user", (Text("two"),), "2025-12-01T08:00:04.000Z"),
        Message("~5", "assistant", (), "2025-12-01T08:00:05.000Z", OPUS, "overloaded_error"),
        Message("~7", "user", (Text("three"),), "2025-12-01T08:00:07.000Z"),
        Message("~8", "assistant", (Text("3, but"),), "2025-12-01T08:00:08.000Z", OPUS, "aborted"),
    ]
    assert reading.markers == [Marker("~6/marker", "~4", "2025-12-01T08:00:06.000Z")]
    assert [message.id for message in reading.visible] == ["~4", "~5", "~7", "~8"]
    assert reading.fact("forked_from") == "aaaaaaaa-0000-4000-8000-000000000000"


def migrated(old: list[Json]) -> list[Json]:
    """Do what pi does with a file of the first version as it opens it."""
    old[0]["version"] = 3
    root: Json = {"id": None}
    for before, after in pairwise([root, *old[1:]]):
        after["id"] = f"{old.index(after):08x}"
        after["parentId"] = before["id"]
        if "firstKeptEntryIndex" in after:
            after["firstKeptEntryId"] = f"{after.pop('firstKeptEntryIndex'):08x}"
    return old


def test_a_file_that_was_given_ids_is_not_read_twice():
    reading = of_lines(READER, fixture("oldest"))
    reading.state.clear()  # as for every file that was written anew
    for value in migrated(entries("oldest")):
        reading.add(pi.records(value, json.dumps(value).encode(), reading.state))

    assert reading.prompts == ["one", "two", "three"]
    assert told(reading.visible) == ["U:two", "A:0 more", "U:three", "A:3, but"]


def test_a_new_version_says_more_than_a_model_sees():
    reading = of_lines(READER, fixture("extended"))

    assert reading.messages == [
        Message(
            "e0000003",
            "user",
            (
                Text(
                    '<file name="/home/dev/ext/notes.md">\nremember the <b>milk</b>\n</file>\n',
                    injected=True,
                ),
                Text("what do the notes say?"),
            ),
            "2026-11-25T09:00:01.000Z",
        ),
        Message(
            "e0000004", "user", (Text("2 warnings", injected=True),), "2026-11-25T09:00:02.000Z"
        ),
        Message(
            "e0000005",
            "user",
            (Text("1 warning", injected=True), Attachment("image/webp", "", 3)),
            "2026-11-25T09:00:03.000Z",
        ),
        Message(
            "e0000006",
            "assistant",
            (Text("Milk."), Unknown("hologram")),
            "2026-11-25T09:00:04.000Z",
            "gpt-5.6",
            usage=Usage(10, 20, 30, 5),
        ),
        Message(
            "e000000a",
            "user",
            (
                Text(
                    "Ran `make`\n(no output)\n\nCommand exited with code 2\n\n"
                    "[Output truncated. Full output: /tmp/make.log]",
                    injected=True,
                ),
            ),
            "2026-11-25T09:00:08.000Z",
        ),
        Message(
            "e000000f",
            "user",
            (
                Text(
                    '<skill name="review" location="/home/dev/review/SKILL.md">\n'
                    "References are relative to /home/dev/review.\n\nRead it twice.\n</skill>",
                    injected=True,
                ),
                Text("only main.py"),
            ),
            "2026-11-25T09:00:13.000Z",
        ),
    ]
    assert reading.prompts == ["what do the notes say?", "only main.py"]
    assert [message.id for message in reading.visible] == ["e000000f"]
    assert reading.unknown == {"wormhole": 1, "message/oracle": 1}
    assert reading.fact("title") == "Extensions"
    assert reading.fact("forked_from") == "their-own.id"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"command": "ls", "output": "a", "exitCode": 0}, "Ran `ls`\n```\na\n```"),
        ({"command": "ls", "output": ""}, "Ran `ls`\n(no output)"),
        (
            {"command": "ls", "output": "a", "cancelled": True, "exitCode": 1},
            "Ran `ls`\n```\na\n```\n\n(command cancelled)",
        ),
        ({"command": None, "output": 7, "exitCode": None}, "Ran ``\n(no output)"),
    ],
)
def test_a_command_that_a_person_ran_is_told_as_pi_tells_it(told: Json, words: str):
    built = READER.message("m", [{"type": "message", "message": {"role": "bashExecution", **told}}])

    assert built.blocks == (Text(words, injected=True),)
    assert built.prompt == ""


# Where sessions lie


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"--p--/2026-11-30T19-02-55-254Z_{FIRST}.jsonl", FIRST),
        ("--p--/2026-11-30T19-02-55-254Z_my-own.id_1.jsonl", "my-own.id_1"),
        ("copies/session.jsonl", "s"),
        ("2026-11-30.jsonl", "s"),
    ],
)
def test_a_session_is_named_by_its_file_or_by_its_header(path: str, name: str):
    assert READER.places[0].session(path, HEADER) == name  # type: ignore[union-attr]


def test_sessions_are_found_by_project_and_in_a_folder_of_their_own(tmp_path: Path):
    home, own = tmp_path / "home", tmp_path / "own"
    named = {
        home / f".pi/agent/sessions/--p--/2026-11-30T19-02-55-254Z_{FIRST}.jsonl": "compacted",
        own / f"2026-11-30T19-02-56-556Z_{FORK}.jsonl": "forked",
    }
    for path, name in named.items():
        path.parent.mkdir(parents=True)
        path.write_bytes(fixture(name))
    environ = {"HOME": str(home), "PI_CODING_AGENT_SESSION_DIR": str(own)}
    places = Places((READER,), environ)

    assert {id: [one.path for one in places.find(id)] for id in (FIRST, FORK)} == {
        id: [path] for id, path in zip((FIRST, FORK), named, strict=True)
    }
    elsewhere = Places((READER,), {"HOME": str(tmp_path), "PI_CODING_AGENT_DIR": str(home)})
    assert [str(spot.root) for spot in elsewhere.spots] == [f"{home}/sessions"]


@pytest.mark.parametrize(
    ("record", "is_pi"),
    [
        (HEADER, True),
        ({"type": "session", "id": "s", "timestamp": "t", "cwd": "/p", "provider": "x"}, True),
        ({"type": "session", "id": 1, "timestamp": "t", "cwd": "/p"}, False),
        ({"type": "session.start", "data": {}}, False),
        ({"type": "user", "sessionId": "s"}, False),
        ({}, False),
    ],
)
def test_a_header_tells_whose_file_it_is(record: Json, is_pi: bool):
    assert pi.recognizes(record) is is_pi


# Whatever comes


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
BLOCK = st.dictionaries(
    st.sampled_from(["type", "text", "thinking", "redacted", "id", "name", "arguments", "data"]),
    st.sampled_from(["text", "thinking", "toolCall", "image", True]) | ANY,
    max_size=5,
)
BODY = st.dictionaries(
    st.sampled_from(
        [
            "role",
            "content",
            "usage",
            "stopReason",
            "errorMessage",
            "model",
            "isError",
            "toolCallId",
            "command",
            "output",
            "exitCode",
            "cancelled",
            "truncated",
            "fullOutputPath",
            "summary",
        ]
    ),
    st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "error"])
    | st.lists(BLOCK, max_size=3)
    | ANY,
    max_size=6,
)
ENTRY = st.dictionaries(
    st.sampled_from(
        [
            "type",
            "id",
            "parentId",
            "timestamp",
            "message",
            "summary",
            "firstKeptEntryId",
            "firstKeptEntryIndex",
            "name",
            "content",
            "cwd",
            "version",
            "parentSession",
        ]
    ),
    st.sampled_from(["session", "message", "compaction", "branch_summary", "session_info", "a"])
    | BODY
    | ANY,
    max_size=8,
)


def built(reading: Reading) -> list[Any]:
    return [*reading.entries, *reading.rewound, reading.view]


@patient
@given(st.lists(ENTRY, max_size=5))
def test_nothing_in_any_field_raises_and_every_entry_is_kept(values: list[Json]):
    reading = of_lines(READER, jsonl(*values))

    built(reading)
    json.dumps(reading.state)
    held = {record.raw for record in reading.records}
    assert held >= {json.dumps(value).encode() for value in values}


@pytest.mark.parametrize("name", ["compacted", "tree", "oldest", "extended"])
def test_a_file_that_is_cut_anywhere_is_read_on(name: str):
    data = fixture(name)
    whole = of_lines(READER, data)
    for cut in range(0, len(data), 97):
        reading = of_lines(READER, data[:cut])
        complete = data[:cut].count(b"\n")
        assert len({r.raw for r in reading.records if r.kind not in ("fork", "marker")}) >= complete
        rest = of_lines(READER, data[:cut], data[cut:])
        assert rest.records == whole.records
        assert rest.state == whole.state


@pytest.mark.parametrize("name", ["compacted", "forked", "tree", "oldest", "extended"])
def test_reading_again_changes_nothing(name: str):
    once = of_lines(READER, fixture(name))
    again = of_lines(READER, fixture(name))
    again.state.clear()
    for value, line in zip(entries(name), fixture(name).splitlines(), strict=True):
        again.add(pi.records(value, line, again.state))

    assert again.records == once.records
    assert built(again) == built(once)


def test_many_compactions_in_a_row_are_read_in_linear_time():
    values = [
        entry(f"c{n}", f"c{n - 1}", type="compaction", summary="S", firstKeptEntryId="c0")
        for n in range(3000)
    ]
    state: dict[str, Any] = {}
    kept = [r.first_kept for value in values for r in pi.records(value, b"{}", state)]

    assert set(kept) == {""}


# Every real file


@pytest.mark.parametrize("path", shared("pi", "**/*.jsonl"))
def test_every_message_in_real_files_is_accounted_for(path: Path):
    native = [json.loads(line) for line in path.read_bytes().splitlines()]
    roles = Counter(value["message"]["role"] for value in native if value["type"] == "message")
    reading = of_lines(READER, path.read_bytes())

    assert reading.unknown == {}
    assert reading.skipped == []
    assert len(reading.messages) == roles.total()
    assert reading.rewound == []
    assert len(reading.markers) == sum(value["type"] == "compaction" for value in native)
    assert len(reading.summaries) == len(reading.markers)
    assert len(reading.prompts) == roles["user"]
    assert sum(len(message.results) for message in reading.messages) == roles["toolResult"]
    called = {call.id for message in reading.messages for call in message.calls}
    assert {r.call_id for message in reading.messages for r in message.results} <= called
    assert reading.view.boundary is not None
    assert reading.view.warning == ""
    assert len(reading.visible) < len(reading.messages)
