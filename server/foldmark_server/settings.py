"""Settings, read from the environment in one place."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from platformdirs import user_data_path

from foldmark.errors import InvalidRequest
from foldmark.reasoning import Readable
from foldmark.sessions.folders import Folders
from foldmark.sessions.service import SUMMARY_CHARS
from foldmark.summarizers.bedrock.summarizer import Effort, Options

_SUMMARY_RANGE = range(1_000, 32_001)
_TOKENS = range(1_000, 10_000_001)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set."""

    database: Path
    folders: Folders
    summary_chars: int = SUMMARY_CHARS
    bedrock: Options | None = None
    region: str = ""
    fallback: bool = False


def read(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    FOLDMARK_DB             the database file (default: in the user's data folder)
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
    CLAUDE_CONFIG_DIR       where Claude Code keeps its sessions (default: ~/.claude)

    Raises:
        InvalidRequest: A value makes no sense.

    """
    config = _path(environ, "CLAUDE_CONFIG_DIR") or Path.home() / ".claude"
    allowed = _value(environ, "FOLDMARK_ALLOWED_DIRS") or ""
    return Settings(
        database=_path(environ, "FOLDMARK_DB")
        or user_data_path("foldmark", appauthor=False) / "foldmark.db",
        folders=Folders(
            projects=config / "projects",
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
