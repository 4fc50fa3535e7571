"""One connection to the double: requests read, outcomes written."""

import json
import re
import socket
import struct
import threading
import uuid
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from itertools import islice
from typing import Any, Protocol, cast
from urllib.parse import unquote

from bedrock import events, invoke
from bedrock.call import Call, Json, Operation, tokens
from bedrock.outcomes import (
    Answer,
    Dropped,
    Failure,
    Garbage,
    Held,
    Outcome,
    StreamFailure,
    Truncated,
)
from bedrock.rules import Refusal

_PATH = re.compile(r"/model/(?P<model>[^/]+)/(?P<operation>[\w-]+)")
_OPERATIONS = ("converse", "converse-stream", "count-tokens", "invoke")
_CORAL = "http://internal.amazon.com/coral/com.amazon.bedrock/"
_BEGUN = Answer("<summary>\n## Goal\nMove the importer to the new schema, and then to the new one.")
_GARBAGE = {"empty object": b"{}", "not JSON": b"<html>200 OK</html>", "wrong checksum": b"{"}


class Desk(Protocol):
    """What a connection asks of the double behind it."""

    def take(
        self, operation: Operation, model: str, raw: bytes, headers: Mapping[str, str]
    ) -> Call | Refusal:
        """Record a request and hold it against the rules."""
        ...

    def outcome(self, call: Call) -> Outcome:
        """Choose what becomes of a request that broke no rule."""
        ...

    def sent(self) -> None:
        """Note that an answer was sent to its end."""
        ...

    def wait(self, gate: threading.Event) -> None:
        """Wait for a test, though no longer than the double lasts."""
        ...

    def rest(self, seconds: float) -> None:
        """Let time pass, though no longer than the double lasts."""
        ...


class Cut(ConnectionError):
    """The double itself cuts a connection."""


class _FailedError(Exception):
    """The request is to end in an error with an HTTP status."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Handler(BaseHTTPRequestHandler):
    """Serves one connection; buffered and unbundled, or every call would take 40 ms longer."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def __init__(self, desk: Desk, *args: Any) -> None:
        """Serve, until the other side is done."""
        self._desk = desk
        super().__init__(*args)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the double records requests."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = _PATH.fullmatch(self.path)
        try:
            if path is None or path["operation"] not in _OPERATIONS:
                raise _FailedError(Failure("UnknownOperationException", "No such operation.", 404))
            operation = cast("Operation", path["operation"])
            sent = dict(self.headers.items())
            taken = self._desk.take(operation, unquote(path["model"]), raw, sent)
            if isinstance(taken, Refusal):
                rule = taken.rule
                raise _FailedError(Failure(rule.code, taken.message, rule.status))
            self._answer(taken)
        except _FailedError as error:
            self._fail(error.failure)
        except Cut:
            self._cut()
            raise

    def _answer(self, call: Call) -> None:
        match call.operation:
            case "count-tokens":
                self._send(json.dumps({"inputTokens": tokens(call.body)}).encode())
            case "converse-stream":
                self._stream(self._frames(self._desk.outcome(call), call))
            case "converse" | "invoke":
                self._whole(self._desk.outcome(call), call)
        self._desk.sent()

    # An answer in one piece.

    def _whole(self, outcome: Outcome, call: Call) -> None:
        match outcome:
            case Answer():
                self._desk.rest(outcome.delay)
                self._send(_packed(events.whole(outcome, call), call))
            case Truncated(text):
                self._send(_packed(events.whole(Answer(text, stop=None), call), call))
            case Failure():
                raise _FailedError(outcome)
            case StreamFailure(code, message, status):
                raise _FailedError(Failure(code[:1].upper() + code[1:], message, status))
            case Dropped(after):
                if after:
                    body = _packed(events.whole(_BEGUN, call), call)
                    self._head(length=len(body))
                    self._write(body[: len(body) // 2])
                raise Cut
            case Garbage(kind):
                self._send(_GARBAGE[kind])
            case Held(inner, gate):
                self._desk.wait(gate)
                self._whole(inner, call)

    # An answer in events.

    def _frames(self, outcome: Outcome, call: Call) -> Iterator[bytes]:
        match outcome:
            case Answer():
                self._desk.rest(outcome.delay)
                for frame in events.frames(outcome, call):
                    yield frame
                    self._desk.rest(outcome.pause)
            case Truncated(text):
                yield from events.frames(Answer(text, stop=None), call)
            case Failure():
                raise _FailedError(outcome)
            case StreamFailure(code, message, _, after):
                yield from islice(events.frames(_BEGUN, call), after)
                yield events.exception(code, message)
            case Dropped(after):
                yield from islice(events.frames(_BEGUN, call), after)
                raise Cut
            case Garbage("wrong checksum"):
                first, *_, last = events.frames(_BEGUN, call)
                yield first
                yield events.corrupt(last)
            case Garbage(kind):
                yield _GARBAGE[kind]
            case Held(inner, gate, after):
                frames = self._frames(inner, call)
                yield from islice(frames, after)
                self._desk.wait(gate)
                yield from frames

    def _stream(self, frames: Iterator[bytes]) -> None:
        """Write the events as they come; the head waits for the first, which may be an error."""
        first = next(frames, b"")
        self._head(kind=events.STREAM_TYPE)
        self._chunk(first)
        for frame in frames:
            self._chunk(frame)
        self._write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        if data:
            self._write(b"%x\r\n%b\r\n" % (len(data), data))

    # The wire.

    def _fail(self, failure: Failure) -> None:
        if failure.code:
            body = json.dumps({"message": failure.message}).encode()
            named = {"x-amzn-ErrorType": f"{failure.code}:{_CORAL}"}
            if failure.retry_after:
                named["x-amz-retry-after"] = str(failure.retry_after)
            self._send(body, status=failure.status, more=named)
        else:
            self._send(failure.message.encode(), status=failure.status, kind="text/html")

    def _send(
        self,
        body: bytes,
        *,
        status: int = 200,
        kind: str = "application/json",
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._head(status=status, kind=kind, length=len(body), more=more)
        self._write(body)

    def _head(
        self,
        *,
        status: int = 200,
        kind: str = "application/json",
        length: int | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("x-amzn-RequestId", str(uuid.uuid4()))
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _cut(self) -> None:
        """Reset the connection; a plain close would look like an end in good order."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.wfile.close()
        self.rfile.close()
        self.connection.close()


def _packed(whole: Json, call: Call) -> bytes:
    return json.dumps(invoke.answer(whole) if call.operation == "invoke" else whole).encode()
