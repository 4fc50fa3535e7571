"""JSON Lines as they are found: torn, glued, padded with NULs, or too long to hold.

Pure: the caller reads the bytes. A record is a JSON object; everything else on a line is counted
as skipped, with the number of the line it stood on.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import orjson

from foldmark.transcripts.record import Skipped

LONGEST_RECORD = 32 * 1024 * 1024
"""Bytes. Real lines reach 1 MB; one that is longer than this would not fit beside a model."""

_SPACE = b" \t\r\n"
_NOISE = " \t\r\n\0\ufeff"
_SURROGATES = dict.fromkeys(range(55296, 57344), "�")
_DECODER = json.JSONDecoder()
_SALVAGE_TRIES = 64


Found: TypeAlias = list[tuple[dict[str, Any], bytes]]
"""Records with their bytes."""


@dataclass(slots=True)
class Lines:
    """What came out of one stretch of bytes.

    `consumed` counts the bytes that need not be read again, `lines` the line ends among them.
    `discarding` says that the stretch ended inside a line too long to hold.
    """

    records: Found = field(default_factory=list[tuple[dict[str, Any], bytes]])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    consumed: int = 0
    lines: int = 0
    discarding: bool = False


def split(data: bytes, *, line: int = 1, discarding: bool = False, last: bool = False) -> Lines:
    """Take the records out of `data`, whose first byte stands on line `line`.

    A line without its end is left for the next call, unless it is whole and `last` says that the
    file ends here. `discarding` continues a line that was already given up as too long.
    """
    found = Lines(discarding=discarding)
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        if found.discarding:
            found.discarding = False
        else:
            _take(found, data[start:end], line + found.lines)
        found.lines += 1
        start = end + 1
    found.consumed = start
    rest = data[start:]
    if found.discarding or len(rest) > LONGEST_RECORD:
        if not found.discarding:
            found.skipped.append(Skipped(line + found.lines, "too long"))
        found.discarding = True
        found.consumed = len(data)
    elif last and _whole(rest):
        _take(found, rest, line + found.lines)
        found.consumed = len(data)
    return found


def _take(found: Lines, text: bytes, line: int) -> None:
    text = text.strip(_SPACE)
    if len(text) > LONGEST_RECORD:
        found.skipped.append(Skipped(line, "too long"))
        return
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        _take_damaged(found, text, line)
        return
    if isinstance(record, dict):
        found.records.append((cast("dict[str, Any]", record), text))
    else:
        found.skipped.append(Skipped(line, "not an object"))


def _take_damaged(found: Lines, text: bytes, line: int) -> None:
    """Save what can be saved of a line that is not plainly one JSON object."""
    objects = list(_objects(text))
    found.records.extend((value, raw) for value, raw in objects if value is not None)
    if any(value is None for value, _ in objects):
        found.skipped.append(Skipped(line, "not JSON"))
    elif not objects and b"\0" in text:
        found.skipped.append(Skipped(line, "NUL bytes"))


def _whole(text: bytes) -> bool:
    """Tell whether a line without its end is complete: one object, or several glued together."""
    objects = list(_objects(text)) if text.rstrip(_SPACE).endswith(b"}") else []
    return bool(objects) and all(value is not None for value, _ in objects)


def _objects(line: bytes) -> Iterator[tuple[dict[str, Any] | None, bytes]]:
    """Yield each object of a line with its own bytes, and None for what is lost between them.

    After damage only an object that reaches the end of the line is trusted: any other could be
    a piece from the inside of a torn record. For the same reason nothing is looked for inside a
    record that breaks off where the line ends.
    """
    text = line.decode("utf-8", "surrogateescape")
    end = len(text.rstrip(_NOISE))
    at = 0
    damaged = False
    for _ in range(_SALVAGE_TRIES):
        while at < end and text[at] in _NOISE:
            at += 1
        if at >= end:
            return
        try:
            value, stop = _DECODER.raw_decode(text, at)
            value = well_formed(value)
        except json.JSONDecodeError as error:
            value, stop = None, end if _breaks_off(error, end) else at
        except (ValueError, RecursionError):
            value, stop = None, at
        if isinstance(value, dict) and (not damaged or stop >= end):
            raw = text[at:stop].encode("utf-8", "surrogateescape")
            yield cast("dict[str, Any]", value), raw
            at = stop
            continue
        if not damaged:
            damaged = True
            yield None, b""
        at = text.find('{"', max(at + 1, stop))
        if at < 0:
            return


def _breaks_off(error: json.JSONDecodeError, end: int) -> bool:
    """Tell whether decoding failed because the text ended, a string that never closes included."""
    return error.pos >= end or error.msg.startswith("Unterminated string")


def loads(raw: bytes) -> Any:
    """Decode one record that `split` took, replacing what is not Unicode.

    Raises:
        ValueError: It is no JSON.

    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            return well_formed(json.loads(raw.decode("utf-8", "surrogateescape").strip(_NOISE)))
        except RecursionError as error:
            raise ValueError("nested too deep") from error


def well_formed(value: Any) -> Any:
    """Replace lone surrogates, which neither SQLite nor UTF-8 can hold, by U+FFFD."""
    match value:
        case str():
            return value.translate(_SURROGATES) if not value.isascii() else value
        case list():
            return [well_formed(item) for item in cast("list[Any]", value)]
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {well_formed(key): well_formed(item) for key, item in items}
        case _:
            return value
