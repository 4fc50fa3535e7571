"""Which files a shell command or a patch reads and changes, as far as its text tells."""

import re
from collections.abc import Iterator

from foldmark.facts.actions import How, Touched

_SCANNED = 4_000
_LONGEST_PATCH = 200_000
_NAME = r"([\w./~@+()\[\]-]{3,200})"

_ADDED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.{1,400})$", re.MULTILINE)
_MOVED = re.compile(r"^\*\*\* Move to: (.{1,400})$", re.MULTILINE)
_DIFFED = re.compile(r"^\+\+\+ (?:b/)?([^\s].{0,400})$", re.MULTILINE)
_HOW: dict[str, How] = {"Add": "created", "Update": "edited", "Delete": "deleted"}

_REDIRECTED = re.compile(rf"\b(?:cat|echo|printf)\b[^\n|;&>]{{0,200}}>>?\s*{_NAME}")
_TEE = re.compile(rf"\btee\s+(?:-a\s+)?{_NAME}")
_IN_PLACE = re.compile(
    rf"\b(?:sed|perl)\s+-[a-zA-Z]{{0,4}}i\b[^\n|;&]{{0,400}}?\s{_NAME}\s*(?:$|[\n;&|])"
)
_SHOWN = re.compile(
    r"(?:^|[;&|]\s*)(?:cat|nl|bat|less|head|tail|sed)\s+"
    r"(?:(?:-\w{1,6}|'[^'\n]{0,40}'|\"[^\"\n]{0,40}\"|\d{1,7})\s+){0,5}"
    rf"['\"]?{_NAME}"
)
_VIEWER = re.compile(
    r"(?:cat|nl|bat|less|head|tail|sed -n|rg|grep|find|ls|tree|jq|wc"
    r"|git (?:show|diff|log|blame|grep)|gh (?:pr|issue|api|run))\b"
)
_SETUP = re.compile(
    r"(?:cd\s+\S+\s*(?:&&|;)\s*|[A-Z_]{2,40}=\S*\s+|(?:sudo|time|env|timeout \d+)\s+)"
)


def is_patch(command: str) -> bool:
    """Tell a patch in Codex's format, also when a shell command carries it."""
    return "*** Begin Patch" in command[:_SCANNED]


def patched(patch: str) -> Iterator[Touched]:
    """List the files of a patch in Codex's format or as a unified diff."""
    patch = patch[:_LONGEST_PATCH]
    added = _ADDED.findall(patch)
    for kind, path in added:
        yield Touched(path.strip(), _HOW[kind])
    for path in _MOVED.findall(patch):
        yield Touched(path.strip(), "created")
    if not added:
        for path in _DIFFED.findall(patch):
            if not path.startswith("/dev/null"):
                yield Touched(path.split("\t")[0].strip(), "edited")


def touched(command: str) -> Iterator[Touched]:
    """List the files that a command plainly writes or shows."""
    head = command[:_SCANNED]
    for path in (*_REDIRECTED.findall(head), *_TEE.findall(head)):
        if not path.startswith(("/dev/", "/tmp/")):
            yield Touched(path, "created" if "<<" in head else "edited")
    for path in _IN_PLACE.findall(head):
        yield Touched(path, "edited")
    if ">" not in head:
        for path in _SHOWN.findall(head):
            if "/" in path or "." in path.strip("."):
                yield Touched(path, "read")


def bare(command: str) -> str:
    """Take away what only prepares a command: `cd x &&`, variables, `sudo`."""
    for _ in range(3):
        found = _SETUP.match(command)
        if not found:
            break
        command = command[found.end() :]
    return command


def only_shows(command: str) -> bool:
    """Tell a command whose output is other people's text, errors in it included."""
    return _VIEWER.match(bare(command)) is not None
