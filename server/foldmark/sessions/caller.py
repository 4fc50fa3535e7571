"""Which session is calling: found by what the host says, never by a guess that is then written to.

    explicit id or path  >  _meta of the call  >  environment  >  the project's only live transcript

Claude Code gives the id of the tool call. It stands in the session's transcript some 50 ms after
the call arrives, and unlike the session id in the environment it is right after /clear.
"""

import asyncio
import re
import time
from dataclasses import dataclass
from pathlib import Path

from foldmark.errors import AmbiguousSession, SessionNotFound
from foldmark.offload import offload
from foldmark.requests import Caller
from foldmark.sessions import folders
from foldmark.sessions.folders import Folders
from foldmark.sessions.glimpse import glimpse

_TAIL = 512 * 1024  # bytes at a transcript's end in which a call that is under way must stand
_NEWEST = 12  # transcripts to look into
_RETRIES = (0.0, 0.05, 0.1, 0.25, 0.4)  # seconds between looks
_LIVE = 600.0  # seconds since its last line in which a session may be the calling one
_SHOWN = 5
_OTHER_HOSTS = ("codex", "opencode", "gemini", "goose", "@cline/", "cursor", "copilot")


@dataclass(frozen=True, slots=True)
class Found:
    """A transcript, and how it was found."""

    path: Path
    how: str


async def find(caller: Caller, places: Folders) -> Found:
    """Find the transcript of the calling session.

    Raises:
        AmbiguousSession: Several sessions of the project could be calling.
        SessionNotFound: None could.

    """
    if caller.session and (path := places.find(caller.session)):
        return Found(path, "the session id in the call's _meta")
    if caller.tool_use:
        for pause in _RETRIES:
            await asyncio.sleep(pause)
            if path := await offload(_holding, caller, places):
                return Found(path, "the id of this very tool call in the newest transcripts")
    if caller.session or caller.host.startswith(_OTHER_HOSTS):
        raise SessionNotFound(
            f"The sessions of {caller.host or 'this host'!r} cannot be found by themselves yet, "
            "and taking another assistant's would be a guess. Nothing was changed. Pass the "
            "conversation as messages, or a Claude Code session as session_id or transcript_path."
        )
    if caller.environment and (path := places.find(caller.environment)):
        return Found(path, "CLAUDE_CODE_SESSION_ID in the environment")
    return await offload(_only_live, caller, places)


def _holding(caller: Caller, places: Folders) -> Path | None:
    """Find the transcript in which the call stands and has no result yet."""
    near = places.transcripts(caller.project)[:_NEWEST]
    rest = [path for path in places.transcripts()[:_NEWEST] if path not in near]
    id = re.escape(caller.tool_use.encode())
    call = re.compile(rb'"id"\s*:\s*"' + id + rb'"')
    result = re.compile(rb'"tool_use_id"\s*:\s*"' + id + rb'"')
    for path in [*near, *rest]:
        for file in [path, *reversed(places.subagents(path)[-_NEWEST:])]:
            tail = _tail(file)
            if call.search(tail) and not result.search(tail):
                return file
    return None


def _only_live(caller: Caller, places: Folders) -> Found:
    """Take the project's only transcript, or the only one that is being written."""
    known = [path for path in places.transcripts(caller.project) if _is_of(path, caller.project)]
    now = time.time()
    live = [path for path in known if now - folders.modified(path) < _LIVE]
    for candidates in (live, known):
        if len(candidates) == 1:
            kind = "only live transcript" if len(known) > 1 else "only transcript"
            return Found(candidates[0], f"the {kind} of the project {str(caller.project)!r}")
    if known:
        names = ", ".join(repr(folders.session_id(path)) for path in known[:_SHOWN])
        raise AmbiguousSession(
            f"{len(known)} sessions of the project {str(caller.project)!r} could be meant, and "
            f"none was touched. Pass session_id, newest first: {names}. list_sessions tells more."
        )
    raise SessionNotFound(
        f"No session was named, and the project {str(caller.project)!r} has no transcript that "
        "Foldmark knows. Nothing was changed. Pass session_id (see list_sessions), "
        "transcript_path, or the conversation itself as messages."
    )


def _is_of(path: Path, project: Path) -> bool:
    """Tell whether a transcript is of this project, and not of one whose folder has its name.

    A transcript that was moved here from elsewhere is.
    """
    seen = glimpse(path)
    if seen is None:
        return False
    alike = folders.slug(Path(seen.project)) == folders.slug(project)
    return not alike or seen.project in (str(project), str(project.resolve()))


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            return file.read()
    except OSError:
        return b""
