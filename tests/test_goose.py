import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
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
from foldmark.sources.places import Places
from foldmark.transcripts.goose.reader import READER
from foldmark.transcripts.record import Database, Document, Lines, Record, Seen
from readings import Reading, of_database, of_document, of_lines, shared

FIXTURES = Path(__file__).parent / "fixtures" / "goose"
LEGACY = (FIXTURES / "20250909_101500.jsonl").read_bytes()
EXPORT = (FIXTURES / "export.json").read_bytes()
SCHEMA = (FIXTURES / "sessions.sql").read_text(encoding="utf-8").partition("INSERT")[0]
OPUS = "claude-opus-4-6"
USED = Usage(1500, 80)
SUMMARY = (
    "## Goal\nPort the parser.\n\n## Done\n- listed files\n- ran tests (2 failed)\n\n"
    "## Next\nFix tokenizer.py line 42."
)
NOTICE = "Your context was compacted. The previous message contains a summary."
BY_HAND = "Your context was compacted at the user's request. The previous message is a summary."
LATER_NOTICE = "The previous message is a structured summary of an earlier portion of this session."

Json = dict[str, Any]


DATABASE = next(place for place in READER.places if isinstance(place, Database))
LINES = next(place for place in READER.places if isinstance(place, Lines))
DOCUMENT = next(place for place in READER.places if isinstance(place, Document))


class Goose:
    """A database as Goose writes it; a row's name is its message id."""

    def __init__(self, path: Path, session: str = "20261130_1", schema: str = SCHEMA):
        self.path = path
        self.session = session
        self.clock = 1796065000
        with closing(sqlite3.connect(path)) as db, db:
            db.executescript(schema)
            db.execute("INSERT INTO sessions (id, working_dir) VALUES (?, '/p')", (session,))

    def run(self, sql: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute(sql, values)

    def add(self, *rows: Json) -> None:
        for row in rows:
            self.clock += 1
            self.run(
                "INSERT INTO messages (message_id, session_id, role, content_json,"
                " created_timestamp, metadata_json) VALUES (?, ?, ?, ?, ?, ?)",
                *(row["id"], self.session, row["role"], json.dumps(row["content"])),
                *(row.get("created", self.clock), json.dumps(row["metadata"])),
            )

    def write_anew(self, *rows: Json) -> None:
        """Replace all rows, as a compaction does: new row ids, the same message ids."""
        with closing(sqlite3.connect(self.path)) as db:
            told = db.execute("SELECT message_id, created_timestamp FROM messages").fetchall()
        created = dict(told)
        self.run("DELETE FROM messages")
        self.add(*({"created": created.get(row["id"], self.clock), **row} for row in rows))

    def read(self, reading: Reading | None = None) -> Reading:
        return of_database(READER, self.path, self.session, reading)


@pytest.fixture(name="real")
def _real(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((FIXTURES / "sessions.sql").read_text(encoding="utf-8"))
    return path


@pytest.fixture(name="goose")
def _goose(tmp_path: Path) -> Goose:
    return Goose(tmp_path / "sessions.db")


def row(id: str, role: str, content: Any, *, seen: str = "UA", **metadata: Any) -> Json:
    """Write a row that the user (U) and the agent (A) can see."""
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
    told = {"userVisible": "U" in seen, "agentVisible": "A" in seen, **metadata}
    return {"id": id, "role": role, "content": listed, "metadata": told}


def user(id: str, said: str = "", *, seen: str = "UA", **metadata: Any) -> Json:
    return row(id, "user", said or id, seen=seen, **metadata)


def reply(id: str, said: str = "", *, seen: str = "UA") -> Json:
    return row(id, "assistant", said or id, seen=seen)


def context(id: str, said: str = "<turn-context>now</turn-context>", *, seen: str = "A") -> Json:
    return row(id, "user", said, seen=seen, turnContext=True)


def call(id: str) -> Json:
    told: Json = {"status": "success", "value": {"name": "shell", "arguments": {}}}
    return row(id, "assistant", [{"type": "toolRequest", "id": f"c-{id}", "toolCall": told}])


def answer(id: str, to: str) -> Json:
    told = {"status": "success", "value": {"content": [{"type": "text", "text": "done"}]}}
    return row(id, "user", [{"type": "toolResponse", "id": f"c-{to}", "toolResult": told}])


def hidden(rows: Sequence[Json], by: str = "A") -> list[Json]:
    """Hide rows from the agent, as a compaction does, or from both."""
    gone = {"A": {"agentVisible": False}, "UA": {"agentVisible": False, "userVisible": False}}
    return [{**one, "metadata": {**one["metadata"], **gone[by]}} for one in rows]


def ids(found: Sequence[Message | Marker | Summary]) -> list[str]:
    return [one.id for one in found]


def built(*content: Any, role: str = "assistant", **metadata: Any) -> Message:
    return READER.message("m", [row("m", role, list(content), **metadata)])


# What Goose 1.50 wrote


def test_a_session_that_was_compacted_at_a_prompt_keeps_that_prompt(real: Path) -> None:
    reading = of_database(READER, real, "20261130_1")
    at, later = "2026-11-30T19:01:47.000Z", "2026-11-30T19:02:10.000Z"
    context_1 = (
        "<turn-context>\n<current-time>2026-11-30 19:01:00 +00:00</current-time>\n</turn-context>"
    )
    context_2 = context_1.replace("19:01", "19:02")
    missing = "ls: cannot access '/nonexistent-33': No such file or directory"
    prompt = "msg_fc6c9749-9881-4e69-835a-25610caae7ca"
    assert reading.entries == [
        Message(
            "msg_a0393158-3312-4ce4-ae12-93d285c02b7c",
            "user",
            (Text("first TOOL PARALLEL"),),
            "2026-11-30T19:01:46.000Z",
        ),
        Message(
            "msg_4155d1ef-6416-45e1-af04-d75b82788963",
            "user",
            (Text(context_1, injected=True),),
            at,
        ),
        Message(
            "msg_mock0033", "assistant", (Text("Let me run a command."),), at, OPUS, usage=USED
        ),
        Message(
            "msg_b5bbaff4-9bf8-4cf8-be93-df0566b2e082",
            "assistant",
            (
                Reasoning("I should look at the request number 33 first."),
                ToolCall("toolu_mock0033_1", "shell", {"command": "echo hello-33"}),
            ),
            at,
            OPUS,
        ),
        Message(
            "msg_d698e822-eb0f-497d-ac71-73b366cdb140",
            "user",
            (ToolResult("toolu_mock0033_1", "hello-33"),),
            at,
        ),
        Message(
            "msg_e289f165-7aec-45e4-853a-ab95e999a8db",
            "assistant",
            (ToolCall("toolu_mock0033_2", "shell", {"command": "ls /nonexistent-33"}),),
            at,
            OPUS,
        ),
        Message(
            "msg_4efbe273-d331-45a1-bbf9-367571da45ab",
            "user",
            (
                ToolResult(
                    "toolu_mock0033_2", f"{missing}\n\nCommand exited with code 2", is_error=True
                ),
            ),
            at,
        ),
        Message(
            "msg_mock0034",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (34)."),
                Text("Done: the command finished. (reply 34)"),
            ),
            at,
            OPUS,
            usage=USED,
        ),
        Message(
            "msg_17922d45-e979-4826-a6d0-2e812170f853",
            "user",
            (Text("second REDACTED EMPTYTHINK"),),
            "2026-11-30T19:01:55.000Z",
        ),
        Message(
            "msg_mock0035",
            "assistant",
            (
                Reasoning("", redacted=True),
                Reasoning("I should look at the request number 35 first."),
                Text("Answer 35 to your message."),
            ),
            "2026-11-30T19:01:56.000Z",
            OPUS,
            usage=USED,
        ),
        Message(prompt, "user", (Text("seventh should compact TOOL"),), later),
        Marker("msg_mock0043/marker", prompt, later),
        Summary("msg_mock0043", "msg_mock0043/marker", SUMMARY, "end_turn", at=later),
        Message(
            "msg_de65cca2-0822-4273-afd5-1c6f17037bf4",
            "user",
            (Text(context_2, injected=True),),
            later,
        ),
        Message(
            "msg_mock0045",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (45)."),
                Text("Done: the command finished. (reply 45)"),
            ),
            later,
            OPUS,
            usage=USED,
        ),
    ]
    assert ids(reading.visible) == [
        prompt,
        "msg_de65cca2-0822-4273-afd5-1c6f17037bf4",
        "msg_mock0045",
    ]
    assert reading.kinds == {"message": 13, "marker": 1, "summary": 1, "other": 3}


def test_a_prompt_whose_compaction_failed_stays_unanswered(real: Path) -> None:
    reading = of_database(READER, real, "20261130_2")
    assert reading.prompts == ["s2 second", "s2 third fails", "s2 fourth"]
    assert reading.markers == [
        Marker(
            "msg_mock0050/marker",
            "msg_b0392489-880c-4d3b-b44f-380b2a5a828a",
            "2026-11-30T19:02:12.000Z",
        )
    ]
    assert [message.prompt for message in reading.visible] == ["s2 fourth", "", ""]


def test_a_compaction_by_hand_keeps_nothing_and_its_command_is_no_prompt(real: Path) -> None:
    reading = of_database(READER, real, "20261130_3")
    assert reading.prompts == ["s3 first TOOL", "after manual"]
    assert reading.markers == [Marker("msg_mock0054/marker", "", "2026-11-30T19:02:13.000Z")]
    assert ids(reading.visible) == ["msg_6986a762-c02f-41b5-8d51-d2815f95b197", "msg_mock0055"]
    others = [record.id for record in reading.records if record.kind == "other"]
    assert others == [
        "session",
        "msg_20261130_3_0520b1a7-9f52-4352-9454-7d1d2e6ba0cc",  # the notice
        "msg_4882aa06-a340-4bb1-ba14-2a5237720de3",  # "/compact"
        "msg_19dec5f0-f94d-40f6-aa7d-c876aa785477",  # "Compaction complete"
    ]


def test_an_export_is_read_as_the_database_is(real: Path) -> None:
    exported, kept = of_document(READER, EXPORT), of_database(READER, real, "20261130_2")
    assert exported.entries == kept.entries
    assert exported.records[1:] == kept.records[1:]
    for reading in (exported, kept):
        assert reading.fact("project") == "/project/parser"
        assert reading.fact("title") == "s2"
        assert not reading.unknown
        assert not any(b"hunter2" in record.raw for record in reading.records)


def test_nothing_native_reaches_a_message(real: Path) -> None:
    told = repr(of_database(READER, real, "20261130_1").entries)
    assert not [word for word in ("c2ln", "cmVkYWN0", "providerIndex", "_meta") if word in told]


def test_a_listing_shows_who_asked_what_where(real: Path) -> None:
    with database.reading(real, DATABASE.tables) as rows:
        assert list(DATABASE.sessions(rows, ""))[1:] == [
            Seen(
                "20261130_2",
                project="/project/parser",
                title="s2",
                first_prompt="s2 second",
                last_prompt="s2 fourth",
                updated=1796065332.0,
            ),
            Seen(
                "20261130_3",
                project="/project/parser",
                title="s3",
                first_prompt="s3 first TOOL",
                last_prompt="after manual",
                updated=1796065334.0,
            ),
        ]


def test_no_table_but_its_own_is_needed(real: Path) -> None:
    state: dict[str, Any] = {}
    with database.reading(real, DATABASE.tables) as rows:
        assert len(DATABASE.read(rows, "20261130_1", state).records) == 18
        assert not DATABASE.read(rows, "20261130_1", state).records
        assert not DATABASE.read(rows, "nobody", {}).records
    assert json.loads(json.dumps(state)) == state


def test_a_subagent_names_the_session_it_works_for(goose: Goose) -> None:
    goose.add(user("u1"))
    goose.run("UPDATE sessions SET session_type = 'sub_agent', parent_session_id = '20261129_7'")
    with database.reading(goose.path, DATABASE.tables) as rows:
        assert [seen.parent for seen in DATABASE.sessions(rows, "")] == ["20261129_7"]
    assert goose.read().fact("parent_session") == "20261129_7"


def test_an_early_database_lacks_columns(tmp_path: Path) -> None:
    goose = Goose(
        tmp_path / "sessions.db",
        schema="CREATE TABLE sessions (id TEXT, description TEXT, working_dir TEXT, updated_at);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json,"
        " created_timestamp);",
    )
    for said in ("hello", "hello", "bye"):
        content = json.dumps([{"type": "text", "text": said}])
        goose.run("INSERT INTO messages VALUES (NULL, '20261130_1', 'user', ?, 1)", content)
    reading = goose.read()
    goose.run("INSERT INTO messages VALUES (NULL, '20261130_1', 'user', '[]', 2)")
    assert goose.read(reading).prompts == goose.read().prompts == ["hello", "hello", "bye"]
    assert len({record.id for record in reading.records}) == 5
    with database.reading(goose.path, DATABASE.tables) as rows:
        assert [seen.last_prompt for seen in DATABASE.sessions(rows, "")] == ["bye"]


# JSON lines, before there was a database


def test_a_legacy_file_is_read(real: Path) -> None:
    reading = of_lines(READER, LEGACY)
    assert [(m.role, m.blocks, m.at) for m in reading.messages] == [
        ("user", (Text("list the files"),), "2025-09-09T10:15:00.000Z"),
        (
            "assistant",
            (
                Text("I will look."),
                ToolCall("call_1", "developer__shell", {"command": "ls"}),
            ),
            "2025-09-09T10:15:03.000Z",
        ),
        ("user", (ToolResult("call_1", "a.py\nb.py"),), "2025-09-09T10:15:04.000Z"),
        ("assistant", (Text("Two files."),), "2025-09-09T10:15:06.000Z"),
        ("user", (Text("thanks"),), "2025-09-09T10:15:50.000Z"),
    ]
    assert reading.fact("project") == "/project/parser"
    assert reading.fact("title") == "Parser port"
    assert reading.kinds == {"message": 5, "other": 1}


def test_a_legacy_file_is_written_anew_with_another_first_line() -> None:
    reading = of_lines(READER, LEGACY)
    before = reading.messages
    reading.state.clear()
    for line in LEGACY.replace(b'"message_count":5', b'"message_count":6').splitlines():
        reading.add(LINES.records(json.loads(line), line, reading.state))
    assert reading.messages == before
    assert reading.kinds == {"message": 5, "other": 2}


def test_lines_of_another_kind_are_kept_and_counted() -> None:
    reading = of_lines(READER, b'{"type":"x"}\n{"a":1}\n{"role":"system","content":[{}]}\n')
    assert reading.unknown == {"x": 1, "line": 1, "role/system": 1}
    assert not reading.messages


@patient
@given(cut=st.integers(0, len(LEGACY)))
def test_a_file_cut_anywhere_loses_at_most_its_last_line(cut: int) -> None:
    whole = of_lines(READER, LEGACY)
    early = of_lines(READER, LEGACY[:cut])
    ended = LEGACY[:cut].count(b"\n")
    assert early.records[:ended] == whole.records[:ended]
    assert of_lines(READER, LEGACY[:cut], LEGACY[cut:]).records == whole.records


# A session that grows


def test_what_is_added_follows_what_was_read(goose: Goose) -> None:
    goose.add(user("u1"), reply("a1"))
    reading = goose.read()
    goose.add(user("u2"))
    goose.read(reading)
    goose.add(reply("a2"))
    assert ids(goose.read(reading).messages) == ["u1", "a1", "u2", "a2"]
    assert goose.read(reading).records == goose.read().records


EARLIER = [user("u1"), reply("a1"), user("u2", "go")]
LATER = [
    user("s", "so far", seen="A"),
    reply("n", NOTICE, seen="A"),
    user("u2'", "go", seen="A"),
    context("t2"),
    reply("a2"),
]


def test_a_session_written_anew_by_its_compaction_stays_itself(goose: Goose) -> None:
    goose.add(*EARLIER)
    reading = goose.read()
    goose.write_anew(*hidden(EARLIER), *LATER[:3])
    goose.read(reading)
    goose.add(*LATER[3:])
    goose.read(reading)
    assert ids(reading.entries) == ["u1", "a1", "u2", "s/marker", "s", "t2", "a2"]
    assert reading.entries == goose.read().entries
    assert reading.view == goose.read().view
    assert ids(reading.visible) == ["u2", "t2", "a2"]
    assert reading.prompts == ["u1", "go"]
    assert not reading.rewound


def test_the_next_compaction_hides_the_one_before(goose: Goose) -> None:
    now = [*hidden(EARLIER), *LATER, user("u3")]
    goose.add(*now)
    reading = goose.read()
    goose.write_anew(
        *hidden(now),
        *(user("s2", "and on", seen="A"), reply("n2", NOTICE, seen="A")),
        user("u3'", "u3", seen="A"),
    )
    goose.read(reading)
    assert reading.entries == goose.read().entries
    assert ids(reading.markers) == ["s/marker", "s2/marker"]
    assert [summary.text for summary in reading.summaries] == ["so far", "and on"]
    assert reading.view.boundary is not None
    assert reading.view.boundary.summary.id == "s2"
    assert ids(reading.visible) == ["u3"]


def test_a_compaction_that_only_adds_rows_is_read_on(goose: Goose) -> None:
    goose.add(*EARLIER)
    reading = goose.read()
    goose.run("UPDATE messages SET metadata_json = replace(metadata_json, 'A\":true', 'A\":false')")
    goose.add(*LATER)
    assert ids(goose.read(reading).visible) == ["u2", "t2", "a2"]
    assert reading.entries == goose.read().entries


def test_a_prompt_that_old_versions_hid_for_its_copy_is_still_a_prompt(goose: Goose) -> None:
    rows = [
        *(*hidden(EARLIER[:2]), *hidden(EARLIER[2:], "UA")),
        *(LATER[0], LATER[1], user("u2'", "go"), reply("a2")),
    ]
    goose.add(*EARLIER)
    reading = goose.read()
    goose.write_anew(*rows)
    for one in (goose.read(reading), goose.read(), goose.read(reading)):
        assert ids(one.entries) == ["u1", "a1", "u2", "s/marker", "s", "a2"]
        assert one.prompts == ["u1", "go"]
        assert ids(one.visible) == ["u2", "a2"]


@pytest.mark.parametrize("seen", ["A", "UA"], ids=["now", "old versions"])
def test_compacted_amid_its_tool_calls_a_prompt_is_repeated_to_the_model(
    goose: Goose, seen: str
) -> None:
    before = [user("u1", "go"), call("k1"), answer("r1", "k1")]
    goose.add(
        *hidden(before),
        *(user("s", "so far", seen="A"), reply("n", LATER_NOTICE, seen="A")),
        *(user("u1'", "go", seen=seen), call("k2")),
    )
    reading = goose.read()
    assert ids(reading.visible) == ["u1'", "k2"]
    assert reading.visible[0].blocks == (Text("go", injected=True),)
    assert reading.prompts == ["go"]
    assert [record.prompt for record in reading.records if record.prompt] == ["go"]


def test_the_context_carried_over_a_compaction_is_not_told_twice(goose: Goose) -> None:
    goose.add(
        *hidden([user("u1", "go"), context("t1")]),
        *(user("s", "so far", seen="A"), reply("n", NOTICE, seen="A")),
        *(user("u1'", "go", seen="A"), context("t1'"), reply("a1")),
    )
    assert ids(goose.read().visible) == ["u1", "t1", "a1"]


def test_a_prompt_after_a_compaction_by_hand_may_be_the_same_again(goose: Goose) -> None:
    goose.add(
        *hidden([user("u1", "go"), reply("a1")]),
        *(user("s", "so far", seen="A"), reply("n", BY_HAND, seen="A")),
        user("u2", "go"),
    )
    assert goose.read().prompts == ["go", "go"]
    assert ids(goose.read().visible) == ["u2"]


def test_hidden_rows_without_the_words_of_a_notice_are_no_compaction(goose: Goose) -> None:
    goose.add(user("u1"), reply("a1"), user("p", seen="A"), reply("q", seen="A"))
    assert not goose.read().markers
    assert ids(goose.read().visible) == ["u1", "a1", "p", "q"]


@pytest.mark.parametrize(
    "notice",
    [
        NOTICE,
        LATER_NOTICE,
        "The previous message contains a summary that was prepared because a limit was reached.",
    ],
)
def test_the_notices_of_all_versions_are_known(goose: Goose, notice: str) -> None:
    goose.add(*hidden(EARLIER), LATER[0], reply("n", notice, seen="A"), *LATER[2:])
    assert ids(goose.read().visible) == ["u2", "t2", "a2"]


def test_a_hidden_row_after_a_compaction_by_hand_is_no_copy(goose: Goose) -> None:
    goose.add(
        *hidden([user("u1", "go")]),
        *(user("s", "so far", seen="A"), reply("n", BY_HAND, seen="A")),
        user("h", "from a hook", seen="A"),
    )
    assert ids(goose.read().visible) == ["h"]
    assert goose.read().prompts == ["go"]


def test_a_summary_of_tool_calls_is_nobodys_prompt(goose: Goose) -> None:
    goose.add(user("u1"), call("k1"), answer("r1", "k1"))
    reading = goose.read()
    goose.add(user("p1", "A call was made", seen="A"), reply("a1"))
    assert goose.read(reading).prompts == ["u1"]
    assert reading.messages[3].blocks == (Text("A call was made", injected=True),)
    assert not reading.markers


def test_a_prompt_that_was_edited_takes_back_what_followed_it(goose: Goose) -> None:
    goose.add(user("u1"), reply("a1"), user("u2"), reply("a2"))
    reading = goose.read()
    goose.run("DELETE FROM messages WHERE message_id IN ('u2', 'a2')")
    goose.add(user("u3"))
    assert ids(goose.read(reading).messages) == ["u1", "a1", "u3"]
    assert ids(reading.rewound) == ["u2", "a2"]


def test_a_session_that_was_cleared_begins_again(goose: Goose) -> None:
    goose.add(user("u1"), reply("a1"))
    reading = goose.read()
    goose.run("DELETE FROM messages")
    assert not goose.read(reading).messages
    goose.add(user("c1", "/clear", seen="U"), reply("c2", "Conversation cleared", seen="U"))
    goose.read(reading)
    goose.add(user("u2"))
    assert ids(goose.read(reading).messages) == ["u2"]
    assert ids(reading.rewound) == ["u1", "a1"]


def test_rows_with_one_id_are_one_message(goose: Goose) -> None:
    goose.add(user("u1"), reply("a1", "I will"), call("a1"))
    reading = goose.read()
    goose.add(answer("r1", "a1"), reply("a1", "look"))
    goose.read(reading)
    assert reading.entries == goose.read().entries
    assert ids(reading.messages) == ["u1", "a1", "r1"]
    assert reading.messages[1].blocks == (
        Text("I will"),
        ToolCall("c-a1", "shell", {}),
        Text("look"),
    )


def test_the_model_of_the_session_stands_in_where_a_row_names_none(goose: Goose) -> None:
    goose.run("""UPDATE sessions SET model_config_json = '{"model_name": "qwen"}'""")
    goose.add(
        user("u1"), reply("a1"), {**reply("a2"), "metadata": {"inference": {"requestedModel": "r"}}}
    )
    assert [message.model for message in goose.read().messages] == ["", "qwen", "r"]


# Content


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, Reasoning("hm")),
        ({"type": "reasoning", "text": "hm"}, Reasoning("hm")),
        ({"type": "redactedThinking", "data": "eA=="}, Reasoning("", redacted=True)),
        (
            {"type": "image", "data": "eA==", "mimeType": "image/png"},
            Attachment("image/png", "", 1),
        ),
        (
            {"type": "document", "data": "eA==", "mimeType": "text/csv", "name": "a.csv"},
            Attachment("text/csv", "a.csv", 1),
        ),
        (
            {
                "type": "toolRequest",
                "id": "c",
                "toolCall": {"status": "success", "value": {"name": "ls", "arguments": {"a": 1}}},
                "thoughtSignature": "c2ln",
            },
            ToolCall("c", "ls", {"a": 1}),
        ),
        (
            {
                "type": "frontendToolRequest",
                "id": "c",
                "toolCall": {"status": "success", "value": {"name": "ls"}},
            },
            ToolCall("c", "ls", None),
        ),
        (
            {"type": "toolRequest", "id": "c", "toolCall": {"status": "error", "error": "no JSON"}},
            ToolCall("c", "unknown", "no JSON"),
        ),
        ({"type": "error", "kind": "authentication", "message": "no key"}, Text("no key")),
        ({"type": "toolSetUpdate", "tools": []}, Unknown("toolSetUpdate")),
        ({}, Unknown("content")),
        ("words", Unknown("content")),
    ],
)
def test_each_part_of_a_message_is_read(part: Any, block: Block) -> None:
    assert built(part).blocks == (block,)


@pytest.mark.parametrize(
    ("result", "read"),
    [
        ({"status": "error", "error": "denied"}, ToolResult("c", "denied", is_error=True)),
        ({"status": "success", "value": [{"type": "text", "text": "a"}]}, ToolResult("c", "a")),
        (
            {"status": "success", "value": {"content": [], "structuredContent": {"n": 1}}},
            ToolResult("c", '{"n":1}'),
        ),
        (
            {
                "status": "success",
                "value": {
                    "content": [
                        {"type": "text", "text": "a"},
                        {"type": "image", "data": "eA==", "mimeType": "image/png"},
                        {"type": "resource", "resource": {"uri": "f:///b", "text": "b"}},
                        {
                            "type": "resource",
                            "resource": {"uri": "f:///c", "blob": "eA==", "mimeType": "x/y"},
                        },
                    ],
                    "isError": True,
                },
            },
            ToolResult(
                "c", "a\nb", True, (Attachment("image/png", "", 1), Attachment("x/y", "f:///c", 1))
            ),
        ),
        (None, ToolResult("c", "")),
    ],
)
def test_each_form_of_a_tools_result_is_read(result: Any, read: ToolResult) -> None:
    part = {"type": "toolResponse", "id": "c", "toolResult": result}
    assert built(part, role="user").blocks == (read,)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "compacting"},
        {"type": "toolConfirmationRequest", "id": "c", "toolName": "ls", "arguments": {}},
        {"type": "actionRequired", "data": {"actionType": "toolConfirmation", "id": "c"}},
        {"type": "conversationCompacted", "msg": "done"},
    ],
)
def test_what_only_a_person_is_told_is_no_message(goose: Goose, part: Json) -> None:
    goose.add(
        user("u1"),
        row("x", "assistant", [part]),
        row("y", "assistant", [part, {"type": "text", "text": "hi"}]),
    )
    reading = goose.read()
    assert ids(reading.messages) == ["u1", "y"]
    assert reading.messages[1].blocks == (Text("hi"),)
    assert reading.kinds == {"message": 2, "other": 2}


def test_a_failure_of_the_provider_is_named() -> None:
    assert built({"type": "error", "kind": "creditsExhausted", "message": "x"}).error == (
        "creditsExhausted"
    )
    assert not built({"type": "text", "text": "x"}).error


def test_text_meant_for_the_model_alone_was_typed_by_nobody() -> None:
    told = {"type": "text", "text": "x", "annotations": {"audience": ["assistant"]}}
    assert not built(told, role="user").prompt
    assert built({**told, "annotations": {"audience": ["user"]}}, role="user").prompt == "x"


def test_times_are_in_seconds_or_by_mistake_in_milliseconds() -> None:
    for created in (1796065306, 1796065306000):
        assert READER.message("m", [{"created": created}]).at == "2026-11-30T19:01:46.000Z"


def test_a_summary_that_is_blank_hides_nothing(goose: Goose) -> None:
    goose.add(*hidden(EARLIER), user("s", " ", seen="A"), *LATER[1:])
    reading = goose.read()
    assert ids(reading.markers) == ["s/marker"]
    assert reading.view.boundary is None
    assert ids(reading.visible) == ["u1", "a1", "u2", "t2", "a2"]


# Whose file it is, and where


@pytest.mark.parametrize(
    ("data", "kind", "session"),
    [
        (LEGACY, Lines, "20250909_101500"),
        (EXPORT, Document, "20261130_2"),
        (EXPORT[:2000], None, ""),
        (b'{"type":"user","message":{"role":"user","content":[]}}', None, ""),
        (b'{"role":"user","content":[]}', None, ""),
        (b"[]", None, ""),
        (b"", None, ""),
    ],
)
def test_a_file_is_known_by_what_is_in_it(
    data: bytes, kind: type[Lines] | type[Document] | None, session: str
) -> None:
    line: Json = json.loads(data.splitlines()[0]) if kind is Lines else {}
    assert LINES.recognizes(line) == (kind is Lines)
    assert DOCUMENT.recognizes(data) == (kind is Document)
    if kind is Lines:
        assert LINES.session("20250909_101500.jsonl", line) == session
        assert not LINES.session("copy.jsonl", line)
        assert LINES.recognizes(json.loads(data.splitlines()[1]))
    else:
        assert DOCUMENT.session("copy.json", data) == session


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({}, ".local/share/goose/sessions"),
        ({"XDG_DATA_HOME": "{home}/xdg"}, "xdg/goose/sessions"),
        ({"APPDATA": "{home}/Roaming"}, "Roaming/Block/goose/data/sessions"),
        ({"XDG_DATA_HOME": "{home}/xdg", "GOOSE_PATH_ROOT": "{home}/g"}, "g/data/sessions"),
    ],
)
def test_sessions_are_where_goose_keeps_them(
    tmp_path: Path, environ: dict[str, str], folder: str
) -> None:
    path = tmp_path / folder / "sessions.db"
    path.parent.mkdir(parents=True)
    Goose(path).add(user("u1"))
    (path.parent / "20250909_101500.jsonl").write_bytes(LEGACY)
    told = {name: value.format(home=tmp_path) for name, value in environ.items()}
    places = Places([READER], {"HOME": str(tmp_path), **told}, project=tmp_path)
    found = {(one.session, one.path.name) for one in places.transcripts()}
    assert found == {
        ("20261130_1", "sessions.db"),
        ("20250909_101500", "20250909_101500.jsonl"),
    }


# Whatever is in it

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
PART = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["text", "toolRequest", "toolResponse", "image", "document", "error"]
        )
    },
    optional=dict.fromkeys(
        ("text", "id", "toolCall", "toolResult", "data", "annotations", "kind", "name"), ANYTHING
    ),
)
NATIVE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]) | ANYTHING,
        "content": st.lists(PART | ANYTHING, max_size=3) | ANYTHING,
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "userVisible": st.booleans() | ANYTHING,
                "turnContext": st.booleans(),
                "usage": ANYTHING | st.dictionaries(st.sampled_from(["inputTokens"]), ANYTHING),
                "inference": ANYTHING,
            },
        )
        | ANYTHING,
    },
    optional={"id": ANYTHING | st.sampled_from(["a", "b"]), "created": ANYTHING, "typed": ANYTHING},
)


def accounted(records: Sequence[Record]) -> None:
    """Build all that can be built, as the store would."""
    for record in records:
        told = json.loads(record.raw)
        if record.kind == "message":
            assert READER.message(record.id, [told]).prompt == record.prompt
        elif record.kind == "summary":
            assert READER.summary(record.id, record.parent, told).marker == record.parent


@patient
@given(natives=st.lists(NATIVE | ANYTHING, max_size=5), about=ANYTHING)
def test_anything_in_an_export_is_read_twice_alike(natives: list[Any], about: Any) -> None:
    whole = {"id": about, "working_dir": about, "model_config": about, "conversation": natives}
    data = json.dumps(whole).encode()
    snapshot = DOCUMENT.read(data)
    accounted(snapshot.records)
    kinds = Counter(record.kind for record in snapshot.records)
    kept = kinds["message"] + kinds["summary"] + kinds["other"] - 1
    assert kept + len(snapshot.skipped) == len(natives)
    assert of_document(READER, data, data).records == of_document(READER, data).records


@patient
@given(natives=st.lists(NATIVE, max_size=4))
@example(natives=[{"role": ["user"], "content": {}}, {"role": "user", "created": 10**400}])
def test_anything_in_a_line_is_read(natives: list[Json]) -> None:
    data = b"".join(json.dumps(native).encode() + b"\n" for native in natives)
    reading = of_lines(READER, data)
    accounted(reading.records)
    for native in natives:
        assert isinstance(LINES.recognizes(native), bool)


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cells=st.lists(
        st.lists(
            st.none() | st.integers(-9, 9) | st.text(max_size=5) | st.binary(max_size=3),
            min_size=5,
            max_size=5,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_anything_in_a_row_is_read(tmp_path: Path, cells: list[list[Any]]) -> None:
    schema = (
        "CREATE TABLE sessions (id, name, working_dir, updated_at, model_config_json);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, message_id, role,"
        " content_json, created_timestamp, metadata_json);"
    )
    path = tmp_path / "any.db"
    path.unlink(missing_ok=True)
    goose = Goose(path, schema=schema)
    goose.run("UPDATE sessions SET name = ?, updated_at = ?, model_config_json = ?", *cells[0][:3])
    for cell in cells:
        goose.run("INSERT INTO messages VALUES (NULL, '20261130_1', ?, ?, ?, ?, ?)", *cell)
    reading = goose.read()
    accounted(reading.records)
    assert len(reading.records) >= 2
    before = list(reading.records)
    assert goose.read(reading).records == before
    with database.reading(path, DATABASE.tables) as rows:
        assert len(list(DATABASE.sessions(rows, ""))) == 1


def test_an_export_that_is_none_says_so() -> None:
    assert [skip.reason for skip in DOCUMENT.read(b"{").skipped] == ["not JSON"]
    assert not DOCUMENT.recognizes(b"{")
    assert not DOCUMENT.session("a.json", b"{")


# Every file there is


def account(natives: Sequence[Json], reading: Reading) -> None:
    """Count the messages by what is plainly in them, and compare."""
    kinds = {record.id: record.kind for record in reading.records if record.kind != "marker"}
    assert [native["id"] for native in natives] == list(kinds)[1:]
    for native in natives:
        sees = native["metadata"]
        said = "".join(part.get("text", "") for part in native["content"])
        if said.startswith("Your context was compacted") or said in (
            *("/compact", "Compaction complete"),
        ):
            wanted = "other"
        elif not sees["userVisible"] and native["role"] == "user" and not sees.get("turnContext"):
            wanted = "summary" if said.startswith("## Goal") else "other"
        else:
            wanted = "message"
        assert kinds[native["id"]] == wanted
    calls = [call.id for message in reading.messages for call in message.calls]
    answers = [result.call_id for message in reading.messages for result in message.results]
    assert calls == answers
    assert not reading.skipped
    assert not reading.unknown


@pytest.mark.parametrize("path", shared("goose"))
def test_every_message_of_every_file_is_accounted_for(path: Path) -> None:
    if path.suffix == ".json":
        account(
            json.loads(path.read_bytes())["conversation"], of_document(READER, path.read_bytes())
        )
        return
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        sessions = [id for (id,) in db.execute("SELECT id FROM sessions")]
        for session in sessions:
            found = db.execute(
                "SELECT message_id, role, content_json, metadata_json FROM messages"
                " WHERE session_id = ? ORDER BY created_timestamp, id",
                (session,),
            )
            natives = [
                {"id": id, "role": role, "content": json.loads(c), "metadata": json.loads(m)}
                for id, role, c, m in found
            ]
            account(natives, of_database(READER, path, session))


def test_goose_names_itself_and_its_session() -> None:
    assert READER.hosts == ("goose",)
    assert READER.variables == ("AGENT_SESSION_ID",)
