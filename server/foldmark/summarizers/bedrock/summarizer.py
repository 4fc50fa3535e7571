"""A summary by a model on Bedrock, of a session of any length.

    messages ---- rendered, redacted ----> pieces that fit the model's window
    piece 1 ------------------------------> notes 1
    piece 2 and notes 1 ------------------> notes 2 ... the last notes are the summary

Pieces are cut between messages. What is written is kept under a digest of all that it covers, so
a call that broke off, or a process that died, goes on behind the last notes.
"""

import hashlib
from bisect import bisect_left
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, TypeAlias

from foldmark import render
from foldmark.errors import StoreError, SummaryRejected
from foldmark.messages import Message
from foldmark.offload import offload
from foldmark.reasoning import Readable, strip_all
from foldmark.redaction import redacted
from foldmark.summarizers.bedrock import asking, models, prompt
from foldmark.summarizers.bedrock.asking import Patience
from foldmark.summarizers.bedrock.client import Client, Question, Reply
from foldmark.summarizers.bedrock.faults import BedrockFailed
from foldmark.summarizers.bedrock.window import Window
from foldmark.summary import END_MARK, Draft, Request, Usage, accept, prose

Effort: TypeAlias = Literal["", "low", "medium", "high", "xhigh", "max"]

_SHOWN = 3_000  # characters of a tool's input, of its output, and of thinking

_LONGEST = 3  # times its budget is more than a summary may have

_REFUSALS = ("refusal", "content_filtered", "guardrail_intervened")
_REFUSED = frozenset({"refusal_or_error", *(f"stop:{stop}" for stop in _REFUSALS)})
_ADVICE = {
    "truncated": "Set FOLDMARK_BEDROCK_MAX_OUTPUT higher, or FOLDMARK_BEDROCK_EFFORT lower.",
    "stop:guardrail_intervened": "A guardrail of the AWS account blocked it.",
    **dict.fromkeys(
        ("stop:refusal", "stop:content_filtered", "refusal_or_error"),
        "Set FOLDMARK_REASONING=drop, or another model in FOLDMARK_BEDROCK_MODEL.",
    ),
}


@dataclass(frozen=True, slots=True)
class Options:
    """What a user can set; limits are in tokens, and 0 leaves the model's own in force."""

    model: str
    context: int = 0
    output: int = 0
    effort: Effort = ""
    reasoning: Readable = "label"
    redact: bool = True


class Bedrock:
    """Lets a model on Bedrock write the summary."""

    name = "bedrock"
    from_ledger = False

    def __init__(self, options: Options, client: Client, patience: Patience | None = None) -> None:
        """Use a client, which opens nothing before the first summary."""
        self._options = options
        self._client = client
        self._patience = patience or Patience()

    async def summarize(self, request: Request) -> Draft:
        """Write the summary of the folded messages.

        Raises:
            BedrockFailed: There was no answer; the message names the cause and the way out.
            SummaryRejected: There was one that cannot be used.

        """
        measured = await request.memory.measured(self._options.model)
        writer = _Writer(self._options, self._client, self._patience, request, measured)
        written, notes = await writer.resumed()
        async for told in writer.record():
            if written:
                if told.digest == written:
                    writer.go_on(notes)
                    written = ""
            else:
                await writer.add(told)
        return await writer.finish()


@dataclass(frozen=True, slots=True)
class _Told:
    """A message that the model is to read, the `read`-th of all, and how long it is then.

    `digest` covers it, everything before it, and what the model is told to do with them. `own`
    holds the ids of the calls to Foldmark's own tools so far.
    """

    message: Message
    units: float
    digest: str
    read: int
    own: frozenset[str]


class _Writer:
    """One summary under way: the notes so far, and the messages that wait for the next piece."""

    def __init__(
        self,
        options: Options,
        client: Client,
        patience: Patience,
        request: Request,
        measured: tuple[float, int],
    ) -> None:
        self._options = options
        self._client = client
        self._patience = patience
        self._request = request
        self._window = Window(
            models.known(options.model),
            context=options.context,
            output=options.output,
            budget=request.budget,
            measured=measured,
        )
        self._system = prompt.system(request.budget)
        self._waiting: list[_Told] = []
        self._usage = Usage()
        self._anchors = request.ledger.anchors()
        self._earlier = self._clean(request.earlier)
        self.go_on("")

    async def record(self) -> AsyncGenerator[_Told]:
        """Read the messages, and measure them as the model is to read them."""
        digest = hashlib.blake2b(digest_size=16)
        for setting in (self._options.model, self._system, self._request.instructions):
            digest.update(setting.encode(errors="replace") + b"\0")
        read, own = 0, frozenset[str]()
        async for batch in self._request.folded():
            for message in batch:
                if calls := render.own_calls([message]):
                    own |= calls
            texts = await offload(self._texts, batch, own)
            for message, text in zip(batch, texts, strict=True):
                read += 1
                if text:
                    digest.update(text.encode(errors="replace") + b"\0")
                    yield _Told(message, models.units(text), digest.hexdigest(), read, own)

    async def resumed(self) -> tuple[str, str]:
        """Find the last notes that were kept of this very record: their digest, and themselves.

        Notes on all of it were a summary, had they been good enough for one.
        """
        drafts = await self._request.memory.drafts()
        kept, last = "", ""
        if drafts:
            async for told in self.record():
                kept, last = (told.digest if told.digest in drafts else kept), told.digest
        if kept and kept == last:
            try:
                accept(
                    self._draft(drafts[kept]), source=self._request.source, anchors=self._anchors
                )
            except SummaryRejected:
                return "", ""
        return kept, drafts.get(kept, "")

    def go_on(self, notes: str) -> None:
        """Begin the next piece behind these notes."""
        self._notes = notes
        self._left = self._room()

    async def add(self, told: _Told) -> None:
        """Take the next message; write a piece first if there is no more room."""
        if self._waiting and told.units > self._left:
            await self._write()
        self._waiting.append(told)
        self._left -= told.units

    async def finish(self) -> Draft:
        """Write what still waits; the notes are then the summary."""
        if self._waiting:
            await self._write(last=True)
        return self._draft(self._notes)

    async def _write(self, *, last: bool = False) -> None:
        """Bring the waiting messages into the notes, in smaller pieces where they do not fit."""
        pieces, self._waiting = [self._waiting], []
        while pieces:
            piece = pieces.pop(0)
            size = sum(told.units for told in piece)
            if len(piece) > 1 and size > self._room():
                pieces = [*_halves(piece), *pieces]
                continue
            await self._report(piece[0].read - 1)
            try:
                self.go_on(await self._written(piece, last=last and not pieces))
            except BedrockFailed as error:
                smaller = min(size, self._room())
                if error.kind not in ("too_long", "slow") or not self._window.halve(smaller):
                    raise
                pieces = [*_halves(piece), *pieces]
                continue
            with suppress(StoreError):  # what is written counts, kept or not
                await self._request.memory.keep(piece[-1].digest, self._notes)
            await self._report(piece[-1].read)

    async def _report(self, read: int) -> None:
        if self._request.progress:
            await self._request.progress("summarizing", read, self._request.total)

    async def _written(self, piece: Sequence[_Told], *, last: bool) -> str:
        """Ask for the notes up to the end of a piece; after a refusal once more, without thinking.

        Raises:
            BedrockFailed: There was no answer.
            SummaryRejected: There was one that cannot be used.

        """
        record = await offload(self._record, piece, self._options.reasoning)
        try:
            return self._judged(await self._answer(record), last=last)
        except SummaryRejected as error:
            if error.code not in _REFUSED:
                raise
            without = await offload(self._record, piece, "drop")
            if without in ("", record):
                raise
            return self._judged(await self._answer(without), last=last)

    async def _answer(self, record: str) -> Reply:
        """Ask about one record; with more room for the answer if it was cut off."""
        question = Question(
            self._options.model,
            self._system,
            prompt.user(
                self._fitted(record),
                so_far=self._notes,
                earlier="" if self._notes else self._earlier,
                instructions=self._clean(self._request.instructions),
            ),
            self._window.output,
            self._options.effort,
        )
        reply = await self._ask(question)
        if reply.stop == "max_tokens" and self._window.wider > question.max_tokens:
            reply = await self._ask(replace(question, max_tokens=self._window.wider))
        if reply.stop == "model_context_window_exceeded":
            raise BedrockFailed("too_long", "the model's window was full before its answer ended.")
        return reply

    async def _ask(self, question: Question) -> Reply:
        reply = await asking.ask(self._client, question, self._patience)
        self._usage = Usage(
            self._usage.input_tokens + reply.input_tokens,
            self._usage.output_tokens + reply.output_tokens,
        )
        units = models.units(question.system) + models.units(question.user)
        if self._window.bill(units, reply.input_tokens):
            with suppress(StoreError):  # no figure is worth an answer that is paid for
                await self._request.memory.measure(question.model, units, reply.input_tokens)
        return reply

    def _judged(self, reply: Reply, *, last: bool) -> str:
        # Nobody set a stop sequence, so one that stopped it is none of ours.
        stop = "stop_sequence of nobody's" if reply.stop == "stop_sequence" else reply.stop
        draft = Draft(reply.text, stop, reply.tool_call, self._system, ends=True)
        text = self._clean(prose(reply.text))  # it goes to the model again
        try:
            accept(draft, source=self._request.source, anchors=self._anchors if last else ())
            if len(text) > _LONGEST * self._request.budget:
                raise SummaryRejected("too_long", f"it has {len(text):,} characters")
        except SummaryRejected as error:
            advice = f"{_ADVICE.get(error.code, '')} Call again, or pass a `summary` of your own"
            raise SummaryRejected(error.code, error.reason, advice.strip()) from None
        return text

    def _draft(self, notes: str) -> Draft:
        """Hand notes over in their tags, as they may hold such a tag themselves."""
        text = f"<summary>\n{notes}\n{END_MARK}"
        return Draft(text, "end_turn", prompt=self._system, ends=True, usage=self._usage)

    def _texts(self, batch: Sequence[Message], own: frozenset[str]) -> list[str]:
        readable = self._options.reasoning
        return [_record([message], readable, own, self._clean) for message in batch]

    def _record(self, piece: Sequence[_Told], readable: Readable) -> str:
        messages = [told.message for told in piece]
        return _record(messages, readable, piece[-1].own, self._clean)

    def _clean(self, text: str) -> str:
        return redacted(text) if self._options.redact else text

    def _room(self) -> float:
        """Tell how much text fits beside the orders and the notes, in units."""
        beside = (self._system, self._request.instructions, self._notes or self._earlier)
        return self._window.room("".join(beside))

    def _fitted(self, record: str) -> str:
        """Cut one message that is longer than a piece; its middle stays in the log."""
        units, room = models.units(record), self._room()
        return render.clip(record, int(len(record) * min(room / max(units, 1), 1)), indent="  ")


def _record(
    messages: Sequence[Message], readable: Readable, own: frozenset[str], clean: render.Clean
) -> str:
    """Write messages for the model, the answers of Foldmark's own tools left out.

    With `label` thinking is rendered from the block itself, so that no text can forge its label.
    """
    told = messages if readable == "label" else list(strip_all(messages, readable="drop"))
    return render.record(
        told, limit=_SHOWN, echo=False, own=own, unanswered=_never_answered(told), clean=clean
    )


def _halves(piece: list[_Told]) -> list[list[_Told]]:
    """Part a piece between two messages, about where half of its text is."""
    sizes = list(accumulate(told.units for told in piece))
    middle = bisect_left(sizes, sizes[-1] / 2)
    middle = min(max(middle, 1), len(piece) - 1)
    return [part for part in (piece[:middle], piece[middle:]) if part]


def _never_answered(messages: Sequence[Message]) -> frozenset[str]:
    """Collect the calls without a result; the last answer's may find theirs in the next piece."""
    last = max((at for at, one in enumerate(messages) if one.role == "assistant"), default=0)
    waiting = {call.id for message in messages[last:] for call in message.calls}
    return render.unanswered(messages) - waiting
