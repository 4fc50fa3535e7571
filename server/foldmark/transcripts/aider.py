"""Aider: `.aider.chat.history.md`, a Markdown log that only grows.

    # aider chat started at 2026-11-30 19:16:54      a run begins
    > Aider v0.86.2                                  what the program says: banner, questions, costs
    #### first line of a prompt                      what a person typed, each line marked so
    Answer ...                                       the model's reply, all the rest

Aider ends what it says and what was typed with two spaces, a reply without. An entry of several
lines is marked on its first line only: the banner repeats the command line, in which a prompt may
stand. One file holds many runs, of which each begins a chat anew; it has no id and no other times.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, TypeAlias

from foldmark.messages import Message, Summary, Text
from foldmark.transcripts.fields import dumps, text
from foldmark.transcripts.lines import well_formed
from foldmark.transcripts.record import (
    Document,
    Json,
    Reader,
    Record,
    Skipped,
    Snapshot,
    of_message,
)

Voice: TypeAlias = Literal["run", "typed", "console", "reply"]

_STARTED = "# aider chat started at "
_TYPED = "#### "
_CONSOLE = "> "
_END = "  "
_BLANK = "<blank>"
"""What Aider writes where nothing was typed."""

_BEFORE = "before"  # stands for a run whose header is not in the file

_RUN = re.compile(rf"^{_STARTED}(\d{{4}}-\d\d-\d\d) (\d\d:\d\d:\d\d)\s*$", re.MULTILINE)
_MODEL = re.compile(r"^> (?:Main model|Models?): (\S+)", re.MULTILINE)


@dataclass(slots=True)
class _Part:
    """Lines of one voice that stand together."""

    voice: Voice
    lines: list[str] = field(default_factory=list[str])


def recognizes(data: bytes) -> bool:
    """Tell whether a file begins with a run of Aider's."""
    return _RUN.match(data[:200].decode("utf-8", "replace").lstrip("\ufeff\r\n")) is not None


def read(data: bytes) -> Snapshot:
    """Read all runs in the file; a last line without its end is left for the next time."""
    words = well_formed(data.decode("utf-8", "replace")).replace("\r\n", "\n")
    whole, _, rest = words.rpartition("\n")
    skipped = [Skipped(words.count("\n") + 1, "a line without its end")] if rest.strip() else []
    found: list[Record] = []
    runs = Counter[str]()
    run, model, at = _BEFORE, "", 0
    for part in _parts(whole.split("\n")):
        if not any(map(str.strip, part.lines)):
            continue
        if part.voice == "run":
            run = _started(part) or _BEFORE
            runs[run] += 1
            told = _MODEL.search("\n".join(part.lines))
            model, at = told[1] if told else "", 0
        at += 1
        found.append(_record(part, f"{run}#{runs[run]}/{at}", model))
    return Snapshot(found, [record.id for record in found], skipped)


def message(id: str, records: Sequence[Json]) -> Message:
    """Build a message; what the program said counts as injected by it."""
    told = records[-1]
    said = text(told.get("text")).split("\n")
    match told.get("voice"):
        case "typed":
            words = "\n".join(line.removeprefix(_TYPED).removesuffix(_END) for line in said)
            return Message(id, "user", (Text(words.strip(), injected=words.strip() == _BLANK),))
        case "console":
            words = "\n".join(line.removeprefix(_CONSOLE).rstrip() for line in said)
            return Message(id, "user", (Text(words.strip(), injected=True),))
        case _:
            return Message(id, "assistant", (Text("\n".join(said).strip()),))


def summary(id: str, marker: str, record: Json) -> Summary:
    """Build no summary: Aider writes none into its log."""
    return Summary(id, marker, text(record.get("text")))


def _record(part: _Part, place: str, model: str) -> Record:
    """Make a record of a part, named by its place and its first line, which do not change."""
    raw = dumps({"voice": part.voice, "text": "\n".join(part.lines).strip("\n")}).encode()
    digest = blake2b(part.lines[0].encode(), digest_size=6).hexdigest()
    id = f"{place}~{digest}"
    if part.voice == "run":
        return Record(kind="other", id=id, raw=raw, at=_started(part))
    built = message(id, [{"voice": part.voice, "text": "\n".join(part.lines)}])
    return of_message(
        built, Record("message", id, raw, model=model if built.role == "assistant" else "")
    )


def _started(part: _Part) -> str:
    """Tell when a run began, by the clock of the machine it ran on."""
    found = _RUN.match(part.lines[0])
    return f"{found[1]}T{found[2]}" if found else ""


def _parts(found: Sequence[str]) -> Iterator[_Part]:
    """Part the lines of a file by who speaks; blank lines belong to what stands before them.

    Until something is typed, all that a run says is its banner.
    """
    part = _Part("run")
    before = ""  # the line before, in which only blank lines and ends matter
    unfinished = False  # an entry of the program's of which the last line is still to come
    for line in found:
        voice = part.voice
        if _RUN.match(line) and not before.strip():
            unfinished = False
            yield part
            part = _Part("run")
        elif unfinished:
            unfinished = not line.endswith(_END)
        elif _is_typed(line) and (not before.strip() or (voice == "typed" and _is_typed(before))):
            if voice != "typed" or not before.strip():
                yield part
                part = _Part("typed")
        elif line.startswith(_CONSOLE) and (line.endswith(_END) or voice != "reply"):
            unfinished = not line.endswith(_END)
            if voice not in ("run", "console"):
                yield part
                part = _Part("console")
        elif line.strip() and voice in ("typed", "console"):
            yield part
            part = _Part("reply")
        part.lines.append(line)
        before = line
    yield part


def _is_typed(line: str) -> bool:
    return line.startswith(_TYPED) and line.endswith(_END)


READER = Reader(
    assistant="aider",
    places=(
        Document(
            roots=("$AIDER_CHAT_HISTORY_FILE",),
            pattern="",
            recognizes=recognizes,
            read=read,
            session=lambda _path, _head: "",
            in_project=True,
        ),
        Document(
            roots=(".",),
            pattern=".aider.chat.history.md",
            recognizes=recognizes,
            read=read,
            session=lambda _path, _head: "",
            in_project=True,
        ),
    ),
    message=message,
    summary=summary,
)
"""Aider, all versions; a session is a file, named by the folder it lies in."""
