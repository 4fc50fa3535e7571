"""Fields of untrusted JSON: each is taken if it has the right type, else it counts as absent."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, cast
from urllib.parse import unquote

import orjson

from foldmark.transcripts.lines import well_formed

_LAST = 1e15  # milliseconds; no time that a computer writes is later


def mapping(value: Any) -> Mapping[str, Any]:
    """Take an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def text(value: Any) -> str:
    """Take a string, else an empty one."""
    return value if isinstance(value, str) else ""


def name(value: Any) -> str:
    """Take an id or another name: a string, without the NULs that a database cannot look up."""
    return text(value).replace("\0", "\ufffd")


def items(value: Any) -> list[Any]:
    """Take a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def digest(data: bytes) -> str:
    """Name what has no name of its own by what is in it."""
    return f"~{blake2b(data, digest_size=12).hexdigest()}"


def count(value: Any) -> int:
    """Take a number of things, else none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def moment(seconds: Any) -> str:
    """Write a time, given in seconds since 1970, in ISO 8601; nothing if it is none."""
    if not isinstance(seconds, int | float) or not seconds:
        return ""
    try:
        found = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{found:%Y-%m-%dT%H:%M:%S}.{found.microsecond // 1000:03}Z"


def milliseconds(value: Any) -> str:
    """Write a time, given in milliseconds since 1970, in ISO 8601; nothing if it is none."""
    timed = isinstance(value, int | float) and abs(value) < _LAST
    return moment(value / 1000) if timed else ""


def folder(uri: Any) -> str:
    """Take the folder that a file: URI names; nothing if it is none."""
    scheme, _, path = text(uri).partition("://")
    path = unquote(path) if scheme == "file" else ""
    return path[1:] if path[2:3] == ":" else name(path)  # /c:/Users


def dumps(value: Any) -> str:
    """Write any value as compact JSON text, whatever is in it that JSON cannot hold."""
    try:
        return orjson.dumps(value, default=_stand_in, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError):  # a lone surrogate, a huge integer, or nested too deep for it
        pass
    try:
        return well_formed(json.dumps(value, default=_stand_in, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return '"[nested too deep]"'


def loads(words: str) -> Any:
    """Read JSON text, numbers that JSON does not have as null.

    Raises:
        ValueError: It is no JSON.

    """
    try:
        return orjson.loads(words)
    except orjson.JSONDecodeError:
        pass
    try:
        return well_formed(json.loads(words, parse_constant=lambda _: None))
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _stand_in(value: Any) -> str:
    return f"[{len(value)} bytes]" if isinstance(value, bytes | bytearray) else str(value)
