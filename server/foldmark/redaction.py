"""Secrets that must not stand in a summary: keys, tokens, passwords in addresses, private keys.

By their shape alone, so that a commit's hash, a UUID or a signature stays as it is. What is stored
is not touched.
"""

import re

_SHAPES = {
    "private key": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[nr]){0,8000}"
    r"(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
    "API key": r"\bsk-[A-Za-z0-9_-]{20,200}|\bAIza[\w-]{35}",
    "AWS key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{20,255}|\bgithub_pat_\w{20,255}",
    "GitLab token": r"\bglpat-[\w-]{20,100}",
    "Slack token": r"\bxox[abeprs]-[\w-]{10,250}",
    "token": r"\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{10,1000}"
    r"|(?<=[Bb]earer )[\w.~+/-]{20,2000}=*",
    "secret": r"(?<=secret_access_key=)\S{30,60}|(?<=secret_access_key = )\S{30,60}",
    "password": r"(?<=://)[^\s/:@\"']{1,100}:[^\s/@\"']{1,200}(?=@)",
}
_SECRET = re.compile(
    "|".join(f"(?P<{name.replace(' ', '_')}>{shape})" for name, shape in _SHAPES.items())
)
# Without one of these there is no secret of those shapes, and this is cheaper to find.
_HINT = re.compile(
    r"-----BEGIN|sk-|AIza|AKIA|ASIA|gh[pousr]_|github_pat|glpat-|xox|eyJ|earer |secret_|://[^\s/]{1,300}@"
)


def redacted(text: str) -> str:
    """Put a note for each secret; the rest stays as it is."""
    if not _HINT.search(text):
        return text
    return _SECRET.sub(lambda found: f"[redacted {str(found.lastgroup).replace('_', ' ')}]", text)
