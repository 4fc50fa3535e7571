"""Text that stands where a summary should: a refusal, an excuse, or a provider's error message.

Told by how it begins, and only while it is short: a real summary may well speak of errors.
"""

import re
from itertools import dropwhile

_LONGEST = 1500  # characters; refusals and errors are shorter
_REGRET = r"(?:(?:i'?m|i am) sorry|sorry|unfortunately|i apologi[sz]e)\b[*_]*[,.]?\s+(?:but\s+)?"
_WHAT = r"(?:conversation|transcript|summary|messages?|session|history|text|content)"
_REFUSAL = re.compile(
    rf"\W*(?:(?:{_REGRET})?(?:i|we)\s?(?:can'?t|cannot|'?m unable to|am unable to|'?m not able to"
    r"|am not able to|do not|don'?t|have no|haven'?t)\s(?:help|assist|comply|do (?:that|this)|see"
    r"|summari[sz]e|access|have access|have any|find any|provide|fulfil)"
    r"|as an ai\b|nothing to summari[sz]e"
    rf"|(?:there (?:is|was|are) )?no {_WHAT}(?: (?:to|was|were|is|has|in|provided|yet)\b|[).:!])"
    rf"|(?:(?:sure|ok|okay|of course|certainly)\W+)?(?:(?:could|can|would) you )?please"
    rf" (?:provide|share|paste|send|include)(?: me)? (?:the|your|a|any|some|more) (?:\w+ )?{_WHAT}"
    r"|it (?:seems|looks like|appears)(?: that)? (?:there (?:is|was|are) no|you (?:have|did)n[o']t)"
    r"|(?:api )?error\s?:\s?(?:\d{3}\b|http)|\w*exception\s?:\s"
    r"|(?:rate limit exceeded|overloaded|internal server error)\s?[.:!])",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"\s*(#{1,6}\s+\S.*|\*\*[^*]+\*\*:?|\d{1,2}[.)]\s+[^:]{1,60}:?|[A-Z][\w &/-]{1,50}:)\s*$"
)


def is_refusal(text: str) -> bool:
    """Tell whether a text says that there is no summary, instead of being one."""
    return len(text) < _LONGEST and bool(_REFUSAL.match(_opening(text)))


def _opening(text: str) -> str:
    """Find where the words begin, behind any heading."""
    lines = text.replace("\u2019", "'").splitlines()
    return "\n".join(dropwhile(lambda line: not line.strip() or HEADING.match(line), lines))
