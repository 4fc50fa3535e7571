"""Tasks of the editor extensions Cline, Roo and Kilo, as their source code writes them."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import patient
from foldmark.messages import (
    Attachment,
    Block,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from foldmark.transcripts.cline import classic as cline_classic
from foldmark.transcripts.cline import reader as cline
from foldmark.transcripts.cline.classic import KILO, ROO
from foldmark.transcripts.record import Folder, Reader
from readings import FakeFiles, Reading, of_folder

ID = "1757000000000"
FILE = f"{ID}/api_conversation_history.json"
START = 1757000000000
OPUS = "claude-opus-4-6"
ENVIRONMENT = (
    "<environment_details>\n# VSCode Open Tabs\na.py\n\n"
    "# Current Working Directory (/src/my (new) app) Files\na.py\n</environment_details>"
)
ROOS = (
    "<environment_details>\n# Current Mode\n<slug>code</slug>\n<model>glm-5</model>\n\n"
    "# Current Workspace Directory (/src/roo) Files\na.py\n</environment_details>"
)

Json = dict[str, Any]

TASKS = [place for place in cline.READER.places if isinstance(place, Folder)][1]


def text(*words: str) -> list[Json]:
    return [{"type": "text", "text": one} for one in words]


def user(*words: str, **more: Any) -> Json:
    return {"role": "user", "content": text(*words), **more}


def reply(*words: str, **more: Any) -> Json:
    return {"role": "assistant", "content": text(*words), **more}


def call(id: str, tool: str = "read_file", **more: Any) -> Json:
    used = {"type": "tool_use", "id": id, "name": tool, "input": {"path": "a.py"}}
    return {"role": "assistant", "content": [used], **more}


def answer(id: str, said: Any, *words: str, **more: Any) -> Json:
    result = {"type": "tool_result", "tool_use_id": id, "content": said}
    return {"role": "user", "content": [result, *text(*words)], **more}


def request(ts: int, last: int | None = None, **tokens: int) -> Json:
    """Write what was shown when a request was sent: `last` was then the history's last message."""
    shown = {"ts": ts, "type": "say", "say": "api_req_started", "text": json.dumps(tokens)}
    return shown if last is None else {**shown, "conversationHistoryIndex": last}


def files(history: Any, **beside: Any) -> dict[str, bytes]:
    made = {"api_conversation_history": history, **beside}
    return {f"{ID}/{name}.json": json.dumps(one).encode() for name, one in made.items()}


def read(*histories: Sequence[Any], reader: Reader = ROO, **beside: Any) -> Reading:
    return of_folder(reader, FILE, *(files(one, **beside) for one in histories), place=TASKS)


def said(messages: Sequence[Message]) -> list[str]:
    """Tell what was said in messages, whoever said it."""
    return [
        "+".join(b.text for b in one.blocks if isinstance(b, Text | ToolResult)) for one in messages
    ]


# Whole tasks


def test_a_task_without_native_tools_is_read_with_its_times_and_costs() -> None:
    """Calls are XML in the assistant's words; the messages have neither ids nor times."""
    history = [
        user("<task>\nfix a.py\n</task>", ENVIRONMENT),
        reply("<read_file>\n<path>a.py</path>\n</read_file>"),
        user("[read_file for 'a.py'] Result:", "x = 1", ENVIRONMENT),
        reply("<attempt_completion>\n<result>Fixed.</result>\n</attempt_completion>"),
    ]
    shown = [
        {"ts": START, "type": "say", "say": "text", "text": "x", "conversationHistoryIndex": -1},
        request(START + 1000, -1, tokensIn=900, tokensOut=30, cacheReads=800),
        {"ts": START + 2000, "type": "ask", "ask": "tool", "conversationHistoryIndex": 0},
        request(START + 3000, 1, tokensIn=1000, tokensOut=20),
        {"ts": START + 4000, "type": "ask", "ask": "completion_result"}
        | {"conversationHistoryIndex": 2},
    ]
    used = {"model_usage": [{"ts": START + 500, "model_id": OPUS, "model_provider_id": "x"}]}
    reading = read(history, reader=cline.READER, ui_messages=shown, task_metadata=used)
    ids = [message.id for message in reading.messages]

    assert reading.messages == [
        Message(
            ids[0],
            "user",
            (Text("fix a.py"), Text(ENVIRONMENT, injected=True)),
            "2025-09-04T15:33:20.000Z",
        ),
        Message(
            ids[1],
            "assistant",
            (Text("<read_file>\n<path>a.py</path>\n</read_file>"),),
            "2025-09-04T15:33:22.000Z",
            OPUS,
            usage=Usage(900, 30, 800),
        ),
        Message(
            ids[2],
            "user",
            (
                Text("[read_file for 'a.py'] Result:", injected=True),
                Text("x = 1", injected=True),
                Text(ENVIRONMENT, injected=True),
            ),
            "2025-09-04T15:33:23.000Z",
        ),
        Message(
            ids[3],
            "assistant",
            (Text("<attempt_completion>\n<result>Fixed.</result>\n</attempt_completion>"),),
            "2025-09-04T15:33:24.000Z",
            OPUS,
            usage=Usage(1000, 20),
        ),
    ]
    assert len(set(ids)) == 4
    assert [record.prompt for record in reading.records if record.prompt] == ["fix a.py"]
    assert reading.fact("project") == "/src/my (new) app"
    assert reading.unknown == {}
    assert reading.skipped == []


def test_a_task_with_native_tools_is_read_with_what_its_messages_tell() -> None:
    told: Json = {"modelInfo": {"modelId": OPUS, "providerId": "x", "mode": "act"}}
    metrics: Json = {"tokens": {"prompt": 900, "completion": 30, "cached": 800}, "cost": 0.1}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "secret"}
    made = {**call("t1", ts=START), **told, "metrics": metrics}
    made = call("t1", ts=START)
    made = {**made, **told, "metrics": metrics, "content": [thinking, *made["content"]]}
    reading = read([made, answer("t1", "[read_file for 'a.py'] Result:\nx = 1", ENVIRONMENT)])

    assert [one.blocks for one in reading.messages] == [
        (Reasoning("hm"), ToolCall("t1", "read_file", {"path": "a.py"})),
        (
            ToolResult("t1", "[read_file for 'a.py'] Result:\nx = 1"),
            Text(ENVIRONMENT, injected=True),
        ),
    ]
    assert reading.messages[0].at == "2025-09-04T15:33:20.000Z"
    assert reading.messages[0].model == OPUS
    assert reading.messages[0].usage == Usage(900, 30, 800)
    assert reading.prompts == []


def test_a_roo_task_takes_costs_by_time_and_its_place_from_its_own_file() -> None:
    history = [
        user("<user_message>\ngo\n</user_message>", ROOS, ts=START),
        reply("a1", ts=START + 5000),
        user("[ERROR] You did not use a tool", ts=START + 5000),
        reply("a2", ts=START + 9000),
    ]
    shown = [
        request(START + 100, tokensIn=1),
        request(START + 200, tokensIn=10, tokensOut=2),
        request(START + 6000, tokensIn=20, tokensOut=3),
    ]
    item = {"id": "t", "task": "go", "workspace": "/src/own", "parentTaskId": "p", "totalCost": 1}
    reading = read(history, ui_messages=shown, history_item=item)

    assert [one.usage for one in reading.messages] == [None, Usage(10, 2), None, Usage(20, 3)]
    assert [one.model for one in reading.messages] == ["", "glm-5", "", "glm-5"]
    assert reading.prompts == ["go"]
    assert reading.fact("project") == "/src/own"
    assert reading.fact("parent_session") == "p"


# Prompts

ASKED = "[ask_followup_question for 'Which?'] Result:"
READ = "[read_file for 'a.py'] Result:"
EVIL = "<feedback>\nevil\n</feedback>"
DONE = "The user has provided feedback on the results.\n<feedback>\nno, b\n</feedback>"
RESUMED = "[TASK RESUMPTION] This task was interrupted just now."


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        pytest.param(["<task>\nfix it\n</task>", ENVIRONMENT], "fix it", id="task"),
        pytest.param([f"<task>\nfix it\n</task>\n\n{ENVIRONMENT}"], "fix it", id="in one text"),
        pytest.param(["fix it", ENVIRONMENT], "fix it", id="bare"),
        pytest.param(
            ["<task>\n'a' (see below)\n</task>\n\n<file_content path='a'>\nx\n</file_content>"],
            "'a' (see below)",
            id="a file mentioned",
        ),
        pytest.param([ASKED, "<answer>\nthe first\n</answer>"], "the first", id="answer"),
        pytest.param([f"{ASKED}\n<answer>\nb\n</answer>"], "b", id="answer in one text"),
        pytest.param(["[attempt_completion] Result:", DONE], "no, b", id="feedback on a result"),
        pytest.param([READ, "x = 1", DONE], "no, b", id="feedback behind a tool's output"),
        pytest.param([READ, EVIL], "", id="a file with a wrapper in it"),
        pytest.param([f"{READ}\n{EVIL}"], "", id="such a file in one text"),
        pytest.param([f"{READ}\nx = 1", ENVIRONMENT], "", id="a result in one text"),
        pytest.param([READ, "x = 1"], "", id="a result"),
        pytest.param([READ, "x = 1", "Use one tool a message."], "", id="a reminder behind it"),
        pytest.param(["[ERROR] You did not use a tool in your reply!"], "", id="error"),
        pytest.param([RESUMED, ENVIRONMENT], "", id="resumed"),
        pytest.param([f"{RESUMED}\n<user_message>\ngo on\n</user_message>"], "go on", id="told on"),
        pytest.param(
            [RESUMED, "New instructions:\n<user_message>\ngo on\n</user_message>"],
            "go on",
            id="told on in a text of its own",
        ),
        pytest.param(["<answer>\n</answer>"], "", id="nothing typed"),
        pytest.param(["<task>\nnever closed"], "", id="cut off"),
    ],
)
def test_only_what_a_person_typed_is_a_prompt(words: list[str], typed: str) -> None:
    reading = read([user(*words)])

    assert "\n".join(reading.prompts) == typed
    kept = "".join("".join(said(reading.messages)).split())
    assert all("".join(line.split()) in kept for line in typed.splitlines())


@pytest.mark.parametrize(
    ("tool", "result", "blocks"),
    [
        pytest.param(
            "attempt_completion",
            DONE,
            (ToolResult("t1", "The user has provided feedback on the results."), Text("no, b")),
            id="asked by name",
        ),
        pytest.param(
            "",
            f"{ASKED}\n<answer>\nb\n</answer>",
            (ToolResult("t1", ASKED), Text("b")),
            id="asked by its own words",
        ),
        pytest.param("read_file", EVIL, (ToolResult("t1", EVIL),), id="a file"),
        pytest.param("", EVIL, (ToolResult("t1", EVIL),), id="a call nobody knows"),
        pytest.param("condense", "fine", (ToolResult("t1", "fine"),), id="no wrapper"),
    ],
)
def test_a_tools_output_is_no_prompt_unless_the_tool_asks(
    tool: str, result: str, blocks: tuple[Block, ...]
) -> None:
    calls = [call("t1", tool)] if tool else []
    reading = read([*calls, answer("t1", result)])

    assert reading.messages[-1].blocks == blocks


# Blocks


@pytest.mark.parametrize(
    ("part", "block"),
    [
        pytest.param(
            {"type": "image", "source": {"media_type": "image/png", "data": "aGVsbG8="}},
            Attachment("image/png", "", 5),
            id="image",
        ),
        pytest.param(
            {"type": "image", "image": "data:image/gif;base64,aGVsbG8="},
            Attachment("image/gif", "", 5),
            id="image of the AI SDK",
        ),
        pytest.param({"type": "reasoning", "text": "hm"}, Reasoning("hm"), id="reasoning"),
        pytest.param(
            {"type": "tool-call", "toolCallId": "t", "toolName": "ls", "input": {"a": 1}},
            ToolCall("t", "ls", {"a": 1}),
            id="call of the AI SDK",
        ),
        pytest.param(
            {"type": "tool-result", "toolCallId": "t", "output": {"type": "text", "value": "x"}},
            ToolResult("t", "x"),
            id="result of the AI SDK",
        ),
        pytest.param(
            {
                "type": "tool-result",
                "toolCallId": "t",
                "output": {"type": "error-text", "value": "x"},
            },
            ToolResult("t", "x", is_error=True),
            id="failure of the AI SDK",
        ),
        pytest.param({"type": "hologram"}, Unknown("hologram"), id="unknown"),
    ],
)
def test_every_kind_of_block_is_read(part: Json, block: Block) -> None:
    assert read([{"role": "assistant", "content": [part]}]).messages[0].blocks == (block,)


@pytest.mark.parametrize(
    ("told", "blocks"),
    [
        pytest.param(
            {"role": "assistant", "content": "a", "reasoning_content": "hm"},
            (Reasoning("hm"), Text("a")),
            id="beside the words",
        ),
        pytest.param(
            {"type": "reasoning", "encrypted_content": "x", "summary": []},
            (Reasoning("", redacted=True),),
            id="encrypted",
        ),
        pytest.param(
            {"role": "assistant", "content": [{"type": "thoughtSignature", "thoughtSignature": 1}]},
            (),
            id="signature",
        ),
    ],
)
def test_reasoning_in_every_dress_is_reasoning(told: Json, blocks: tuple[Block, ...]) -> None:
    reading = read([told])

    assert [one.blocks for one in reading.messages] == [blocks]
    assert reading.messages[0].role == "assistant"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("so\n\n[Response interrupted by user]", "aborted"),
        ("so\n\n[Response interrupted by API Error]", "api_error"),
        ("Failure: I did not provide a response.", "no_response"),
        ("so", ""),
    ],
)
def test_a_reply_that_is_none_says_why(words: str, error: str) -> None:
    assert read([reply(words)]).messages[0].error == error


# Histories that are written anew


def test_reading_again_adds_nothing() -> None:
    history = [user("<task>\ngo\n</task>", ts=1), reply("a", ts=2), reply("a", ts=2)]
    once, twice = read(history), read(history[:1], history, history)

    assert len(once.rows) == len(twice.rows) == 3
    assert said(twice.messages) == ["go", "a", "a"]


def test_a_task_that_was_resumed_replaces_its_last_message() -> None:
    first = [user("<task>\ngo\n</task>"), reply("a1"), user("[ls] Result:", "x")]
    again = [*first[:2], user("[ls] Result:", "x", f"{RESUMED}\n<user_message>on</user_message>")]
    reading = read(first, [*again, reply("a2")])

    assert reading.prompts == ["go", "on"]
    assert len(reading.messages) == 4
    assert len(reading.rewound) == 1


def test_the_envelope_of_roos_second_version_is_read() -> None:
    told: Any = {"version": 2, "messages": [user("<user_message>go</user_message>"), reply("a")]}

    assert said(read(told).messages) == ["go", "a"]


@pytest.mark.parametrize("torn", [b"", b"[", b"{}", b"3", b'{"messages": {}}'])
def test_a_torn_file_takes_nothing_back(torn: bytes) -> None:
    reading = of_folder(ROO, FILE, files([user("<task>go</task>"), reply("a")]), {FILE: torn})

    assert said(reading.messages) == ["go", "a"]
    assert [skip.place for skip in reading.skipped] == [FILE]


# Roo's summaries

LONG = [
    user("<task>u1</task>", ts=1),
    *(reply(f"a{n}", ts=2 * n) for n in range(1, 4)),
    reply("k1", ts=20),
    user("k2", ts=21),
    reply("k3", ts=22),
]
HEAD, TAIL = LONG[:4], LONG[4:]
NEXT = [user("<user_message>n1</user_message>", ts=30), reply("n2", ts=31)]


def hidden(told: Sequence[Json], by: str = "X") -> list[Json]:
    return [{**one, "condenseParent": by} for one in told]


def summed(said: Any = "Summed up.", role: str = "assistant", **more: Any) -> Json:
    return {"role": role, "content": said, "ts": 19, "isSummary": True, **more}


IN_PLACE = [HEAD[0], *hidden(HEAD[1:]), summed(condenseId="X"), *TAIL]
AT_END = [*hidden(LONG), summed(text("Summed up."), "user", condenseId="X")]
DROPPED = [HEAD[0], summed(), *TAIL]


@pytest.mark.parametrize(
    ("versions", "visible"),
    [
        pytest.param([IN_PLACE], ["k1", "k2", "k3"], id="in place"),
        pytest.param([LONG, IN_PLACE], ["k1", "k2", "k3"], id="in place, as it came"),
        pytest.param([[*IN_PLACE, *NEXT]], ["k1", "k2", "k3", "n1", "n2"], id="read late"),
        pytest.param([LONG, [*IN_PLACE, *NEXT]], ["k1", "k2", "k3", "n1", "n2"], id="went on"),
        pytest.param([AT_END], [], id="at the end"),
        pytest.param([LONG, AT_END, [*AT_END, *NEXT]], ["n1", "n2"], id="at the end, went on"),
        pytest.param([[*AT_END, *NEXT]], ["n1", "n2"], id="at the end, read late"),
        pytest.param([DROPPED], ["k1", "k2", "k3"], id="dropped"),
        pytest.param([LONG, [*DROPPED, *NEXT]], ["k1", "k2", "k3", "n1", "n2"], id="dropped late"),
    ],
)
@pytest.mark.parametrize("reader", [ROO, KILO], ids=["roo", "kilo"])
def test_whenever_a_summary_is_read_the_same_is_visible(
    reader: Reader, versions: list[list[Json]], visible: list[str]
) -> None:
    reading = read(*versions, reader=reader)

    assert said(reading.visible) == visible
    assert reading.view.warning == ""
    assert reading.view.boundary is not None
    assert reading.view.boundary.summary.text == "Summed up."
    assert len(reading.markers) == len(reading.summaries) == 1
    assert reading.rewound == []


def test_a_summary_takes_no_message_away_and_adds_no_second_copy() -> None:
    reading = read(LONG, IN_PLACE, [*IN_PLACE, *NEXT])

    assert said(reading.messages) == ["u1", "a1", "a2", "a3", "k1", "k2", "k3", "n1", "n2"]
    assert len(reading.rows) == 9 + 2


def test_a_second_summary_adds_a_second_boundary() -> None:
    again = [*IN_PLACE[:4], {**IN_PLACE[4], "condenseParent": "Y"}, *hidden(TAIL, "Y")]
    second = [*again, summed("Again.", condenseId="Y"), *NEXT]
    for reading in (read(IN_PLACE, second), read(second)):
        assert [one.text for one in reading.summaries] == ["Summed up.", "Again."]
        assert said(reading.visible) == ["n1", "n2"]


def test_calls_that_a_summary_repeats_keep_their_message_visible() -> None:
    used = call("t1", ts=18)
    copied = [{"type": "reasoning", "text": "Condensing."}, *text("Summed."), *used["content"]]
    history = [LONG[0], *hidden([reply("a1"), used]), summed(copied, condenseId="X")]
    reading = read([*history, answer("t1", "x = 1", ts=20), reply("k2")])

    assert reading.view.boundary is not None
    assert reading.view.boundary.summary.text == "Summed."
    assert said(reading.visible) == ["", "x = 1", "k2"]
    assert reading.visible[0].calls == (ToolCall("t1", "read_file", {"path": "a.py"}),)


def test_what_stands_around_a_summary_is_no_part_of_it() -> None:
    told = text("## Conversation Summary\nDone.", "<system-reminder>a.py</system-reminder>", ROOS)
    reading = read([*hidden(LONG), summed(told, "user", condenseId="X")])

    assert reading.summaries[0].text == "## Conversation Summary\nDone."


def test_a_blank_summary_hides_nothing() -> None:
    reading = read([*hidden(LONG), summed("  ", condenseId="X"), *NEXT])

    assert len(reading.markers) == 1
    assert len(reading.visible) == 9


def test_going_back_before_a_summary_takes_it_back() -> None:
    reading = read(LONG, AT_END, LONG[:3])

    assert reading.markers == []
    assert said(reading.visible) == ["u1", "a1", "a2"]


def test_a_truncation_hides_nothing() -> None:
    gone = [{**one, "truncationParent": "T"} for one in HEAD[1:]]
    words = "[Sliding window truncation: 3 messages hidden to reduce context]"
    marker = user(words, ts=19, isTruncationMarker=True, truncationId="T")
    reading = read(LONG, [HEAD[0], *gone, marker, *TAIL])

    assert reading.markers == []
    assert len(reading.visible) == 8
    assert reading.visible[-1].blocks == (Text(words, injected=True),)


def test_a_deleted_range_hides_nothing() -> None:
    shown = [{**request(1, -1), "conversationHistoryDeletedRange": [1, 2]}]

    assert len(read(LONG, ui_messages=shown, reader=cline.READER).visible) == len(LONG)


# Where the tasks lie


@pytest.mark.parametrize(
    ("reader", "root"),
    [
        (cline.READER, "$CLINE_DATA_DIR/tasks"),
        (cline.READER, "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks"),
        (cline.READER, "$APPDATA/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks"),
        (ROO, "~/Library/Application Support/Windsurf/User/globalStorage/"
              "rooveterinaryinc.roo-cline/tasks"),
        (ROO, "~/.vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks"),
        (KILO, "$XDG_CONFIG_HOME/VSCodium/User/globalStorage/kilocode.kilo-code/tasks"),
        (KILO, "~/.kilocode/cli/global/tasks"),
    ],
)  # fmt: skip
def test_tasks_are_looked_for_in_every_editor(reader: Reader, root: str) -> None:
    assert [place.pattern for place in reader.places if root in place.roots] == [
        "*/api_conversation_history.json"
    ]


@pytest.mark.parametrize(
    ("history", "by_cline", "by_roo"),
    [
        pytest.param([user("<task>go</task>", ENVIRONMENT)], True, True, id="anybody's"),
        pytest.param([user("<task>go</task>", ROOS)], False, True, id="Roo's"),
        pytest.param(
            {"version": 2, "messages": [user("<user_message>")]}, True, True, id="version 2"
        ),
        pytest.param([user("go")], False, False, id="an API's"),
        pytest.param([], False, False, id="empty"),
        pytest.param(["<task>"], False, False, id="words"),
        pytest.param({"messages": [user("<task>")]}, False, False, id="another envelope"),
    ],
)
def test_only_histories_of_extensions_are_recognized(
    history: Any, by_cline: bool, by_roo: bool
) -> None:
    head = json.dumps(history).encode()
    known = [place for place in ROO.places if isinstance(place, Folder)]

    assert TASKS.recognizes(head) is by_cline
    assert {place.recognizes(head) for place in known} == {by_roo}


def test_a_session_is_named_by_its_folder() -> None:
    assert TASKS.session(FILE) == ID
    assert TASKS.session("api_conversation_history.json") == ""


# Whatever is in it

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["user", "assistant", "text", "tool_result", "<task>x</task>", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("role", "content", "type", "text", "ts", "isSummary", "condenseId", "say"),
                    *("conversationHistoryIndex", "tool_use_id", "id", "model_usage", "model_id"),
                    *("modelInfo", "metrics", "tokens", "output", "beside"),
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(["role", "content", "ts", "isSummary", "condenseId", "modelInfo", "type"])


@patient
@given(
    history=st.lists(JSON | st.dictionaries(KEYS, JSON, max_size=6), max_size=4),
    shown=JSON | st.lists(JSON, max_size=3),
    other=JSON,
)
@example(history=[{"role": "assistant", "ts": 10**400}], shown=[request(1, 10**30)], other=0)
@example(history=[summed(condenseId="\0"), summed(condenseId="\0")], shown=[], other={"ts": 0})
def test_nothing_in_the_files_raises(history: list[Any], shown: Any, other: Any) -> None:
    beside = {"ui_messages": shown, "task_metadata": other, "history_item": other}
    reading = read(history, history, **beside)

    assert len(reading.rows) == len(read(history, **beside).rows)
    assert len(reading.skipped) == sum(not isinstance(one, dict) for one in history)
    assert reading.entries is not None


@patient
@given(data=st.binary(max_size=60), beside=st.binary(max_size=30))
def test_no_bytes_raise(data: bytes, beside: bytes) -> None:
    names = ("ui_messages", "task_metadata", "history_item")
    others = {f"{ID}/{name}.json": beside for name in names}
    cline_classic.read(FakeFiles({FILE: data, **others}), FILE)
    TASKS.recognizes(data)
