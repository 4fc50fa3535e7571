"""How much text a model takes at once, as far as is known by now."""

from foldmark.summarizers.bedrock.models import Model, units

_HEADROOM = 12_000  # tokens for an answer of some 2,000, as many models think before they write
_WIDER = 4  # times that, once, for a model that thought longer
_FILLED = 0.85  # of the window: the measure of a text is an estimate
_LEAST = 500.0  # units of text below which a piece is not made smaller
_HALVINGS = 12  # times that a piece may turn out too long, in one compaction
_GUESSED = 2_000.0  # units of text that the first guess counts for, beside what was billed


class Window:
    """The room in one request: for text in units, for the answer in tokens (`output`).

    What was billed corrects the guess of how many tokens a unit of text is.
    """

    def __init__(
        self, model: Model, *, context: int, output: int, measured: tuple[float, int]
    ) -> None:
        """Start with what is known; a `context` or `output` of 0 leaves the model's own."""
        self._context = context or model.context
        self.output = output or min(_HEADROOM, model.output)
        self._most = output or model.output
        sent, billed = measured
        self._sent = _GUESSED + sent
        self._billed = _GUESSED * model.tokens_a_unit + billed
        self._cap = float("inf")
        self._halvings = _HALVINGS

    def room(self, beside: str) -> float:
        """Tell how much text fits beside what else is sent, in units."""
        tokens = self._context * _FILLED - self.output
        fits = tokens * self._sent / self._billed - units(beside) - _LEAST
        return max(min(fits, self._cap), _LEAST)

    def bill(self, sent: float, billed: int) -> None:
        """Learn that so many units of text were so many tokens."""
        self._sent += sent
        self._billed += billed

    def halve(self, size: float) -> bool:
        """Make room for half of what turned out too long; False when that leads nowhere."""
        self._halvings -= 1
        self._cap = min(self._cap, size) / 2
        return self._halvings >= 0 and self._cap >= _LEAST

    def widen(self) -> bool:
        """Make more room for the answer; False when there is all there can be."""
        before, self.output = self.output, min(self.output * _WIDER, self._most)
        return self.output > before
