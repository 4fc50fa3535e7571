"""What the assistant said: where it stands, what it found, and the latest of the conversation."""

import re
from collections import Counter, deque
from dataclasses import dataclass, field

from foldmark.facts.asked import Said
from foldmark.facts.sections import Item
from foldmark.facts.words import clip, content_words, ends, one_line, sentences

_KEPT_TEXTS = 60
_KEPT_FINDINGS = 80
_FIRST_CAUSES = 3
_KEPT_WORDS = 4_000
_LONGEST = 6_000

_FINDING = (
    re.compile(
        r"\b(?:root cause|decided|decision|turns out|caused by|conclusion"
        r"|the (?:issue|problem|bug|reason|culprit) (?:is|was))\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:because|instead of|rather than|the reason|the fix (?:is|was))\b", re.I),
    re.compile(
        r"\b(?:which means|so that|trade-?off|chose|confirmed|discovered|going with|therefore"
        r"|found (?:that|the|it)|key (?:insight|finding|point)|we (?:should|will) use|this means"
        r"|not needed|no longer|workaround|rejected|verified)\b",
        re.IGNORECASE,
    ),
)
_INTENT = re.compile(
    r"\b(?:let me|i'?ll|i will|i'?m going to|next|now i|going to|need to|should i|want me to"
    r"|shall i|would you like|remaining|then)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said, and by whom."""

    who: str
    said: Said


@dataclass(slots=True)
class Prose:
    """The assistant's own words, and the latest of everything that was said."""

    last: Said | None = None
    findings: dict[Said, int] = field(default_factory=dict[Said, int])
    turns: deque[Turn] = field(default_factory=lambda: deque[Turn](maxlen=_KEPT_TEXTS))
    events: deque[Said] = field(default_factory=lambda: deque[Said](maxlen=_KEPT_TEXTS))
    frequent: Counter[str] = field(default_factory=Counter[str])

    def said(self, text: str, source: str) -> None:
        """Take words of the assistant."""
        line = one_line(ends(text, _LONGEST * 2))
        if not line:
            return
        self.last = Said(clip(line, _LONGEST), source)
        self.turns.append(Turn("assistant", Said(clip(line, 2_000), source)))
        self.count(text)
        for sentence in sentences(text):
            if 20 <= len(sentence) <= 500 and (rank := _rank(sentence)) is not None:
                found = Said(sentence, source)
                self.findings.pop(found, None)
                self.findings[found] = rank
        while len(self.findings) > _KEPT_FINDINGS:
            del self.findings[max(self.findings, key=lambda found: self.findings[found])]

    def heard(self, text: str, source: str) -> None:
        """Take words of the person."""
        self.turns.append(Turn("user", Said(clip(one_line(ends(text, 4_000)), 2_000), source)))
        self.count(text)

    def happened(self, label: str, answer: str, source: str) -> None:
        """Take a tool's call and answer."""
        text = clip(one_line(ends(answer, 1_200)), 500)
        self.events.append(Said(f"{label} -> {text}" if text else label, source))

    def count(self, text: str) -> None:
        """Count the words that the conversation turns on."""
        self.frequent.update(word for word in content_words(ends(text)) if len(word) >= 5)
        if len(self.frequent) > 2 * _KEPT_WORDS:
            kept = sorted(self.frequent.items(), key=lambda pair: (-pair[1], pair[0]))[:_KEPT_WORDS]
            self.frequent = Counter(dict(kept))

    def finding_items(self) -> tuple[Item, ...]:
        """Decisions and findings, the newest first."""
        newest = list(reversed(self.findings.items()))
        causes = [found for found, rank in newest if rank == 0][:_FIRST_CAUSES]
        reasons = [found for found, rank in newest if rank < 2]
        lesser = [found for found, rank in newest if rank == 2]
        return tuple(
            Item(
                tuple(dict.fromkeys(clip(found.text, room) for room in (200, 500))),
                found.source,
                known_by=found.text[:160],
            )
            for found in dict.fromkeys([*causes, *reasons, *lesser])
        )

    def state_items(self, shortest: int) -> tuple[Item, ...]:
        """The assistant's last words."""
        if self.last is None:
            return ()
        rooms = (shortest, shortest * 3, shortest * 8, _LONGEST)
        return (
            Item(
                tuple(dict.fromkeys(clip(self.last.text, room) for room in rooms)), self.last.source
            ),
        )

    def intent(self, room: int) -> str:
        """What the assistant said it would do, else how its last words end."""
        if self.last is None:
            return ""
        told = list(sentences(self.last.text))
        told_next = [sentence for sentence in told if _INTENT.search(sentence)]
        chosen = (told_next or told)[-1:]
        return clip(chosen[0], room) if chosen else clip(self.last.text, room)

    def turn_items(self) -> tuple[Item, ...]:
        """What was said, newest first, for room that is left over."""
        return tuple(
            Item(
                tuple(
                    dict.fromkeys(
                        f"{turn.who}: {clip(turn.said.text, room)}" for room in (400, 2_000)
                    )
                ),
                turn.said.source,
                known_by=turn.said.text[:400],
            )
            for turn in reversed(self.turns)
        )

    def event_items(self) -> tuple[Item, ...]:
        """What tools did, newest first, for room that is left over."""
        events = {event.text: event for event in reversed(self.events)}
        return tuple(Item((text,), event.source, known_by=text) for text, event in events.items())


def _rank(sentence: str) -> int | None:
    """Rank a finding: 0 a cause or decision, 1 one with a reason, 2 a lesser one, None if none."""
    return next((rank for rank, kind in enumerate(_FINDING) if kind.search(sentence)), None)
