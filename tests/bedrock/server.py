"""A Bedrock of one's own on the loopback address, for boto3 in this process or another.

    with FakeBedrock() as bedrock:
        bedrock.script.append(Answer("<summary>…</summary>"))
        ...                       # anything that runs with bedrock.environ
        assert not bedrock.refusals

A request is recorded, then held against the rules. One that breaks none takes the next outcome of
`script`, else `default`, else a summary of what it holds.
"""

import base64
import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from socketserver import ThreadingTCPServer
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from bedrock import answers, invoke
from bedrock.call import Call, Json, Operation
from bedrock.handler import Desk, Handler
from bedrock.models import MODELS, address
from bedrock.outcomes import Answer, Outcome
from bedrock.rules import Refusal, refusal

PATIENCE = 10.0
"""Seconds that a test waits for a request before it fails."""


@dataclass(frozen=True)
class Request:
    """A request as it came: `model` is the id or ARN in its path, `at` a monotonic time."""

    operation: Operation
    model: str
    body: Json
    raw: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    at: float = field(repr=False)

    @property
    def text(self) -> str:
        """All the text in its messages."""
        return answers.transcript({"messages": self.body.get("messages", [])})


class FakeBedrock:
    """The double: a server for as long as its context lasts."""

    def __init__(
        self,
        *,
        script: Iterable[Outcome] = (),
        default: Outcome | None = None,
        answer: Callable[[Json], str] = answers.summary,
        contexts: Mapping[str, int] | None = None,
        application_model: str = "anthropic.claude-sonnet-4-6",
    ) -> None:
        """Set what it answers; nothing is opened yet.

        `answer` makes the text of an answer that nobody scripted from the body of the request.
        `contexts` makes the context windows of models, by their bare ids, smaller or larger.
        `application_model` is what application-inference-profile ARNs stand for.
        """
        unknown = {*(contexts or {}), application_model} - MODELS.keys()
        if unknown:
            raise ValueError(f"the double serves no such model: {sorted(unknown)!r}")
        self.script: deque[Outcome] = deque(script)
        self.default = default
        self.answer = answer
        self.requests: list[Request] = []
        self.refusals: list[Refusal] = []
        self._contexts = dict(contexts or {})
        self._application_model = application_model
        self._sent = 0
        self._came = threading.Condition()
        self._closing = threading.Event()
        self._gates: list[threading.Event] = []
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self._server = _Server(self)
        serve = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.01},
            name="bedrock",
            daemon=True,
        )
        serve.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._came:
            self._closing.set()
            for gate in self._gates:
                gate.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            if self._server.errors and error is None:
                raise RuntimeError("the double itself failed") from self._server.errors[0]

    @property
    def url(self) -> str:
        if self._server is None:
            raise RuntimeError("the double answers only inside its context")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environ(self) -> dict[str, str]:
        """What leads boto3 here and nowhere else.

        AWS_BEARER_TOKEN_BEDROCK and AWS_PROFILE must not be set beside it: the one would go before
        these keys, and the other names a profile that is in neither file.
        """
        nowhere = "/nonexistent/aws"
        return {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.url,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "not-a-secret",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": f"{nowhere}/config",
            "AWS_SHARED_CREDENTIALS_FILE": f"{nowhere}/credentials",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    @property
    def generations(self) -> list[Request]:
        """The requests that asked for text."""
        return [request for request in self.requests if request.operation != "count-tokens"]

    def arrived(self, count: int = 1, timeout: float = PATIENCE) -> Request:
        """Wait until `count` requests have come in all, and give the last of these.

        Raises:
            TimeoutError: They did not come.

        """
        with self._came:
            if not self._came.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"{len(self.requests)} of {count} requests came")
            return self.requests[count - 1]

    def answered(self, count: int = 1, timeout: float = PATIENCE) -> None:
        """Wait until `count` answers have been sent to their end.

        Raises:
            TimeoutError: They have not.

        """
        with self._came:
            if not self._came.wait_for(lambda: self._sent >= count, timeout):
                raise TimeoutError(f"{self._sent} of {count} answers were sent")

    # What the handler asks of it, on a thread for every connection.

    def take(
        self, operation: Operation, model: str, raw: bytes, headers: Mapping[str, str]
    ) -> Call | Refusal:
        """Record a request and hold it against the rules."""
        sent: Json = json.loads(raw or b"{}")
        body = _unwrapped(operation, sent)
        found = address(model, self._application_model)
        context = self._contexts.get(found.model.id, found.model.context)
        call = Call(operation, model, found, body, raw, context)
        with self._came:
            self.requests.append(Request(operation, model, body, raw, headers, time.monotonic()))
            self._came.notify_all()
        refused = refusal(call)
        if refused:
            self.refusals.append(refused)
        return refused or call

    def outcome(self, call: Call) -> Outcome:
        """Choose what becomes of a request that broke no rule."""
        with self._came:
            if self.script:
                return self.script.popleft()
        if self.default is not None:
            return self.default
        thinks = call.model.claude and call.thinking != "disabled"
        return Answer(self.answer(call.body), reasoning="What matters here?" if thinks else ())

    def sent(self) -> None:
        """Note that an answer was sent to its end."""
        with self._came:
            self._sent += 1
            self._came.notify_all()

    def wait(self, gate: threading.Event) -> None:
        """Wait for a test, though no longer than the double lasts."""
        with self._came:
            self._gates.append(gate)
            if self._closing.is_set():
                gate.set()
        gate.wait()

    def rest(self, seconds: float) -> None:
        """Let time pass, though no longer than the double lasts."""
        if seconds:
            self._closing.wait(seconds)


def _unwrapped(operation: Operation, sent: Json) -> Json:
    """Say every request in the shape of Converse."""
    if operation == "invoke":
        return invoke.converse(sent)
    if operation != "count-tokens":
        return sent
    wanted: Json = sent.get("input", {})
    if "invokeModel" in wanted:
        return invoke.converse(json.loads(base64.b64decode(wanted["invokeModel"]["body"])))
    return wanted.get("converse", {})


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, desk: Desk) -> None:
        self.errors: list[BaseException] = []
        self._open: WeakSet[socket.socket] = WeakSet()
        super().__init__(("127.0.0.1", 0), partial(Handler, desk))

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, peer = super().get_request()
        self._open.add(connection)
        return connection, peer

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep what went wrong in the double; that a caller left is no error."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.errors.append(error)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
