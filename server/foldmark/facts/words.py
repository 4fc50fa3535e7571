"""Words of a message: made one line, clipped, cut into sentences, reduced to what they are about.

Everything is capped before a pattern sees it, and no pattern nests a repetition in another.
"""

import re
from collections.abc import Iterator

LONGEST_SCAN = 16_000
LONGEST_LINE = 600
_WRAPPED = 50
_LONGEST_PARAGRAPH = 2_000

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_CONTROL = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
_BULLET = re.compile(r"^(?:[-*+\u2022>]{1,3}|\d{1,3}[.)]|\[[ x]\])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[^a-z\s])|(?<=[\u3002\uff01\uff1f])\s*")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_WORD = re.compile(r"[^\W\d_][\w'-]{2,39}")
_COMMON = """
the and for with that this from are was were has have had not but you your yours can could will
would should shall may might must its it's they them their there then than when where which while
what who why how all any some into onto out over under about after before also just only very more
most much many such each other our ours let's lets please here now does did done doing being been
because like want need use using used get got make made see yes i'll i'm we'll don't doesn't didn't
isn't can't won't there's that's
"""
_STOP = frozenset(_COMMON.split())


def clean(text: str) -> str:
    """Drop terminal escapes, keep everything else."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def one_line(text: str) -> str:
    """Put text on one line, each run of white space and control characters one blank."""
    return " ".join(clean(text).translate(_CONTROL).split())


def ends(text: str, room: int = LONGEST_SCAN) -> str:
    """Take the head and the tail of text that is longer than `room`, whole lines if possible."""
    if len(text) <= room:
        return text
    half = room // 2
    return f"{text[:half]}\n{text[-half:]}"


def clip(text: str, room: int, note: str = "") -> str:
    """Shorten one-line text to `room`: a long head, a short tail and `note` between them."""
    if len(text) <= room:
        return text
    gap = f" [...{note}] "
    if room < 160 + len(gap):
        return text[: room - 3].rstrip() + "..." if room > 12 else text[: max(room, 0)]
    tail = (room - len(gap)) // 4
    return f"{text[: room - len(gap) - tail].rstrip()}{gap}{text[len(text) - tail :].lstrip()}"


def cited(text: str, source: str) -> str:
    """Put after words the name of the message they are from, as short as it can be looked up."""
    return f"{text} ({source[:8] if _UUID.fullmatch(source) else source})" if source else text


def sentences(text: str, room: int = LONGEST_SCAN) -> Iterator[str]:
    """Walk the sentences of prose; bullets are sentences, fenced code is none."""
    for paragraph in _paragraphs(text, room):
        for sentence in _SENTENCE_END.split(paragraph):
            if sentence := one_line(sentence):
                yield sentence


def _paragraphs(text: str, room: int) -> Iterator[str]:
    """Walk paragraphs and bullets; a line that goes on in lower case was only wrapped."""
    fenced = False
    held = ""
    for line in filter(None, map(str.strip, ends(text, room).splitlines())):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        if fenced or line.startswith(("```", "~~~", "|")):
            continue
        if _WRAPPED <= len(held) <= _LONGEST_PARAGRAPH and line[0].islower():
            held = f"{held} {line}"
            continue
        if held:
            yield held
        held = _BULLET.sub("", line)
    if held:
        yield held


def content_words(text: str) -> list[str]:
    """List the words that say what text is about, lower case, in order."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]
