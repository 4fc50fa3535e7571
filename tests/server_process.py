"""A Foldmark in a process of its own, spoken to over its pipes."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

from session_files import Host, Json

PATIENT = 60.0  # seconds after which a test gives up


class Server:
    """A server in a process of its own, spoken to over its pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.told: list[Json] = []
        self.errors = b""
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._progress: asyncio.Queue[str] = asyncio.Queue()
        self._reading = asyncio.gather(self._read(), self._read_errors())

    async def _read(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            message: Json = json.loads(line.decode("utf-8"))
            assert message["jsonrpc"] == "2.0", line
            self.told.append(message)
            if message.get("method") == "notifications/progress":
                self._progress.put_nowait(message["params"]["message"])
            elif waiting := self._waiting.pop(message.get("id") or 0, None):
                waiting.set_result(message)

    async def _read_errors(self) -> None:
        assert self.process.stderr
        self.errors = await self.process.stderr.read()

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")

    def send(self, method: str, params: Json) -> Awaitable[Json]:
        self._number += 1
        future = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = future
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.write(json.dumps(request, ensure_ascii=False).encode("utf-8"))
        return asyncio.wait_for(future, PATIENT)

    async def hello(self) -> Json:
        answer = await self.send(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> Awaitable[Json]:
        meta = {"progressToken": self._number + 1}
        return self.send("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})

    def start(self, tool: str, **arguments: Any) -> None:
        """Call a tool and leave its answer to whoever is there to read it."""
        self._number += 1
        meta = {"progressToken": self._number}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        request = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        self.write(json.dumps(request).encode())

    async def ask(self, tool: str, **arguments: Any) -> Json:
        result = (await self.call(tool, **arguments))["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = (await self.call(tool, **arguments))["result"]
        assert result["isError"], result
        return result["content"][0]["text"]

    async def reaches(self, step: str) -> None:
        """Wait until the server reports that it is at this step."""
        async with asyncio.timeout(PATIENT):
            while not (await self._progress.get()).startswith(step):
                pass

    async def hang_up(self) -> float:
        """Close the server's input, and tell how long it takes to end, in seconds."""
        assert self.process.stdin
        start = time.monotonic()
        self.process.stdin.close()
        await asyncio.wait_for(self.process.wait(), PATIENT)
        return time.monotonic() - start

    async def killed(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        await asyncio.wait_for(self.process.wait(), PATIENT)

    async def end(self) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        await self._reading
        for waiting in self._waiting.values():
            waiting.cancel()


@asynccontextmanager
async def served(host: Host, *options: str, **environ: str) -> AsyncGenerator[Server]:
    """Start a server on a host."""
    host.project.mkdir(exist_ok=True)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("FOLDMARK_", "CLAUDE"))}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *options,
        "-m",
        "foldmark_server",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=host.project,
        env={**inherited, **host.environ, **environ},
        limit=64 * 1024 * 1024,
    )
    server = Server(process)
    try:
        yield server
    finally:
        await server.end()
