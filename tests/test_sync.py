# ruff: noqa: ASYNC240 - a test has its event loop to itself
import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from foldmark.errors import TranscriptUnreadable
from foldmark.sessions.sync import sync
from foldmark.sources.transcript import Transcript
from foldmark.store.rows import Source
from foldmark.store.store import Store, open_store
from transcript_builder import (
    READER,
    SESSION,
    Json,
    assistant,
    jsonl,
    messages,
    read_in,
    rows,
    told,
    tool_result,
    tool_use,
    transcript,
    turns,
    user,
)

PIPE = subprocess.PIPE


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


@pytest.fixture(name="small_windows")
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldmark.sessions.growing._PIECE", 1000)
    monkeypatch.setattr("foldmark.sessions.growing._STRETCH", 1000)


def add(path: Path, *lines: Json | bytes) -> None:
    with path.open("ab") as file:
        file.write(jsonl(*lines))


async def held(store: Store, path: Path) -> Source:
    source = await store.source(str(path))
    assert source is not None
    return source


async def undisturbed(tmp_path: Path, path: Path) -> list[tuple[Any, ...]]:
    """Read a transcript in one go into a database of its own, and tell the log."""
    database = tmp_path / "undisturbed.db"
    async with open_store(database) as store:
        await read_in(store, path)
    return rows(database)


# Growth


async def test_a_new_transcript_is_read_whole(store: Store, path: Path):
    path.write_bytes(jsonl(*turns(1, 3)))
    source = await read_in(store, path)

    assert (source.consumed, source.size, source.lines) == (path.stat().st_size,) * 2 + (6,)
    assert (source.skipped, source.places, source.discarding) == (0, (), False)
    assert await told(store) == [
        *("U:ask 1", "A:answer 1", "U:ask 2", "A:answer 2", "U:ask 3", "A:answer 3")
    ]


async def test_a_second_reading_changes_nothing(store: Store, database: Path, path: Path):
    path.write_bytes(jsonl(*turns(1, 3), b"bad"))
    first = await read_in(store, path)
    before = rows(database)

    assert await read_in(store, path) == first
    os.utime(path, (1, 1))
    assert (await read_in(store, path)).skipped == 1
    assert rows(database) == before


async def test_a_reading_without_knowledge_of_the_last_one_changes_nothing(
    store: Store, database: Path, path: Path
):
    path.write_bytes(jsonl(*turns(1, 3), b"bad"))
    first = await read_in(store, path)
    before = rows(database)

    assert await sync(store, transcript(path)) == first
    assert rows(database) == before


async def test_only_what_was_added_is_read(store: Store, database: Path, path: Path):
    path.write_bytes(jsonl(*turns(1, 40, words="x" * 200)))
    await read_in(store, path)
    before = rows(database)

    data = bytearray(path.read_bytes())
    assert len(data) > 20_000
    data[5000:-5000] = b"?" * (len(data) - 10_000)
    path.write_bytes(data + jsonl(*turns(41, 41, "a40")))
    source = await read_in(store, path)

    assert source.consumed == path.stat().st_size
    assert source.skipped == 0
    assert rows(database)[: len(before)] == before
    assert [row[4] for row in rows(database)[len(before) :]] == ["u41", "a41"]


async def test_lines_are_numbered_through_all_readings(store: Store, path: Path):
    path.write_bytes(jsonl(*turns(1, 1), b"bad"))
    await read_in(store, path)
    add(path, *turns(2, 2, "a1"), b"worse")
    source = await read_in(store, path)

    assert source.places == ((3, "not JSON"), (6, "not JSON"))
    assert (source.skipped, source.lines) == (2, 6)


async def test_places_are_kept_up_to_a_number_and_counted_beyond(store: Store, path: Path):
    path.write_bytes(jsonl(*turns(1, 1), *[b"bad"] * 50))
    source = await read_in(store, path)

    assert source.skipped == 50
    assert source.places == tuple((line, "not JSON") for line in range(3, 23))


async def test_a_torn_tail_is_read_when_it_is_whole(
    store: Store, database: Path, path: Path, tmp_path: Path
):
    whole = jsonl(*turns(1, 2))
    cut = len(whole) - 30
    path.write_bytes(whole[:cut])
    source = await read_in(store, path)

    assert source.consumed < cut
    assert await told(store) == ["U:ask 1", "A:answer 1", "U:ask 2"]
    path.write_bytes(whole)
    assert (await read_in(store, path)).consumed == len(whole)
    assert rows(database) == await undisturbed(tmp_path, path)


async def test_a_last_line_without_its_end_is_read_at_once(
    store: Store, database: Path, path: Path, tmp_path: Path
):
    whole = jsonl(*turns(1, 2))
    path.write_bytes(whole[:-1])
    await read_in(store, path)

    assert (await told(store))[-1] == "A:answer 2"
    path.write_bytes(whole + jsonl(*turns(3, 3, "a2")))
    await read_in(store, path)
    assert rows(database) == await undisturbed(tmp_path, path)


async def test_progress_is_told_up_to_the_end(store: Store, path: Path, small_windows: None):
    path.write_bytes(jsonl(*turns(1, 10)))
    seen: list[tuple[int, int]] = []

    async def progress(done: int, whole: int) -> None:
        seen.append((done, whole))

    await sync(store, transcript(path), progress)

    assert len(seen) > 3
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size,) * 2


@pytest.mark.parametrize("piece", [1, 7, 500, 10_000_000])
@pytest.mark.parametrize("stretch", [1, 700, 5000])
async def test_the_log_is_the_same_however_much_is_read_at_once(
    store: Store,
    database: Path,
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    piece: int,
    stretch: int,
):
    path.write_bytes(jsonl(*turns(1, 3), b"bad", b"", *turns(4, 4, "a1"), b"\0" * 99)[:-1])
    expected = await undisturbed(tmp_path, path)
    monkeypatch.setattr("foldmark.sessions.growing._PIECE", piece)
    monkeypatch.setattr("foldmark.sessions.growing._STRETCH", stretch)
    source = await read_in(store, path)

    assert rows(database) == expected
    assert source.places == ((7, "not JSON"),)


# Lines too long to hold


async def test_a_line_too_long_to_hold_is_passed_over(store: Store, path: Path):
    with path.open("wb") as file:
        file.write(jsonl(*turns(1, 1)))
        file.write(b'{"type":"user","x":"')
        for _ in range(34):
            file.write(b"x" * 1024 * 1024)
        file.write(b'"}\n' + jsonl(*turns(2, 2, "a1")))
    source = await read_in(store, path)

    assert source.places == ((3, "too long"),)
    assert source.consumed == path.stat().st_size
    assert await told(store) == ["U:ask 1", "A:answer 1", "U:ask 2", "A:answer 2"]


async def test_a_line_too_long_that_grows_is_counted_once(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, small_windows: None
):
    monkeypatch.setattr("foldmark.transcripts.lines.LONGEST_RECORD", 5000)
    path.write_bytes(jsonl(*turns(1, 1)) + b'{"x":"' + b"y" * 9000)
    assert (await read_in(store, path)).discarding
    for more in (b"z" * 9000, b'"}\n', jsonl(*turns(2, 2, "a1"))):
        with path.open("ab") as file:
            file.write(more)
        source = await read_in(store, path)

    assert source.places == ((3, "too long"),)
    assert not source.discarding
    assert await told(store) == ["U:ask 1", "A:answer 1", "U:ask 2", "A:answer 2"]


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b'{"x":"' + b"y" * 9000 + b'"}\n', id="a line too long"),
        pytest.param(b"not JSON at all\n" * 500, id="a stretch of bad lines"),
    ],
)
async def test_a_bad_start_does_not_hide_the_rest(
    store: Store,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small_windows: None,
    start: bytes,
):
    monkeypatch.setattr("foldmark.transcripts.lines.LONGEST_RECORD", 5000)
    path.write_bytes(start + jsonl(*turns(1, 1)))
    await read_in(store, path)

    assert await told(store) == ["U:ask 1", "A:answer 1"]


# Files that changed otherwise


async def test_a_transcript_that_shrank_takes_nothing_away(
    store: Store, database: Path, path: Path
):
    lines = turns(1, 5)
    path.write_bytes(jsonl(*lines))
    await read_in(store, path)
    before = rows(database)

    path.write_bytes(jsonl(*lines[:4]))
    source = await read_in(store, path)
    assert source.consumed == path.stat().st_size
    assert rows(database) == before

    add(path, *turns(6, 6, "a5"))
    await read_in(store, path)
    assert [row[4] for row in rows(database)[len(before) :]] == ["u6", "a6"]


async def test_a_transcript_rewritten_in_place_adds_what_is_new(store: Store, path: Path):
    lines = turns(1, 2)
    path.write_bytes(jsonl(*lines))
    await read_in(store, path)

    size = path.stat().st_size
    path.write_bytes(path.read_bytes().replace(b"answer 2", b"ANSWER 2"))
    os.utime(path, ns=(1, 1))
    assert path.stat().st_size == size
    await read_in(store, path)

    assert await told(store) == ["U:ask 1", "A:answer 1", "U:ask 2", "A:ANSWER 2"]
    log = await store.overview(SESSION)
    assert (log.end.pos, log.end.messages) == (5, 4)


async def test_a_transcript_replaced_by_another_keeps_both(store: Store, path: Path):
    path.write_bytes(jsonl(*turns(1, 2)))
    await read_in(store, path)
    path.write_bytes(jsonl(*turns(7, 9)))
    await read_in(store, path)

    assert [words for words in await told(store) if words.startswith("U")] == [
        *("U:ask 1", "U:ask 2", "U:ask 7", "U:ask 8", "U:ask 9")
    ]


async def test_a_transcript_replaced_by_a_foreign_file_keeps_what_is_held(
    store: Store, database: Path, path: Path
):
    path.write_bytes(jsonl(*turns(1, 2)))
    before = await read_in(store, path), rows(database)

    for content in (b"dear diary\n" * 99, b"", b'{"role":"user"}\n', b"\0" * 5000):
        path.write_bytes(content)
        with pytest.raises(TranscriptUnreadable):
            await read_in(store, path)
        assert (await held(store, path), rows(database)) == before


async def test_a_transcript_that_vanished_is_said_to_be_gone(
    store: Store, database: Path, path: Path
):
    path.write_bytes(jsonl(*turns(1, 2)))
    await read_in(store, path)
    before = rows(database)
    path.unlink()

    with pytest.raises(FileNotFoundError):
        await read_in(store, path)
    assert rows(database) == before
    assert len(await told(store)) == 4


async def test_a_transcript_that_comes_back_is_recognized(store: Store, database: Path, path: Path):
    path.write_bytes(jsonl(*turns(1, 2)))
    data = path.read_bytes()
    await read_in(store, path)
    before = rows(database)
    path.unlink()
    path.write_bytes(data)
    await read_in(store, path)

    assert rows(database) == before


async def test_a_transcript_moved_elsewhere_adds_nothing(
    store: Store, database: Path, path: Path, tmp_path: Path
):
    path.write_bytes(jsonl(*turns(1, 2)))
    await read_in(store, path)
    before = rows(database)
    await read_in(store, path.rename(tmp_path / "elsewhere.jsonl"))

    assert rows(database) == before


# Duplicates


@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("end", [b"", b"\n"], ids=["glued", "apart"])
async def test_a_transcript_appended_to_itself_adds_nothing(
    store: Store, database: Path, path: Path, times: int, end: bytes
):
    lines = [*turns(1, 4), *turns(5, 6, "a1"), tool_use("t", "c", "a6"), tool_result("r", "c", "t")]
    whole = jsonl(*lines)[:-1]
    path.write_bytes(whole)
    await read_in(store, path)
    before = rows(database), await told(store)

    path.write_bytes(whole + (end + whole) * times + b"\n")
    source = await read_in(store, path)

    assert source.skipped == 0
    assert (rows(database), await told(store)) == before


async def test_the_same_words_said_twice_both_stay(store: Store, path: Path):
    lines = [user("u1", "yes"), assistant("a1", "ok", parent="u1"), user("u2", "yes", "a1")]
    path.write_bytes(jsonl(*lines, assistant("a2", "ok", parent="u2")))
    await read_in(store, path)

    assert await told(store) == ["U:yes", "A:ok", "U:yes", "A:ok"]


async def test_an_id_with_a_nul_in_it_is_known_again(store: Store, database: Path, path: Path):
    lines = jsonl(user("u\0v", "one"), assistant("a", "two", parent="u\0v"))
    path.write_bytes(lines)
    await read_in(store, path)
    path.write_bytes(lines * 2)
    await read_in(store, path)

    assert [row[4] for row in rows(database)] == ["u\ufffdv", "a"]


# Files that are none


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "holds no record yet", id="empty"),
        pytest.param(b"\n\n", "holds no record yet", id="blank"),
        pytest.param(b'{"type":"user"', "holds no record yet", id="one torn line"),
        pytest.param(b"dear diary\n", "is no claude-code transcript", id="words"),
        pytest.param(b'{"name":"x"}\n', "is no claude-code transcript", id="other JSON"),
        pytest.param(b'[{"type":"user","uuid":"x"}]', "holds no record yet", id="a list"),
        pytest.param(os.urandom(5000), "is no claude-code transcript", id="noise"),
        pytest.param(
            b'{"type":"session_meta","payload":{"id":"x"}}\n{"type":"response_item"}\n',
            "is no claude-code transcript",
            id="of another assistant",
        ),
        pytest.param(b'{"type":["x"]}\n', "is no claude-code transcript", id="an odd type"),
    ],
)
async def test_a_file_that_is_no_transcript_writes_nothing(
    store: Store, database: Path, path: Path, content: bytes, says: str
):
    path.write_bytes(content)

    with pytest.raises(TranscriptUnreadable, match=says) as raised:
        await read_in(store, path)

    assert repr(str(path)) in str(raised.value)
    assert await store.source(str(path)) is None
    assert rows(database, "SELECT * FROM sessions") == []


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(b'{"type":["x"],"uuid":"y"}', id="a type that is no string"),
        pytest.param(
            b'{"a":' * 700 + b"1" + b"}" * 700 + b'{"b":1}',
            id="glued and nested deep",
        ),
    ],
)
async def test_one_odd_line_does_not_end_the_reading(store: Store, path: Path, odd: bytes):
    path.write_bytes(jsonl(odd, *turns(1, 1)))
    await read_in(store, path)

    assert await told(store) == ["U:ask 1", "A:answer 1"]


async def test_what_is_no_regular_file_is_not_opened(store: Store, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()

    for name in ("pipe.jsonl", "folder.jsonl"):
        with pytest.raises(TranscriptUnreadable, match="not a regular file"):
            await read_in(store, tmp_path / name)


async def test_a_file_that_may_not_be_read_says_so(store: Store, path: Path):
    path.write_bytes(jsonl(*turns(1, 1)))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")

    with pytest.raises(TranscriptUnreadable, match="cannot be read"):
        await read_in(store, path)


# Subagents


async def test_sidechains_are_kept_apart_each_in_a_session_of_its_own(store: Store, path: Path):
    side: Json = {"isSidechain": True}
    path.write_bytes(
        jsonl(
            *turns(1, 1),
            user("s1", "old job", **side),
            user("x1", "job x", agentId="x", **side),
            assistant("x2", "done x", parent="x1", agentId="x", **side),
            user("y1", "job y", agentId="y", **side),
            assistant("s2", "old done", parent="s1", **side),
            *turns(2, 2, "a1"),
        )
    )
    await read_in(store, path)

    assert await told(store) == ["U:ask 1", "A:answer 1", "U:ask 2", "A:answer 2"]
    assert await told(store, f"{SESSION}/sidechain") == ["U:old job", "A:old done"]
    assert await told(store, f"{SESSION}/agent-x") == ["U:job x", "A:done x"]
    assert await told(store, f"{SESSION}/agent-y") == ["U:job y"]
    assert sorted((await store.overview(SESSION)).children) == [
        *(f"{SESSION}/agent-x", f"{SESSION}/agent-y", f"{SESSION}/sidechain")
    ]


async def test_a_prompt_in_a_sidechain_rewinds_nothing(store: Store, path: Path):
    path.write_bytes(
        jsonl(*turns(1, 2), user("s", "job", "a1", isSidechain=True), *turns(3, 3, "a2"))
    )
    await read_in(store, path)

    assert len(await told(store)) == 6
    assert (await store.overview(SESSION)).rewound == []


async def test_a_subagents_own_file_is_one_session_under_its_parent(store: Store, tmp_path: Path):
    path = tmp_path / "agent-x.jsonl"
    side: Json = {"isSidechain": True, "agentId": "x"}
    path.write_bytes(jsonl(user("s1", "job", **side), assistant("s2", "done", parent="s1", **side)))
    agent = Transcript(path, READER, READER.places[0], f"{SESSION}/agent-x", parent=SESSION)
    await sync(store, agent)

    assert await told(store, f"{SESSION}/agent-x") == ["U:job", "A:done"]
    assert (await store.overview(SESSION)).children == [f"{SESSION}/agent-x"]


async def test_the_agents_in_a_file_do_not_count_as_its_progress(store: Store, path: Path):
    path.write_bytes(jsonl(user("s1", "job", isSidechain=True)))
    await read_in(store, path)

    assert await messages(store, f"{SESSION}/sidechain") != []
    assert (await held(store, path)).session == SESSION


# Several at once


async def test_tasks_that_read_one_growing_file_add_each_row_once(
    store: Store, database: Path, path: Path, tmp_path: Path, small_windows: None
):
    lines = turns(1, 40)
    for start in range(0, len(lines), 16):
        add(path, *lines[start : start + 16])
        await asyncio.gather(*(read_in(store, path) for _ in range(4)))
        await asyncio.gather(*(sync(store, transcript(path)) for _ in range(4)))

    assert [row[4] for row in rows(database)] == [line["uuid"] for line in lines]
    assert rows(database) == await undisturbed(tmp_path, path)


READ = """
import asyncio, sys
from pathlib import Path
from foldmark.sessions.sync import sync
from foldmark.sources.transcript import Transcript
from foldmark.store.store import open_store
from foldmark.transcripts.claude_code import READER

async def progress(done, whole):
    print(done, flush=True)

async def main(database, path, until):
    async with open_store(Path(database)) as store:
        while True:
            transcript = Transcript(Path(path), READER, READER.places[0], Path(path).stem)
            source = await sync(store, transcript, progress, await store.source(path))
            if source.consumed >= int(until):
                break

print("ready", flush=True)
sys.stdin.readline()
asyncio.run(main(*sys.argv[1:]))
"""


def reader(database: Path, path: Path, until: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READ, str(database), str(path), str(until)]
    return subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()


async def test_processes_that_read_one_growing_file_add_each_row_once(
    store: Store, database: Path, path: Path, tmp_path: Path
):
    lines = turns(1, 150, words="x" * 50)
    whole = jsonl(*lines)
    path.write_bytes(whole[:1000])
    processes = [reader(database, path, len(whole)) for _ in range(4)]
    for process in processes:
        go(process)
    for start in range(1000, len(whole), 1777):
        with path.open("ab") as file:
            file.write(whole[start : start + 1777])
        await read_in(store, path)
    ends = [process.communicate(timeout=60) for process in processes]

    assert [(p.returncode, err) for p, (_, err) in zip(processes, ends, strict=True)] == [
        (0, "")
    ] * 4
    assert [row[4] for row in rows(database)] == [line["uuid"] for line in lines]
    assert rows(database) == await undisturbed(tmp_path, path)


@pytest.fixture(name="long_session", scope="module")
def _long_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / f"{SESSION}.jsonl"
    lines = turns(1, 500, words=" word" * 4000)
    for number in range(20, 500, 60):
        lines.insert(2 * number, user(f"r{number}", "no, this", f"a{number - 3}"))
    path.write_bytes(jsonl(*lines))
    return path


@pytest.mark.parametrize("windows", [0, 1, 2, 4])
async def test_an_import_that_is_killed_is_finished_by_the_next(
    database: Path, long_session: Path, tmp_path: Path, windows: int
):
    size = long_session.stat().st_size
    process = reader(database, long_session, size)
    go(process)
    assert process.stdout is not None
    for _ in range(windows):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()

    assert process.returncode == -signal.SIGKILL
    async with open_store(database) as store:
        source = await store.source(str(long_session))
        assert (source.consumed if source else 0) < size
        assert (await read_in(store, long_session)).consumed == size
    assert rows(database) == await undisturbed(tmp_path, long_session)
