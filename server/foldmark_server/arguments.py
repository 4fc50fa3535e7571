"""What a person's arguments mean: a path or a session's id, a summary given or in a file."""

import os
import sys
from pathlib import Path

import typer

from foldmark.requests import Which


def which(target: str | None) -> tuple[Which, Path | None]:
    """Tell a path from a session's id; with a path comes its real folder.

    A path is what exists, ends in .jsonl or has a separator; "<id>/agent-..." is a subagent's id.

    Raises:
        BadParameter: It is a folder.

    """
    if not target:
        return Which(), None
    path = Path(target)
    try:
        path = path.expanduser()
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, RuntimeError):  # too long for a path, or the home of nobody
        is_folder = is_there = False
    if is_folder:
        raise typer.BadParameter(
            f"{target!r} is a folder. Name a transcript in it, or a session: "
            f"`foldmark sessions --project {target}` lists those of a project."
        )
    session, _, agent = target.partition("/")
    names_agent = bool(session) and agent.startswith("agent-") and "/" not in agent
    looks_like_one = bool({os.sep, "/"} & {*target}) and not names_agent
    if is_there or target.endswith(".jsonl") or looks_like_one:
        return Which(transcript_path=str(path.absolute())), path.resolve().parent
    return Which(session_id=target), None


def summary(text: str | None, file: Path | None) -> str:
    """Take a summary as it was given, from its file or from stdin.

    Raises:
        BadParameter: It is blank, given twice, or in no file that can be read.

    """
    if text is not None and file is not None:
        raise typer.BadParameter("--summary and --summary-file exclude each other. Pass one.")
    if file is None:
        given = text
    else:
        try:
            raw = sys.stdin.buffer.read() if str(file) == "-" else file.expanduser().read_bytes()
        except OSError as error:
            raise typer.BadParameter(f"{str(file)!r} cannot be read: {error.strerror}.") from error
        given = raw.decode("utf-8-sig", "replace")
    if given is not None and not given.strip():
        raise typer.BadParameter("The summary is blank. Write one, or leave it out.")
    return given or ""
