"""Settings, read from the environment in one place."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from platformdirs import user_data_path

from foldmark.errors import InvalidRequest
from foldmark.reasoning import Readable
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sessions.service import SUMMARY_CHARS
from foldmark.sources.places import Places, variables
from foldmark.summarizers.bedrock.summarizer import Effort, Options
from foldmark.transcripts.record import Reader

_SUMMARY_RANGE = range(1_000, 32_001)
_TOKENS = range(1_000, 10_000_001)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set."""

    database: Path
    places: Places
    summary_chars: int = SUMMARY_CHARS
    bedrock: Options | None = None
    region: str = ""
    fallback: bool = False


def read(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    FOLDMARK_DB             the database file (default: in the user's data folder)
    FOLDMARK_SOURCES        the assistants whose sessions are read (default: all that are known)
    FOLDMARK_ALLOWED_DIRS   more folders whose transcripts may be read, parted as in PATH
    FOLDMARK_SUMMARY_CHARS  room for a summary that Foldmark makes, in characters
    FOLDMARK_BEDROCK_MODEL  the model that writes summaries: its id, an inference profile or an ARN
    FOLDMARK_BEDROCK_CONTEXT     its window in tokens, where the id does not tell
    FOLDMARK_BEDROCK_MAX_OUTPUT  the most tokens of an answer
    FOLDMARK_BEDROCK_EFFORT      low, medium, high, xhigh or max, for models that take it
    FOLDMARK_REASONING      label (default) or drop: whether a model reads thinking as plain text
    FOLDMARK_REDACT         on (default) or off: whether secrets are left out of what a model reads
    FOLDMARK_FALLBACK       extractive, to write offline where Bedrock fails (default: off)
    AWS_REGION              where Bedrock is called, as are all of AWS's own variables
    CLAUDE_CONFIG_DIR, CODEX_HOME, XDG_DATA_HOME, ...  where assistants keep their sessions, by the
                            variables that they themselves honor

    Raises:
        InvalidRequest: A value makes no sense.

    """
    allowed = _value(environ, "FOLDMARK_ALLOWED_DIRS") or ""
    return Settings(
        database=_path(environ, "FOLDMARK_DB")
        or user_data_path("foldmark", appauthor=False) / "foldmark.db",
        places=Places(
            readers := _readers(environ),
            _folders(environ, readers),
            allowed=tuple(
                _expanded("FOLDMARK_ALLOWED_DIRS", part)
                for part in allowed.split(os.pathsep)
                if part
            ),
        ),
        summary_chars=_number(environ, "FOLDMARK_SUMMARY_CHARS", SUMMARY_CHARS, _SUMMARY_RANGE),
        bedrock=_bedrock(environ),
        region=_value(environ, "AWS_REGION") or _value(environ, "AWS_DEFAULT_REGION") or "",
        fallback=_choice(environ, "FOLDMARK_FALLBACK", ("off", "extractive")) == "extractive",
    )


def _readers(environ: Mapping[str, str]) -> tuple[Reader, ...]:
    known = {reader.assistant: reader for reader in ASSISTANTS}
    value = _value(environ, "FOLDMARK_SOURCES") or ",".join(known)
    wanted = [name.strip().lower() for name in value.split(",") if name.strip()]
    if unknown := next((name for name in wanted if name not in known), ""):
        raise InvalidRequest(
            f"FOLDMARK_SOURCES={value!r} names {unknown!r}, which is no assistant that Foldmark "
            f"reads. Nothing was started. Take some of {', '.join(known)}, parted by commas, or "
            "unset it to read all."
        )
    return tuple(known[name] for name in known if name in wanted)


def _folders(environ: Mapping[str, str], readers: Iterable[Reader]) -> dict[str, str]:
    """Read the variables by which assistants let themselves be told where to keep sessions."""
    names = {name for reader in readers for name in variables(reader)}
    told = {name: str(path) for name in sorted(names) if (path := _path(environ, name))}
    return {**told, "HOME": environ.get("HOME") or str(Path.home())}


def _bedrock(environ: Mapping[str, str]) -> Options | None:
    context = _number(environ, "FOLDMARK_BEDROCK_CONTEXT", 0, _TOKENS)
    output = _number(environ, "FOLDMARK_BEDROCK_MAX_OUTPUT", 0, _TOKENS)
    effort = _choice(environ, "FOLDMARK_BEDROCK_EFFORT", get_args(Effort))
    reasoning = _choice(environ, "FOLDMARK_REASONING", get_args(Readable))
    redact = _choice(environ, "FOLDMARK_REDACT", ("on", "off")) == "on"
    model = _value(environ, "FOLDMARK_BEDROCK_MODEL")
    return Options(model, context, output, effort, reasoning, redact) if model else None


def _value(environ: Mapping[str, str], name: str) -> str | None:
    """Read one variable; a placeholder that a bundle's host left unfilled counts as unset."""
    value = environ.get(name, "").strip()
    return None if not value or value.startswith("${user_config.") else value


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    value = _value(environ, name)
    return _expanded(name, os.path.expandvars(value)) if value else None


def _expanded(name: str, value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise InvalidRequest(
            f"{name}={value!r} is in the home folder of nobody known here. Nothing was started. "
            "Correct or unset it."
        ) from error


def _choice(environ: Mapping[str, str], name: str, choices: tuple[_T, ...]) -> _T:
    """Read one of a few words; the first is the default."""
    value = (_value(environ, name) or "").lower()
    for choice in choices:
        if value == choice:
            return choice
    if not value:
        return choices[0]
    raise InvalidRequest(
        f"{name}={environ[name]!r} is none of {', '.join(repr(c) for c in choices if c)}. Nothing "
        "was started. Correct or unset it."
    )


def _number(environ: Mapping[str, str], name: str, default: int, allowed: range) -> int:
    value = _value(environ, name)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or int(value) not in allowed:
        raise InvalidRequest(
            f"{name}={value!r} is not a number from {allowed.start:,} to {allowed.stop - 1:,}. "
            "Nothing was started. Correct or unset it."
        )
    return int(value)
