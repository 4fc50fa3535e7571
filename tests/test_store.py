# ruff: noqa: ASYNC240 - a test has its event loop to itself
import asyncio
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from foldmark.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnusable
from foldmark.store.database import open_database
from foldmark.store.rows import Batch, Claim, Extent, Source
from foldmark.store.schema import APPLICATION_ID, MIGRATIONS
from foldmark.store.store import Store, open_store
from foldmark.transcripts import claude_code
from foldmark.transcripts.record import Record
from transcript_builder import READER, Json, assistant, boundary, log_of, rows, told, turns, user

SERVERS = 8
ROUNDS = 8


def batch(*lines: Json, session: str = "s", updated: float = 0.0) -> Batch:
    records = [claude_code.read(line, json.dumps(line).encode()) for line in lines]
    return Batch(session, READER.assistant, records, updated=updated)


def note(text: bytes) -> Record:
    return Record("other", f"~{len(text)}{text[:4]!r}", text)


async def opened(path: Path) -> None:
    try:
        async with open_store(path) as store:
            await store.sessions()
    finally:  # a connection that failed to open still answers to this loop from its thread
        await asyncio.to_thread(join_connections)


def join_connections() -> None:
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            thread.join(10)


# What is added stays


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE log SET raw = x'00'",
        "UPDATE log SET kind = 'other' WHERE pos = 1",
        "DELETE FROM log",
        "DELETE FROM log WHERE pos = 2",
    ],
)
async def test_the_log_is_append_only(store: Store, database: Path, sql: str):
    await store.append([batch(*turns(1, 2))])
    before = rows(database)

    with (
        closing(sqlite3.connect(database, isolation_level=None)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute(sql)

    assert rows(database) == before


async def test_the_log_is_append_only_for_a_replacement_too(database: Path):
    async with open_database(database) as opened:
        await Store(opened).append([batch(*turns(1, 2))])
        before = rows(database)
        with pytest.raises(StoreUnusable, match="append-only"):
            async with opened.writing() as connection:
                await connection.execute("REPLACE INTO log SELECT * FROM log WHERE pos = 1")

    assert rows(database) == before


async def test_a_record_comes_back_byte_for_byte(store: Store):
    texts = [b"", b"\0", bytes(range(256)), b"x" * 3_000_000]
    await store.append([Batch("s", "claude-code", [note(text) for text in texts])])
    key = (await log_of(store, "s")).session.key

    found = await store.page(key, limit=10, kinds=("other",))

    assert [row.raw for row in found] == texts


ODD = ("'", '"', "\\", "\n", "\x1b", "\u2028", "\ufffd", "é", "😀", "x" * 100_000, "[1]", "1.0", "")


@pytest.mark.parametrize("odd", ODD)
async def test_the_names_in_a_record_come_back_as_they_are(store: Store, database: Path, odd: str):
    record = Record(
        "other", odd, b"{}", parent=f"p{odd}", message=f"m{odd}", at=f"a{odd}", replaces=f"r{odd}"
    )
    await store.append([Batch("s", "claude-code", [record])])

    assert rows(database, "SELECT id, parent, message, target, at FROM log") == [
        (odd, f"p{odd}", f"m{odd}", f"r{odd}", f"a{odd}")
    ]


async def test_a_nul_in_any_field_of_a_line_is_shown_as_unknown(store: Store, database: Path):
    line = {**user("u", "", "ask"), "parentUuid": "p\0p", "timestamp": "2026\0!", "uuid": "u\0u"}
    await store.append([batch(line)])

    assert rows(database, "SELECT id, parent, at FROM log") == [
        ("u\ufffdu", "p\ufffdp", "2026\ufffd!")
    ]


async def test_what_is_added_twice_is_held_once(store: Store, database: Path):
    first = batch(*turns(1, 3))
    await store.append([first])
    before = rows(database)
    await store.append([first, first])

    assert rows(database) == before


async def test_sessions_share_no_records(store: Store):
    lines = turns(1, 1)
    await store.append([batch(*lines, session="a"), batch(*lines, session="b")])

    assert await told(store, "a") == await told(store, "b") == ["U:ask 1", "A:answer 1"]


async def test_a_session_is_described_by_its_records(store: Store):
    await store.append([batch(*turns(1, 2), updated=5.0)])
    title: Json = {"type": "ai-title", "aiTitle": "Porting", "sessionId": "x"}
    await store.append([batch(title, *turns(3, 3, "a2"), updated=4.0)])
    await store.append([batch(user("u4", "  ", "a3") | {"gitBranch": "dev"}, updated=6.0)])

    [session] = await store.sessions()

    assert (session.id, session.assistant, session.project) == (
        "s",
        "claude-code",
        "/home/dev/demo",
    )
    assert (session.first_prompt, session.last_prompt) == ("ask 1", "ask 3")
    assert (session.title, session.branch, session.updated) == ("Porting", "dev", 6.0)


async def test_sessions_are_listed_newest_first(store: Store):
    for session, updated in [("a", 1.0), ("b", 3.0), ("c", 2.0)]:
        await store.append([batch(*turns(1, 1), session=session, updated=updated)])

    assert [session.id for session in await store.sessions()] == ["b", "c", "a"]


async def test_rewinds_inside_rewinds_are_counted_once(store: Store):
    lines = [
        *turns(1, 2),
        *(user("u3", "333", "a2"), assistant("a3", "x", parent="u3")),
        *(user("u4", "4444", "a2"), assistant("a4", "y", parent="u4")),
        *(user("u5", "55555", "a1"), assistant("a5", "z", parent="u5")),
    ]
    await store.append([batch(*lines)])
    log = await log_of(store, "s")
    standing = await log.standing()

    assert [(r.first, r.last, r.messages, r.chars) for r in standing.rewound] == [
        *((3, 8, 4, len("ask 2") + len("answer 2") + 5), (5, 6, 2, 4))
    ]
    assert (standing.total, standing.end.messages) == (4, 10)
    assert await told(store, "s") == ["U:ask 1", "A:answer 1", "U:55555", "A:z"]
    assert [standing.state(pos) for pos in (1, 3, 6, 8, 9)] == [
        *("live", "rewound", "rewound", "rewound", "live")
    ]


async def test_an_unknown_session_has_nothing(store: Store):
    view = await store.overview("nobody")

    assert (view.session, view.end, view.attempts, view.sources) == (None, Extent(), [], {})


async def test_markers_and_summaries_are_read_newest_first(store: Store):
    lines = [user("u", "x"), boundary("m1"), boundary("m2"), user("v", "y", "u"), boundary("m3")]
    await store.append([batch(*lines)])

    assert [row.id for row in (await store.overview("s")).attempts] == ["m3", "m2", "m1"]


async def test_pages_hold_whole_messages(store: Store):
    lines = [
        user("u1", "x"),
        assistant("a1", "one", parent="u1", message="m"),
        user("r1", [{"type": "tool_result", "tool_use_id": "t"}], "a1"),
        assistant("a2", "two", parent="a1", message="m"),
        user("u2", "y", "a2"),
    ]
    await store.append([batch(*lines)])
    key = (await log_of(store, "s")).session.key

    async def ids(first: int = 1, last: int | None = None, limit: int = 9, back: bool = False):
        page = await store.page(key, first=first, last=last, limit=limit, backward=back)
        return [row.id for row in page]

    assert await ids() == ["u1", "a1", "a2", "r1", "u2"]
    assert await ids(limit=2) == ["u1", "a1", "a2"]
    assert await ids(first=3) == ["r1", "u2"]
    assert await ids(last=2) == ["u1", "a1", "a2"]
    assert await ids(limit=3, back=True) == ["a1", "a2", "r1", "u2"]
    assert [row.id for row in await store.whole(key, "a2")] == ["a1", "a2"]
    assert await store.whole(key, "nobody") == []


async def test_a_tail_begins_where_its_first_message_does(store: Store):
    lines = [*turns(1, 1), assistant("b", "x", parent="a1", message="msg_a1"), *turns(2, 3, "b")]
    await store.append([batch(*lines, user("u9", "no, this", "a2"))])
    key = (await log_of(store, "s")).session.key

    assert await store.tail(key, "a1", 8) == (2, Extent(1, 1, 5))
    assert await store.tail(key, "b", 8) == (2, Extent(1, 1, 5))
    assert await store.tail(key, "u1", 8) == (1, Extent())
    assert await store.tail(key, "", 4) == (4, Extent(3, 2, 14))
    assert (await store.tail(key, "u3", 8))[0] is None  # rewound
    assert (await store.tail(key, "nobody", 8))[0] is None


# Sources and claims


async def test_how_far_a_source_was_read_is_kept_with_what_was_read(store: Store):
    source = Source("/x.jsonl", "s", 10, 2, 12, 99, b"h", b"t", True, 1, ((2, "not JSON"),))

    assert await store.append([batch(*turns(1, 1))], source, None)
    assert await store.source("/x.jsonl") == source
    assert (await store.overview("s")).sources == {"/x.jsonl": source}


async def test_a_slower_reader_of_the_same_source_adds_nothing(store: Store, database: Path):
    first, second = Source("/x", "s", 10), Source("/x", "s", 20)
    assert await store.append([batch(*turns(1, 1))], first, None)
    before = rows(database)

    assert not await store.append([batch(*turns(2, 2))], second, None)
    assert not await store.append([batch(*turns(2, 2))], second, second)
    assert rows(database) == before
    assert await store.source("/x") == first
    assert await store.append([batch(*turns(2, 2))], second, first)


async def test_only_one_marker_at_a_time_is_under_way(store: Store):
    await store.append([batch(*turns(1, 2))])
    mine, other = Claim("m1", "me", 100.0), Claim("m2", "you", 100.0)

    assert await store.mark(batch(boundary("m1")), mine, end=4, now=50.0) is None
    assert await store.mark(batch(boundary("m2")), other, end=5, now=51.0) == mine
    assert not await store.renew(Claim("m1", "you", 999.0))
    assert await store.renew(Claim("m1", "me", 120.0))
    assert await store.mark(batch(boundary("m2")), other, end=5, now=110.0) is not None
    assert await store.mark(batch(boundary("m2")), other, end=5, now=120.0) is None
    assert not await store.seal(batch(user("s1", "done", "m1")), mine)
    assert await store.seal(batch(user("s2", "done", "m2")), other)
    assert not await store.seal(batch(user("s3", "done", "m2")), other)
    assert [row.id for row in (await store.overview("s")).attempts] == ["m2", "m1"]


async def test_a_marker_is_not_set_on_a_log_that_has_grown(store: Store, database: Path):
    await store.append([batch(*turns(1, 2))])
    mine = Claim("m1", "me", 100.0)

    assert await store.mark(batch(boundary("m1")), mine, end=3, now=50.0) == mine
    assert len(rows(database)) == 4
    assert (await store.overview("s")).claim is None


# The file


async def test_the_file_is_the_owners_alone(store: Store, database: Path):
    await store.append([batch(*turns(1, 1))])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in database.parent.iterdir()}

    assert set(modes.values()) == {0o600}
    assert "foldmark.db-wal" in modes
    assert rows(database, "PRAGMA journal_mode") == [("wal",)]


async def test_an_interrupted_write_leaves_nothing(database: Path):
    async with open_database(database) as opened:
        await Store(opened).append([batch(*turns(1, 1))], Source("/x", "s", 10))
        before = rows(database)

        async def fail_halfway() -> None:
            async with opened.writing() as connection:
                await connection.execute("DELETE FROM sources")
                await connection.execute("INSERT INTO claims SELECT key, 'm', 'o', 1 FROM sessions")
                raise LookupError

        with pytest.raises(LookupError):
            await fail_halfway()

        assert rows(database) == before
        assert rows(database, "SELECT * FROM claims") == []
        assert await Store(opened).source("/x") == Source("/x", "s", 10)
        await Store(opened).append([batch(*turns(2, 2))])


async def test_a_write_that_is_cancelled_leaves_no_transaction_open(database: Path):
    async with open_database(database) as opened:
        begun = asyncio.Event()

        async def write_forever() -> None:
            async with opened.writing() as connection:
                await connection.execute(
                    "INSERT INTO sessions (id, assistant, updated) VALUES ('x', 'y', 0)"
                )
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(write_forever())
        await begun.wait()
        task.cancel()
        await Store(opened).append([batch(*turns(1, 1))])
        assert [session.id for session in await Store(opened).sessions()] == ["s"]


async def test_a_write_that_is_cancelled_anywhere_is_done_whole_or_not_at_all(
    store: Store, database: Path
):
    lines = turns(1, 3)
    for spins in range(0, 400, 16):
        task = asyncio.create_task(store.append([batch(*lines, session=f"x{spins}")]))
        for _ in range(spins):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.append([batch(*lines[:2], session=f"s{spins}")])

    counts: dict[str, int] = {}
    for row in rows(database):
        counts[row[0]] = counts.get(row[0], 0) + 1
    assert {count for session, count in counts.items() if session.startswith("x")} <= {6}
    assert [count for session, count in counts.items() if session.startswith("s")] == [2] * 25


def newer(path: Path) -> None:
    asyncio.run(opened(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def foreign(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.execute("INSERT INTO theirs VALUES (1)")
        connection.commit()


def foreign_and_empty(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 7")


def text(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("dear diary, today " * 400)


def filled(path: Path) -> bytearray:
    async def fill() -> None:
        async with open_store(path) as store:
            await store.append([batch(*turns(1, 50, words="x" * 500))])

    asyncio.run(fill())
    return bytearray(path.read_bytes())


def overwritten(start: int, stop: int, filler: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = filled(path)
        data[start:stop] = filler * (stop - start)
        path.write_bytes(data)

    return damage


def truncated(size: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(filled(path)[:size])

    return damage


def folder(path: Path) -> None:
    path.mkdir(parents=True)


def under_a_file(path: Path) -> None:
    path.parent.write_text("no folder")


def dangling(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path.parent / "missing" / "foldmark.db")


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        pytest.param(newer, StoreTooNew, "Update Foldmark", id="of a newer version"),
        pytest.param(foreign, StoreDamaged, "another program's", id="of another program"),
        pytest.param(foreign_and_empty, StoreDamaged, "another program's", id="of another, empty"),
        pytest.param(text, StoreDamaged, "not a database", id="no database"),
        pytest.param(overwritten(0, 16, b"x"), StoreDamaged, "damaged", id="a header overwritten"),
        pytest.param(overwritten(0, 4096, b"\0"), StoreDamaged, "damaged", id="a page of zeros"),
        pytest.param(overwritten(16, 18, b"\xff"), StoreDamaged, "damaged", id="an odd page size"),
        pytest.param(truncated(60), StoreDamaged, "damaged", id="cut in the header"),
        pytest.param(truncated(4096), StoreDamaged, "damaged", id="cut after a page"),
        pytest.param(truncated(20_000), StoreDamaged, "damaged", id="cut in the middle"),
        pytest.param(
            truncated(1),
            StoreDamaged,
            "damaged",
            id="cut to one byte",
        ),
        pytest.param(folder, StoreUnusable, "cannot be used", id="a folder"),
        pytest.param(under_a_file, StoreUnusable, "cannot be used", id="under a file"),
        pytest.param(dangling, StoreUnusable, "cannot be used", id="a link to nowhere"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_left_as_it_is(
    database: Path, spoil: Callable[[Path], None], error: type[StoreError], says: str
):
    spoil(database)
    before = contents(database.parent)

    with pytest.raises(StoreError) as raised:
        asyncio.run(opened(database))

    assert type(raised.value) is error
    assert repr(str(database)) in str(raised.value)
    assert says in str(raised.value)
    assert contents(database.parent) == before


def contents(folder: Path) -> dict[str, bytes | None]:
    if not folder.is_dir():
        return {folder.name: folder.read_bytes()}
    return {p.name: p.read_bytes() if p.is_file() else None for p in folder.iterdir()}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("this user may write everywhere")

    with pytest.raises(StoreUnusable, match=r"foldmark\.db"):
        asyncio.run(opened(tmp_path / "foldmark.db"))


@pytest.mark.parametrize("name", ["full", "busy", "locked", "malformed"])
def test_a_path_is_not_taken_for_an_error(tmp_path: Path, name: str):
    (tmp_path / name).write_text("no folder")

    with pytest.raises(StoreUnusable, match="cannot be used"):
        asyncio.run(opened(tmp_path / name / "foldmark.db"))


def test_a_path_that_can_be_none_is_named(tmp_path: Path):
    with pytest.raises(StoreUnusable, match="cannot be used"):
        asyncio.run(opened(tmp_path / "fold\0mark.db"))


async def test_a_full_disk_loses_nothing_and_the_next_attempt_works(database: Path):
    async with open_database(database) as opened:
        store = Store(opened)
        await store.append([batch(*turns(1, 3))])
        before = rows(database)
        [(pages,)] = rows(database, "PRAGMA page_count")
        async with opened.writing() as connection:
            await connection.execute(f"PRAGMA max_page_count = {pages}")

        noise = [note(os.urandom(50_000)) for _ in range(3)]
        with pytest.raises(StoreUnusable, match="is full") as raised:
            await store.append([Batch("s", "claude-code", noise)], Source("/x", "s", 10))

        assert repr(str(database)) in str(raised.value)
        assert rows(database) == before
        assert await store.source("/x") is None
        async with opened.writing() as connection:
            await connection.execute("PRAGMA max_page_count = 1000000")
        await store.append([Batch("s", "claude-code", noise)], Source("/x", "s", 10))
        assert len(rows(database)) == len(before) + 3


async def test_a_database_that_is_held_by_somebody_else_is_said_to_be_locked(
    database: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("foldmark.store.database._WAIT_FOR_LOCK", 0.05)
    async with open_store(database) as store:
        await store.append([batch(*turns(1, 1))])
        with closing(sqlite3.connect(database, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnusable, match="locked"):
                await store.append([batch(*turns(2, 2))])
            assert len(await told(store, "s")) == 2
            holder.execute("ROLLBACK")
        await store.append([batch(*turns(2, 2))])
        assert len(await told(store, "s")) == 4


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
async def test_a_server_that_starts_waits_for_the_one_that_creates_the_database(
    database: Path, mode: str
):
    database.parent.mkdir()
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute(f"PRAGMA journal_mode = {mode}").fetchall()
        holder.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.05, holder.execute, "ROLLBACK")

        await opened(database)

    assert rows(database, "PRAGMA user_version") == [(len(MIGRATIONS),)]


async def test_an_old_file_that_holds_nothing_becomes_a_database(database: Path):
    database.parent.mkdir()
    database.touch()

    async with open_store(database) as store:
        assert await store.sessions() == []


def test_a_migration_that_fails_leaves_the_file_without_half_of_it(
    database: Path, monkeypatch: pytest.MonkeyPatch
):
    broken = ("CREATE TABLE fine (x);\nCREATE TABLE fine (x);\n",)
    monkeypatch.setattr("foldmark.store.database.MIGRATIONS", broken)
    with pytest.raises(StoreError):
        asyncio.run(opened(database))
    monkeypatch.undo()

    asyncio.run(opened(database))
    assert rows(database, "SELECT 1 FROM sqlite_schema WHERE name = 'fine'") == []


def test_a_migration_is_run_on_a_database_that_lacks_it(
    database: Path, monkeypatch: pytest.MonkeyPatch
):
    before = bytes(filled(database))
    wider = (*MIGRATIONS, "ALTER TABLE sessions ADD COLUMN extra TEXT;\n")
    monkeypatch.setattr("foldmark.store.database.MIGRATIONS", wider)
    asyncio.run(opened(database))

    assert database.read_bytes() != before
    assert rows(database, "SELECT extra FROM sessions") == [(None,)]
    assert rows(database, "PRAGMA user_version") == [(len(wider),)]
    monkeypatch.undo()
    with pytest.raises(StoreTooNew):
        asyncio.run(opened(database))


async def test_a_database_from_before_there_were_other_assistants_is_read_on(database: Path):
    line = {"type": "user", "uuid": "u1", "message": {"content": "first"}}
    raw = json.dumps(line).encode()
    database.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as old:
        old.executescript("".join(MIGRATIONS[:2]))
        old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        old.execute("PRAGMA user_version = 2")
        old.execute(
            "INSERT INTO sessions VALUES (1, 's', 'claude-code', '', '', '', '', '', '', 9)"
        )
        old.execute(
            "INSERT INTO log VALUES (1, 1, 1, 1, 'message', 0, 'u1', '', '', '', 1, '', 1, 5, ?)",
            (zstandard.compress(raw),),
        )
        old.execute(
            "INSERT INTO sources VALUES ('/s.jsonl', 's', 70, 1, 70, 1, x'', x'', 0, 0, '[]', 0)"
        )
        old.commit()

    async with open_store(database) as store:
        await store.append([batch(line, {**line, "uuid": "u2"})])
        seen = await store.overview("s")

    assert seen.session is not None
    assert (seen.session.forked_from, seen.end.messages) == ("", 2)
    assert (seen.sources["/s.jsonl"].state, seen.sources["/s.jsonl"].unknown) == ({}, {})


REFUSED = """
import asyncio, sys
from pathlib import Path
from foldmark.errors import StoreUnusable
from foldmark.store.store import open_store

async def main(path):
    try:
        async with open_store(path):
            pass
    except StoreUnusable:
        print("refused")

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_database_that_cannot_be_opened_leaves_no_traceback(tmp_path: Path):
    for _ in range(5):
        ended = subprocess.run(
            [sys.executable, "-c", REFUSED, tmp_path], capture_output=True, text=True, check=True
        )
        assert (ended.stdout, ended.stderr) == ("refused\n", "")


START = """
import asyncio, sys
from pathlib import Path
from foldmark.store.rows import Batch
from foldmark.store.store import open_store
from foldmark.transcripts.record import Record

async def main(path, name):
    async with open_store(path) as store:
        for number in range(5):
            record = Record("other", f"{name}-{number}", name.encode())
            await store.append([Batch("shared", "claude-code", [record])])
            await store.append([Batch(name, "claude-code", [record])])
            await store.sessions()

print("ready", flush=True)
for path in sys.stdin:
    asyncio.run(main(Path(path.strip()), sys.argv[1]))
    print("done", flush=True)
"""


def test_servers_that_start_at_once_on_one_new_file_all_succeed(tmp_path: Path):
    pipe = subprocess.PIPE
    servers = [
        subprocess.Popen(
            [sys.executable, "-c", START, f"server{number}"],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        for number in range(SERVERS)
    ]
    databases = [tmp_path / f"{number}" / "foldmark.db" for number in range(ROUNDS)]
    for database in databases:
        said = [server.stdout.readline() for server in servers if server.stdout]
        if said != ["ready\n" if database is databases[0] else "done\n"] * SERVERS:
            break
        for stdin in (server.stdin for server in servers if server.stdin):
            stdin.write(f"{database}\n")
            stdin.flush()
    ends = [server.communicate(timeout=60) for server in servers]

    assert [err for _, err in ends] == [""] * SERVERS
    for database in databases:
        shared = [row for row in rows(database) if row[0] == "shared"]
        assert [row[1] for row in shared] == list(range(1, 5 * SERVERS + 1))
        assert len({row[4] for row in shared}) == 5 * SERVERS
