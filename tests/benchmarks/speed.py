"""How fast Foldmark is, each figure beside a floor taken in the same run.

    python tests/benchmarks/speed.py [--messages 100000]

Exits with 1 if a figure misses what it must reach. Needs some 2 GB of disk for the full size.
"""

import argparse
import asyncio
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiosqlite
import orjson
import transcript

from foldmark.ledger import Ledger
from foldmark.messages import Message, Text, ToolCall, ToolResult
from foldmark.requests import Caller, Query, Which
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sessions.service import Sessions
from foldmark.sources.places import Places
from foldmark.store.store import open_store
from foldmark.summarizers.extractive import written
from foldmark_server.app import build

BARE_SERVER = """
from mcp.server.mcpserver import MCPServer
bare = MCPServer("bare", log_level="WARNING")
for name in ("one", "two", "three"):
    async def tool(a: str = "", b: str = "", c: int = 0) -> dict[str, str]:
        return {}
    bare.tool(name=name)(tool)
bare.run()
"""

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "0"},
    },
}


class Report:
    """The figures so far, and whether all are as they must be."""

    def __init__(self) -> None:
        self.missed = False

    def row(self, what: str, value: float, unit: str, most: float, note: str = "") -> None:
        ok = value <= most
        self.missed |= not ok
        print(f"{'ok  ' if ok else 'MISS'} {what:46} {value:10.2f} {unit:6} (<= {most:g}) {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--import-child", nargs=2, metavar=("TRANSCRIPT", "DATABASE"))
    chosen = parser.parse_args()
    if chosen.import_child:
        asyncio.run(import_child(*map(Path, chosen.import_child)))
        return
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        importing(report, Path(folder), chosen.messages)
        asyncio.run(reading(report, Path(folder), chosen.messages))
    extracting(report)
    starting(report)
    tools_list(report)
    sys.exit(report.missed)


def importing(report: Report, folder: Path, messages: int) -> None:
    """Import a large transcript in a process of its own, beside the floor."""
    path, database = folder / "big.jsonl", folder / "big.db"
    transcript.write(path, messages)
    child = [sys.executable, __file__, "--import-child", str(path), str(database)]
    floors: list[float] = []
    imports: list[tuple[float, float]] = []
    for _ in range(3):  # in turns, since disks and neighbors change their pace
        os.sync()  # what is still to be written must not count for the next
        floors.append(decode_and_insert(path, folder / "floor.db"))
        (folder / "floor.db").unlink()
        database.unlink(missing_ok=True)
        os.sync()
        imports.append(json.loads(subprocess.run(child, check=True, capture_output=True).stdout))
    floor, (took, peak) = min(floors), min(imports)
    size = path.stat().st_size / 1e6
    note = f"{took:.1f} s against {floor:.1f} s for {size:.0f} MB"
    report.row("import, to the floor", took / floor, "x", 1.5, note)
    report.row("import, memory", peak, "MB", 150)
    report.row("database, to the transcript", database.stat().st_size / 1e6 / size, "x", 1.0)


def decode_and_insert(path: Path, database: Path) -> float:
    """Decode every line and insert it raw, in one transaction."""
    started = time.perf_counter()
    db = sqlite3.connect(database, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, line BLOB) STRICT")
    db.execute("BEGIN")
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
            db.execute("INSERT INTO raw (line) VALUES (?)", (line,))
    db.execute("COMMIT")
    db.close()
    return time.perf_counter() - started


async def import_child(path: Path, database: Path) -> None:
    started = time.perf_counter()
    async with open_store(database) as store:
        engine = Sessions(store, Places(ASSISTANTS, {}, allowed=[path.parent]))
        await engine.history(Which(transcript_path=str(path)), Query(), Caller(path.parent))
    took = time.perf_counter() - started
    print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


async def reading(report: Report, folder: Path, messages: int) -> None:
    """Read the first visible page, and sync one new message, of a small and a large session."""
    transcript.write(folder / "small.jsonl", 1_000)
    small = await reading_one(report, folder, "small")
    large = await reading_one(report, folder, "big")
    report.row(f"first page, {messages:,} to 1,000 messages", large / small, "x", 1.5)


async def reading_one(report: Report, folder: Path, name: str) -> float:
    path, database = folder / f"{name}.jsonl", folder / f"{name}.db"
    which, caller = Which(transcript_path=str(path)), Caller(folder)
    async with open_store(database) as store:
        engine = Sessions(store, Places(ASSISTANTS, {}, allowed=[folder]))
        page = await engine.history(which, Query(), caller)
        async with aiosqlite.connect(database) as db:
            read, floor = await medians(
                lambda: engine.history(which, Query(), caller),
                lambda: bare_read(db, len(page.messages)),
                times=200,
            )
        note = f"{read:.2f} ms against {floor:.2f} ms for {len(page.messages)} messages"
        report.row(f"first page, {page.total_messages:,} messages", read / floor, "x", 3.0, note)

        async def grow() -> Any:
            id = os.urandom(8).hex()
            line = {"type": "user", "uuid": id, "sessionId": "x", "message": {"content": "more"}}
            with path.open("ab") as file:
                file.write(orjson.dumps(line) + b"\n")
            return await engine.history(which, Query(), caller)

        [synced] = await medians(grow, times=15)
        report.row(f"sync of one, {page.total_messages:,} messages", synced, "ms", 20)
        return read


async def bare_read(db: aiosqlite.Connection, messages: int) -> Any:
    """Read the same rows the way aiosqlite's manual shows it, with nothing around it."""
    sql = "SELECT * FROM log WHERE session = 1 AND pos BETWEEN 1 AND ?"
    async with db.execute(sql, (messages,)) as cursor:
        return await cursor.fetchall()


async def medians(*works: Callable[[], Awaitable[Any]], times: int) -> list[float]:
    """Time some works in turns, in milliseconds, the first time of each left out."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(times + 1):
        for work, times_taken in zip(works, taken, strict=True):
            started = time.perf_counter()
            await work()
            times_taken.append((time.perf_counter() - started) * 1000)
    return [statistics.median(of_one[1:]) for of_one in taken]


def extracting(report: Report) -> None:
    """Write an extractive summary of 2 MB and of 8 MB, and of one 5 MB message."""
    per_mb: list[float] = []
    for megabytes in (2, 8):
        told = conversation(megabytes)
        started = time.perf_counter()
        summarize(told)
        per_mb.append((time.perf_counter() - started) / megabytes)
    report.row("extractive summary, a MB", per_mb[1], "s", 0.5)
    report.row("extractive summary, 8 MB to 2 MB, a MB", per_mb[1] / per_mb[0], "x", 1.3)
    for what, text in {
        "words": "word " * 1_000_000,
        "one line of letters": "a" * 5_000_000,
        "one line of slashes": "/a.b-" * 1_000_000,
        "one line of errors": "Error: x " * 600_000,
    }.items():
        told = [Message("u", "user", (Text(text),)), Message("t", "user", (ToolResult("c", text),))]
        started = time.perf_counter()
        summarize(told)
        report.row(f"extractive, 5 MB of {what}", time.perf_counter() - started, "s", 4)


def summarize(told: list[Message]) -> str:
    ledger = Ledger()
    ledger.add(told)
    return written(ledger, 8_000)


def conversation(megabytes: int) -> list[Message]:
    """Make messages with about so much text."""
    told: list[Message] = []
    size = 0
    for number, line in enumerate(transcript.lines(10**9)):
        if size >= megabytes * 1_000_000:
            return told
        content = orjson.loads(line)["message"]["content"]
        id = str(number)
        match number % 4:
            case 0:
                told.append(Message(id, "user", (Text(content),)))
                size += len(content)
            case 1:
                told.append(Message(id, "assistant", (Text(content[1]["text"]),)))
                size += len(content[1]["text"])
            case 2:
                call = ToolCall(content[0]["id"], "Bash", content[0]["input"])
                told.append(Message(id, "assistant", (call,)))
            case _:
                result = ToolResult(content[0]["tool_use_id"], content[0]["content"])
                told.append(Message(id, "user", (result,)))
                size += len(result.text)
    return told


def starting(report: Report) -> None:
    """Start the server up to its first answer, in CPU seconds, beside a bare one."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(7):
        bare.append(cpu_to_first_answer([sys.executable, "-c", BARE_SERVER]))
        ours.append(cpu_to_first_answer([sys.executable, "-m", "foldmark_server"]))
    floor = min(bare)
    note = f"{min(ours):.2f} s against {floor:.2f} s"
    report.row("start to the first answer, CPU", min(ours) / floor, "x", 1.1, note)


def cpu_to_first_answer(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        server.kill()
        server.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tools_list(report: Report) -> None:
    tools = asyncio.run(build({}).list_tools())
    size = sum(len(t.model_dump_json(by_alias=True, exclude_none=True)) for t in tools)
    report.row("tools/list", size, "chars", 8_000)


if __name__ == "__main__":
    main()
