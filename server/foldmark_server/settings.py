"""Settings, read from the environment in one place."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from foldmark.errors import InvalidRequest
from foldmark.sessions.folders import Folders
from foldmark.sessions.service import SUMMARY_CHARS

_SUMMARY_RANGE = range(1_000, 32_001)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set."""

    database: Path
    folders: Folders
    summary_chars: int = SUMMARY_CHARS


def read(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    FOLDMARK_DB             the database file (default: in the user's data folder)
    FOLDMARK_ALLOWED_DIRS   more folders whose transcripts may be read, parted as in PATH
    FOLDMARK_SUMMARY_CHARS  room for an offline summary, in characters
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
    )


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
