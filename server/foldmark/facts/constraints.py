"""What the person ruled: constraints, preferences and values, word for word.

Only a person's own words come here. A rule said again with another number, name or value replaces
the older one, which stays beside it as "earlier".
"""

import re
from dataclasses import dataclass, field

from foldmark.facts.sections import Item
from foldmark.facts.words import cited, clip, content_words, sentences

_KEPT = 300
_SCANNED = 100_000
_LONGEST = 420
_SHORTEST = 8
_SHORT_PROMPT = 3_000

_LASTING = re.compile(
    r"\b(?:never|always|must(?:n't)?|from now on|for the rest of|(?:every|each) time|this session"
    r"|important(?:ly)?|remember|at all times|under no circumstances|no matter what|going forward"
    r"|whatever happens|mandatory|required|forbidden|not allowed|off[- ]limits"
    r"|hard (?:rule|limit|requirement)"
    r"|niemals|immer|muss|jamais|toujours|nunca|siempre|sempre|никогда|всегда|нельзя|обязательно)\b"
    r"|^(?:RULE|SAFETY|CONSTRAINT|POLICY|REQUIREMENT|IMPORTANT|NOTE|WARNING)\b.{0,20}:"
    r"|永远|必须|不要|总是|绝不|禁止|必ず|絶対|しないで|항상|절대",
    re.IGNORECASE,
)
_FIRM = re.compile(
    r"\b(?:do not|don'?t|only|stop|avoid|no longer|without|except|unless|instead of|rather than"
    r"|make sure|ensure|keep|leave|cannot|can't|shouldn'?t|should not|won'?t|nothing|nobody"
    r"|not (?:the|to|a|in|on|with)|kein\w{0,2}|nicht|nur|pas de|sans|sin|solo"
    r"|senza|только|не)\b"
    r"|, not \w"
    r"|^(?:when(?:ever)?|before|after|once|if|until|while|as soon as)"
    r" (?:you|we|an?|the|any|each|there|it|i)\b"
    r"|^(?:end|start|begin|finish|prefix|close|open) (?:every|each|all|your)\b"
    r"|^(?:reply|respond|answer|write|speak|report) (?:in|with|using)\b"
    r"|\b(?:wait for|ask me|show me|tell me|check with me|confirm with|let me know)\b"
    r"|^[A-Z][\w ]{2,24}: \S",
    re.IGNORECASE,
)
_SOFT = re.compile(
    r"\b(?:should|prefer(?:ably|red|s)?|needs? to|ha(?:s|ve) to|wants?|would like|rather|hate"
    r"|ideally|please|use|let'?s|instead|limit|at most|at least|no more than|maximum|minimum"
    r"|for (?:each|every|all)|soll\w{0,3}|bitte|debe|doit|нужно|надо)\b",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r"^(?:please )?(?:name|wrap|cite|quote|skip|put|place|mark|label|list|sort|format|print|log"
    r"|include|exclude|treat|assume|call|refer|stick|follow|respect|round|capitali[sz]e|sign"
    r"|number|indent|write|ignore|count|spell|group|split|store|save|comment|explain)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\$\d|`[^`]{1,80}`|\b\d{3,}\b|\b[A-Z]{2,8}-\d{1,6}\b|\bv\d+\.\d|[\w-]+@[\w-]+"
    r"|\b\w+ (?:is|are|=) \S"
)
_QUESTION = re.compile(r"\?[\"')\]]?$")
_LOG = re.compile(
    r"^(?:\S{0,40}\d{2}:\d{2}:\d{2}|[\[({<\"$|=#@+]|\w+\(|at \S+\(|\d+[:|])|[{};]$|={3,}|-{4,}"
)
_LEAD = re.compile(
    r"^(?:actually|correction|update|sorry|no|ok(?:ay)?|oh|wait|hmm|also|and|but|so|now|yes"
    r"|please|scratch that|change of plan|on second thought)\b[,:;.!\s-]{0,4}",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"`[^`]{1,80}`|\"[^\"]{1,80}\"|'[^'\s]{1,80}'|\S*\d\S*")
_COPULA = re.compile(r"\s(?:is|are|was|will be|should be|must be|=)\s")


@dataclass(slots=True)
class _Rule:
    text: str
    source: str
    rank: int
    at: int
    earlier: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Constraints:
    """Rules by what they are about, the newest wording of each current."""

    rules: dict[str, _Rule] = field(default_factory=dict[str, _Rule])
    at: int = 0
    dropped: int = 0

    def add(self, prompt: str, source: str) -> None:
        """Take the rules out of one message of the person."""
        for sentence in sentences(prompt, _SCANNED):
            rank = ranked(sentence)
            if rank is None:
                continue
            if rank and len(prompt) > _SHORT_PROMPT:  # more likely pasted than ruled
                rank += 1
            self.at += 1
            self._put(clip(sentence, _LONGEST), source, rank)

    def _put(self, text: str, source: str, rank: int) -> None:
        key = subject(text)
        rule = _Rule(text, source, rank, self.at)
        if old := self.rules.pop(key, None):
            rule.rank = min(rank, old.rank)
            differs = _bare(old.text) != _bare(text)
            rule.earlier = [*old.earlier, old.text][-3:] if differs else old.earlier
        self.rules[key] = rule
        if len(self.rules) > _KEPT:
            worst = max(self.rules, key=lambda key: (self.rules[key].rank, -self.rules[key].at))
            del self.rules[worst]
            self.dropped += 1

    def items(self) -> tuple[Item, ...]:
        """The rules, binding ones first, then the newest."""
        ordered = sorted(self.rules.values(), key=lambda rule: (rule.rank, -rule.at))
        return tuple(_item(rule) for rule in ordered)

    @property
    def count(self) -> int:
        """How many rules were found."""
        return len(self.rules) + self.dropped


def ranked(sentence: str) -> int | None:
    """Rank a sentence as a rule: 0 for the session, 1 firm, 2 soft, 3 a value; None if no rule."""
    words = sentence[:_LONGEST]
    if (len(words) < _SHORTEST and words.isascii()) or _LOG.search(words):
        return None
    lasting = _LASTING.search(words)
    if _QUESTION.search(sentence) and not lasting:
        return None
    if lasting:
        return 0
    if _FIRM.search(words):
        return 1
    if _SOFT.search(words) or _MANNER.match(words):
        return 2
    return 3 if len(sentence) <= 200 and _VALUE.search(words) else None


def subject(text: str) -> str:
    """Name what a rule is about, the same for two rules that differ only in a value."""
    words = text
    for _ in range(3):
        words = _LEAD.sub("", words)
    words = _VARIABLE.sub("#", words.lower().rstrip(".!"))
    found = _COPULA.search(words)
    if found and "#" in words[found.end() :] and words[found.end() :].count(" ") < 6:
        about = content_words(words[: found.start()])
        if about:
            return " ".join(about)
    masked = " ".join(word for word in content_words(words) if word != "actually")
    return f"{masked} {words.count('#')}" if len(masked) > 8 else words


def _bare(text: str) -> list[str]:
    return [word.strip(".,;:!") for word in text.lower().split()]


def _item(rule: _Rule) -> Item:
    forms = [rule.text]
    if rule.earlier:
        forms.append(f"{rule.text} (earlier: {' / '.join(reversed(rule.earlier))})")
    forms.append(cited(forms[-1], rule.source))
    return Item(tuple(dict.fromkeys(forms)), rule.source, known_by=rule.text)
