"""How much text a model takes at once, as far as is known by now."""

from foldmark.summarizers.bedrock.models import Model, units

_HEADROOM = 8_000  # tokens beside those of the summary, as many models think before they write
_TOKENS_A_CHAR = 0.6  # of a summary, in the densest tokenizer, with room to spare
_WIDER = 4  # times the room for an answer, once, for a model that thought longer
_FILLED = 0.85  # of the window: the measure of a text is an estimate
_LEAST = 500.0  # units of text below which a piece is not made smaller
_HALVINGS = 12  # times that a piece may turn out too long, in one compaction
_ODD = 8.0  # times more or less than a token a unit is a mistake of somebody's
_GUESSED = 2_000.0  # units of text that the first guess counts for, beside what was billed


class Window:
    """The room in one request: for text in units, for the answer in tokens (`output`).

    What was billed corrects the guess of how many tokens a unit of text is.
    """

    def __init__(
        self, model: Model, *, context: int, output: int, budget: int, measured: tuple[float, int]
    ) -> None:
        """Start with what is known; a `context` or `output` of 0 leaves the model's own.

        `budget` is the most characters of the summary.
        """
        self._context = context or model.context
        usual = min(_HEADROOM + int(budget * _TOKENS_A_CHAR), model.output, self._context // 3)
        self.output = output or usual
        self._most = output or model.output
        self._sent = _GUESSED
        self._billed = _GUESSED * model.tokens_a_unit
        self.bill(*measured)
        self._cap = float("inf")
        self._halvings = _HALVINGS

    def room(self, beside: str) -> float:
        """Tell how much text fits beside what else is sent, in units."""
        tokens = self._context * _FILLED - self.output
        fits = tokens * self._sent / self._billed - units(beside) - _LEAST
        return max(min(fits, self._cap), _LEAST)

    def bill(self, sent: float, billed: int) -> bool:
        """Learn that so many units of text were so many tokens; False if that cannot be."""
        if not sent / _ODD <= billed <= sent * _ODD:
            return False
        self._sent += sent
        self._billed += billed
        return True

    def halve(self, size: float) -> bool:
        """Make room for half of what turned out too long; False when that leads nowhere."""
        self._halvings -= 1
        self._cap = min(self._cap, size) / 2
        return self._halvings >= 0 and self._cap >= _LEAST

    @property
    def wider(self) -> int:
        """The room for an answer that did not fit into `output`, which may be no more."""
        return max(min(self.output * _WIDER, self._most, self._context // 2), self.output)
