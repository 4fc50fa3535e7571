"""What the person asked for: the first request, the latest ones, word for word."""

from collections import deque
from dataclasses import dataclass, field

from foldmark.facts.sections import Item
from foldmark.facts.words import cited, clip, ends, one_line

_KEPT = 80
_LONGEST = 4_000
_NOTED = 500


@dataclass(frozen=True, slots=True)
class Said:
    """Words on one line, and the message they are from."""

    text: str
    source: str


@dataclass(slots=True)
class Requests:
    """The person's messages."""

    first: Said | None = None
    recent: deque[Said] = field(default_factory=lambda: deque[Said](maxlen=_KEPT))
    count: int = 0

    def add(self, prompt: str, source: str) -> None:
        """Take one message of the person."""
        text = clip(one_line(ends(prompt, _LONGEST * 2)), _LONGEST, _note(source))
        self.count += 1
        self.recent.append(Said(text, source))
        if self.first is None:
            self.first = self.recent[-1]

    @property
    def last(self) -> Said | None:
        """The latest request."""
        return self.recent[-1] if self.recent else None

    def goal(self, shortest: int) -> tuple[Item, ...]:
        """The first and the latest request."""
        if self.first is None or self.last is None:
            return ()
        first = quoted(self.first, shortest, label="First request: ")
        if self.count == 1:
            return (first,)
        return (first, quoted(self.last, shortest, label="Latest request: "))

    def earlier(self, shortest: int) -> tuple[Item, ...]:
        """Every request between the first and the latest, newest first."""
        between = list(self.recent)[:-1]
        if self.count == len(self.recent):
            between = between[1:]
        seen = {self.first.text, self.last.text} if self.first and self.last else set[str]()
        items: list[Item] = []
        for one in reversed(between):
            if one.text not in seen:
                seen.add(one.text)
                items.append(quoted(one, shortest))
        return tuple(items)


def quoted(one: Said, shortest: int, label: str = "") -> Item:
    """Quote words in ever longer forms; what is cut names the message that holds the rest."""
    forms = [label + clip(one.text, shortest)]
    for room in (shortest * 3, shortest * 8, _LONGEST):
        form = label + clip(one.text, room, _note(one.source) if room >= _NOTED else "")
        if len(form) > len(forms[-1]):
            forms.append(form)
    if label:
        forms.append(cited(forms[-1], one.source))
    whole = len(one.text) <= shortest and not label
    return Item(tuple(dict.fromkeys(forms)), one.source, known_by=one.text if whole else "")


def _note(source: str) -> str:
    """Say where the whole text is."""
    return f" message_id={source} " if source else ""
