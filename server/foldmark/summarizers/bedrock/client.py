"""boto3, imported and built at the first call, on threads that no exit waits for.

One call is one try: retries are the summarizer's, since boto3 would have the same answer generated
and billed three times over when the first one takes long.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from foldmark.offload import offload
from foldmark.summarizers.bedrock.faults import BedrockFailed, explained
from foldmark.transcripts.fields import mapping
from foldmark.transcripts.lines import well_formed

_CONNECT = 10  # seconds
_SILENCE = 180  # seconds without a byte; a model may think for minutes before its first word


@dataclass(frozen=True, slots=True)
class Question:
    """One request: standing orders and one user message, with room for the answer in tokens."""

    model: str
    system: str
    user: str
    max_tokens: int
    effort: str = ""

    def body(self) -> dict[str, Any]:
        """Write it as Converse takes it: no tools, no thinking field, no sampling parameters.

        It is the only body that every current model accepts; half a character would spoil it.
        """
        effort = {"outputConfig": {"effort": self.effort}} if self.effort else {}
        return {
            "modelId": self.model,
            "system": [{"text": self.system}],
            "messages": [{"role": "user", "content": [{"text": well_formed(self.user)}]}],
            "inferenceConfig": {"maxTokens": self.max_tokens},
            **effort,
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the text alone, how it ended, and the tokens that were billed."""

    text: str
    stop: str
    tool_call: bool = False
    input_tokens: int = 0
    output_tokens: int = 0


class Client:
    """Bedrock as boto3 reaches it, with all of boto3's ways to authenticate."""

    def __init__(self, region: str = "") -> None:
        """Note the region; an empty one leaves it to the profile. Nothing is opened yet."""
        self._region = region
        self._built: Any = None
        self._turn = threading.Lock()

    async def ask(self, question: Question) -> Reply:
        """Ask once, and read the answer as it comes.

        A caller that is cancelled leaves at once, and the stream is given up at its next event.

        Raises:
            BedrockFailed: There was no whole answer.

        """
        given_up = threading.Event()
        try:
            return await offload(self._ask, question, given_up)
        finally:
            given_up.set()

    def close(self) -> None:
        """Let go of the connections; the next question opens new ones."""
        with self._turn:
            built, self._built = self._built, None
        if built is not None:
            built.close()

    def _ask(self, question: Question, given_up: threading.Event) -> Reply:
        try:
            client = self._client()
            if given_up.is_set():
                raise BedrockFailed("fatal", "it was cancelled.")
            return _read(client.converse_stream(**question.body()).get("stream"), given_up)
        except Exception as error:
            failed = error if isinstance(error, BedrockFailed) else explained(error)
            if failed.kind == "fatal" and not given_up.is_set():
                self.close()  # what a user mends, credentials first, is read when it is built
            raise failed from error.__cause__ or error

    def _client(self) -> Any:
        with self._turn:
            if self._built is None:
                self._built = connect(self._region)
            return self._built


def connect(region: str, *, silence: int = _SILENCE) -> Any:
    """Build boto3's client; an empty region leaves it to the profile."""
    import boto3
    from botocore.config import Config

    session: Any = boto3.Session()
    return session.client(
        "bedrock-runtime",
        region_name=region or None,
        config=Config(
            connect_timeout=_CONNECT,
            read_timeout=silence,
            retries={"mode": "standard", "total_max_attempts": 1},
            tcp_keepalive=True,
            user_agent_extra="foldmark",
        ),
    )


def _read(stream: Any, given_up: threading.Event) -> Reply:
    if stream is None:
        raise BedrockFailed("broken", "its answer held no stream.")
    with closing(stream):
        return _reply(_events(stream, given_up))


def _events(stream: Any, given_up: threading.Event) -> Iterator[Mapping[str, Any]]:
    begun = False
    try:
        for event in stream:
            if given_up.is_set():
                raise BedrockFailed("fatal", "it was cancelled.")
            begun = True
            yield mapping(event)
    except BedrockFailed:
        raise
    except Exception as error:
        raise explained(error, begun=begun) from error


def _reply(events: Iterator[Mapping[str, Any]]) -> Reply:
    words: list[str] = []
    stop, tool_call, usage = "", False, mapping(None)
    for event in events:
        match event:
            case {"contentBlockStart": {"start": {"toolUse": _}}}:
                tool_call = True
            case {"contentBlockDelta": {"delta": {"text": str(text)}}}:
                words.append(text)
            case {"messageStop": {"stopReason": str(reason)}}:
                stop = reason
            case {"metadata": {"usage": billed}}:
                usage = mapping(billed)
            case _:
                pass  # thinking among them, which is no text
    if not stop:
        raise BedrockFailed("broken", "its answer broke off before the end.")
    sent = _tokens(usage, "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    return Reply(well_formed("".join(words)), stop, tool_call, sent, _tokens(usage, "outputTokens"))


def _tokens(usage: Mapping[str, Any], *names: str) -> int:
    """Count what was billed; input that came from a cache is counted apart by the service."""
    return sum(n for name in names if type(n := usage.get(name)) is int and n > 0)
