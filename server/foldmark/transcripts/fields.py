"""Fields of untrusted JSON: each is taken if it has the right type, else it counts as absent."""

import json
from collections.abc import Mapping
from typing import Any, cast

import orjson

from foldmark.transcripts.lines import well_formed


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
