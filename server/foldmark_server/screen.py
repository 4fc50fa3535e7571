"""What a person reads: output that transcripts cannot tamper with, complaints, progress.

Text out of a transcript may hold escape sequences or rich's markup. Neither reaches the terminal:
markup is never parsed, and control characters go.
"""

import errno
import json
import os
import re
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.text import Text

from foldmark.errors import FoldmarkError

FAILED = 1
INTERRUPTED = 130

_PIPE_WIDTH = 120  # columns where no terminal says how many there are
_AFTER = 0.3  # seconds before a progress bar appears

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colors, cursor
    r"|(?:\x1b[PX^_\]]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS: titles
    r"|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # would reorder what is read
    r"|[\ud800-\udfff]"
)
_UNSAFE_JSON = re.compile(r"[\x7f-\x9f\ud800-\udfff]")  # JSON escapes the rest by itself

_COMMANDS = {
    "compact_session": "foldmark compact",
    "get_history": "foldmark history",
    "list_sessions": "foldmark sessions",
    "session_id": "SESSION",
    "transcript_path": "PATH",
}
_OPTIONS = (
    "summarizer|summary|instructions|keep_recent_tokens|preview|view|format|cursor|max_chars"
    "|include_reasoning|message_id|project|assistant|query|limit"
)
_TOOL_WORDS = re.compile(
    rf"\b(?P<option>{_OPTIONS})=(?P<value>'[^']*'|true)"
    r"|(?P<quoted>(?<!\w)'[^']*'|\"[^\"]*\")"
    rf"|\b(?P<command>{'|'.join(_COMMANDS)})\b"
    rf"|`(?P<named>{_OPTIONS})`"
    r"|\b(?P<plain>[a-z]+(?:_[a-z]+)+)\b"
)


class Screen(Console):
    """A console that takes every text as it is."""

    def __init__(self, *, stderr: bool = False) -> None:
        """Write to stdout, or to stderr."""
        stream = sys.stderr if stderr else sys.stdout
        width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
        super().__init__(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Let `exits` end the command."""
        raise BrokenPipeError

    def say(self, *parts: str | tuple[str, str]) -> None:
        """Write a line of plain or styled words, which the terminal may wrap but nothing cuts."""
        line = Text()
        for part in parts:
            words, style = (part, "") if isinstance(part, str) else part
            line.append(clean(words), style)
        self.print(line, soft_wrap=True)


def clean(words: str) -> str:
    """Take out of a text whatever a terminal would obey rather than show."""
    return _CONTROL.sub("", _SEQUENCE.sub("", words.replace("\r\n", "\n")))


def in_shell_words(message: str) -> str:
    """Say in the words of the command line what the engine says to assistants."""

    def translated(found: re.Match[str]) -> str:
        if option := found["option"]:
            value = "" if found["value"] == "true" else " " + found["value"].strip("'")
            return _flag(option) + value
        if found["command"]:
            return _COMMANDS[found["command"]]
        if found["named"]:
            return _flag(found["named"])
        if found["plain"] and re.fullmatch(_OPTIONS, found["plain"]):
            return _flag(found["plain"])
        return found[0]

    return _TOOL_WORDS.sub(translated, message).replace("Call foldmark", "Run foldmark")


def note(message: str) -> None:
    """Tell on stderr what should not go unnoticed."""
    Screen(stderr=True).say(("Note: ", "yellow"), in_shell_words(message))


def complain(message: str) -> None:
    """Tell on stderr why a command failed, in one paragraph."""
    Screen(stderr=True).say(("Error: ", "bold red"), in_shell_words(" ".join(message.split())))


def write_json(value: Any) -> None:
    """Write a value as JSON and nothing else."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    sys.stdout.write(_UNSAFE_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


@contextmanager
def exits() -> Generator[None]:
    """End a command as its exit code promises, without a traceback for what can be expected."""
    try:
        yield
        sys.stdout.flush()
    except FoldmarkError as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        complain("Interrupted. Nothing was lost: the history is as it was.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader has seen enough.
        _write_no_more()
        raise typer.Exit from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _write_no_more()
        complain(
            "There is no space left for the output. Nothing was lost. Free some and run again."
        )
        raise typer.Exit(FAILED) from None


def _write_no_more() -> None:
    """Drop what is still buffered, or it would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Bar:
    """A progress bar on stderr that only long work makes appear."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._since = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            console=Screen(stderr=True),
            transient=True,
        )
        self._task: TaskID | None = None

    async def report(self, step: str, done: int, total: int) -> None:
        """Show how far a step has come."""
        if not self._progress.console.is_terminal or time.monotonic() - self._since < _AFTER:
            return
        if self._task is None:
            self._progress.start()
            self._task = self._progress.add_task(step)
        self._progress.update(self._task, description=step, completed=done, total=max(total, 1))

    def close(self) -> None:
        """Take the bar away."""
        if self._task is not None:
            self._progress.stop()


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"
