"""Secrets that must not reach a model: keys, tokens, private keys, passwords in their context.

By their shape, or by the name that a value is given, so that a commit's hash, a UUID or a signature
stays as it is. What is stored is not touched.
"""

import re
from functools import partial

# A line of megabytes is to be read about once. So what can fail late gives nothing back (`++`), and
# does not start again inside of what it has read.
_C = "[A-Za-z0-9_-]"
_BASE64 = "[A-Za-z0-9+/]"
_WORD = r"(?:[A-Za-z]++|v?\d{1,4}+)"
_WORDS = rf"{_WORD}(?:[_.-]++{_WORD})*+[_.-]*+"
_BARE = r"[^\s\"'`\\,;:&|()<>\[\]{}?=]"


def _starting(*prefixes: str, inside: str = _C) -> str:
    """Where one of these stands, not inside of a word; the other way round is slow to search."""
    return "|".join(
        rf"{it}(?:(?<!{inside}{it})|(?<=\\[nrt]{it})|(?<=%[0-9A-F]{{2}}{it})|(?<=-----{it}))"
        for it in map(re.escape, prefixes)
    )


_PREFIXES = {
    "API key": "sk- sk_live_ sk_test_ rk_live_ rk_test_ whsec_ gsk_ xai- pplx- nvapi- lin_api_"
    " GOCSPX-",
    "GitHub token": "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    "GitLab token": "glpat- gldt- glrt- glptt- glcbt- glagent- glsoat-",
    "Slack token": "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
    "token": "hf_ npm_ dckr_pat_ dop_v1_ shpat_ glsa_ sbp_",
}
_ENDS = "|".join(f"(?<={it})" for it in " ".join(_PREFIXES.values()).split())
_ANY_PREFIX = re.compile(rf"[_-](?<![_-][_-])(?={_C}{{16}})(?:{_ENDS})")
_GAP = r"(?:\\+[nrt]|[\s\"'+,|>]|\d{1,6}→)*+"
_PEM = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = (
    rf"-----BEGIN {_PEM}(?:(?:[^-[]++|-(?!----))*+-----END {_PEM}"
    rf"|(?:{_GAP}{_BASE64}{{16,}}+=*+)++(?:{_GAP}{_BASE64}++(?:=++|\Z|(?=[\"'…])))?+)"
)
_WEB_TOKEN = (
    rf"(?:{_starting('eyJ')}){_C}{{10,}}+\."
    rf"(?:eyJ{_C}{{6,}}+\.{_C}*+|{_C}*+(?:\.{_C}{{12,}}+){{3}})"
)
_BASIC = (
    r"asic {1,3}((?=[A-Za-z+/]*+[0-9=])(?:[A-Za-z0-9+/]{4}){2,}+"
    rf"(?:{_BASE64}{{2,3}}=*+)?+(?![A-Za-z0-9_[-]))"
)
_FLAG = (
    r"--(?:[a-z0-9]{1,20}-){0,4}(?:password|passphrase|token|secret|api-key)[ =][\"']?"
    rf"(?P<value>(?!-|{_WORDS}(?!\S)){_BARE}{{8,}}+)"
)
_AWS = _starting("AKIA", "ASIA", inside="[A-Za-z0-9+]")

# The strings without which there is none are cheaper to find than the shape. A shape's group is the
# secret, without one all of it is; a group called `value` may hold a placeholder.
_PREFIXED = [
    (kind, hints, rf"(?:{_starting(*hints.split())})(?!{_WORDS}(?!{_C})|ecdsa-|ssh-){_C}{{16,}}+")
    for kind, hints in _PREFIXES.items()
]
_OTHERS = [
    ("private key", "-----BEGIN", _PRIVATE_KEY),
    ("API key", "AIza", rf"(?:{_starting('AIza', inside=_BASE64)}){_C}{{35,}}+"),
    ("API key", "SG.", rf"(?:{_starting('SG.')}){_C}{{16,}}+\.{_C}{{16,}}+"),
    ("API key", "ABSK", rf"(?:{_starting('ABSK', inside=_BASE64)}){_BASE64}{{60,}}+=*+"),
    (
        "API key",
        "bedrock-api-key-",
        rf"(?:{_starting('bedrock-api-key-')})[A-Za-z0-9+/_%-]{{30,}}+=*+",
    ),
    ("API key", "SK", rf"(?:{_starting('SK')})[0-9a-f]{{32}}(?!{_C})"),
    ("AWS key", "AKIA ASIA", rf"(?:{_AWS})[A-Z2-7]{{16}}(?!{_BASE64})"),
    ("token", "ya29.", rf"(?:{_starting('ya29.')}){_C}{{20,}}+(?:\.{_C}++)*+"),
    ("token", "pypi-AgE", rf"(?:{_starting('pypi-AgE')}){_C}{{40,}}+"),
    ("token", "1//0", rf"(?:{_starting('1//0', inside=_BASE64)}){_C}{{30,}}+"),
    ("token", ":AA", rf":(?<=\d{{8}}:)(AA{_C}{{33,}}+)"),  # Telegram
    ("token", ".", rf"\.({_C}{{6}}\.(?<=[MNO]{_C}{{23}}\.{_C}{{6}}\.){_C}{{27,}}+)"),  # Discord
    ("token", "eyJ", _WEB_TOKEN),
    ("token", "earer ", rf"earer {{1,3}}((?!{_WORDS}(?![\w~+/-]))[A-Za-z0-9_.~+/-]{{16,}}+=*+)"),
    ("webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]{1,20}/([A-Za-z0-9_/]{20,}+)"),
    ("webhook", "/webhooks/", rf"/webhooks/\d{{15,22}}/({_C}{{50,}}+)"),
    ("password", "asic ", _BASIC),
    ("password", "://", r"://[^\s/?#@:\"'<>`\\]{0,100}:(?P<value>[^\s/?#\"'<>`\\]{1,500}(?=@))"),
    ("password", "word= wd= WORD= WD=", r";(?i:password|pwd)=(?P<value>[^\s;\"'<>()`\\]{3,}+)"),
    ("secret", "--", _FLAG),
]
_SHAPES = [
    (kind, hints.split(), re.compile(shape)) for kind, hints, shape in (*_PREFIXED, *_OTHERS)
]
# A value that is given to a name: the name's end is rare enough to look for, the rest of the name
# is looked at when there is a value.
_GIVEN = re.compile(
    r"(?P<name>(?:ken|key|Ken|Key|KEN|KEY|cret|CRET|word|WORD|wd|WD|phrase|PHRASE|pass|PASS)"
    r"(?:_(?:BEDROCK|PROD|STAGING|TEST|DEV|LIVE|\d))?)(?:\\*[\"']\]?)?[ \t]{0,8}"
    r"(?::[ \t]?str[ \t]?)?(?P<sign>=>|:=|[=:>] ?)[ \t]{0,8}"
    r"(?:(?P<mark>\\*[\"'`])(?P<quoted>[^\s\"'`\\]{8,}+)(?=(?P=mark))"
    rf"|(?:\\*[\"'`])?(?P<bare>(?!@){_BARE}{{8,}}+=*+)(?P<call>[(\[{{]?))"
)
_NAME = re.compile(
    r"(?i)(?:(?P<password>passw(?:or)?d|passphrase|[_-]pass|[_-]pwd)|(?P<secret>secret|token)|(?:api"
    r"|access|secret|private|account|auth|encryption|signing|master|service|shared)[_-]?key)"
    r"(?:_[a-z]+|_\d)?$"
)
_PASSWORD = re.compile(r"(?=.*[A-Za-z])(?=.*[\d!@#$%^&*+~])")
_TOKEN = re.compile(r"(?=.*[A-Za-z])(?=.*\d).{12}")
_PLACEHOLDER = re.compile(
    r"(?i)example|change.?me|placeholder|redacted|dummy|your[-_]|x{4}|\*{3}|\.{3}|^[$%{<]|[$]\{|\{\{"
    r"|^(.)\1*$|^(?:password|passwd|pass|secret|token)$"
)
_NO_SECRET = re.compile(
    r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{7,12}"  # UUID, git
    r"|[\d.,:TZ_+-]+|sha\d{1,3}[-:].*|(?:[~.]{0,2}/[a-z0-9_.-]+)+/?|[a-z]{2,8}:[/a-z].*"
)
_CODE = re.compile(
    rf"{_WORDS}|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[a-z]+\d{{0,3}}(?:_[a-z0-9]+)+"
    r"|[A-Z]{0,6}[a-z]*+(?:\d{0,5}[A-Z][a-z]+)+\d{0,2}"
)


def redacted(text: str) -> str:
    """Put a note for each secret; the rest stays as it is."""
    shapes = _SHAPES if _ANY_PREFIX.search(text) else _SHAPES[len(_PREFIXED) :]
    for kind, hints, shape in shapes:
        if any(hint in text for hint in hints):
            text = shape.sub(partial(_noted, kind), text)
    return _GIVEN.sub(_given, text)


def _noted(kind: str, found: re.Match[str]) -> str:
    value = found.groupdict().get("value")
    if value and _PLACEHOLDER.search(value):
        return found[0]
    return _instead(kind, found, min(found.re.groups, 1))


def _given(found: re.Match[str]) -> str:
    name = _NAME.search(found.string[max(found.start() - 24, 0) : found.end("name")])
    group = "quoted" if found["quoted"] else "bare"
    value = found[group]
    if not name or found["call"] or _PLACEHOLDER.search(value) or _NO_SECRET.fullmatch(value):
        return found[0]
    # Code gives a name or a call to a name; an environment file, like quotes, only a literal.
    code = group == "bare" and not (name[0].isupper() and found["sign"] == "=")
    enough = _PASSWORD if name["password"] else _TOKEN
    if not enough.match(value) or ((code or not name["password"]) and _CODE.fullmatch(value)):
        return found[0]
    kind = "password" if name["password"] else "secret" if name["secret"] else "API key"
    return _instead(kind, found, group)


def _instead(kind: str, found: re.Match[str], group: int | str) -> str:
    start, end = found.span(group)
    return (
        f"{found.string[found.start() : start]}[redacted {kind}]{found.string[end : found.end()]}"
    )
