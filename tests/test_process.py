import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from server_process import PATIENT, served
from session_files import (
    OTHER,
    SESSION,
    Host,
    Json,
    Mode,
    ask,
    connected,
    linked,
    refused,
    said,
    talk,
    typed,
)

HI: Json = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]}


@pytest.fixture(name="large", scope="module")
def _large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a session of 30 MB."""
    path = tmp_path_factory.mktemp("large") / "large.jsonl"
    words = "".join(f"word_{n} reads file_{n}.py and fails. " for n in range(250))
    records = (
        typed(f"Question {n}: {words}") if n % 2 else said(f"Answer {n}: {words}")
        for n in range(3_400)
    )
    with path.open("w", encoding="utf-8") as file:
        for record in linked(records, SESSION, Path("/w")):
            file.write(json.dumps(record) + "\n")
    assert path.stat().st_size > 30_000_000
    return path


def given(host: Host, transcript: Path) -> None:
    """Put a transcript where Claude Code keeps them."""
    path = host.path()
    path.parent.mkdir(parents=True)
    os.link(transcript, path)


async def stored(host: Host) -> None:
    """Wait until an import has reached the database."""

    def rows() -> int:
        if not host.database.exists():
            return 0
        with closing(sqlite3.connect(host.database)) as connection:
            try:
                return connection.execute("SELECT count(*) FROM log").fetchone()[0]
            except sqlite3.Error:
                return 0

    async with asyncio.timeout(PATIENT):
        while not rows():  # noqa: ASYNC110 - another process tells nothing but its file
            await asyncio.sleep(0.005)


# What goes over the wire


async def test_c45_nothing_but_json_rpc_in_utf_8_is_on_stdout_whatever_happens(
    tmp_path: Path,
) -> None:
    environ = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "PYTHONUTF8": "0"}
    host = Host(tmp_path)
    words = "Messger\u00e4t \U0001f600 \u6f22\u5b57"
    host.save([typed(words), said(words)])
    async with served(host, **environ) as server:
        await server.hello()
        server.write(b"this is no JSON")
        server.write(b'{"jsonrpc": "2.0"')
        server.write(b"\xff\xfe\x00")
        server.write(b"[]")
        server.write(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}'
        )
        page = await server.ask("get_history", session_id=SESSION)
        listed = await server.ask("list_sessions")
        handed = await server.ask(
            "compact_session",
            session_id=f"\U0001f600 {words}",
            messages=[{"role": "user", "content": words}],
        )
        told = await server.refused("get_history", session_id=f"{words}?")
        await server.refused("get_history", sesion_id=words)
        await server.refused("get_history", max_chars="\u6f22")
        await server.refused("no_such_tool")
        await server.send("no/such/method", {})
        await server.hang_up()

    assert [item["text"] for item in page["messages"]] == [
        f"[User]: {words}",
        f"[Assistant]: {words}",
    ]
    assert listed["sessions"][0]["first_prompt"] == words
    assert handed["session_id"] == f"\U0001f600 {words}"
    assert f"'{words}?'" in told
    assert server.process.returncode == 0


async def test_a_server_that_only_starts_loads_no_library_that_it_may_never_need(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path)
    async with served(host, "-X", "importtime") as server:
        hello = await server.hello()
        listed = await server.send("tools/list", {})
        await server.hang_up()

    assert hello["serverInfo"]["name"] == "foldmark"
    assert len(json.dumps(listed["result"], separators=(",", ":"))) <= 8_000
    loaded = set(re.findall(r"\|\s+([\w.]+)\s*$", server.errors.decode(), re.MULTILINE))
    assert "foldmark_server.app" in loaded
    unneeded = {"boto3", "botocore", "typer", "foldmark_server.cli"}
    assert loaded.isdisjoint(unneeded)
    assert not host.database.exists()


# Ending


async def test_c57_an_idle_server_with_an_open_database_ends_with_its_input(
    tmp_path: Path,
) -> None:
    async with served(Host(tmp_path)) as server:
        await server.hello()
        await server.ask("compact_session", **HI)
        assert await server.hang_up() < 2

    assert server.process.returncode == 0


async def test_a_server_ends_within_two_seconds_in_the_middle_of_an_import(
    tmp_path: Path, large: Path
) -> None:
    host = Host(tmp_path)
    given(host, large)
    async with served(host) as server:
        await server.hello()
        server.start("get_history", session_id=SESSION)
        await stored(host)
        assert await server.hang_up() < 2

    async with connected(host) as client:
        page = await ask(client, "get_history", session_id=SESSION)
    assert page["total_messages"] == 3_400


async def test_a_server_ends_within_two_seconds_in_the_middle_of_a_compaction(
    tmp_path: Path, large: Path
) -> None:
    host = Host(tmp_path)
    given(host, large)
    async with served(host) as server:
        await server.hello()
        server.start("compact_session", session_id=SESSION)
        await server.reaches("reading:")
        assert await server.hang_up() < 2

    async with connected(host) as client:
        page = await ask(client, "get_history", session_id=SESSION)
    assert page["visible_messages"] == 3_400
    assert len(page["orphans"]) == 1
    assert page["boundary"] is None


@pytest.mark.parametrize(
    ("how", "moment"),
    [
        pytest.param(signal.SIGKILL, "import", id="SIGKILL in an import"),
        pytest.param(signal.SIGTERM, "compaction", id="SIGTERM in a compaction"),
    ],
)
async def test_58_a_server_killed_at_work_loses_nothing_and_the_next_goes_on(
    tmp_path: Path, large: Path, how: signal.Signals, moment: str
) -> None:
    host = Host(tmp_path)
    given(host, large)
    async with served(host) as server:
        await server.hello()
        server.start("compact_session", session_id=SESSION)
        await (stored(host) if moment == "import" else server.reaches("reading:"))
        await server.killed(how)

    async with connected(host) as client:
        before = await ask(client, "get_history", session_id=SESSION)

    assert before["total_messages"] == before["visible_messages"] == 3_400
    assert before["boundary"] is None
    assert [o["reason"] for o in before["orphans"]] == (
        ["no summary was ever written"] if moment == "compaction" else []
    )
    with closing(sqlite3.connect(host.database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        ids = connection.execute("SELECT id FROM log WHERE ours = 0 ORDER BY pos").fetchall()
    assert ids == [(f"r{n}",) for n in range(1, 3_401)]


HOLD = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = {path!r}
from foldmark.requests import Compact, Which
from foldmark.sessions import service
from session_files import SESSION, Host, engine

class Never:
    name = "never"
    from_ledger = False
    async def summarize(self, request):
        print("asked", flush=True)
        await asyncio.Event().wait()

async def main():
    service.Extractive = Never
    host = Host(Path(sys.argv[1]))
    async with engine(host) as sessions:
        await sessions.compact(Which(SESSION), Compact(keep_recent_tokens=60), host.caller)

asyncio.run(main())
"""


async def test_c22_what_dead_servers_left_behind_stacks_up_to_nothing(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(talk(10))
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            HOLD.format(path=[str(Path(__file__).parent)]),
            str(tmp_path),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout
        assert await process.stdout.readline() == b"asked\n"
        process.kill()
        await process.wait()

    async with connected(host) as client:
        before = await ask(client, "get_history", session_id=SESSION)
        done = await ask(client, "compact_session", session_id=SESSION, keep_recent_tokens=60)
        after = await ask(client, "get_history", session_id=SESSION)

    assert before["visible_messages"] == 20
    assert len(before["orphans"]) == 2
    assert done["status"] == "compacted"
    assert after["boundary"]["compaction_id"] == done["compaction_id"]
    assert len(after["orphans"]) == 2


WORK = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = {path!r}
from foldmark.requests import Compact, Which
from session_files import Host, engine

async def main():
    host = Host(Path(sys.argv[1]))
    async with engine(host) as sessions:
        for number in range(100_000):
            given = [dict(role="user", content=f"question {{n}} of {{number}}") for n in range(9)]
            which = Which(f"s{{number}}", messages=given)
            await sessions.compact(which, Compact(keep_recent_tokens=0), host.caller)
            print(number, flush=True)

asyncio.run(main())
"""


async def test_59_a_kill_leaves_each_compaction_done_or_not_and_none_in_between(
    tmp_path: Path,
) -> None:
    number = 15
    host = Host(tmp_path)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WORK.format(path=[str(Path(__file__).parent)]),
        str(tmp_path),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    while await process.stdout.readline() != f"{number}\n".encode():
        pass
    process.kill()
    await process.wait()

    async with connected(host) as client:
        sessions = (await ask(client, "list_sessions", project="*", limit=50))["sessions"]
        found = [await ask(client, "get_history", session_id=one["session_id"]) for one in sessions]

    done = [page for page in found if page["boundary"]]
    assert len(done) >= number + 1
    assert len(found) - len(done) <= 1
    assert all(page["total_messages"] == 9 for page in found)
    assert all(page["visible_messages"] == (0 if page["boundary"] else 9) for page in found)
    assert all(not page["orphans"] for page in done)


# Several servers, and databases that are none


async def test_c53_eight_servers_start_on_one_new_database_and_work_at_once(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(talk(40))

    async def work(number: int) -> Json:
        async with served(host) as server:
            await server.hello()
            for turn in range(2):
                await server.ask("get_history", session_id=SESSION, max_chars=2_000)
                await server.ask(
                    "compact_session",
                    session_id=f"own {number}",
                    messages=[{"role": "user", "content": f"{n}"} for n in range(turn + 1)],
                )
                await server.ask("compact_session", session_id=SESSION, keep_recent_tokens=200)
            page = await server.ask("get_history", session_id=SESSION)
            assert await server.hang_up() < 5
            return page

    found = await asyncio.gather(*(work(number) for number in range(8)))

    assert len({page["boundary"]["compaction_id"] for page in found}) == 1
    assert {page["total_messages"] for page in found} == {80}
    with closing(sqlite3.connect(host.database)) as connection:
        [(standing,)] = connection.execute(
            "SELECT count(*) FROM log WHERE kind = 'marker'"
        ).fetchall()
        counts = connection.execute(
            "SELECT count(*) FROM log JOIN sessions ON key = session"
            " WHERE sessions.id LIKE 'own %' GROUP BY session"
        ).fetchall()
    assert standing == 1
    assert counts == [(2,)] * 8


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def corrupt(path: Path) -> None:
    path.write_bytes(b"\0garbage" * 2_000)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("spoil", "hint"),
    [
        pytest.param(newer, "Update Foldmark", id="newer"),
        pytest.param(foreign, "another program's database", id="foreign"),
        pytest.param(corrupt, "is damaged", id="corrupt"),
        pytest.param(a_folder, "cannot be used", id="a folder"),
    ],
)
async def test_c54_a_database_that_is_none_is_named_and_left_as_it_is(
    tmp_path: Path, mode: Mode, spoil: Callable[[Path], None], hint: str
) -> None:
    host = Host(tmp_path)
    host.save(talk(2))
    async with connected(host) as client:
        await ask(client, "get_history", session_id=SESSION)
    spoil(host.database)
    before = host.database.read_bytes() if host.database.is_file() else b""
    async with connected(host, mode) as client:
        told = [
            await refused(client, tool, **arguments)
            for tool, arguments in (
                ("get_history", {"session_id": SESSION}),
                ("compact_session", {"session_id": SESSION}),
                ("list_sessions", {}),
            )
        ]

    for thread in threading.enumerate():  # of a connection that failed; it outlives the failure
        if "_connection_worker_thread" in thread.name:
            await asyncio.to_thread(thread.join, PATIENT)

    assert all(str(host.database) in words for words in told)
    assert all(hint in words for words in told)
    assert all("FOLDMARK_DB" in words or "Move it aside" in words for words in told)
    assert (host.database.read_bytes() if host.database.is_file() else b"") == before


# Who is calling


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_caller_is_found_though_its_transcript_has_the_call_60_ms_later(
    tmp_path: Path, mode: Mode
) -> None:
    host = Host(tmp_path)
    path = host.save(talk(3))
    host.save(talk(3), OTHER)
    call: Json = {"type": "tool_use", "id": "toolu_9", "name": "mcp__foldmark__get_history"}
    async with connected(host, mode, CLAUDE_CODE_SESSION_ID=OTHER) as client:
        calling = asyncio.create_task(
            client.call_tool("get_history", {}, meta={"claudecode/toolUseId": "toolu_9"})
        )
        await asyncio.sleep(0.06)
        host.add(path, [said({**call, "input": {}})], after=6)
        page = (await calling).structured_content

    assert page is not None
    assert page["session_id"] == SESSION
    assert page["found_by"] == "the id of this very tool call in the newest transcripts"
