import json
import os
import sqlite3
import stat
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import patient
from foldmark.errors import AmbiguousSession, SessionNotFound, TranscriptUnreadable
from foldmark.messages import Text
from foldmark.requests import Caller, Compact, Filter, Which
from foldmark.sessions import readers
from foldmark.sessions.listing import listing
from foldmark.sessions.opening import Opened, open_session
from foldmark.sessions.service import Sessions
from foldmark.sources import database, files
from foldmark.sources.places import Places
from foldmark.store.store import Store, open_store
from foldmark.transcripts.record import Snapshot
from readings import Reading
from toy_reader import READER, read


@pytest.fixture(name="toy", autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store know the assistant that does not exist."""
    monkeypatch.setitem(readers.READERS, READER.assistant, READER)  # type: ignore[arg-type]  # a Mapping to all others


class Desk:
    """A user's home, and an engine that only reads the toy's sessions."""

    def __init__(self, home: Path, store: Store):
        self.home = home
        self.store = store
        self.places = Places([READER], {"HOME": str(home)}, project=home / "work", allowed=[home])

    def put(self, name: str, data: bytes | str) -> Path:
        path = self.home / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def lines(self, name: str, *told: dict[str, Any]) -> bytes:
        data = b"".join(json.dumps(one).encode() + b"\n" for one in told)
        self.put(f"lines/{name}.jsonl", data)
        return data

    def whole(self, name: str, *texts: str) -> Path:
        told = [said(one) for one in texts]
        return self.put(f"whole/{name}.json", json.dumps({"by": "toy", "messages": told}))

    def database(self) -> sqlite3.Connection:
        (self.home / "toy").mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.home / "toy" / "toy.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = wal")
        connection.executescript(
            "CREATE TABLE IF NOT EXISTS said (session, id, who, text, time);"
            "CREATE TABLE IF NOT EXISTS credential (token);"
            "INSERT INTO credential VALUES ('s3cr3t')"
        )
        return connection

    async def open(self, session: str) -> Opened:
        which = Which(session_id=session)
        return await open_session(self.store, self.places, which, Caller(self.home / "work"))

    async def told(self, session: str, *, live: bool = True) -> list[str]:
        """Sync a session and tell what its messages say."""
        log = (await self.open(session)).log
        rows = await self.store.page(log.session.key, limit=1000, live=live)
        blocks = (one.message.blocks for one in log.messages(rows))
        return ["".join(b.text for b in some if isinstance(b, Text)) for some in blocks]


@pytest.fixture(name="desk")
async def _desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with open_store(tmp_path / "data" / "f.db") as store:
        yield Desk(tmp_path / "home", store)


def said(words: str, who: str = "you", **more: Any) -> dict[str, Any]:
    return {"id": f"m-{words}", "who": who, "text": words, **more}


# Lines


async def test_what_an_early_line_says_holds_for_later_ones_in_the_next_reading_too(desk: Desk):
    desk.lines("s", {"id": "0", "model": "m1"}, said("a"))
    await desk.told("s")
    desk.lines("s", {"id": "0", "model": "m1"}, said("a"), said("b"))

    opened = await desk.open("s")

    rows = await desk.store.page(opened.log.session.key, limit=9)
    assert [one.message.model for one in opened.log.messages(rows)] == ["m1", "m1"]


async def test_types_nobody_knows_are_kept_and_named_with_their_number(desk: Desk):
    strange = [{"id": str(at), "type": "novelty"} for at in range(3)]
    desk.lines("s", said("a"), *strange, {"id": "9", "type": "other thing"})

    opened = await desk.open("s")

    [warning] = opened.warnings
    assert "4 records are of types that this version of Foldmark does not know" in warning
    assert "'novelty' (3), 'other thing' (1)" in warning
    assert opened.seen.end.pos == 5


async def test_a_compressed_twin_is_read_like_the_file_itself(desk: Desk):
    plain = desk.lines("s", said("a"), said("b"))
    assert await desk.told("s") == ["a", "b"]
    before = (await desk.open("s")).seen.end

    (desk.home / "toy" / "lines" / "s.jsonl").unlink()
    desk.put("lines/s.jsonl.zst", zstandard.compress(plain))

    assert await desk.told("s") == ["a", "b"]
    assert (await desk.open("s")).seen.end == before


@pytest.mark.parametrize("data", [b"", b"no zstd", zstandard.compress(b'{"who":"toy"}')[:-4]])
async def test_a_compressed_file_that_is_torn_is_refused_and_nothing_is_stored(
    desk: Desk, data: bytes
):
    desk.put("lines/s.jsonl.zst", data)

    with pytest.raises(TranscriptUnreadable, match="Nothing was"):
        await desk.told("s")

    assert await desk.store.sessions() == []


# Forks that point at what they begin with


async def test_a_fork_begins_with_its_part_of_the_other_session(desk: Desk):
    first = desk.lines("one", said("a"), said("b"))
    desk.lines("one", said("a"), said("b"), said("c"))
    desk.lines("two", {"id": "f", "base": {"session": "one", "length": len(first)}}, said("d"))

    assert await desk.told("two") == ["a", "b", "d"]
    assert await desk.told("one") == ["a", "b", "c"]
    assert (await desk.open("two")).warnings == ()


async def test_a_fork_of_a_fork_begins_with_both(desk: Desk):
    one = desk.lines("one", said("a"), said("b"))
    head = {"id": "f2", "base": {"session": "one", "length": len(one)}}
    two = desk.lines("two", head, said("c"))
    desk.lines("two", head, said("c"), said("not this"))
    desk.lines("three", {"id": "f3", "base": {"session": "two", "length": len(two)}}, said("d"))

    assert await desk.told("three") == ["a", "b", "c", "d"]


async def test_a_fork_that_goes_on_and_its_base_are_not_read_twice(desk: Desk):
    one = desk.lines("one", said("a"))
    head = {"id": "f", "base": {"session": "one", "length": len(one)}}
    desk.lines("two", head, said("b"))
    await desk.told("two")
    desk.lines("two", head, said("b"), said("c"))
    desk.lines("one", said("a"), said("later"))

    assert await desk.told("two") == ["a", "b", "c"]
    assert (await desk.open("two")).seen.end.pos == 4


@pytest.mark.parametrize("other", ["gone", "two"], ids=["a parent that is gone", "itself"])
async def test_a_fork_whose_base_cannot_be_found_is_read_and_says_so(desk: Desk, other: str):
    desk.lines("two", {"id": "f", "base": {"session": other, "length": 99}}, said("b"))

    assert await desk.told("two") == ["b"]
    [warning] = (await desk.open("two")).warnings
    assert repr(other) in warning


# Files that are written anew


async def test_what_was_added_to_a_file_is_added_to_the_log(desk: Desk):
    desk.whole("s", "a", "b")
    assert await desk.told("s") == ["a", "b"]
    desk.whole("s", "a", "b", "c")

    assert await desk.told("s") == ["a", "b", "c"]
    assert (await desk.open("s")).seen.end.pos == 3


async def test_what_was_taken_back_leaves_the_branch_and_stays_in_the_log(desk: Desk):
    for texts in (("a", "b", "c"), ("a", "d"), ("a", "d", "e")):
        desk.whole("s", *texts)
        assert await desk.told("s") == list(texts)

    assert await desk.told("s", live=False) == ["a", "b", "c", "d", "e"]


async def test_what_was_taken_back_can_be_in_force_again(desk: Desk):
    for texts in (("a", "b", "c", "d"), ("a",), ("a", "b", "c"), ("a", "b", "c", "d"), ("a", "b")):
        desk.whole("s", *texts)
        assert await desk.told("s") == list(texts)


async def test_what_was_cleaned_up_inside_stays(desk: Desk):
    desk.whole("s", "a", "b", "c")
    await desk.told("s")
    desk.whole("s", "b", "c", "d")

    assert await desk.told("s") == ["a", "b", "c", "d"]


async def test_a_file_that_suddenly_holds_nothing_takes_nothing_back(desk: Desk):
    path = desk.whole("s", "a", "b")
    await desk.told("s")

    for data in (b"", b"{", b'{"by":"toy","messages":[]}', b"\0" * 99):
        path.write_bytes(data)
        assert await desk.told("s") == ["a", "b"]


async def test_a_file_that_did_not_change_is_not_written_again(desk: Desk):
    desk.whole("s", "a", "b")
    first = (await desk.open("s")).seen

    again = (await desk.open("s")).seen

    assert again.sources == first.sources
    assert again.end == first.end


async def compacted(desk: Desk, session: str = "s", instructions: str = "") -> None:
    """Fold all that is in force."""
    engine = Sessions(desk.store, desk.places)
    caller = Caller(desk.home)
    wish = Compact(keep_recent_tokens=0, instructions=instructions)
    done = await engine.compact(Which(session_id=session), wish, caller)
    assert done.status == "compacted"


async def seen(desk: Desk, session: str = "s") -> tuple[bool, list[str], int]:
    """Tell whether a boundary is in force, what a model sees after it, and how long that is."""
    log = (await desk.open(session)).log
    standing = await log.standing()
    rows = await desk.store.page(log.session.key, first=standing.start, limit=1000)
    blocks = [one.message.blocks for one in log.messages(rows)]
    words = ["".join(b.text for b in some if isinstance(b, Text)) for some in blocks]
    summary = len(standing.boundary.summary.text) if standing.boundary else 0
    return standing.boundary is not None, words, standing.visible_chars - summary


LONG = [f"{name} {'word ' * 1000}".strip() for name in "abcd"]


async def test_what_was_taken_back_while_compacting_is_not_hidden_when_it_comes_back(desk: Desk):
    desk.whole("s", *LONG)
    await desk.told("s")
    desk.whole("s", *LONG[:2])
    await compacted(desk)
    assert await seen(desk) == (True, [], 0)

    desk.whole("s", *LONG)

    assert (await seen(desk))[:2] == (False, LONG)
    assert "was rewound" in (await (await desk.open("s")).log.standing()).warning


async def test_words_added_to_a_message_after_its_compaction_are_seen(desk: Desk):
    def save(last: str) -> None:
        told = [*(said(one) for one in LONG), {"id": "m-last", "who": "toy", "text": last}]
        desk.put("whole/s.json", json.dumps({"by": "toy", "messages": told}))

    save("so far")
    await compacted(desk)
    save("so far, and more")
    assert await seen(desk) == (True, ["so far, and more"], 16)
    save("so far, and more, and the end")

    assert (await seen(desk))[:2] == (True, ["so far, and more, and the end"])
    assert await desk.told("s") == [*LONG, "so far", "so far, and more, and the end"]


async def test_an_output_that_is_pruned_after_its_compaction_stays_folded(desk: Desk):
    def save(output: str) -> None:
        told = [{"id": "m-out", "who": "you", "text": output}, *(said(one) for one in LONG)]
        desk.put("whole/s.json", json.dumps({"by": "toy", "messages": told}))

    save("out " * 9000)
    await compacted(desk)
    save("[pruned]")

    assert await seen(desk) == (True, [], 0)


async def test_a_compaction_that_is_replaced_takes_no_other_back(desk: Desk):
    """Cline keeps only its newest one, beside the messages."""

    def save(*summaries: str) -> None:
        folded = [{"id": f"c-{one}", "summary": one} for one in summaries]
        told = [said(one) for one in LONG] + folded
        desk.put("whole/s.json", json.dumps({"by": "toy", "messages": told}))

    save("The assistant's own summary.")
    assert (await seen(desk))[:2] == (True, [])
    await compacted(desk, instructions="Keep the rest.")
    save()

    standing = await (await desk.open("s")).log.standing()
    assert standing.boundary is not None
    assert standing.boundary.marker.id.startswith("cmp-")


async def test_a_fork_whose_parent_comes_back_later_hides_nothing_of_its_own(desk: Desk):
    head = {"id": "f", "base": {"session": "one", "length": 10**6}}
    desk.lines("two", head, said("b"))
    assert await desk.told("two") == ["b"]
    desk.lines("one", said("a"))

    assert await desk.told("two") == ["b"]
    assert "without what it was forked from" in (await desk.open("two")).warnings[0]


async def test_a_transcript_that_vanishes_leaves_our_copy_whole_and_marked(desk: Desk):
    path = desk.whole("s", "a", "b")
    await desk.told("s")
    path.unlink()

    assert await desk.told("s") == ["a", "b"]
    [warning] = (await desk.open("s")).warnings
    assert warning.startswith("This is the copy that Foldmark keeps.")
    assert f"{str(path)!r} is gone" in warning


async def test_a_session_that_vanishes_before_it_was_read_is_not_found(desk: Desk):
    with pytest.raises(SessionNotFound, match="Nothing was changed"):
        await desk.open("s")


# Folders


async def test_a_session_of_several_files_is_read_from_all_of_them(desk: Desk):
    desk.put("folders/s/about.json", '{"by":"toy"}')
    desk.put("folders/s/said/1.json", json.dumps(said("a")))
    assert await desk.told("s") == ["a"]
    desk.put("folders/s/said/2.json", json.dumps(said("b")))

    assert await desk.told("s") == ["a", "b"]


async def test_a_link_out_of_a_sessions_folder_is_not_followed(tmp_path: Path, desk: Desk):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(said("secret")))
    desk.places = Places([READER], {"HOME": str(desk.home)}, project=desk.home)
    desk.put("folders/s/about.json", '{"by":"toy"}')
    desk.put("folders/s/said/1.json", json.dumps(said("a")))
    (desk.home / "toy" / "folders" / "s" / "said" / "2.json").symlink_to(secret)

    assert await desk.told("s") == ["a"]


# Databases


async def test_rows_that_only_stand_in_the_write_ahead_log_are_read(desk: Desk):
    with closing(desk.database()) as writer:
        writer.execute("INSERT INTO said VALUES ('s', '1', 'you', 'a', 1)")

        assert await desk.told("s") == ["a"]

        writer.execute("INSERT INTO said VALUES ('s', '2', 'toy', 'b', 2)")
        assert await desk.told("s") == ["a", "b"]
    assert (await desk.open("s")).seen.end.pos == 2


async def test_a_database_is_read_while_its_program_is_writing(desk: Desk):
    with closing(desk.database()) as writer:
        writer.execute("INSERT INTO said VALUES ('s', '1', 'you', 'a', 1)")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO said VALUES ('s', '2', 'you', 'not yet', 2)")

        assert await desk.told("s") == ["a"]

        writer.execute("COMMIT")
        assert await desk.told("s") == ["a", "not yet"]


async def test_reading_a_database_leaves_it_as_it_was(desk: Desk):
    with closing(desk.database()) as writer:
        writer.execute("INSERT INTO said VALUES ('s', '1', 'you', 'a', 1)")
        writer.execute("PRAGMA wal_checkpoint(truncate)")
        path = desk.home / "toy" / "toy.db"
        before = path.read_bytes()

        await desk.told("s")

        assert path.read_bytes() == before
        writer.execute("INSERT INTO said VALUES ('s', '2', 'you', 'b', 2)")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT token FROM credential",
        "SELECT text FROM said UNION ALL SELECT token FROM credential",
        "SELECT text, (SELECT token FROM credential) FROM said",
        "INSERT INTO said VALUES ('s', '1', 'you', 'a', 1)",
        "DELETE FROM said",
        "ATTACH 'other.db' AS other",
        "PRAGMA journal_mode = delete",
        "PRAGMA table_info(credential)",
        "SELECT load_extension('x')",
    ],
)
async def test_nothing_but_the_named_tables_can_be_read(desk: Desk, sql: str):
    desk.database().close()

    with (
        pytest.raises(TranscriptUnreadable),
        database.reading(desk.home / "toy" / "toy.db", ("said",)) as rows,
    ):
        rows(sql)


async def test_a_database_in_a_folder_that_cannot_be_written_to_is_read(desk: Desk):
    with closing(desk.database()) as writer:
        writer.execute("INSERT INTO said VALUES ('s', '1', 'you', 'a', 1)")
    folder = desk.home / "toy"
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert await desk.told("s") == ["a"]
    finally:
        folder.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0" + b"\xff" * 500, os.urandom(4096)])
async def test_what_is_no_database_holds_no_session(desk: Desk, data: bytes):
    desk.put("toy.db", data)

    assert desk.places.transcripts() == []
    with pytest.raises(SessionNotFound):
        await desk.open("s")


async def test_a_database_named_by_its_path_asks_for_the_session(desk: Desk):
    with closing(desk.database()) as writer:
        for session in ("s", "t"):
            writer.execute("INSERT INTO said VALUES (?, ?, 'you', 'a', 1)", (session, session))
    which = Which(transcript_path=str(desk.home / "toy" / "toy.db"))

    with pytest.raises(TranscriptUnreadable, match="database of 2 sessions"):
        await open_session(desk.store, desk.places, which, Caller(desk.home))

    named = Which(session_id="t", transcript_path=which.transcript_path)
    opened = await open_session(desk.store, desk.places, named, Caller(desk.home))
    assert opened.log.session.id == "t"
    assert opened.log.session.title == "About t"
    assert opened.log.session.project == "/p"


async def test_a_session_deleted_from_a_database_leaves_our_copy_whole(desk: Desk):
    with closing(desk.database()) as writer:
        for session in ("s", "t"):
            writer.execute("INSERT INTO said VALUES (?, ?, 'you', 'a', 1)", (session, session))
        await desk.told("s")
        writer.execute("DELETE FROM said WHERE session = 's'")

    opened = await desk.open("s")

    assert opened.seen.end.messages == 1
    assert "This is the copy that Foldmark keeps." in opened.warnings[0]


@pytest.mark.parametrize("lock", ["EXCLUSIVE", "IMMEDIATE"])
async def test_what_another_program_has_not_committed_is_never_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, lock: str
):
    monkeypatch.setattr(database, "_WAIT", 0.05)
    with closing(desk.database()) as writer:
        writer.execute("PRAGMA journal_mode = delete")
        writer.execute("INSERT INTO said VALUES ('s', '1', 'you', 'a', 1)")
        writer.execute("PRAGMA cache_size = 1")
        writer.execute(f"BEGIN {lock}")
        words = "never " * 5000  # more than the cache holds, so it is written before it is certain
        for number in range(40):
            writer.execute("INSERT INTO said VALUES ('s', ?, 'you', ?, 2)", (number, words))

        found = desk.places.transcripts()  # nothing as well, where it cannot be read now

        assert [one.updated for one in found] in ([], [1.0])


async def test_a_view_that_never_ends_is_given_up(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "_LONGEST", 0.1)
    with closing(desk.database()) as writer:
        writer.executescript(
            "DROP TABLE said; CREATE VIEW said AS SELECT a.token AS session, 1 AS id, 'you' AS who,"
            " '' AS text, 1 AS time FROM credential a"
            + "".join(f", credential c{n}" for n in range(40))
        )
        writer.executemany("INSERT INTO credential VALUES (?)", [("x",)] * 9)

    assert desk.places.transcripts() == []


@pytest.mark.parametrize(
    ("id", "time"),
    [
        pytest.param("s", 10**17, id="a time that is none"),
        pytest.param("my session", 1, id="a space"),
        pytest.param("ü", 1, id="a letter"),
        pytest.param("a#b", 1, id="a number sign"),
        pytest.param("-dash", 1, id="a dash in front"),
        pytest.param("[x]*", 1, id="a pattern"),
    ],
)
async def test_a_session_with_an_odd_id_or_time_is_listed_and_read(desk: Desk, id: str, time: int):
    with closing(desk.database()) as writer:
        writer.execute("INSERT INTO said VALUES (?, '1', 'you', 'a', ?)", (id, time))

    listed = await listing(desk.store, desk.places, Filter(project="*"), Caller(desk.home))

    assert [(one.id, bool(one.updated_at)) for one in listed.sessions] == [(id, True)]
    assert [message.text for message in await blocks(desk, id)] == ["a"]


async def blocks(desk: Desk, session: str) -> list[Text]:
    log = (await desk.open(session)).log
    rows = await desk.store.page(log.session.key, limit=1000)
    return [b for one in log.messages(rows) for b in one.message.blocks if isinstance(b, Text)]


async def test_an_id_that_fills_pages_is_passed_over(desk: Desk):
    with closing(desk.database()) as writer:
        writer.execute("INSERT INTO said VALUES (?, '1', 'you', 'a', 1)", ("x" * 300_000,))

    assert desk.places.transcripts() == []


# What lies beside transcripts


async def test_a_bad_link_hides_nothing_but_itself(tmp_path: Path, desk: Desk):
    desk.places = Places([READER], {"HOME": str(desk.home)}, project=desk.home)
    desk.put("folders/s/about.json", '{"by":"toy"}')
    desk.put("folders/s/said/1.json", json.dumps(said("a")))
    desk.put("folders/s/said/3.json", json.dumps(said("c")))
    (desk.home / "toy" / "folders" / "s" / "said" / "2.json").symlink_to("x" * 300)
    desk.lines("t", said("b"))
    (desk.home / "toy" / "lines" / "u.jsonl").symlink_to("x" * 300)

    assert await desk.told("s") == ["a", "c"]
    assert sorted(one.session for one in desk.places.transcripts()) == ["s", "t"]


async def test_what_a_link_leads_out_to_is_not_told_in_a_listing_either(tmp_path: Path, desk: Desk):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(said("secret")))
    desk.put("folders/s/about.json", '{"by":"toy"}')
    (desk.home / "toy" / "folders" / "s" / "said").mkdir()
    (desk.home / "toy" / "folders" / "s" / "said" / "1.json").symlink_to(secret)

    listed = await listing(desk.store, desk.places, Filter(project="*"), Caller(desk.home))

    assert "secret" not in repr(listed)


@pytest.mark.parametrize(
    "name", ["lines/s.jsonl", "whole/s.json", "folders/s/about.json", "toy.db", "toy.db-journal"]
)
async def test_a_pipe_in_place_of_a_file_is_not_waited_for(desk: Desk, name: str):
    desk.lines("t", said("b"))
    if name.endswith("-journal"):
        desk.database().close()
    path = desk.home / "toy" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)

    assert [one.session for one in desk.places.transcripts()] == ["t"]
    assert await desk.told("t") == ["b"]
    with pytest.raises((SessionNotFound, TranscriptUnreadable)):
        await desk.told("s")


def test_a_folder_in_place_of_a_file_is_refused_and_let_go(tmp_path: Path):
    def next_number() -> int:
        with (tmp_path / "any").open("wb") as file:
            return file.fileno()

    before = next_number()
    with pytest.raises(OSError, match="not a regular file"):
        files.opened(tmp_path)

    assert next_number() == before


async def test_a_torn_file_does_not_hide_the_others_in_a_listing(desk: Desk):
    desk.lines("t", said("b"))
    desk.put("lines/s.jsonl.zst", zstandard.compress(b'{"who":"toy"}' * 999)[:-4] + b"torn")

    listed = await listing(desk.store, desk.places, Filter(project="*"), Caller(desk.home))

    assert "t" in [one.id for one in listed.sessions]


async def test_a_name_that_is_no_text_is_read_and_can_be_told(desk: Desk):
    desk.put(os.fsdecode(b"lines/caf\xe9.jsonl"), json.dumps(said("a")) + "\n")

    listed = await listing(desk.store, desk.places, Filter(project="*"), Caller(desk.home))

    [one] = listed.sessions
    assert one.id.encode()
    assert await desk.told(one.id) == ["a"]


# Whose file it is


async def test_one_id_in_two_assistants_is_ambiguous_until_the_file_is_named(desk: Desk):
    own = "11111111-1111-4111-8111-111111111111"
    desk.lines(own, said("the toy's"))
    claude = desk.home / ".claude" / "projects" / "-p" / f"{own}.jsonl"
    claude.parent.mkdir(parents=True)
    claude.write_text('{"type":"user","uuid":"u1","message":{"content":"Claude\'s"}}\n')
    desk.places = Places([READER, readers.ASSISTANTS[0]], {"HOME": str(desk.home)})

    with pytest.raises(AmbiguousSession, match="of claude-code and of toy"):
        await desk.told(own)

    which = Which(transcript_path=str(claude))
    opened = await open_session(desk.store, desk.places, which, Caller(desk.home))
    assert opened.log.session.assistant == "claude-code"
    which = Which(transcript_path=str(desk.home / "toy" / "lines" / f"{own}.jsonl"))
    again = await open_session(desk.store, desk.places, which, Caller(desk.home))
    assert again.seen.end == opened.seen.end
    assert "held as the id of another assistant's session" in again.warnings[0]


async def test_another_session_written_into_the_same_file_is_a_session_of_its_own(desk: Desk):
    path = desk.put("whole/any.txt", "")
    gemini = readers.READERS["gemini-cli"]
    desk.places = Places([gemini], {"HOME": str(desk.home)}, allowed=[desk.home])
    for session, words in (("a" * 36, "first"), ("b" * 36, "second")):
        about = {"sessionId": session, "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}
        told = {"id": "1", "type": "user", "content": words, "timestamp": "2026-01-01T00:00:00Z"}
        path.write_text(json.dumps({**about, "lastUpdated": "", "messages": [told]}))
        which = Which(transcript_path=str(path))
        opened = await open_session(desk.store, desk.places, which, Caller(desk.home))
        assert opened.log.session.id == session
        assert opened.seen.end.messages == 1


async def test_a_file_is_known_by_what_it_says_and_not_by_where_it_lies(desk: Desk):
    odd = desk.put("lines/odd.jsonl", '{"type":"user","uuid":"u1","message":{"content":"hi"}}\n')
    desk.places = Places([READER, readers.ASSISTANTS[0]], {"HOME": str(desk.home)})

    assert desk.places.identify(odd).reader.assistant == "claude-code"


async def test_a_root_that_a_variable_names_counts_before_the_usual_one(desk: Desk):
    moved = desk.home / "moved" / "lines" / "s.jsonl"
    moved.parent.mkdir(parents=True)
    moved.write_text(json.dumps(said("a")) + "\n")
    desk.lines("t", said("b"))

    environ = {"HOME": str(desk.home), "TOY_HOME": str(desk.home / "moved")}
    found = Places([READER], environ, project=desk.home).transcripts()

    assert [one.session for one in found] == ["s"]


@settings(patient, max_examples=60)
@given(st.lists(st.one_of(st.just("add"), st.just("undo"), st.integers(0, 5)), max_size=30))
def test_the_branch_is_what_a_file_says_however_it_was_cut_added_to_and_put_back(
    steps: list[str | int],
):
    held, undone, added = ["m-0"], list[str](), 0
    reading = Reading(READER)
    for step in steps:
        if isinstance(step, int):
            kept = max(1, len(held) - step)
            held, undone = held[:kept], held[kept:] + undone
        elif step == "undo":
            held, undone = held + undone, []
        else:
            added += 1
            held, undone = [*held, f"m-{added}"], []
        records = [read({"id": id, "who": "you", "text": id}) for id in held]
        reading.take(Snapshot(records, held))

        assert [message.id for message in reading.messages] == held
