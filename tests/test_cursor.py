import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
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
from foldmark.sources import database
from foldmark.transcripts.cursor.reader import READER
from foldmark.transcripts.record import Database, Lines, Seen
from readings import FakeFiles, Reading, of_lines, shared

FIXTURES = Path(__file__).parent / "fixtures" / "cursor"
TRANSCRIPT = (FIXTURES / "agent-transcript.jsonl").read_bytes()
AGENT = "0f1e2d3c-0000-4000-8000-000000000001"
COMPOSER = "c0000000-0000-4000-8000-000000000001"

Json = dict[str, Any]

LINES = [place for place in READER.places if isinstance(place, Lines)]
CHATS, ACP, *EDITORS = [place for place in READER.places if isinstance(place, Database)]
EDITOR = EDITORS[0]


def from_database(
    place: Database, path: Path, session: str, reading: Reading | None = None
) -> Reading:
    """Read a session through the lock that keeps a reader to its tables."""
    reading = reading or Reading(READER)
    with database.reading(path, place.tables) as rows:
        reading.take(place.read(rows, session, reading.state))
    return reading


def listed(place: Database, path: Path) -> list[Seen]:
    with database.reading(path, place.tables) as rows:
        return list(place.sessions(rows, ""))


def load(path: Path, name: str) -> Path:
    with closing(connect(path)) as db:
        db.executescript(f"BEGIN; {(FIXTURES / name).read_text(encoding='utf-8')}; COMMIT")
    return path


def connect(path: Path) -> sqlite3.Connection:
    """Open a database to write into, without waiting for the disk."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA journal_mode = MEMORY")
    return db


def texts(messages: list[Message]) -> list[str]:
    return [block.text for one in messages for block in one.blocks if isinstance(block, Text)]


def built(native: Json) -> Message:
    return READER.message("m", [native])


@pytest.fixture(name="chat")
def _chat(tmp_path: Path) -> Path:
    return load(tmp_path / "store.db", "store.sql")


@pytest.fixture(name="state")
def _state(tmp_path: Path) -> Path:
    return load(tmp_path / "state.vscdb", "state.sql")


# The agent's transcript


def line(role: str, *content: Json, **more: Any) -> bytes:
    return json.dumps({"role": role, "message": {"content": content}, **more}).encode() + b"\n"


def said(words: str) -> Json:
    return {"type": "text", "text": words}


def asked(words: str) -> bytes:
    return line("user", said(f"<user_query>\n{words}\n</user_query>"))


def test_a_transcript_is_read_line_by_line() -> None:
    reading = of_lines(READER, TRANSCRIPT)
    assert [(one.role, one.blocks, one.error) for one in reading.messages] == [
        (
            "user",
            (
                Text(
                    "<open_and_recently_viewed_files>\na.py\n</open_and_recently_viewed_files>",
                    injected=True,
                ),
                Text("Port the parser."),
            ),
            "",
        ),
        (
            "assistant",
            (
                Text("I will look."),
                ToolCall(f"{reading.records[1].id}/1", "Read", {"path": "a.py"}),
                ToolCall(f"{reading.records[1].id}/2", "Read", {"path": "b.py"}),
            ),
            "",
        ),
        ("assistant", (Text("It is all in a.py."),), ""),
        ("user", (Text("Go on."),), ""),
        ("assistant", (Text("Now I wr"),), "aborted"),
        ("user", (Text("Go on."),), ""),
        ("assistant", (Text("Now I write it."),), ""),
    ]
    assert reading.prompts == ["Port the parser.", "Go on.", "Go on."]
    assert reading.kinds == {"message": 8, "other": 1}
    assert not reading.unknown
    assert not reading.skipped


def test_the_end_of_a_turn_is_told_of_its_reply_in_another_reading_too() -> None:
    cut = TRANSCRIPT.index(b'{"type":"turn_ended","status":"aborted"')
    reading = of_lines(READER, TRANSCRIPT[:cut], TRANSCRIPT[cut:])
    assert reading.messages[4].error == "aborted"


@pytest.mark.parametrize(
    ("status", "error"), [("success", ""), ("aborted", "aborted"), ("error", "error")]
)
def test_a_turn_that_broke_off_names_its_error(status: str, error: str) -> None:
    ended = json.dumps({"type": "turn_ended", "status": status}).encode()
    assert of_lines(READER, line("assistant", said("Hm")) + ended).messages[0].error == error


def test_a_turn_that_broke_off_without_a_reply_is_kept_beside_it() -> None:
    reading = of_lines(READER, asked("Hi") + b'{"type":"turn_ended","status":"aborted"}\n')
    assert reading.kinds == {"message": 1, "other": 1}


def test_a_transcript_that_was_written_anew_from_an_earlier_point_replaces_what_followed() -> None:
    first = asked("one") + line("assistant", said("1"))
    old, new = first + asked("two") + line("assistant", said("2")), first + asked("three")
    reading = of_lines(READER, old)
    reading.state = {}
    reading.add(record for record in of_lines(READER, new).records)
    assert reading.prompts == ["one", "three"]
    assert texts(reading.rewound) == ["two", "2"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("Hello", [Text("Hello")], id="words alone"),
        pytest.param(
            [said("<user_info>linux</user_info>\n<rules>be brief</rules>\nHello")],
            [
                Text("<user_info>linux</user_info>", injected=True),
                Text("<rules>be brief</rules>", injected=True),
                Text("Hello"),
            ],
            id="context and a question without its mark",
        ),
        pytest.param(
            [said("What does <rules>x</rules> do?")],
            [Text("What does <rules>x</rules> do?")],
            id="a question about a tag",
        ),
        pytest.param([said("<user_query>Hel")], [Text("Hel")], id="a question that was cut off"),
        pytest.param(
            [said("<system-reminder>x</system-reminder>Hello")],
            [Text("<system-reminder>x</system-reminder>", injected=True), Text("Hello")],
            id="what other programs put around it",
        ),
    ],
)
def test_what_was_asked_is_told_from_its_context(content: Any, expected: list[Block]) -> None:
    assert built({"role": "user", "message": {"content": content}}).blocks == tuple(expected)


def test_a_reply_may_hold_reasoning_and_results_of_other_shapes() -> None:
    content = [
        {"type": "reasoning", "text": "Hm."},
        {"type": "redacted-reasoning", "data": "AAAA"},
        {"type": "tool_result", "tool_use_id": "c", "content": "ok"},
        {"type": "tool-result", "toolCallId": "d", "result": {"success": {"lines": 1}}},
        {"type": "tool-result", "toolCallId": "e", "experimental_content": [said("ok")]},
        {"type": "tool-result", "toolCallId": "f", "result": "no", "isError": True},
        {"type": "hologram"},
    ]
    assert built({"role": "assistant", "content": content}).blocks == (
        Reasoning("Hm."),
        Reasoning("", redacted=True),
        ToolResult("c", "ok"),
        ToolResult("d", '{"success":{"lines":1}}'),
        ToolResult("e", "ok"),
        ToolResult("f", "no", is_error=True),
        Unknown("hologram"),
    )


def test_lines_of_other_kinds_are_kept() -> None:
    reading = of_lines(
        READER, line("system", said("x")) + b'{"type":"checkpoint"}\n{"role":"alien"}\n{}\n'
    )
    assert reading.kinds == {"other": 4}
    assert reading.unknown == {"checkpoint": 1, "role/alien": 1, "role/none": 1}


@pytest.mark.parametrize(
    ("record", "known"),
    [
        ({"role": "user", "message": {"content": []}}, True),
        ({"type": "turn_ended", "status": "success"}, True),
        ({"type": "user", "message": {"role": "user", "content": []}}, False),
        ({"role": "user", "content": []}, False),
        ({}, False),
    ],
)
def test_a_line_is_known_by_its_shape(record: Json, known: bool) -> None:
    assert LINES[0].recognizes(record) is known


@pytest.mark.parametrize(
    ("path", "session"),
    [
        (f"home-ada/agent-transcripts/{AGENT}/{AGENT}.jsonl", AGENT),
        (f"home-ada/agent-transcripts/{AGENT}.jsonl", AGENT),
        (f"home-ada/agent-transcripts/{AGENT}/subagents/s1.jsonl", f"{AGENT}/s1"),
    ],
)
def test_a_session_is_named_by_its_file(path: str, session: str) -> None:
    assert LINES[0].session(path, {}) == session


@pytest.mark.parametrize(
    ("noted", "folder"),
    [
        (b'{"trustedAt":"","workspacePath":"/home/ada/my-parser"}', "/home/ada/my-parser"),
        (b"{", ""),
        (b"[]", ""),
        (b"", ""),
    ],
)
def test_the_folder_of_a_project_is_what_cursor_noted(noted: bytes, folder: str) -> None:
    files = FakeFiles({"home-ada-my-parser/.workspace-trusted": noted})
    assert LINES[0].project is not None
    path = f"home-ada-my-parser/agent-transcripts/{AGENT}/{AGENT}.jsonl"
    assert LINES[0].project(files, path) == folder


# The agent's database


class Store:
    """A store of blobs as the agent writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(connect(path)) as db, db:
            db.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
            db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")

    def put(self, data: bytes) -> bytes:
        id = sha256(data).digest()
        with closing(connect(self.path)) as db, db:
            db.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?)", (id.hex(), data))
        return id

    def set(self, about: bytes) -> None:
        with closing(connect(self.path)) as db, db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (about.hex(),))

    def write(self, *messages: Any, archives: list[list[Any]] | None = None) -> None:
        """Write a new root; what is no message goes in as it is."""
        kept = [self.put(self.root(one)) for one in archives or []]
        self.root_id = self.put(self.root(messages) + b"".join(field(13, id) for id in kept))
        about = {"agentId": "s", "latestRootBlobId": self.root_id.hex(), "createdAt": 1000}
        self.set(json.dumps(about).encode())

    def root(self, messages: Any) -> bytes:
        told = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in messages)
        return b"".join(field(1, self.put(one)) for one in told)

    def read(self, reading: Reading | None = None) -> Reading:
        return from_database(CHATS, self.path, "s", reading)


def field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def user(words: str, **cursor: Any) -> Json:
    return {
        "role": "user",
        "content": f"<user_query>{words}</user_query>",
        "providerOptions": {"cursor": cursor},
    }


def reply(words: str) -> Json:
    return {"role": "assistant", "id": "1", "content": [said(words)]}


def summarized(words: str) -> Json:
    content = f"[Previous conversation summary]: {words}"
    told = {"cursor": {"isSummary": True}}
    return {"role": "user", "content": content, "providerOptions": told}


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.db")


def test_a_store_is_read_in_the_order_of_its_root(chat: Path) -> None:
    reading = from_database(CHATS, chat, AGENT)
    assert reading.messages == [
        Message(
            "2" * 64,
            "user",
            (
                Text("<user_info>\nOS: linux\n</user_info>", injected=True),
                Text("<git_status>clean</git_status>", injected=True),
            ),
        ),
        Message(
            "3" * 64,
            "user",
            (
                Text("<timestamp>Monday</timestamp>", injected=True),
                Text("Port the parser."),
            ),
        ),
        Message(
            "4" * 64,
            "assistant",
            (
                Reasoning("Look first."),
                Reasoning("", redacted=True),
                Text("I will look."),
                ToolCall("toolu_1", "Shell", {"command": "ls"}),
                ToolCall("toolu_2", "Read", {"path": "b.py"}),
            ),
            model="opus-thinking",
        ),
        Message("5" * 64, "user", (ToolResult("toolu_1", "Exit code: 0\n\na.py"),)),
        Message("6" * 64, "user", (ToolResult("toolu_2", "b.py: no such file", is_error=True),)),
        Message("7" * 64, "assistant", (Text("It is all in a.py."),), model="opus"),
    ]
    assert reading.prompts == ["Port the parser."]
    assert reading.fact("project") == "/home/ada/my parser"
    assert reading.fact("title") == "Port the parser"
    assert reading.kinds == {"message": 6, "other": 2}
    assert not reading.skipped
    assert not reading.unknown


def test_a_store_is_listed_with_its_one_session(chat: Path) -> None:
    assert listed(CHATS, chat) == [
        Seen(
            AGENT,
            project="/home/ada/my parser",
            title="Port the parser",
            first_prompt="Port the parser.",
            last_prompt="Port the parser.",
            updated=1796065000.0,
        )
    ]


def test_no_key_of_a_store_is_kept(chat: Path) -> None:
    kept = b"".join(record.raw for record in from_database(CHATS, chat, AGENT).records)
    assert b"hunter2" not in kept


def test_a_store_holds_no_other_session(chat: Path) -> None:
    assert from_database(CHATS, chat, "another").records == []


def test_reading_a_store_again_adds_nothing(chat: Path) -> None:
    reading = from_database(CHATS, chat, AGENT)
    before = list(reading.records)
    assert from_database(CHATS, chat, AGENT, reading).records == before
    reading.state = {}
    assert from_database(CHATS, chat, AGENT, reading).records == before


def test_a_store_that_grew_adds_what_is_new(store: Store) -> None:
    store.write(user("one"), reply("1"))
    reading = store.read()
    store.write(user("one"), reply("1"), user("two"))
    assert texts(store.read(reading).messages) == ["one", "1", "two"]


def test_a_reply_that_grew_stands_in_for_the_one_before(store: Store) -> None:
    store.write(user("one"), reply("It"))
    reading = store.read()
    store.write(user("one"), reply("It is."))
    assert texts(store.read(reading).messages) == ["one", "It is."]


def test_a_conversation_that_was_taken_back_is_left(store: Store) -> None:
    context = {"role": "user", "content": "<user_info>linux</user_info>"}
    store.write(context, user("one"), reply("1"))
    reading = store.read()
    store.write(context, user("two"))
    assert store.read(reading).prompts == ["two"]
    store.write(context, user("one"), reply("1"))
    assert store.read(reading).prompts == ["one"]


def test_equal_messages_are_told_apart(store: Store) -> None:
    store.write(user("go on"), reply("ok"), user("go on"), reply("ok"))
    assert texts(store.read().messages) == ["go on", "ok", "go on", "ok"]


def test_a_compaction_keeps_its_tail(store: Store) -> None:
    store.write(user("one"), reply("1"), user("two"), reply("2"))
    reading = store.read()
    tail = [user("two"), reply("2")]
    store.write(summarized("All is one."), *tail, user("three"))
    store.read(reading)
    assert [one.text for one in reading.summaries] == ["All is one."]
    assert texts(reading.visible) == ["two", "2", "three"]
    assert texts(reading.messages) == ["one", "1", "two", "2", "three"]
    store.write(summarized("All is one."), *tail, user("four"))
    assert texts(store.read(reading).visible) == ["two", "2", "four"]


def test_a_compaction_without_a_tail_takes_nothing_back(store: Store) -> None:
    context = {"role": "user", "content": "<user_info>linux</user_info>"}
    store.write(context, user("one"), reply("1"))
    reading = store.read()
    store.write(context, summarized("All is one."))
    store.read(reading)
    assert reading.prompts == ["one"]
    assert reading.visible == []
    assert not reading.rewound


def test_a_blank_summary_hides_nothing(store: Store) -> None:
    store.write(user("one"), reply("1"))
    reading = store.read()
    store.write(summarized(" "), user("two"))
    assert texts(store.read(reading).visible) == ["one", "1", "two"]


def test_what_was_summarized_before_the_first_reading_is_in_the_archive(store: Store) -> None:
    store.write(
        summarized("All is one."), user("two"), archives=[[user("one"), reply("1")], [b"\0"]]
    )
    reading = store.read()
    assert texts(reading.messages) == ["one", "1", "two"]
    assert texts(reading.visible) == ["two"]


def test_a_store_without_a_prompt_is_listed_without_one(store: Store) -> None:
    store.write(reply("1"))
    assert listed(CHATS, store.path) == [Seen("s", updated=1.0)]


def test_a_reminder_of_cursor_is_no_prompt(store: Store) -> None:
    store.write({**user("You repeat yourself.", loopReminder=True)})
    assert store.read().prompts == []


def test_a_blob_that_is_no_message_blocks_no_other(store: Store) -> None:
    store.write(user("one"), b"\x0a\x01x", b"[]", {"role": "alien"}, user("two"))
    reading = store.read()
    assert reading.prompts == ["one", "two"]
    assert [skip.reason for skip in reading.skipped] == ["no message", "no message"]
    assert reading.unknown == {"role/alien": 1}


def test_a_root_that_is_missing_is_told(store: Store) -> None:
    store.set(b'{"agentId":"s","latestRootBlobId":"00"}')
    assert [skip.reason for skip in store.read().skipped] == ["the newest state is missing"]
    assert listed(CHATS, store.path) == []


@pytest.mark.parametrize("about", [b"", b"{", b"[]", b"{}", b'{"agentId":7}', b"\xff"])
def test_a_store_that_says_nothing_of_itself_holds_no_session(store: Store, about: bytes) -> None:
    store.set(about)
    assert listed(CHATS, store.path) == []
    assert store.read().records == []


# The editor's database


def run(path: Path, sql: str, *values: Any) -> None:
    with closing(connect(path)) as db, db:
        db.execute(sql, values)


def put(path: Path, key: str, value: Any) -> None:
    run(path, "INSERT INTO cursorDiskKV VALUES (?, ?)", key, json.dumps(value))


def compose(path: Path, *bubbles: Json, **about: Any) -> None:
    headers = [{"bubbleId": one["bubbleId"], "type": one["type"]} for one in bubbles]
    put(path, "composerData:s", {"fullConversationHeadersOnly": headers, **about})
    for one in bubbles:
        put(path, f"bubbleId:s:{one['bubbleId']}", one)


def bubble(id: str, words: str = "", type: int = 2, **more: Any) -> Json:
    return {"bubbleId": id, "type": type, "text": words, **more}


def test_a_conversation_is_read_in_its_order(state: Path) -> None:
    reading = from_database(EDITOR, state, COMPOSER)
    assert reading.messages == [
        Message(
            "b1",
            "user",
            (Text("Fix the loop in game.js."), Attachment("image/*", "/tmp/a.png")),
            "2026-11-30T18:56:41.000Z",
        ),
        Message(
            "b2",
            "assistant",
            (Reasoning("Look at the bounds."),),
            "2026-11-30T18:56:42.000Z",
            model="gpt-5",
        ),
        Message(
            "b3",
            "assistant",
            (
                ToolCall("call_1\nfc_1", "run_terminal_command_v2", {"command": "npm test"}),
                ToolResult("call_1\nfc_1", "1 failed\n"),
            ),
            "2026-11-30T18:56:43.000Z",
            model="gpt-5",
        ),
        Message(
            "b4",
            "assistant",
            (
                ToolCall("call_2", "edit_file_v2", {"path": "game.js"}),
                ToolResult("call_2", "game.js is read-only", is_error=True),
            ),
            "2026-11-30T18:56:44.000Z",
            model="gpt-5",
        ),
        Message(
            "b5",
            "assistant",
            (Text("I cannot write game.js."),),
            "2026-11-30T18:56:45.000Z",
            model="gpt-5-mini",
            usage=Usage(1200, 40),
        ),
        Message("b6", "user", (Text("Now you can."),), "2026-11-30T18:57:41.000Z"),
    ]
    assert reading.fact("project") == "/home/ada/loop"
    assert reading.fact("title") == "Fix the loop"
    assert [(skip.place, skip.reason) for skip in reading.skipped] == [("gone", "not in the order")]
    assert reading.kinds == {"message": 6, "marker": 1, "summary": 1, "other": 2}
    assert not reading.unknown


def test_a_bubble_carries_the_summary_of_what_stands_before_it(state: Path) -> None:
    reading = from_database(EDITOR, state, COMPOSER)
    at = "2026-11-30T18:56:45.000Z"
    words = "The loop in game.js is off by one; the file is read-only."
    assert reading.markers == [Marker("b5/summary/marker", "b3", at)]
    assert [(one.id, one.text) for one in reading.summaries] == [("b5/summary", words)]
    assert [one.id for one in reading.visible] == ["b3", "b4", "b5", "b6"]


def test_conversations_are_listed_without_empty_ones(state: Path) -> None:
    assert listed(EDITOR, state) == [
        Seen("old", title="From 2024", updated=1700000000.0),
        Seen(
            "sub",
            parent=COMPOSER,
            title="Look around",
            first_prompt="Where is the loop?",
            last_prompt="Where is the loop?",
            updated=1796065010.0,
        ),
        Seen(
            COMPOSER,
            project="/home/ada/loop",
            title="Fix the loop",
            first_prompt="Fix the loop in game.js.",
            last_prompt="Now you can.",
            updated=1796065090.0,
        ),
    ]


def test_a_subagent_names_the_conversation_it_works_for(state: Path) -> None:
    reading = from_database(EDITOR, state, "sub")
    assert reading.prompts == ["Where is the loop?"]
    assert reading.fact("parent_session") == COMPOSER


def test_the_bubbles_of_old_versions_stand_in_the_conversation_itself(state: Path) -> None:
    reading = from_database(EDITOR, state, "old")
    assert texts(reading.messages) == ["Hello", "Hello, Ada."]


@pytest.mark.parametrize("session", [COMPOSER, "sub", "old", "empty", "broken", "null", "none"])
def test_nothing_but_conversations_is_read(state: Path, session: str) -> None:
    kept = b"".join(record.raw for record in from_database(EDITOR, state, session).records)
    assert b"hunter2" not in kept


@pytest.mark.parametrize("session", ["broken", "null"])
def test_a_conversation_that_is_none_says_so(state: Path, session: str) -> None:
    skipped = from_database(EDITOR, state, session).skipped
    assert [skip.reason for skip in skipped] == ["not JSON"]


def test_reading_a_conversation_again_adds_nothing(state: Path) -> None:
    reading = from_database(EDITOR, state, COMPOSER)
    before = list(reading.records)
    assert from_database(EDITOR, state, COMPOSER, reading).records == before
    reading.state = {}
    assert from_database(EDITOR, state, COMPOSER, reading).records == before


def test_a_bubble_that_is_being_written_is_a_message_once_it_holds_something(state: Path) -> None:
    asked = bubble("b1", "Hi", 1)
    compose(state, asked, bubble("b2"))
    reading = from_database(EDITOR, state, "s")
    assert texts(reading.messages) == ["Hi"]
    compose(state, asked, bubble("b2", "Hel"))
    from_database(EDITOR, state, "s", reading)
    compose(state, asked, bubble("b2", "Hello"), bubble("b3", "Thanks", 1))
    assert texts(from_database(EDITOR, state, "s", reading).messages) == ["Hi", "Hello", "Thanks"]


def test_bubbles_that_were_taken_back_are_left(state: Path) -> None:
    said = [bubble("b1", "one", 1), bubble("b2", "1"), bubble("b3", "two", 1)]
    compose(state, *said)
    reading = from_database(EDITOR, state, "s")
    compose(state, *said[:2], bubble("b4", "three", 1))
    assert texts(from_database(EDITOR, state, "s", reading).messages) == ["one", "1", "three"]


@pytest.mark.parametrize(
    ("summary", "visible"),
    [
        pytest.param({"summary": "All is one."}, ["two"], id="usable"),
        pytest.param({"summary": " "}, ["one", "1", "two"], id="blank"),
        pytest.param({}, ["one", "1", "two"], id="none"),
        pytest.param(
            {"summary": "All.", "clientShouldStartSendingFromInclusiveBubbleId": "b2"},
            ["1", "two"],
            id="keeping a tail",
        ),
        pytest.param(
            {"summary": "All.", "clientShouldStartSendingFromInclusiveBubbleId": "lost"},
            ["one", "1", "two"],
            id="keeping what is lost",
        ),
    ],
)
def test_only_a_usable_summary_hides_anything(
    state: Path, summary: Json, visible: list[str]
) -> None:
    answered = bubble("b2", "1", conversationSummary=summary)
    compose(state, bubble("b1", "one", 1), answered, bubble("b3", "two", 1))
    assert texts(from_database(EDITOR, state, "s").visible) == visible


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        pytest.param({"status": "loading"}, [], id="running"),
        pytest.param({"status": "completed"}, [ToolResult("c", "")], id="no words"),
        pytest.param(
            {"status": "completed", "result": '{"output":"x","exitCode":1}'},
            [ToolResult("c", '{"output":"x","exitCode":1}')],
            id="more than words",
        ),
        pytest.param({"status": "completed", "result": "{"}, [ToolResult("c", "{")], id="no JSON"),
        pytest.param(
            {"status": "completed", "result": [1]}, [ToolResult("c", "[1]")], id="no text"
        ),
        pytest.param(
            {"status": "cancelled"},
            [ToolResult("c", "[Tool execution was cancelled]", is_error=True)],
            id="stopped",
        ),
        pytest.param(
            {"status": "error", "error": '{"clientVisibleErrorMessage":"It failed"}'},
            [ToolResult("c", "It failed", is_error=True)],
            id="a failure told to the person",
        ),
        pytest.param(
            {"status": "error"},
            [ToolResult("c", "[unknown error]", is_error=True)],
            id="a failure told to nobody",
        ),
    ],
)
def test_a_tool_is_its_call_and_what_came_of_it(tool: Json, expected: list[Block]) -> None:
    told = {"name": "Read", "toolCallId": "c", "params": '{"path":"a"}', **tool}
    called = ToolCall("c", "Read", {"path": "a"})
    assert built(bubble("b", toolFormerData=told)).blocks == (called, *expected)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"thinking": {"text": "", "signature": "c2ln"}}, (Reasoning("", redacted=True),)),
        ({"thinking": {"text": "", "signature": ""}}, ()),
        ({"allThinkingBlocks": [{"thinking": "Hm."}]}, (Reasoning("Hm."),)),
    ],
)
def test_thinking_is_reasoning(more: Json, expected: tuple[Block, ...]) -> None:
    assert built(bubble("b", **more)).blocks == expected


def test_an_error_of_the_provider_is_told() -> None:
    assert built(bubble("b", errorDetails={"title": "Rate limited"})).error == "Rate limited"
    assert built(bubble("b", errorDetails={"message": "no"})).error == "error"


def test_a_time_may_be_a_number() -> None:
    assert built(bubble("b", createdAt=1796065000000)).at == "2026-11-30T18:56:40.000Z"


def test_a_bubble_that_is_missing_blocks_no_other(state: Path) -> None:
    compose(state, bubble("b1", "one", 1), bubble("b2", "1"), bubble("b3", "two", 1))
    run(state, "DELETE FROM cursorDiskKV WHERE key = 'bubbleId:s:b2'")
    put(state, "bubbleId:s:b3", bubble("b3", "two", 1, conversationSummary="{"))
    reading = from_database(EDITOR, state, "s")
    assert reading.prompts == ["one", "two"]
    assert [(skip.place, skip.reason) for skip in reading.skipped] == [("b2", "no bubble")]


def test_an_order_that_is_no_json_is_none(state: Path) -> None:
    put(state, "composerData:s", {"fullConversationHeadersOnly": "["})
    assert from_database(EDITOR, state, "s").messages == []
    assert "s" not in [seen.id for seen in listed(EDITOR, state)]


def test_bubbles_of_other_types_are_kept(state: Path) -> None:
    compose(state, bubble("b1", "one", 1), bubble("b2", "?", 9))
    assert from_database(EDITOR, state, "s").unknown == {"bubble/9": 1}


# Whatever stands in it

FIELDS = st.sampled_from(
    [
        *("type", "text", "role", "content", "message", "providerOptions", "cursor", "thinking"),
        *("toolFormerData", "toolCallId", "rawArgs", "result", "status", "error", "bubbleId"),
        *("conversationSummary", "summary", "isSummary", "createdAt", "images", "modelInfo"),
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


def native(record: Json, more: Json) -> Json:
    return {**record, **more}


RECORDS = st.builds(
    native,
    st.dictionaries(FIELDS, VALUES, max_size=5),
    st.sampled_from([{}, {"role": "user"}, {"role": "assistant"}, {"type": "turn_ended"}]),
)
QUIET = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@patient
@given(st.lists(RECORDS, max_size=4))
def test_no_value_in_any_field_of_a_line_breaks_the_reading(found: list[Json]) -> None:
    data = b"".join(json.dumps(one).encode() + b"\n" for one in found)
    reading = of_lines(READER, data)
    assert len(reading.records) == len(found)
    assert len(reading.entries) <= len(found)
    assert sum(map(LINES[0].recognizes, found)) <= len(found)


@QUIET
@given(st.lists(RECORDS, max_size=3), st.binary(max_size=40))
def test_no_blob_breaks_the_reading(store: Store, found: list[Json], root: bytes) -> None:
    store.write(*found, root)
    assert len(store.read().skipped) <= 1
    told = {"agentId": "s", "latestRootBlobId": store.put(root).hex()}
    store.set(json.dumps(told).encode())
    assert store.read().messages == []
    listed(CHATS, store.path)


@QUIET
@given(st.lists(RECORDS, max_size=3), VALUES, st.dictionaries(FIELDS, VALUES, max_size=2))
def test_no_bubble_breaks_the_reading(
    state: Path, found: list[Json], order: Any, about: Json
) -> None:
    bubbles = [{"type": 2, **one, "bubbleId": f"b{at}"} for at, one in enumerate(found)]
    compose(state, *bubbles, **about)
    assert len(from_database(EDITOR, state, "s").records) >= len(found)
    put(state, "composerData:s", {**about, "fullConversationHeadersOnly": order})
    from_database(EDITOR, state, "s")
    listed(EDITOR, state)


@patient
@given(st.integers(0, len(TRANSCRIPT)))
def test_a_transcript_cut_anywhere_loses_no_more_than_its_last_line(cut: int) -> None:
    whole = of_lines(READER, TRANSCRIPT).records
    part = of_lines(READER, TRANSCRIPT[:cut]).records
    assert part == whole[: len(part)]
    assert len(part) >= TRANSCRIPT[:cut].count(b"\n")
    assert of_lines(READER, TRANSCRIPT[:cut], TRANSCRIPT[cut:]).records == whole


# Every file there is


@pytest.mark.parametrize("path", shared("cursor", "**/*transcript*.jsonl"))
def test_every_line_of_every_transcript_is_accounted_for(path: Path) -> None:
    data = path.read_bytes()
    natives = [json.loads(one) for one in data.splitlines()]
    reading = of_lines(READER, data)
    assert len(reading.messages) == len([one for one in natives if "role" in one])
    for native, found in zip(natives, reading.messages, strict=True):
        assert len(found.blocks) == len(native["message"]["content"])
        assert found.role == ("assistant" if native["role"] == "assistant" else "user")
    assert not reading.skipped
    assert not reading.unknown


@pytest.mark.parametrize("path", shared("cursor", "**/*kv.jsonl"))
def test_every_bubble_of_every_conversation_is_accounted_for(path: Path, tmp_path: Path) -> None:
    told = {one["key"]: one["value"] for one in map(json.loads, path.read_bytes().splitlines())}
    where = tmp_path / "state.vscdb"
    run(where, "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    for key, value in told.items():
        put(where, key, value)
    composers = {key[13:]: one for key, one in told.items() if key.startswith("composerData:")}
    orders = {
        id: [one["bubbleId"] for one in composer["fullConversationHeadersOnly"]]
        for id, composer in composers.items()
    }
    assert [seen.id for seen in listed(EDITOR, where)] == [id for id in orders if orders[id]]
    for id, order in orders.items():
        reading = from_database(EDITOR, where, id)
        bubbles = [key.split(":")[2] for key in told if key.startswith(f"bubbleId:{id}:")]
        assert [one.id for one in reading.messages] == order
        strays = [one.id for one in reading.records if one.id.endswith("/stray")]  # empty ones
        assert [skip.place for skip in reading.skipped] == []
        assert strays == [f"{one}/stray" for one in bubbles if one not in order]
        calls = [call.id for one in reading.messages for call in one.calls]
        assert calls == [result.call_id for one in reading.messages for result in one.results]


def test_cursor_names_itself_and_not_its_session() -> None:
    assert READER.hosts == ("cursor",)
    assert READER.variables == ()


def test_summaries_are_read_in_both_shapes() -> None:
    told = {"conversationSummary": '{"summary":"All is one."}'}
    for native in (told, summarized("All is one.")):
        expected = Summary("s", "m", "All is one.", "end_turn")
        assert READER.summary("s", "m", native) == expected
