"""Names in play: paths, identifiers, flags, commits and URLs that the work turns on.

A name scores each time it comes up, recent times more; what scores is likely to be used again.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass, field

from foldmark.facts.sections import Item
from foldmark.facts.words import ends, one_line

_KEPT = 6_000
_HALF_LIFE = 45
_TOKEN = re.compile(r"[^\s\"'`(),;<>\[\]{}|=*!?\\]{4,160}")
_URL = re.compile(r"https?://[^\s\"'`<>()\[\]{}|\\^]{4,300}")
_COMMIT_MADE = re.compile(
    r"^\[([\w./-]{1,120})(?: \(root-commit\))? ([0-9a-f]{7,40})\] ?(.{0,120})", re.MULTILINE
)
_PUSHED = re.compile(
    r"^\s{0,8}[+ ]?\s?([0-9a-f]{7,40})\.\.\.?([0-9a-f]{7,40})\s+(\S{1,120}) -> (\S{1,120})",
    re.MULTILINE,
)
_ON_BRANCH = re.compile(r"(?:On branch|Switched to (?:a new )?branch) '?([\w./-]{1,120})")
_HASH = re.compile(r"^(?=[0-9a-f]*\d)[0-9a-f]{7,40}$")
_ESCAPED = re.compile(r"\\[ntr]")
_FLAG = re.compile(r"^--[a-z][\w-]{1,40}$")
_PATH = re.compile(r"^(?:[\w.@~+-]{0,80}/){1,20}[\w.@+-]{1,100}$|^[\w-]{1,80}\.[a-zA-Z]\w{0,5}$")
_IDENTIFIER = re.compile(r"^_*[^\W_]\w*(?:[.:]{1,2}\w+)*$")
_MIXED = re.compile(r"[a-z][A-Z]|[a-zA-Z]_[a-zA-Z]|[A-Z]{2}[a-z]|\w[.:]\w|\w_\w")
_LEAD = ",:;!?-'\""
_TAIL = ".,:;!?-'\"/"


@dataclass(slots=True)
class Names:
    """Scores of names, decaying with the session; paths are named from `project` on."""

    project: str = ""
    scores: dict[str, float] = field(default_factory=dict[str, float])
    unit: float = 1.0

    def step(self) -> None:
        """Go on by one message: whatever comes later weighs more."""
        self.unit *= 2 ** (1 / _HALF_LIFE)
        if self.unit > 1e100:
            self.scores = {name: score / self.unit for name, score in self.scores.items()}
            self.unit = 1.0

    def add(self, text: str, weight: float, room: int) -> None:
        """Score the names in text."""
        scores, gain = self.scores, weight * self.unit
        inside = f"{self.project.rstrip('/')}/"
        text = _ESCAPED.sub(" ", ends(text, room))
        for token in _TOKEN.findall(text):
            if name := named(token.removeprefix(inside)):
                scores[name] = scores.get(name, 0.0) + gain
        if len(scores) > 2 * _KEPT:
            kept = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:_KEPT]
            self.scores = dict(kept)

    def best(self) -> list[str]:
        """All names, the most in play first."""
        return sorted(self.scores, key=lambda name: (-self.scores[name], name))


def named(token: str) -> str:
    """Take the name in a token, empty when it is an ordinary word."""
    token = (token if token.startswith("--") else token.lstrip(_LEAD)).rstrip(_TAIL)
    if len(token) < 4 or "://" in token or token.startswith(("/dev/", "dev/null")):
        return ""
    if _FLAG.match(token) or _HASH.match(token) or _PATH.match(token):
        return token
    if (
        len(token) <= 60
        and not token[0].isdigit()
        and _MIXED.search(token)
        and _IDENTIFIER.match(token)
    ):
        return token
    return ""


@dataclass(slots=True)
class Links:
    """URLs, commits and the branch."""

    branch: str = ""
    printed_branch: str = ""
    urls: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])
    commits: OrderedDict[str, str] = field(default_factory=OrderedDict[str, str])

    def visit(self, text: str) -> None:
        """Take the URLs in words of a person, or asked for."""
        for url in _URL.findall(ends(text)):
            url = one_line(url.rstrip(".,;:!?*_"))
            self.urls.pop(url, None)
            self.urls[url] = None
        while len(self.urls) > 80:
            self.urls.popitem(last=False)

    def printed(self, text: str) -> None:
        """Take the commits and the branch that git printed."""
        text = ends(text, 8_000)
        for branch, commit, subject in _COMMIT_MADE.findall(text):
            self.printed_branch = branch
            self._commit(commit, subject)
        for _, commit, _, _ in _PUSHED.findall(text):
            self._commit(commit, self.commits.get(commit, "pushed"))
        if found := _ON_BRANCH.findall(text):
            self.printed_branch = found[-1]

    def _commit(self, commit: str, subject: str) -> None:
        self.commits.pop(commit, None)
        self.commits[commit] = one_line(subject)
        while len(self.commits) > 40:
            self.commits.popitem(last=False)

    def url_items(self) -> tuple[Item, ...]:
        """URLs, newest first."""
        return tuple(Item((url,)) for url in reversed(self.urls))
