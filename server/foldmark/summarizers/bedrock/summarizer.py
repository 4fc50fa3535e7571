"""A summary by a model on Bedrock, of a session of any length.

    messages ---- rendered, redacted ----> pieces that fit the model's window
    piece 1 ------------------------------> notes 1
    piece 2 and notes 1 ------------------> notes 2 ... the last notes are the summary

Pieces are cut between messages. What is written is kept under a digest of all that it covers, so
a call that broke off, or a process that died, goes on behind the last notes.
"""

import hashlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from foldmark import render
from foldmark.errors import SummaryRejected
from foldmark.messages import Message
from foldmark.reasoning import Readable, strip
from foldmark.redaction import redacted
from foldmark.summarizers.bedrock import asking, models, prompt
from foldmark.summarizers.bedrock.asking import Patience
from foldmark.summarizers.bedrock.client import Asked, Question, Reply
from foldmark.summarizers.bedrock.faults import BedrockFailed
from foldmark.summary import Draft, Request, Usage, accept, prose

Effort: TypeAlias = Literal["", "low", "medium", "high", "xhigh", "max"]

_HEADROOM = 12_000  # tokens for an answer of some 2,000, as many models think before they write
_FILLED = 0.85  # of the window: the measure of a text is an estimate
_SHOWN = 3_000  # characters of a tool's input, of its output, and of thinking
_LEAST_ROOM = 500.0  # units of text below which a piece is not made smaller
_HALVINGS = 12  # times that a piece may turn out too long, in one compaction
_GUESSED = 2_000.0  # units of text that the first guess counts for, beside what was billed

_REFUSALS = ("refusal", "content_filtered", "guardrail_intervened")
_REFUSED = frozenset({"refusal_or_error", *(f"stop:{stop}" for stop in _REFUSALS)})


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

    def __init__(self, options: Options, client: Asked, patience: Patience | None = None) -> None:
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
        drafts = await request.memory.drafts()
        written = ""
        if drafts:
            async for told in writer.record():
                written = told.digest if told.digest in drafts else written
        async for told in writer.record():
            if written:
                writer.pass_over(told)
                if told.digest == written:
                    writer.notes, written = drafts[written], ""
            else:
                await writer.add(told)
        return await writer.finish()


@dataclass(frozen=True, slots=True)
class _Told:
    """A message as the model reads it, the `read`-th of all.

    `digest` covers it, everything before it, and what the model is told to do with them. `own`
    holds the ids of the calls to Foldmark's own tools so far.
    """

    message: Message
    text: str
    units: float
    digest: str
    read: int
    own: frozenset[str]


class _Writer:
    """One summary under way: the notes so far, and the messages that wait for the next piece."""

    def __init__(
        self,
        options: Options,
        client: Asked,
        patience: Patience,
        request: Request,
        measured: tuple[float, int],
    ) -> None:
        self._options = options
        self._client = client
        self._patience = patience
        self._request = request
        self._units, self._tokens = measured
        self._model = models.known(options.model)
        self._system = prompt.system(request.budget)
        self._output = options.output or min(_HEADROOM, self._model.output)
        self._most = options.output or self._model.output
        self._cap = float("inf")
        self._halvings = _HALVINGS
        self._waiting: list[_Told] = []
        self._source = 0
        self._usage = Usage()
        self.notes = ""

    async def record(self) -> AsyncGenerator[_Told]:
        """Read the messages as the model is to read them."""
        own = frozenset[str]()
        digest = hashlib.blake2b(digest_size=16)
        for setting in (self._options.model, self._system, self._request.instructions):
            digest.update(setting.encode(errors="replace") + b"\0")
        read = 0
        async for batch in self._request.folded():
            for message in batch:
                read += 1
                own |= render.own_calls([message])
                if text := self._shown(message, self._options.reasoning, own):
                    digest.update(text.encode(errors="replace") + b"\0")
                    units = models.units(text)
                    yield _Told(message, text, units, digest.hexdigest(), read, own)

    def pass_over(self, told: _Told) -> None:
        """Count a message that the notes already cover."""
        self._source += len(told.text)

    async def add(self, told: _Told) -> None:
        """Take the next message; write a piece first if there is no more room."""
        waiting = sum(one.units for one in self._waiting)
        if self._waiting and waiting + told.units > self._room():
            await self._write()
        self._waiting.append(told)

    async def finish(self) -> Draft:
        """Write what still waits; the notes are then the summary."""
        if self._waiting:
            await self._write()
        return Draft(self.notes, "end_turn", prompt=self._system, usage=self._usage)

    async def _write(self) -> None:
        """Bring the waiting messages into the notes, in smaller pieces where they do not fit."""
        pieces = [self._waiting]
        self._waiting = []
        while pieces:
            piece = pieces.pop(0)
            try:
                self.notes = await self._written(piece)
            except BedrockFailed as error:
                if error.kind != "too_long" or not self._halve(piece):
                    raise
                middle = len(piece) // 2
                pieces = [half for half in (piece[:middle], piece[middle:]) if half] + pieces
                continue
            await self._request.memory.keep(piece[-1].digest, self.notes)
            self._source += sum(len(told.text) for told in piece)
            if self._request.progress:
                await self._request.progress("summarizing", piece[-1].read, self._request.total)

    def _halve(self, piece: Sequence[_Told]) -> bool:
        """Make room for half of what turned out too long; False when that leads nowhere."""
        self._halvings -= 1
        self._cap = min(self._cap, self._room(), sum(told.units for told in piece)) / 2
        return self._halvings >= 0 and self._cap >= _LEAST_ROOM

    async def _written(self, piece: Sequence[_Told]) -> str:
        """Ask for the notes up to the end of a piece; after a refusal once more, without thinking.

        Raises:
            BedrockFailed: There was no answer.
            SummaryRejected: There was one that cannot be used.

        """
        record = "\n\n".join(told.text for told in piece)
        source = self._source + len(record)
        try:
            return self._judged(await self._answer(record), source)
        except SummaryRejected as error:
            if error.code not in _REFUSED or self._options.reasoning == "drop":
                raise
            shown = (self._shown(told.message, "drop", told.own) for told in piece)
            without = "\n\n".join(filter(None, shown))
            if without == record or not without:
                raise
            return self._judged(await self._answer(without), source)

    async def _answer(self, record: str) -> Reply:
        """Ask about one record; with more room for the answer if it was cut off."""
        question = Question(
            self._options.model,
            self._system,
            prompt.user(
                self._fitted(record),
                so_far=self.notes,
                earlier="" if self.notes else self._request.earlier,
                instructions=self._request.instructions,
            ),
            self._output,
            self._options.effort,
        )
        reply = await self._ask(question)
        if reply.stop == "max_tokens" and self._output < self._most:
            self._output = min(self._output * 4, self._most)
            reply = await self._ask(replace(question, max_tokens=self._output))
        if reply.stop == "model_context_window_exceeded":
            raise BedrockFailed("too_long", "the model's window was full before its answer ended.")
        return reply

    async def _ask(self, question: Question) -> Reply:
        reply = await asking.ask(self._client, question, self._patience)
        self._usage = Usage(
            self._usage.input_tokens + reply.input_tokens,
            self._usage.output_tokens + reply.output_tokens,
        )
        if reply.input_tokens:
            units = models.units(question.system) + models.units(question.user)
            self._units += units
            self._tokens += reply.input_tokens
            await self._request.memory.measure(question.model, units, reply.input_tokens)
        return reply

    def _judged(self, reply: Reply, source: int) -> str:
        draft = Draft(reply.text, reply.stop, reply.tool_call, self._system, ends=True)
        accept(draft, source=source)
        return redacted(prose(reply.text))

    def _shown(self, message: Message, readable: Readable, own: frozenset[str]) -> str:
        stripped = strip(message, readable=readable)
        if stripped is None:
            return ""
        # Labelled thinking is rendered from the block itself, so that nothing can forge its label.
        shown = message if readable == "label" else stripped
        text = render.text(shown, limit=_SHOWN, echo=False, own=own)
        return redacted(text) if self._options.redact else text

    def _room(self) -> float:
        """Tell how much text fits beside the orders, the notes and the answer, in units."""
        window = (self._options.context or self._model.context) * _FILLED - self._output
        orders = models.units(self._system + self.notes + self._request.earlier) + _LEAST_ROOM
        return max(min(window / self._tokens_a_unit() - orders, self._cap), _LEAST_ROOM)

    def _tokens_a_unit(self) -> float:
        guessed = self._model.tokens_a_unit * _GUESSED
        return (guessed + self._tokens) / (_GUESSED + self._units)

    def _fitted(self, record: str) -> str:
        """Cut one message that is longer than a piece; its middle stays readable in the log."""
        units, room = models.units(record), self._room()
        return render.shortened(record, int(len(record) * min(room / max(units, 1), 1)))
