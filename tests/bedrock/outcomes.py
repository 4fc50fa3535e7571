"""What may become of a request that broke no rule.

ERRORS    refused with an HTTP status
BREAKS    accepted, and then cut off, garbled or failed in the middle
EMPTIES   answered in full, with nothing in it
STOPS     answered, and stopped for a reason that makes no summary of it
FAILURES  all of them: none may ever count as a summary
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A whole answer: signed reasoning if any, then the text, then a tool call if any.

    An empty text is no content at all. `usage` overrides the counts it names. `delay` is the time
    before the first byte, `pause` the time between the events of a stream, both in seconds.
    """

    text: str
    stop: str | None = "end_turn"
    reasoning: str | tuple[str, ...] = ()
    redacted: bool = False
    tool_use: Json | None = None
    usage: Mapping[str, int] | None = None
    delay: float = 0.0
    pause: float = 0.0

    @property
    def thoughts(self) -> tuple[str, ...]:
        if isinstance(self.reasoning, str):
            return (self.reasoning,) if self.reasoning else ()
        return self.reasoning


@dataclass(frozen=True)
class Failure:
    """An error with its HTTP status; without a code it is a page that some proxy wrote.

    `retry_after` is the time to be left alone that it asks for, in milliseconds.
    """

    code: str
    message: str
    status: int
    retry_after: int = 0


@dataclass(frozen=True)
class StreamFailure:
    """An error inside a stream, after some events; `code` in lowerCamel.

    To a call that does not stream it is the plain error.
    """

    code: str
    message: str
    status: int
    after: int = 2


@dataclass(frozen=True)
class Dropped:
    """The connection is reset after some events, or, where there are none, inside the body."""

    after: int = 2


@dataclass(frozen=True)
class Truncated:
    """The answer ends early and in good order: there is never a stop reason."""

    text: str = "<summary>\n## Goal\nHalf of a sen"


@dataclass(frozen=True)
class Garbage:
    """Status 200 and nothing that is an answer."""

    kind: Literal["empty object", "not JSON", "wrong checksum"]


@dataclass(frozen=True)
class Held:
    """An outcome that waits until the test sets `gate`, after some events of its stream."""

    outcome: "Outcome"
    gate: threading.Event
    after: int = 0


Outcome = Answer | Failure | StreamFailure | Dropped | Truncated | Garbage | Held


def slow(text: str, *, delay: float = 0.0, pause: float = 0.0) -> Answer:
    """Make a good answer that takes its time."""
    return Answer(text, delay=delay, pause=pause)


def _throttled(message: str) -> Failure:
    return Failure("ThrottlingException", message, 429)


def _invalid(message: str) -> Failure:
    return Failure("ValidationException", message, 400)


def _denied(message: str) -> Failure:
    return Failure("AccessDeniedException", message, 403)


_PREFIX = "The model returned the following errors: "

OVERFLOWS: Mapping[str, Failure] = {
    "prompt is too long": _invalid(
        f"{_PREFIX}prompt is too long: 200049 tokens > 200000 maximum",
    ),
    "input is too long": _invalid("Input is too long for requested model."),
    "input tokens exceeded": _invalid(
        f"{_PREFIX}Input Tokens Exceeded: Number of input tokens exceeds maximum length."
    ),
    "maximum context length": _invalid(
        "This model's maximum context length is 128000 tokens. Please reduce the length of the "
        "prompt"
    ),
    "context_length_exceeded": _invalid(f"{_PREFIX}context_length_exceeded"),
    "exceed context limit": _invalid(
        f"{_PREFIX}input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"
    ),
    "too many input tokens": _invalid("Too many input tokens for this model."),
    "exceed model maximum": _invalid("The input and the output together exceed model maximum."),
    "too many total text bytes": _invalid(f"{_PREFIX}too many total text bytes: 9000001 > 9000000"),
}
"""Input that does not fit, in all the words that are known for it."""

ERRORS: Mapping[str, Failure] = {
    "throttled by tokens": _throttled("Too many tokens, please wait before trying again."),
    "throttled by requests": _throttled("Too many requests, please wait before trying again."),
    "throttled for the day": _throttled(
        "Too many tokens per day, please wait before trying again."
    ),
    "model not ready": Failure(
        "ModelNotReadyException", "The model is not ready for inference requests.", 429
    ),
    "service unavailable": Failure(
        "ServiceUnavailableException", "Bedrock is unable to process your request.", 503
    ),
    "internal error": Failure(
        "InternalServerException",
        "The system encountered an unexpected error during processing. Try your request again.",
        500,
    ),
    "bad gateway": Failure("", "<html><body><h1>502 Bad Gateway</h1></body></html>", 502),
    "model timeout": Failure(
        "ModelTimeoutException", "Model has timed out in processing the request.", 408
    ),
    "model error": Failure(
        "ModelErrorException",
        "The system encountered an unexpected error during processing.",
        424,
    ),
    **OVERFLOWS,
    "needs a profile": _invalid(
        "Invocation of model ID anthropic.claude-sonnet-4-6 with on-demand throughput "
        "isn\N{RIGHT SINGLE QUOTATION MARK}t supported. Retry your request with the ID or ARN of "
        "an inference profile that contains this model."
    ),
    "invalid identifier": _invalid("The provided model identifier is invalid."),
    "no access to the model": _denied(
        "You don't have access to the model with the specified model ID."
    ),
    "not authorized": _denied(
        "User: arn:aws:iam::123456789012:user/dev is not authorized to perform: "
        "bedrock:InvokeModelWithResponseStream on resource: "
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-6"
    ),
    "end of life": Failure(
        "ResourceNotFoundException", "This model version has reached the end of its life.", 404
    ),
    "quota exceeded": Failure(
        "ServiceQuotaExceededException", "Your request exceeds the service quota.", 400
    ),
    "expired token": Failure(
        "ExpiredTokenException", "The security token included in the request is expired", 403
    ),
    "unrecognized client": Failure(
        "UnrecognizedClientException", "The security token included in the request is invalid.", 403
    ),
}

BREAKS: Mapping[str, Outcome] = {
    "throttled in the stream": StreamFailure(
        "throttlingException", "Too many tokens, please wait before trying again.", 429
    ),
    "internal error in the stream": StreamFailure(
        "internalServerException", "The system encountered an unexpected error.", 500
    ),
    "unavailable in the stream": StreamFailure(
        "serviceUnavailableException", "Bedrock is unable to process your request.", 503
    ),
    "model error in the stream": StreamFailure(
        "modelStreamErrorException", "The model stream was interrupted.", 424
    ),
    "invalid in the stream": StreamFailure(
        "validationException", "The model could not go on with this request.", 400
    ),
    "failed before any event": StreamFailure(
        "internalServerException", "The system encountered an unexpected error.", 500, after=0
    ),
    "dropped in the middle": Dropped(),
    "dropped before any event": Dropped(after=0),
    "ended early": Truncated(),
    "empty object": Garbage("empty object"),
    "not JSON": Garbage("not JSON"),
    "wrong checksum": Garbage("wrong checksum"),
}

EMPTIES: Mapping[str, Answer] = {
    "no content": Answer(""),
    "only reasoning": Answer("", reasoning="Weighing what matters here."),
    "only whitespace": Answer(" \n\t "),
    "only tags": Answer("<summary>\n\n</summary>"),
}

_HALF = "<summary>\n## Goal\nMove the importer to the new sche"
_NOTICE = "Sorry, the model cannot answer this question."
_CALL: Json = {"name": "bash", "input": {"command": "ls"}}

STOPS: Mapping[str, Answer] = {
    "max_tokens": Answer(_HALF, stop="max_tokens"),
    "max_tokens, all on reasoning": Answer("", stop="max_tokens", reasoning="On and on."),
    "model_context_window_exceeded": Answer(_HALF, stop="model_context_window_exceeded"),
    "refusal": Answer("", stop="refusal"),
    "content_filtered": Answer(_NOTICE, stop="content_filtered"),
    "guardrail_intervened": Answer(_NOTICE, stop="guardrail_intervened"),
    "tool_use": Answer("Let me look first.", stop="tool_use", tool_use=_CALL),
    "malformed_model_output": Answer(_HALF, stop="malformed_model_output"),
    "malformed_tool_use": Answer(_HALF, stop="malformed_tool_use"),
    "pause_turn": Answer(_HALF, stop="pause_turn"),
    "compaction": Answer(_HALF, stop="compaction"),
    "stop_sequence that nobody set": Answer(_HALF, stop="stop_sequence"),
    "a reason of tomorrow": Answer(_HALF, stop="something_new"),
    "no reason": Answer(_HALF, stop=None),
}

FAILURES: Mapping[str, Outcome] = {**ERRORS, **BREAKS, **EMPTIES, **STOPS}
