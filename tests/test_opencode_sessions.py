import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import INPUTS, Json, opencode_dict, patient
from foldmark import boundary
from foldmark.errors import TranscriptUnreadable
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
from foldmark.sources import database
from foldmark.sources.places import Places
from foldmark.transcripts import lines
from foldmark.transcripts.opencode.messages import CLEARED, INTERRUPTED
from foldmark.transcripts.opencode.reader import READER
from foldmark.transcripts.record import Database, Document, Folder, Record, Seen, Snapshot
from readings import FakeFiles, Reading, of_database, of_document, of_folder, shared

FIXTURES = Path(__file__).parent / "fixtures"
OPENCODE = FIXTURES / "opencode"
SCHEMA = (OPENCODE / "sessions.sql").read_text(encoding="utf-8").partition("INSERT")[0]
EXPORT = (OPENCODE / "export.json").read_bytes()
STORED: dict[str, Json] = json.loads((OPENCODE / "storage.json").read_bytes())
BOUNDARY_CASES: list[Json] = json.loads((FIXTURES / "boundary_cases.json").read_bytes())

DATABASE = next(place for place in READER.places if isinstance(place, Database))
STORAGE, FIRST_STORAGE = (place for place in READER.places if isinstance(place, Folder))
DOCUMENT = next(place for place in READER.places if isinstance(place, Document))

PARSER = "ses_dd235040cffeRVWhGn0G6HDG7V"
FAILED = "ses_dd230f2bcffe8G7nwsRwsrwHOR"
BLANK = "ses_dd2317083ffemt72K5Q97TStQ3"
TAIL = "ses_dd2311d81ffe1URiPOMM4XFXX7"
REVERTED = "ses_dd2306d05ffeqdF647usnCu5Cv"
SUBAGENTS = "ses_dd2300423ffe3diLlkmtljhHo2"
CHILD = "ses_dd22fff4fffe1okAtoOuVfqAzs"
ABORTED = "ses_dd22ff69affeU97tHBBytigLAv"
OLD = "ses_dd2218d6dffeObg2SnR7p0PTjX"

OPUS = "claude-opus-4-6"
USED = Usage(1500, 80)
SUMMARY = (
    "## Goal\nPort the parser.\n\n## Done\n- listed files\n- ran tests (2 failed)\n\n"
    "## Next\nFix tokenizer.py line 42."
)


def fill(path: Path, script: str) -> None:
    """Write a database without waiting for the disk."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA synchronous = OFF; BEGIN; {script} COMMIT;")


class OpenCode:
    """A database as opencode writes it, with one session in it."""

    def __init__(self, path: Path, schema: str = SCHEMA):
        self.path = path
        self.clock = 1_796_064_000_000
        fill(path, schema)
        self.add_session("ses_a")

    def run(self, sql: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("PRAGMA synchronous = OFF")
            db.execute(sql, values)

    def add_session(self, id: str, parent: str | None = None, table: str = "session") -> None:
        self.run(
            f"INSERT INTO {table} (id, project_id, parent_id, slug, directory, title, version,"
            " time_created, time_updated) VALUES (?, 'p', ?, 's', '/p', 'A title', '1', 1, 1)",
            *(id, parent),
        )

    def tick(self) -> int:
        self.clock += 10_000
        return self.clock

    def put_message(self, id: str, role: str, *, session: str = "ses_a", **info: Any) -> None:
        """Write a message, or write it anew; its place in the order stays."""
        now = self.tick()
        data = json.dumps({"role": role, "time": {"created": now}, **info})
        self.run(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = ?",
            *(id, session, now, now, data, now),
        )

    def put_part(self, id: str, message: str, *, session: str = "ses_a", **part: Any) -> None:
        now = self.tick()
        self.run(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = ?",
            *(id, message, session, now, now, json.dumps(part), now),
        )

    def say(self, id: str, role: str = "user", text: str = "", **info: Any) -> None:
        self.put_message(id, role, **info)
        self.put_part(f"prt_{id}", id, type="text", text=text or id)

    def put_row(self, id: str, type: str, *, session: str = "ses_a", **data: Any) -> None:
        """Write a message of version 2, or write it anew."""
        now = self.tick()
        data = {"time": {"created": now}, **data}
        self.run(
            "INSERT INTO session_message SELECT ?1, ?2, ?3, ifnull(max(seq) + 1, 1), ?4, ?4, ?5"
            " FROM session_message WHERE true"
            " ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = ?4",
            *(id, session, type, now, json.dumps(data)),
        )

    def read(self, reading: Reading | None = None, session: str = "ses_a") -> Reading:
        return of_database(READER, self.path, session, reading)


SESSION_V2 = (
    "CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,"
    " fork_session_id text, slug text, directory text NOT NULL, title text, version text NOT NULL,"
    " revert text, time_created integer NOT NULL, time_updated integer NOT NULL);"
)


@pytest.fixture(name="real")
def _real(tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    fill(path, (OPENCODE / "sessions.sql").read_text(encoding="utf-8"))
    return path


@pytest.fixture(name="opencode")
def _opencode(tmp_path: Path) -> OpenCode:
    return OpenCode(tmp_path / "opencode.db")


@pytest.fixture(name="newer")
def _newer(tmp_path: Path) -> OpenCode:
    return OpenCode(tmp_path / "opencode.db", SCHEMA + SESSION_V2)


def ids(found: Sequence[Message | Marker | Summary]) -> list[str]:
    return [one.id for one in found]


def shorts(found: Sequence[Message | Marker | Summary]) -> list[str]:
    """Name each by the last six characters of its id, which are enough to tell them apart."""
    return [one.id[-6:] for one in found]


def seen(path: Path) -> list[Seen]:
    with database.reading(path, DATABASE.tables) as rows:
        return list(DATABASE.sessions(rows, ""))


def calling(path: Path) -> list[str]:
    with database.reading(path, DATABASE.tables) as rows:
        return list(DATABASE.pending(rows))


def said(reading: Reading) -> list[tuple[str, str]]:
    """Tell each message's id and the words in it."""
    return [
        (m.id, " ".join(block.text for block in m.blocks if isinstance(block, Text)))
        for m in reading.messages
    ]


def export(*messages: Json, **info: Any) -> bytes:
    return json.dumps({"info": {"id": "ses_a", **info}, "messages": messages}).encode()


# What opencode 1.18.33 wrote


def test_a_session_with_a_failed_and_a_good_compaction_is_read_word_for_word(real: Path) -> None:
    reading = of_database(READER, real, PARSER)

    assert reading.entries == [
        Message(
            "msg_22dcafd6f001x5UHAU74jelVZN",
            "user",
            (Text('"Please port the parser. TOOL PARALLEL"'),),
            "2026-11-30T18:50:07.599Z",
            OPUS,
        ),
        Message(
            "msg_22dcb0cee0010xjSa0E4lDB6dk",
            "assistant",
            (
                Reasoning("I should look at the request number 2 first."),
                Text("Let me run a command."),
                ToolCall("toolu_mock0002_1", "bash", {"command": "echo hello-2"}),
                ToolResult("toolu_mock0002_1", "hello-2\n"),
                ToolCall("toolu_mock0002_2", "bash", {"command": "ls /nonexistent-2"}),
                ToolResult(
                    "toolu_mock0002_2",
                    "ls: cannot access '/nonexistent-2': No such file or directory\n",
                ),
            ),
            "2026-11-30T18:50:11.567Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "msg_22dcb90b4001VAungJReiLhq26",
            "user",
            (Text('"REDACTED EMPTYTHINK question two"'),),
            "2026-11-30T18:50:45.300Z",
            OPUS,
        ),
        Message(
            "msg_22dcba0c7001t72e9w0YdPlxjN",
            "assistant",
            (
                Reasoning("", redacted=True),
                Reasoning("I should look at the request number 4 first."),
                Reasoning(""),
                Text("Answer 4 to your message."),
            ),
            "2026-11-30T18:50:49.415Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "msg_22dcbce9f001AE9DsAk3FX6XaG",
            "user",
            (
                Text(
                    "Called the Read tool with the following input: "
                    '{"filePath":"/home/dev/projects/red.png"}',
                    injected=True,
                ),
                Text("Image read successfully", injected=True),
                Attachment("image/png", "red.png", 75),
                Text('"REDACTED TOOL third with image"'),
            ),
            "2026-11-30T18:51:01.151Z",
            OPUS,
        ),
        Marker("msg_22dcd5f6c001SpRc4TF0I4bSHF", "", "2026-11-30T18:52:43.756Z"),
        Summary(
            "msg_22dcd76d4001sSg8H3AC6Gv0f3",
            "msg_22dcd5f6c001SpRc4TF0I4bSHF",
            "",
            error="APIError",
            at="2026-11-30T18:52:49.748Z",
        ),
        Message(
            "msg_22dcdc07b001f2gm9aR6034SOP",
            "user",
            (Text('"fifth after failed compaction"'),),
            "2026-11-30T18:53:08.604Z",
            OPUS,
        ),
        Message(  # the orphan's summary, which the question got for an answer
            "msg_22dcdd0af001nETlR8M9GDCt4j",
            "assistant",
            (Text(f"{SUMMARY}\n"),),
            "2026-11-30T18:53:12.751Z",
            OPUS,
            usage=USED,
        ),
        Message(
            "msg_22dce50a300145FrRx8pNhzt0T",
            "user",
            (Text("sixth TOOL"),),
            "2026-11-30T18:53:45.507Z",
            OPUS,
        ),
        Message(
            "msg_22dce62e90012ksyvro4u8bcxK",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (11)."),
                Text("Done: the command finished. (reply 11)"),
            ),
            "2026-11-30T18:53:50.185Z",
            OPUS,
            usage=USED,
        ),
        Marker("msg_22dce65a1001cvYfeiGNQ2QIs0", "", "2026-11-30T18:53:50.881Z"),
        Summary(
            "msg_22dce6638001UtWnGI68TvcPti",
            "msg_22dce65a1001cvYfeiGNQ2QIs0",
            f"{SUMMARY}\n",
            "stop",
            at="2026-11-30T18:53:51.032Z",
        ),
        Message(
            "msg_22dce68d0001KMWqXWav5ieRTD",
            "user",
            (Text("seventh after good compaction TOOL"),),
            "2026-11-30T18:53:51.696Z",
            OPUS,
        ),
        Message(
            "msg_22dce6d22001uo1Rfzh9EG1ek6",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (14)."),
                Text("Done: the command finished. (reply 14)"),
            ),
            "2026-11-30T18:53:52.802Z",
            OPUS,
            usage=USED,
        ),
    ]
    assert reading.fact("project") == "/home/dev/projects/ws-opencode"
    assert reading.fact("title") == "Port the parser"
    assert (reading.fact("parent_session"), reading.unknown, reading.skipped) == ("", {}, [])


@pytest.mark.parametrize(
    ("session", "standing", "visible", "prompts"),
    [
        pytest.param(
            PARSER,
            "Q2QIs0",
            "5ieRTD EG1ek6",
            [
                '"Please port the parser. TOOL PARALLEL"',
                '"REDACTED EMPTYTHINK question two"',
                '"REDACTED TOOL third with image"',
                '"fifth after failed compaction"',
                "sixth TOOL",
                "seventh after good compaction TOOL",
            ],
            id="a good compaction after a failed one hides what came before it",
        ),
        pytest.param(
            FAILED,
            "",
            "VYxKwM 234cBy NpqjKD AoUB4n sVvCjt lOxKNT ONwvYg 7N6WIF XmKzDt ZJPQrL",
            [
                "turn 1 TOOL word0 word1",
                "turn 3 TOOL word0 word1",
                "next question after failed compaction word0 word1",
                "and now word0 word1",
            ],
            id="64 a failed one that kept a tail hides nothing, nor does its summary as an answer",
        ),
        pytest.param(
            BLANK,
            "",
            "eIMuCo LkeLDN Or50w5 zGVYZN 9Egtxo",
            ["first TOOL", "after blank"],
            id="64 a blank summary hides nothing",
        ),
        pytest.param(
            TAIL,
            "tPu0gT",
            "ZLYxDJ 28arde FJ92pK 0o3OGQ",
            ["turn 1 TOOL word0 word1", "turn 3 TOOL word0 word1", "after tail word0 word1"],
            id="a tail stays",
        ),
        pytest.param(
            REVERTED,
            "",
            "npmj84 22umyK",
            ["turn 1 TOOL word0 word1", "turn 2 TOOL word0 word1"],
            id="what was taken back is off the branch",
        ),
        pytest.param(SUBAGENTS, "", "aG9lq9 Lb2N2h 2sjsSN", ["SUBAGENT please"], id="subagents"),
        pytest.param(CHILD, "", "strzCL GRcwct rhH6lI", ["inner TOOL job"], id="a subagent"),
        pytest.param(ABORTED, "", "5Lf1D4 65Uu3Y", ["SLOW TOOL"], id="aborted"),
    ],
)
def test_every_state_that_opencode_leaves_shows_what_it_should_at_first_read(
    real: Path, session: str, standing: str, visible: str, prompts: list[str]
) -> None:
    reading = of_database(READER, real, session)

    found = reading.view.boundary
    assert (found.marker.id[-6:] if found else "") == standing
    assert shorts(reading.visible) == visible.split()
    assert (reading.prompts, reading.view.warning, reading.skipped) == (prompts, "", [])


def test_what_was_taken_back_stays_in_the_log(real: Path) -> None:
    assert shorts(of_database(READER, real, REVERTED).rewound) == ["UTTAac"]


def test_a_person_who_stopped_the_assistant_is_told_from_a_failure(real: Path) -> None:
    stopped = of_database(READER, real, ABORTED).messages[-1]

    assert (stopped.error, stopped.usage) == ("aborted", None)
    assert stopped.blocks == (
        Text("Let me run a command."),
        ToolCall("toolu_mock0005_1", "bash", {"command": "sleep 25"}),
        ToolResult(
            "toolu_mock0005_1",
            "(no output)\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>",
        ),
    )


def test_a_subagent_has_a_session_of_its_own_that_names_the_one_it_worked_for(real: Path) -> None:
    assert of_database(READER, real, CHILD).fact("parent_session") == SUBAGENTS
    assert of_database(READER, real, SUBAGENTS).fact("parent_session") == ""


def test_a_listing_shows_each_session_oldest_first(real: Path) -> None:
    project = "/home/dev/projects/ws-opencode"
    assert seen(real) == [
        Seen(
            PARSER,
            project=project,
            title="Port the parser",
            first_prompt='"Please port the parser. TOOL PARALLEL"',
            last_prompt="seventh after good compaction TOOL",
            updated=1796064833.582,
        ),
        Seen(BLANK, "", project, "blank summary", "first TOOL", "after blank", 1796064845.946),
        Seen(
            TAIL,
            project=project,
            title="tail kept",
            first_prompt="turn 1 TOOL word0 word1",
            last_prompt="after tail word0 word1",
            updated=1796064873.217,
        ),
        Seen(
            FAILED,
            project=project,
            title="failed with tail",
            first_prompt="turn 1 TOOL word0 word1",
            last_prompt="and now word0 word1",
            updated=1796064906.938,
        ),
        Seen(
            REVERTED,
            project=project,
            title="reverted",
            first_prompt="turn 1 TOOL word0 word1",
            last_prompt="turn 3 TOOL word0 word1",
            updated=1796064914.321,
        ),
        Seen(
            CHILD,
            parent=SUBAGENTS,
            project=project,
            title="inner job (@general subagent)",
            first_prompt="inner TOOL job",
            last_prompt="inner TOOL job",
            updated=1796064937.057,
        ),
        Seen(
            SUBAGENTS,
            project=project,
            title="subagent",
            first_prompt="SUBAGENT please",
            last_prompt="SUBAGENT please",
            updated=1796064937.702,
        ),
        Seen(ABORTED, "", project, "aborted", "SLOW TOOL", "SLOW TOOL", 1796064943.489),
    ]


def test_only_the_named_tables_are_read(real: Path) -> None:
    assert "credential" not in DATABASE.tables
    with database.reading(real, DATABASE.tables) as rows:
        found = [DATABASE.read(rows, one.id, {}) for one in DATABASE.sessions(rows, "")]
        assert list(DATABASE.pending(rows)) == []
    assert all(snapshot.records for snapshot in found)
    with (
        pytest.raises(TranscriptUnreadable),
        database.reading(real, DATABASE.tables) as rows,
    ):
        rows("SELECT value FROM credential")


def test_reading_again_adds_nothing(real: Path) -> None:
    for session in (PARSER, FAILED, BLANK, TAIL, REVERTED):
        reading = of_database(READER, real, session)
        before = list(reading.rows)
        reading.state = json.loads(json.dumps(reading.state))
        assert of_database(READER, real, session, reading).rows == before
        reading.state = {}
        assert of_database(READER, real, session, reading).rows == before


def test_an_export_and_the_database_hold_the_same_bytes(real: Path) -> None:
    exported, stored = of_document(READER, EXPORT), of_database(READER, real, FAILED)

    assert exported.entries == stored.entries
    assert exported.records == stored.records
    assert DOCUMENT.session("failed.json", EXPORT) == FAILED


# Older storages


def files(layout: str = "") -> dict[str, bytes]:
    """Lay the files out as version 1.1 does, or as 0.5 did below a project's folder."""
    found: dict[str, bytes] = {}
    for name, told in STORED.items():
        kind, above, file = name.split("/")
        if layout:
            within = {"session": "info", "message": f"message/{OLD}", "part": f"part/{OLD}/{above}"}
            name = f"{layout}/storage/session/{within[kind]}/{file}"
        found[name] = json.dumps(told, indent=2).encode()
    return found


SESSION_FILE = f"session/66bdfa800a02c52e777e509e3ff024969d4797af/{OLD}.json"
FIRST_SESSION_FILE = f"home-dev-projects-ws-oc-old/storage/session/info/{OLD}.json"


@pytest.mark.parametrize(
    ("place", "name", "found"),
    [
        pytest.param(STORAGE, SESSION_FILE, files(), id="version 1.1"),
        pytest.param(
            FIRST_STORAGE, FIRST_SESSION_FILE, files("home-dev-projects-ws-oc-old"), id="0.5"
        ),
    ],
)
def test_a_session_of_many_files_is_read(
    place: Folder, name: str, found: Mapping[str, bytes]
) -> None:
    reading = of_folder(READER, name, found, place=place)

    assert place.session(name) == OLD
    assert place.recognizes(found[name])
    assert reading.entries == [
        Message(
            "msg_22dde72b0001Jm1F8M8f88Dxff",
            "user",
            (Text('"v1.1.65 first TOOL PARALLEL"\n'),),
            "2026-11-30T19:11:22.800Z",
            OPUS,
        ),
        Message(
            "msg_22dde73fe001JBxSkH31v5n93O",
            "assistant",
            (
                Reasoning("I should look at the request number 47 first."),
                Text("Let me run a command."),
                ToolCall(
                    "toolu_mock0047_1", "bash", {"command": "echo hello-47", "description": "run"}
                ),
                ToolResult("toolu_mock0047_1", "hello-47\n"),
                ToolCall(
                    "toolu_mock0047_2",
                    "bash",
                    {"command": "ls /nonexistent-47", "description": "run"},
                ),
                ToolResult(
                    "toolu_mock0047_2",
                    "ls: cannot access '/nonexistent-47': No such file or directory\n",
                ),
            ),
            "2026-11-30T19:11:23.134Z",
            OPUS,
            usage=USED,
        ),
        Marker("msg_22dded3fc001VV9ZbTpMk2H5Ps", at="2026-11-30T19:11:47.708Z"),
        Summary(
            "msg_22dded49a001TwBb2MhzKt0sVX",
            "msg_22dded3fc001VV9ZbTpMk2H5Ps",
            "",
            error="APIError",
            at="2026-11-30T19:11:47.866Z",
        ),
        Message(
            "msg_22dded50f001MkG2Swngi3QhWQ",
            "user",
            (Text("third after failed compaction TOOL"),),
            "2026-11-30T19:11:47.983Z",
            OPUS,
        ),
        Message(
            "msg_22dded51c001frI8v7KakAu33I",
            "assistant",
            (Text(SUMMARY),),
            "2026-11-30T19:11:47.996Z",
            OPUS,
            usage=USED,
        ),
        Marker("msg_22dded636001gZH9qguUc474WA", at="2026-11-30T19:11:48.278Z"),
        Summary(
            "msg_22dded63f001S9noAtTjydLibH",
            "msg_22dded636001gZH9qguUc474WA",
            SUMMARY,
            "stop",
            at="2026-11-30T19:11:48.287Z",
        ),
        Message(
            "msg_22dded6a5001RpexLzbdmh7OTg",
            "user",
            (Text("fifth after good TOOL"),),
            "2026-11-30T19:11:48.389Z",
            OPUS,
        ),
        Message(
            "msg_22dded74f001wUtbSKyku6Q7r8",
            "assistant",
            (
                Reasoning("The tool returned; I can answer now (60)."),
                Text("Done: the command finished. (reply 60)"),
            ),
            "2026-11-30T19:11:48.559Z",
            OPUS,
            usage=USED,
        ),
    ]
    assert shorts(reading.visible) == ["mh7OTg", "u6Q7r8"]
    assert reading.fact("project") == "/home/dev/projects/ws-oc-old"
    assert reading.fact("title") == "Port the parser"


def test_where_a_session_names_no_folder_its_messages_do() -> None:
    found = files()
    found[SESSION_FILE] = b'{"id": "ses_x", "title": "t", "version": "0.5", "time": {}}'

    reading = of_folder(READER, SESSION_FILE, found)

    assert reading.fact("project") == "/home/dev/projects/ws-oc-old"


def test_the_names_of_files_are_their_ids_whatever_they_hold() -> None:
    found = {
        "session/p/ses_[a].json": b'{"id": "ses_other", "parentID": "ses_p", "title": "t"}',
        "message/ses_[a]/msg_*.json": b'{"id": "msg_other", "role": "user"}',
        "message/ses_a/msg_b.json": b'{"role": "user"}',
        "part/msg_*/prt_1.json": b'{"type": "text", "text": "mine"}',
        "part/msg_b/prt_2.json": b'{"type": "text", "text": "another session\'s"}',
    }

    reading = of_folder(READER, "session/p/ses_[a].json", found, place=STORAGE)

    assert said(reading) == [("msg_*", "mine")]
    assert reading.fact("parent_session") == "ses_p"


def test_a_damaged_file_is_counted_and_blocks_nothing() -> None:
    found = files()
    torn = "message/ses_dd2218d6dffeObg2SnR7p0PTjX/msg_22dde72b0001Jm1F8M8f88Dxff.json"
    found[torn] = found[torn][:40]
    part = "part/msg_22dde73fe001JBxSkH31v5n93O/prt_22dde7588001XBFjKA6l3ruIdt.json"
    found[part] = b"[]"

    reading = of_folder(READER, SESSION_FILE, found, place=STORAGE)

    assert {skip.place for skip in reading.skipped} == {torn, part}
    assert len(reading.messages) == 5


def test_a_message_that_was_taken_back_in_a_storage_leaves_the_branch() -> None:
    about = {**STORED[SESSION_FILE], "revert": {"messageID": "msg_22dded6a5001RpexLzbdmh7OTg"}}
    reverted = {**files(), SESSION_FILE: json.dumps(about).encode()}

    there = of_folder(READER, SESSION_FILE, files(), reverted, place=STORAGE)
    back = of_folder(READER, SESSION_FILE, files(), reverted, files(), place=STORAGE)

    assert shorts(there.messages)[-1] == "kAu33I"
    assert shorts(back.messages)[-3:] == ["kAu33I", "mh7OTg", "u6Q7r8"]


# States of a compaction


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in BOUNDARY_CASES])
def test_no_failed_compaction_hides_anything(case: Json) -> None:
    reading = of_document(READER, export(*case["messages"]))

    view = reading.view
    pair = [view.boundary.marker.id, view.boundary.summary.id] if view.boundary else []
    expected = case["visible"]
    if case["name"] == "summary_parent_not_marker":
        expected = ["u1", "a1", "u2", "s1", "u3"]  # it is an ordinary answer
    assert pair + ids(view.messages) == expected


def test_of_many_orphans_none_hides_anything() -> None:
    orphans = [
        opencode_dict("user", {"type": "compaction"}, id=f"msg_{at}", created=at)
        for at in range(1000)
    ]
    first = opencode_dict("user", {"type": "text", "text": "hi"}, id="msg_u", created=0)

    reading = of_document(READER, export(first, *orphans))

    assert (len(reading.markers), ids(reading.visible)) == (1000, ["msg_u"])


# A database that grows


def test_a_message_that_grows_is_read_again_and_nothing_else(opencode: OpenCode) -> None:
    opencode.say("msg_1", text="go")
    opencode.put_message("msg_2", "assistant", parentID="msg_1", finish="stop")
    reading = opencode.read()
    rows = len(reading.rows)

    opencode.put_part("prt_2", "msg_2", type="text", text="half")
    reading = opencode.read(reading)
    assert [row.record.id for row in reading.rows[rows:]] == ["msg_2"]

    opencode.put_part("prt_2", "msg_2", type="text", text="half and whole")
    assert said(opencode.read(reading)) == [("msg_1", "go"), ("msg_2", "half and whole")]


@pytest.mark.parametrize("state", ["kept", "lost"])
def test_of_a_long_session_only_what_changed_is_loaded(opencode: OpenCode, state: str) -> None:
    with closing(sqlite3.connect(opencode.path)) as db, db:
        for at in range(600):
            told = (f"msg_{at:04}", "ses_a", at + 1, at + 1, json.dumps({"role": "user"}))
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", told)
            part = (f"prt_{at:04}", f"msg_{at:04}", "ses_a", at + 1, at + 1, '{"type": "text"}')
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", part)
    opencode.clock += 600
    opencode.say("msg_9998")
    reading = opencode.read()
    assert len(reading.messages) == 601

    loaded = 0

    def rows(sql: str, *parameters: Any) -> list[Json]:
        nonlocal loaded
        with closing(sqlite3.connect(opencode.path)) as db:
            db.row_factory = sqlite3.Row
            found = [dict(row) for row in db.execute(sql, parameters)]
        loaded += sum("data" in row for row in found)
        return found

    kept: Json = json.loads(json.dumps(reading.state)) if state == "kept" else {}
    assert len(DATABASE.read(rows, "ses_a", kept).current or ()) == 601
    assert loaded == (0 if state == "kept" else 1202)
    loaded = 0
    opencode.say("msg_9999")
    assert [r.id for r in DATABASE.read(rows, "ses_a", kept).records] == ["msg_9998", "msg_9999"]
    assert loaded == 4  # the newest one that is known may have changed at the same moment


def test_a_row_that_is_dated_a_moment_earlier_is_not_missed(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.say("msg_2", "assistant")
    reading = opencode.read()

    opencode.clock -= 10_500
    opencode.say("msg_3")

    assert ids(opencode.read(reading).messages) == ["msg_1", "msg_2", "msg_3"]


def test_a_clock_that_was_set_back_hides_nothing(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.say("msg_2", "assistant")
    reading = opencode.read()

    opencode.clock -= 86_400_000
    opencode.put_part("prt_msg_2", "msg_2", type="text", text="changed")

    assert said(opencode.read(reading))[-1] == ("msg_2", "changed")


def test_what_is_said_after_a_clock_was_set_back_is_read(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.say("msg_2", "assistant")
    reading = opencode.read()

    opencode.clock -= 15_000
    opencode.say("msg_3")
    opencode.read(reading)

    assert sorted(ids(opencode.read(reading).messages)) == ["msg_1", "msg_2", "msg_3"]


def test_a_part_that_was_removed_is_gone(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.say("msg_2", "assistant", "keep")
    opencode.put_part("prt_x", "msg_2", type="text", text="drop")
    opencode.say("msg_3")
    reading = opencode.read()
    opencode.run("DELETE FROM part WHERE id = 'prt_x'")
    opencode.say("msg_4")

    assert said(opencode.read(reading))[1] == ("msg_2", "keep")


def test_a_prompt_counts_from_when_it_has_its_words(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.put_message("msg_2", "user")
    reading = opencode.read()
    assert ids(reading.messages) == ["msg_1"]
    assert [(r.kind, r.id) for r in reading.records[-1:]] == [("other", "msg_2/begun")]

    opencode.put_part("prt_2", "msg_2", type="text", text="typed")

    assert opencode.read(reading).prompts == ["msg_1", "typed"]
    assert opencode.read(reading).records[-1].prompt == "typed"


def test_a_prompt_without_words_that_was_answered_is_a_message(opencode: OpenCode) -> None:
    opencode.put_message("msg_1", "user")
    reading = opencode.read()
    opencode.say("msg_2", "assistant", parentID="msg_1")

    assert ids(opencode.read(reading).messages) == ["msg_1", "msg_2"]


def test_a_compaction_that_is_seen_step_by_step_ends_up_the_same(opencode: OpenCode) -> None:
    steps: list[tuple[str, str, str, Json]] = [
        ("put_message", "msg_3", "user", {}),
        ("put_part", "prt_3", "msg_3", {"type": "compaction", "auto": True}),
        ("put_message", "msg_4", "assistant", {"parentID": "msg_3", "summary": True}),
        ("put_part", "prt_4", "msg_4", {"type": "text", "text": "all of it"}),
        (
            *("put_message", "msg_4", "assistant"),
            {"parentID": "msg_3", "summary": True, "finish": "stop"},
        ),
        ("put_part", "prt_3", "msg_3", {"type": "compaction", "tail_start_id": "msg_2"}),
    ]
    opencode.say("msg_1")
    opencode.say("msg_2", "assistant", parentID="msg_1")
    reading = opencode.read()
    for at, (step, id, of, more) in enumerate(steps):
        getattr(opencode, step)(id, of, **more)
        reading = opencode.read(reading)
        assert ids(reading.messages) == ["msg_1", "msg_2"]
        assert bool(reading.view.boundary) == (at >= 4)
    opencode.say("msg_5")
    reading = opencode.read(reading)

    marker = next(r for r in reversed(reading.records) if r.kind == "marker")
    assert (marker.id, marker.first_kept) == ("msg_3", "msg_2")
    assert opencode.read().view.boundary == boundary.Boundary(
        Marker("msg_3", "msg_2", "2026-11-30T18:40:50.000Z"),
        Summary("msg_4", "msg_3", "all of it", "stop", at=reading.summaries[-1].at),
    )
    assert ids(opencode.read().visible) == ["msg_2", "msg_5"]


def test_what_is_taken_back_can_be_put_back_and_what_is_removed_stays_off(
    opencode: OpenCode,
) -> None:
    for at in range(1, 5):
        opencode.say(f"msg_{at}", "assistant" if at % 2 == 0 else "user")
    reading = opencode.read()
    opencode.run('UPDATE session SET revert = \'{"messageID": "msg_3"}\'')
    assert ids(opencode.read(reading).messages) == ["msg_1", "msg_2"]
    opencode.run("UPDATE session SET revert = NULL")
    assert ids(opencode.read(reading).messages) == ["msg_1", "msg_2", "msg_3", "msg_4"]

    opencode.run("DELETE FROM part WHERE message_id > 'msg_2'")
    opencode.run("DELETE FROM message WHERE id > 'msg_2'")
    opencode.say("msg_5")

    assert ids(opencode.read(reading).messages) == ["msg_1", "msg_2", "msg_5"]


def test_a_message_in_whose_middle_a_session_was_taken_back_stays(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.say("msg_2", "assistant")
    opencode.say("msg_3")
    opencode.run('UPDATE session SET revert = \'{"messageID": "msg_2", "partID": "prt_x"}\'')

    assert ids(opencode.read().messages) == ["msg_1", "msg_2"]


def test_the_order_is_that_of_time_then_id(opencode: OpenCode) -> None:
    for id in ("msg_c", "msg_b", "msg_a"):
        opencode.say(id)
    opencode.run("UPDATE message SET time_created = 5 WHERE id <> 'msg_c'")

    assert ids(opencode.read().messages) == ["msg_a", "msg_b", "msg_c"]


def test_a_session_is_told_of_again_only_when_that_changed(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    reading = opencode.read()
    opencode.run("UPDATE session SET title = 'Another', time_updated = 99")
    reading = opencode.read(reading)
    opencode.run("UPDATE session SET time_updated = 100")
    reading = opencode.read(reading)

    assert [r.title for r in reading.records if r.id == "ses_a/session"] == ["A title", "Another"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param("{", "skipped", id="torn"),
        pytest.param("[]", "skipped", id="no object"),
        pytest.param("{}", "message/no role", id="no role"),
        pytest.param('{"role": "tool"}', "message/tool", id="an unknown role"),
        pytest.param('{"role": ["user"]}', "message/no role", id="a role of another type"),
    ],
)
def test_a_damaged_or_unknown_row_is_counted_and_blocks_nothing(
    opencode: OpenCode, data: str, expected: str
) -> None:
    opencode.say("msg_1")
    opencode.say("msg_2")
    opencode.run("UPDATE message SET data = ? WHERE id = 'msg_1'", data)

    reading = opencode.read()

    assert ids(reading.messages) == ["msg_2"]
    assert [*reading.unknown, *("skipped" for _ in reading.skipped)] == [expected]
    assert [one.first_prompt for one in seen(opencode.path)] == ["msg_2"]


def test_a_damaged_part_stands_as_one_of_no_kind(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.put_part("prt_2", "msg_1", type="text")
    opencode.run("UPDATE part SET data = '{' WHERE id = 'prt_2'")

    reading = opencode.read()

    assert reading.messages[0].blocks == (Unknown("part"), Text("msg_1"))
    assert [(skip.place, skip.reason) for skip in reading.skipped] == [("prt_2", "not an object")]


@pytest.mark.parametrize("gone", ["session", "message", "part", "session_message"])
def test_a_table_that_is_missing_yields_nothing(opencode: OpenCode, gone: str) -> None:
    opencode.say("msg_1")
    opencode.run(f"DROP TABLE {gone}")

    listed = [one.id for one in seen(opencode.path)]
    read = ids(opencode.read().messages)

    assert listed == (["ses_a"] if gone == "session_message" else [])
    assert read == (["msg_1"] if gone in ("session_message", "session") else [])
    assert calling(opencode.path) == []


def test_a_database_without_any_table_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE other (id)")

    assert (seen(path), calling(path)) == ([], [])
    assert of_database(READER, path, "ses_a").rows == []


def test_a_session_without_a_message_is_not_listed(opencode: OpenCode) -> None:
    opencode.say("msg_1")
    opencode.add_session("ses_b")

    assert [one.id for one in seen(opencode.path)] == ["ses_a"]


def test_a_prompt_in_a_listing_is_one_that_a_person_typed(opencode: OpenCode) -> None:
    opencode.put_message("msg_1", "user")
    opencode.put_part("prt_1", "msg_1", type="compaction")
    opencode.put_message("msg_2", "user")
    opencode.put_part("prt_2", "msg_2", type="text", text="injected", synthetic=True)
    opencode.put_part("prt_3", "msg_2", type="text", text="typed")
    opencode.put_part("prt_4", "msg_2", type="text", text="hidden", ignored=True)
    opencode.say("msg_3", "assistant")

    [one] = seen(opencode.path)

    assert (one.first_prompt, one.last_prompt) == ("typed", "typed")


# Our own calls


@pytest.mark.parametrize(
    ("tool", "status", "ago", "expected"),
    [
        ("foldmark_get_history", "running", 5, ["ses_a"]),
        ("foldmark_compact_session", "pending", 5, ["ses_a"]),
        ("list_sessions", "running", 5, ["ses_a"]),
        ("foldmark_get_history", "completed", 5, []),
        ("foldmark_get_history", "running", 3600, []),
        ("bash", "running", 5, []),
    ],
)
def test_a_session_in_which_our_tool_is_being_called_is_found(
    opencode: OpenCode, tool: str, status: str, ago: int, expected: list[str]
) -> None:
    opencode.put_message("msg_1", "assistant")
    opencode.put_part("prt_0", "msg_1", type="text", text="hm")
    opencode.put_part("prt_1", "msg_1", type="tool", tool=tool, state={"status": status})
    now = "UPDATE {} SET time_updated = (strftime('%s', 'now') - ?) * 1000"
    opencode.run(now.format("part"), ago)
    assert calling(opencode.path) == expected

    part = {"type": "tool", "id": "c", "name": tool, "state": {"status": status}}
    opencode.run("DELETE FROM part")
    opencode.put_row("msg_2", "assistant", content=[part])
    opencode.run(now.format("session_message"), ago)
    assert calling(opencode.path) == expected


# Version 2


def assistant_row(*content: Json, **more: Any) -> Json:
    return {"model": {"id": "glm", "providerID": "zai"}, "content": list(content), **more}


def tool(state: Json, **more: Any) -> Json:
    return {"type": "tool", "id": "c", "name": "bash", "state": state, **more}


@pytest.mark.parametrize(
    ("type", "data", "expected"),
    [
        pytest.param("user", {"text": "do it"}, Message("m", "user", (Text("do it"),)), id="user"),
        pytest.param(
            "user",
            {
                "text": "look",
                "skills": [{"name": "s", "text": "a skill"}, {"name": "t"}],
                "files": [
                    {"mime": "image/png", "name": "a.png", "data": "AAAA"},
                    {"mime": "image/png", "uri": "data:image/png;base64,AAAA"},
                    {"mime": "application/pdf", "source": {"type": "uri", "uri": "file:///a.pdf"}},
                ],
            },
            Message(
                "m",
                "user",
                (
                    Text("a skill", injected=True),
                    Text("look"),
                    Attachment("image/png", "a.png", 3),
                    Attachment("image/png", "", 3),
                    Attachment("application/pdf", "file:///a.pdf"),
                ),
            ),
            id="user with files",
        ),
        pytest.param(
            "synthetic",
            {"sessionID": "ses_a", "text": "note"},
            Message("m", "user", (Text("note", injected=True),)),
            id="synthetic",
        ),
        pytest.param(
            "skill",
            {"text": "how"},
            Message("m", "user", (Text("how", injected=True),)),
            id="skill",
        ),
        pytest.param(
            "system", {"text": "dated"}, Message("m", "system", (Text("dated"),)), id="system"
        ),
        pytest.param(
            "shell",
            {"command": "ls", "output": "a.py"},
            Message("m", "user", (Text("$ ls\na.py", injected=True),)),
            id="shell",
        ),
        pytest.param(
            "shell",
            {"command": "ls", "output": {"output": "a.py", "truncated": False}},
            Message("m", "user", (Text("$ ls\na.py", injected=True),)),
            id="shell of September",
        ),
        pytest.param(
            "location-switched",
            {"location": {"directory": "/q"}},
            Message("m", "user", (Text("The working directory is now /q", injected=True),)),
            id="another folder",
        ),
        pytest.param(
            "assistant",
            assistant_row(
                {"type": "reasoning", "id": "r", "text": "hm", "state": {"signature": "c2ln"}},
                {"type": "reasoning", "text": "", "providerMetadata": {"a": {"redactedData": "b"}}},
                {"type": "text", "text": "done"},
                {"type": "hologram"},
                tokens={"input": 5, "output": 6, "reasoning": 7, "cache": {"read": 8, "write": 9}},
            ),
            Message(
                "m",
                "assistant",
                (Reasoning("hm"), Reasoning("", True), Text("done"), Unknown("hologram")),
                model="glm",
                usage=Usage(5, 6, 8, 7),
            ),
            id="assistant",
        ),
        pytest.param(
            "assistant",
            assistant_row(
                tool(
                    {
                        "status": "completed",
                        "input": {"n": 1},
                        "content": [
                            {"type": "text", "text": "a"},
                            {"type": "text", "text": "b"},
                            {"type": "file", "mime": "image/png", "uri": "data:,x", "name": "p"},
                        ],
                    }
                ),
            ),
            Message(
                "m",
                "assistant",
                (
                    ToolCall("c", "bash", {"n": 1}),
                    ToolResult("c", "a\nb", attachments=(Attachment("image/png", "p", 1),)),
                ),
                model="glm",
            ),
            id="a tool",
        ),
        pytest.param(
            "assistant",
            assistant_row(tool({"status": "error", "input": {}, "error": {"message": "no"}})),
            Message(
                "m",
                "assistant",
                (ToolCall("c", "bash", {}), ToolResult("c", "no", is_error=True)),
                model="glm",
            ),
            id="a tool that failed",
        ),
        pytest.param(
            "assistant",
            assistant_row(tool({"status": "streaming", "input": '{"n": 1}'})),
            Message(
                "m",
                "assistant",
                (ToolCall("c", "bash", {"n": 1}), ToolResult("c", INTERRUPTED, is_error=True)),
                model="glm",
            ),
            id="a tool under way",
        ),
        pytest.param(
            "assistant",
            assistant_row(
                tool({"status": "completed", "content": []}, time={"pruned": 5}),
                error={"type": "aborted", "message": "stop"},
            ),
            Message(
                "m",
                "assistant",
                (ToolCall("c", "bash", None), ToolResult("c", CLEARED)),
                model="glm",
                error="aborted",
            ),
            id="a cleared tool in an aborted step",
        ),
        pytest.param(
            "assistant",
            {"error": {"type": "provider.auth", "message": "key"}, "content": "odd"},
            Message("m", "assistant", (), error="provider.auth"),
            id="a step that failed",
        ),
    ],
)
def test_each_row_of_version_2_is_read(type: str, data: Json, expected: Message) -> None:
    record = {"id": "m", "type": type, **data}
    assert READER.message("m", [record]) == expected

    [found] = [r for r in _read_export(record).records if r.id == "m"]
    assert (found.kind, found.role, found.prompt) == ("message", expected.role, expected.prompt)


def _read_export(*messages: Json) -> Snapshot:
    return DOCUMENT.read(export(*messages))


@pytest.mark.parametrize(
    ("data", "stands"),
    [
        pytest.param({"summary": "so far", "recent": "[User]: hi"}, True, id="of August"),
        pytest.param(
            {"status": "completed", "summary": "so far", "recent": "[User]: hi"}, True, id="done"
        ),
        pytest.param({"status": "running", "summary": "so", "recent": ""}, False, id="under way"),
        pytest.param({"status": "failed", "error": {"type": "unknown"}}, False, id="failed"),
        pytest.param({"status": "failed"}, False, id="failed without a reason"),
        pytest.param({"summary": " ", "recent": "[User]: hi"}, False, id="blank"),
        pytest.param({"status": "someday", "summary": "so far"}, False, id="of an unknown status"),
    ],
)
def test_a_compaction_of_version_2_stands_only_when_it_is_done(
    opencode: OpenCode, data: Json, stands: bool
) -> None:
    opencode.put_row("msg_1", "user", text="hi")
    opencode.put_row("msg_2", "compaction", reason="auto", **data)
    opencode.put_row("msg_3", "user", text="on")

    view = opencode.read().view

    assert ids(view.messages) == (["msg_3"] if stands else ["msg_1", "msg_3"])
    assert (view.boundary.summary.text if view.boundary else "") == (
        "so far\n\n[User]: hi" if stands else ""
    )


def test_a_compaction_under_way_stands_once_it_is_done(opencode: OpenCode) -> None:
    opencode.put_row("msg_1", "user", text="hi")
    opencode.put_row("msg_2", "compaction", status="running", summary="", recent="")
    reading = opencode.read()
    opencode.put_row("msg_2", "compaction", status="completed", summary="so far", recent="")
    opencode.put_row("msg_3", "user", text="on")

    assert ids(opencode.read(reading).visible) == ["msg_3"]
    assert ids(opencode.read().visible) == ["msg_3"]


def test_bookkeeping_is_kept_and_an_unknown_row_is_named(opencode: OpenCode) -> None:
    opencode.put_row("msg_1", "user", text="hi")
    opencode.put_row("msg_2", "model-switched", model={"id": "x"})
    opencode.put_row("msg_3", "hologram", text="?")

    reading = opencode.read()

    assert reading.unknown == {"session_message/hologram": 1}
    assert (reading.kinds["other"], ids(reading.messages)) == (3, ["msg_1"])


def test_a_session_of_version_2_is_listed_and_named(newer: OpenCode) -> None:
    newer.add_session("ses_b", "ses_a", table="session_v2")
    newer.put_row("msg_1", "user", session="ses_b", text="first")
    newer.put_row("msg_2", "assistant", session="ses_b", content=[])
    newer.put_row("msg_3", "user", session="ses_b", text="last")
    newer.run("UPDATE session_v2 SET fork_session_id = 'ses_f'")

    reading = newer.read(session="ses_b")

    assert seen(newer.path) == [
        Seen("ses_b", "ses_a", "/p", "A title", "first", "last", newer.clock / 1000)
    ]
    assert ids(reading.messages) == ["msg_1", "msg_2", "msg_3"]
    assert (reading.fact("parent_session"), reading.fact("forked_from")) == ("ses_a", "ses_f")


def test_a_session_that_version_2_took_over_goes_on_after_what_it_copied(newer: OpenCode) -> None:
    newer.say("msg_1", text="old")
    newer.say("msg_2", "assistant", "old answer", parentID="msg_1")
    newer.say("msg_3", text="with a note")
    reading = newer.read()
    newer.add_session("ses_a", table="session_v2")
    for at, type in ((1, "user"), (2, "assistant"), (3, "user"), (4, "synthetic")):
        newer.put_row(f"msg_{at}", type, text="a copy")
    copied = "UPDATE session_message SET time_created = (SELECT time_created FROM message"
    newer.run(f"{copied} WHERE id = 'msg_3') WHERE id IN ('msg_3', 'msg_4')")
    newer.put_row("msg_5", "assistant", content=[{"type": "text", "text": "new"}])

    expected = [
        ("msg_1", "old"),
        ("msg_2", "old answer"),
        ("msg_3", "with a note"),
        ("msg_5", "new"),
    ]
    assert said(newer.read()) == said(newer.read(reading)) == expected
    assert [one.id for one in seen(newer.path)] == ["ses_a"]

    newer.put_row("msg_5", "assistant", content=[{"type": "text", "text": "newer"}])
    newer.put_row("msg_6", "user", text="more")
    assert said(newer.read(reading))[3:] == [("msg_5", "newer"), ("msg_6", "more")]
    newer.run('UPDATE session_v2 SET revert = \'{"messageID": "msg_6"}\'')
    assert ids(newer.read(reading).messages) == ["msg_1", "msg_2", "msg_3", "msg_5"]


def test_rows_that_an_early_version_2_wrote_beside_the_others_say_nothing_new(
    opencode: OpenCode,
) -> None:
    opencode.say("msg_1")
    opencode.put_row("msg_x", "user", text="the same under another id")

    assert ids(opencode.read().messages) == ["msg_1"]


def test_an_export_of_version_2_is_read() -> None:
    about = {"projectID": "p", "location": {"directory": "/w"}, "title": "T", "time": {}}
    data = export(
        {"id": "msg_2", "type": "user", "text": "later in time", "time": {"created": 9}},
        {"id": "msg_1", "type": "assistant", "content": [], "time": {"created": 5}},
        **about,
    )

    reading = of_document(READER, data)

    assert DOCUMENT.recognizes(data)
    assert ids(reading.messages) == ["msg_2", "msg_1"]
    assert (reading.fact("project"), reading.fact("title")) == ("/w", "T")


# Exports, and where everything lies


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(EXPORT, True, id="an export"),
        pytest.param(b'{"info": {"id": "ses_a", "projectID": "p"}}', True, id="its beginning"),
        pytest.param(
            b'{"info": {"id": "ses_a", "projectID": "p"}, "messages": 1}', False, id="odd"
        ),
        pytest.param(b'{"info": {"id": "task"}, "messages": []}', False, id="another's"),
        pytest.param(b'{"messages": []}', False, id="messages"),
        pytest.param(b"[]", False, id="a list"),
        pytest.param(b"", False, id="nothing"),
    ],
)
def test_an_export_is_known_by_what_it_holds(data: bytes, expected: bool) -> None:
    assert DOCUMENT.recognizes(data) is expected


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", EXPORT[:-9]])
def test_what_is_no_export_is_counted(data: bytes) -> None:
    assert [skip.reason for skip in DOCUMENT.read(data).skipped] == ["not JSON"]


def test_what_is_no_message_in_an_export_is_counted() -> None:
    reading = of_document(READER, export(7, {}, {"info": None}, opencode_dict("assistant")))  # type: ignore[arg-type]

    assert [skip.place for skip in reading.skipped] == ["message 0"]
    assert reading.unknown == {"message/no role": 2}
    assert ids(reading.messages) == ["msg_a"]


def test_messages_without_a_name_or_with_the_same_keep_their_names_when_read_again() -> None:
    same = opencode_dict("assistant", {"type": "text", "text": "hi"}, id="")
    other = opencode_dict("assistant", {"type": "text", "text": "ho"})
    data = export(same, same, other, opencode_dict("assistant"))

    reading = of_document(READER, data, data, export(same, same, other))

    assert len({message.id for message in reading.rewound + reading.messages}) == 4
    assert [words for _, words in said(reading)] == ["hi", "hi", "ho"]
    assert ids(reading.messages)[2] == "msg_a"


def test_what_stands_beside_a_message_in_an_export_is_kept() -> None:
    _, record = _read_export({**opencode_dict("assistant"), "more": 1}).records

    assert json.loads(record.raw)["more"] == 1


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        pytest.param({}, ".local/share/opencode/opencode.db", id="at home"),
        pytest.param({}, ".local/share/opencode/opencode-dev.db", id="of a channel"),
        pytest.param({"XDG_DATA_HOME": "{}/xdg"}, "xdg/opencode/opencode.db", id="XDG"),
        pytest.param({"OPENCODE_DB": "{}/mine.sqlite"}, "mine.sqlite", id="a path of its own"),
        pytest.param(
            {"OPENCODE_DB": "mine.sqlite"}, ".local/share/opencode/mine.sqlite", id="a name"
        ),
        pytest.param(
            {"OPENCODE_DB": "mine.sqlite", "XDG_DATA_HOME": "{}/xdg"},
            "xdg/opencode/mine.sqlite",
            id="a name with XDG",
        ),
    ],
)
def test_the_database_is_found_where_opencode_keeps_it(
    tmp_path: Path, environ: dict[str, str], where: str
) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    OpenCode(path).say("msg_1")
    set_to = {key: value.format(tmp_path) for key, value in environ.items()}
    places = Places([READER], {"HOME": str(tmp_path), **set_to}, project=tmp_path)

    assert {one.path for one in places.transcripts()} == {path}
    assert [one.session for one in places.find("ses_a")] == ["ses_a"]


@pytest.mark.parametrize(
    ("below", "found"),
    [
        pytest.param("storage", files(), id="version 1.1"),
        pytest.param("project", files("home-dev-projects-ws-oc-old"), id="version 0.5"),
    ],
)
def test_an_older_storage_is_found_and_gives_way_to_the_database(
    tmp_path: Path, below: str, found: Mapping[str, bytes]
) -> None:
    data = tmp_path / ".local/share/opencode"
    for name, content in found.items():
        path = data / below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    places = Places([READER], {"HOME": str(tmp_path)}, project=tmp_path)
    [held] = places.find(OLD)
    assert isinstance(held.place, Folder)

    opencode = OpenCode(data / "opencode.db")
    opencode.add_session(OLD)
    opencode.put_message("msg_1", "assistant", session=OLD)
    [held] = places.find(OLD)
    assert isinstance(held.place, Database)


# Whatever is in there


ODD = INPUTS | st.sampled_from(
    ["user", "assistant", "compaction", "text", "tool", "ses_a", "msg_a", "\ud800", "\0", 10**400]
)
_KEYS = (
    *("id", "role", "type", "text", "time", "tokens", "error", "summary", "parentID", "model"),
    *("state", "content", "files", "status", "finish", "revert", "tail_start_id", "path", "skills"),
)
OBJECTS = st.dictionaries(st.sampled_from(_KEYS), ODD | st.lists(ODD, max_size=2), max_size=6)
ANY: st.SearchStrategy[Any] = OBJECTS | ODD
LISTS: st.SearchStrategy[Any] = st.lists(ANY, max_size=3)
TYPES: st.SearchStrategy[Any] = ODD | st.sampled_from(["shell", "system", "location-switched"])
ODD_MESSAGES = st.one_of(
    st.fixed_dictionaries({"info": ANY, "parts": LISTS}),
    st.fixed_dictionaries({"type": TYPES, "content": LISTS, "files": LISTS, "error": ANY}),
    ANY,
)


def _held(records: Iterator[Record] | Sequence[Record]) -> list[str]:
    """Build everything that can be built of records, and name them."""
    for record in records:
        told = lines.loads(record.raw)
        if record.kind == "message":
            READER.message(record.id, [told])
        if record.kind == "summary":
            boundary.lack(READER.summary(record.id, record.parent, told))
        assert record.id
    return [record.id for record in records]


@settings(patient, max_examples=80)
@given(st.lists(ODD_MESSAGES, max_size=5), ANY)
@example([{"info": {"id": "a", "role": "user"}, "parts": 7}], {"revert": {"messageID": ["a"]}})
def test_no_export_whatever_raises_and_reading_again_adds_nothing(
    messages: list[Any], info: Any
) -> None:
    data = json.dumps({"info": info, "messages": messages}).encode()

    reading = of_document(READER, data)
    held = _held(reading.records)

    assert len(set(held)) == len(held)
    rows = len(reading.rows)
    reading.take(DOCUMENT.read(data))
    assert len(reading.rows) == rows
    DOCUMENT.recognizes(data)
    DOCUMENT.session("x", data)


@settings(patient, max_examples=40)
@given(st.lists(ANY, max_size=4), st.lists(ANY, max_size=4), ANY)
def test_no_storage_whatever_raises(infos: list[Any], parts: list[Any], about: Any) -> None:
    found = {"session/p/ses_a.json": json.dumps(about).encode()}
    for at, info in enumerate(infos):
        found[f"message/ses_a/msg_{at}.json"] = json.dumps(info).encode()
        for number, part in enumerate(parts):
            found[f"part/msg_{at}/prt_{number}.json"] = json.dumps(part).encode()

    _held(STORAGE.read(FakeFiles(found), "session/p/ses_a.json").records)
    STORAGE.recognizes(found["session/p/ses_a.json"])


@settings(patient, max_examples=40)
@given(
    st.lists(st.tuples(ANY, LISTS), max_size=4),
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "compaction", ""]), OBJECTS)),
    st.sampled_from([0, 5, -(2**63), 2**63 - 1, "soon", None, 1.5]),
)
def test_no_database_whatever_raises_and_reading_again_adds_nothing(
    messages: list[tuple[Any, list[Any]]], rows_v2: list[tuple[str, Any]], time: Any
) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA.replace(" NOT NULL", ""))
        db.execute("INSERT INTO session (id, revert, time_updated) VALUES ('s', '{', ?)", (time,))
        for at, (info, parts) in enumerate(messages):
            data = json.dumps(info)
            db.execute("INSERT INTO message VALUES (?, 's', ?, ?, ?)", (at, time, time, data))
            for number, part in enumerate(parts):
                told = (f"{at}{number}", at, "s", time, time, json.dumps(part))
                db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", told)
        for at, (type, data) in enumerate(rows_v2):
            told = (f"v{at}", "s", type, at, time, time, json.dumps(data))
            db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", told)

        rows = database.rows_of(db)
        state: Json = {}
        first = DATABASE.read(rows, "s", state)
        _held(first.records)
        again = DATABASE.read(rows, "s", json.loads(json.dumps(state)))
        assert {(r.id, r.raw) for r in again.records} <= {(r.id, r.raw) for r in first.records}
        assert again.current == first.current
        assert len(list(DATABASE.sessions(rows, ""))) <= 1
        list(DATABASE.pending(rows))


def test_what_is_nested_too_deep_blocks_nothing() -> None:
    deep = "[" * 900 + "]" * 900
    data = export(opencode_dict("assistant", {"type": "tool", "state": {"input": "DEEP"}}))

    reading = of_document(READER, data.replace(b'"DEEP"', deep.encode()))

    assert len(_held(reading.records)) == 2


# Every real file


@pytest.mark.parametrize("path", shared("opencode", "**/*.db"))
def test_every_message_of_a_real_database_is_accounted_for(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "opencode.db"
    copy.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(copy)) as db:
        told = db.execute("SELECT session_id, id, data FROM message").fetchall()
        parts = db.execute("SELECT message_id, data FROM part").fetchall()
        sessions = {session for (session,) in db.execute("SELECT id FROM session")}
    markers = {id for id, data in parts if json.loads(data)["type"] == "compaction"}
    kinds: Counter[str] = Counter()
    for _, id, data in told:
        info = json.loads(data)
        answers = info.get("parentID") in markers and info.get("summary") is True
        kinds["marker" if id in markers else "summary" if answers else "message"] += 1

    found: Counter[str] = Counter()
    for session in sessions:
        reading = of_database(READER, copy, session)
        assert (reading.unknown, reading.skipped, reading.view.warning) == ({}, [], "")
        found += reading.kinds

    assert found.pop("other") == len(sessions)  # what tells of the session itself
    found.pop("fork", None)
    assert found == kinds
    assert {one.id for one in seen(copy)} == sessions


@pytest.mark.parametrize("path", shared("opencode", "**/exports/*.json"))
def test_every_message_of_a_real_export_is_what_the_database_holds(
    path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "opencode.db"
    copy.write_bytes((path.parent.parent / "opencode.db").read_bytes())
    data = path.read_bytes()
    told = [message["info"]["id"] for message in json.loads(data)["messages"]]

    reading = of_document(READER, data)

    records = [record for record in reading.records if record.kind != "fork"]
    assert [record.id for record in records[1:]] == told
    assert reading.records == of_database(READER, copy, path.stem).records


@pytest.mark.parametrize("path", shared("opencode", "**/storage/session/*/*.json"))
def test_every_message_of_a_real_storage_is_what_was_later_copied(
    path: Path, tmp_path: Path
) -> None:
    root = path.parent.parent.parent
    found = {one.relative_to(root).as_posix(): one.read_bytes() for one in root.rglob("*.json")}
    told = {name.split("/")[2].removesuffix(".json") for name in found if name[:8] == "message/"}
    copy = tmp_path / "opencode.db"
    migrated = root.parent.parent / "generated-v1.2.4-migrated" / "opencode.db"
    copy.write_bytes(migrated.read_bytes())

    reading = of_folder(READER, path.relative_to(root).as_posix(), found, place=STORAGE)

    assert {record.id for record in reading.records[1:]} == told
    assert reading.records == of_database(READER, copy, path.stem).records
