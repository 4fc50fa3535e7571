"""Which session is calling: found by what the host says, never by a guess that is then written to.

    explicit id or path  >  _meta of the call  >  environment  >  the call itself, on disk
                         >  the project's only live session

Claude Code gives the id of the tool call. It stands in the session's transcript some 50 ms after
the call arrives, and unlike the session id in the environment it is right after /clear. A variable
only counts for the host that sets it: programs started from one another inherit them.
"""

import asyncio
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from foldmark.errors import AmbiguousSession, SessionNotFound, TranscriptUnreadable
from foldmark.offload import offload
from foldmark.own import is_own_tool
from foldmark.requests import Caller, Listed
from foldmark.sessions.glimpse import glimpse, together
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sources import database, files
from foldmark.sources.places import Places
from foldmark.sources.transcript import Transcript
from foldmark.transcripts import lines
from foldmark.transcripts.record import Database, Lines, Reader, State

_TAIL = 512 * 1024  # bytes at a transcript's end in which a call that is under way must stand
_NEWEST = 12  # transcripts to look into
_RETRIES = (0.0, 0.05, 0.1, 0.25, 0.4)  # seconds between looks
_LIVE = 600.0  # seconds since its last line in which a session may be the calling one
_SHOWN = 5
_QUOTED = 60  # characters of a prompt that let a person recognize a session
_CLAUDE = "claude-code"


@dataclass(frozen=True, slots=True)
class Found:
    """The transcripts of a session, oldest first, and how they were found."""

    transcripts: list[Transcript]
    how: str


async def find(caller: Caller, places: Places) -> Found:
    """Find the transcripts of the calling session.

    Raises:
        AmbiguousSession: Several sessions of the project could be calling.
        SessionNotFound: None could.

    """
    host = _host(caller, places)
    assistant = host.assistant if host else ""
    if caller.session and (found := await offload(places.find, caller.session, assistant)):
        return Found(found, "the session id in the call's _meta")
    if caller.tool_use:
        for pause in _RETRIES:
            await asyncio.sleep(pause)
            if one := await offload(_holding, caller, places):
                return Found([one], "the id of this very tool call in the newest transcripts")
    if caller.session:
        raise SessionNotFound(
            f"The host says that the session {caller.session!r} is calling, and it has no "
            f"transcript that Foldmark knows{_where(assistant)}. Taking another one is a guess. "
            "Nothing was changed. Pass session_id (see list_sessions), or the conversation itself "
            "as messages."
        )
    for variable in host.variables if host else _variables(places.readers):
        id = caller.environ.get(variable, "")
        if id and (found := await offload(places.find, id, assistant)):
            return Found(found, f"{variable} in the environment")
    return await offload(_live, caller, places, assistant)


def _host(caller: Caller, places: Places) -> Reader | None:
    """Tell whose host is calling, by the name that it gives itself.

    Raises:
        SessionNotFound: It is one whose sessions the user does not want to be read.

    """
    for reader in ASSISTANTS:
        if any(_is_by(caller.host.lower(), name) for name in reader.hosts):
            if reader in places.readers:
                return reader
            raise SessionNotFound(
                f"The sessions of {reader.assistant} are not read, since FOLDMARK_SOURCES leaves "
                "them out. Nothing was changed. Have the user add it there, or pass the "
                "conversation itself as messages."
            )
    return None


def _is_by(host: str, name: str) -> bool:
    """Tell whether a client's name begins with this one, and not with a longer word."""
    return host.startswith(name) and not host[len(name) : len(name) + 1].isalpha()


def _variables(readers: Iterable[Reader]) -> list[str]:
    return [variable for reader in readers for variable in reader.variables]


def _where(assistant: str) -> str:
    return f" among those of {assistant}" if assistant else ""


def _holding(caller: Caller, places: Places) -> Transcript | None:
    """Find the transcript in which the call stands and has no result yet."""
    newest = places.transcripts(_CLAUDE)[:_NEWEST]
    id = re.escape(caller.tool_use.encode())
    call = re.compile(rb'"id"\s*:\s*"' + id + rb'"')
    result = re.compile(rb'"tool_use_id"\s*:\s*"' + id + rb'"')
    for one in newest:
        for near in [one, *reversed(places.subagents(one)[-_NEWEST:])]:
            tail = _tail(near.path)
            if call.search(tail) and not result.search(tail):
                return near
    return None


def _live(caller: Caller, places: Places, assistant: str) -> Found:
    """Take the session with a call of ours under way, or the project's only one, or live one."""
    since = time.time() - _LIVE
    recent = places.transcripts(assistant, since=since)
    here = _of_project(recent, caller.project)
    calling = {one.session for one in recent[:_NEWEST] if _is_calling(one)}
    for candidates, kind in (
        ([seen for seen in here if seen.id in calling], "session with this very call under way"),
        (here, "live session"),
    ):
        if len(candidates) == 1:
            return _found(candidates[0], kind, caller, places)
    known = _of_project(places.transcripts(assistant), caller.project)
    if len(known) == 1:
        return _found(known[0], "session", caller, places)
    project = str(caller.project)
    if known:
        names = "; ".join(f"{seen.id!r}{_words(seen)}" for seen in known[:_SHOWN])
        raise AmbiguousSession(
            f"{len(known)} sessions of the project {project!r} could be meant, and none was "
            f"touched. Pass session_id, newest first: {names}. list_sessions tells more."
        )
    raise SessionNotFound(
        f"No session was named, and the project {project!r} has no transcript that Foldmark "
        f"knows{_where(assistant)}. Nothing was changed. Pass session_id (see list_sessions), "
        "transcript_path, or the conversation itself as messages."
    )


def _of_project(found: Iterable[Transcript], project: Path) -> list[Listed]:
    """Describe the sessions of a project, each once, newest first."""
    names = (str(project), str(project.resolve()))
    there: dict[str, Listed] = {}
    for one in found:
        if (seen := glimpse(one)) and seen.project in names:
            there[seen.id] = together(there[seen.id], seen) if seen.id in there else seen
    return list(there.values())


def _found(seen: Listed, kind: str, caller: Caller, places: Places) -> Found:
    """Say how it was found, with its first and last words, so that a wrong pick is visible."""
    how = f"the only {kind} of the project {str(caller.project)!r}{_words(seen)}"
    if found := places.find(seen.id, seen.assistant):
        return Found(found, how)
    raise SessionNotFound(
        f"The transcript of {seen.id!r} was there a moment ago and is gone. Nothing was changed. "
        "Call list_sessions to see the sessions there are."
    )


def _words(seen: Listed) -> str:
    first, last = (" ".join(t.split())[:_QUOTED] for t in (seen.first_prompt, seen.last_prompt))
    if not first:
        return ""
    return f" (begins {first!r}" + (f", last asked {last!r})" if last not in ("", first) else ")")


def _is_calling(one: Transcript) -> bool:
    """Tell whether a tool of ours was called at the end of a session and has no result yet."""
    match one.place:
        case Database() as place:
            try:
                with database.reading(one.path, place.tables) as rows:
                    return one.session in place.pending(rows)
            except (TranscriptUnreadable, OSError):
                return False
        case Lines() as place:
            state: State = {}
            told = [
                (record, value)
                for value, raw in lines.split(_tail(one.path), last=True).records
                for record in place.records(value, raw, state)
                if record.kind == "message"
            ]
            built = [one.reader.message(record.id, [value]) for record, value in told]
            answered = {result.call_id for message in built for result in message.results}
            calls = [call for message in built for call in message.calls]
            return any(is_own_tool(call.name) and call.id not in answered for call in calls)
        case _:
            return False


def _tail(path: Path) -> bytes:
    try:
        with files.opened(path) as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            data = file.read()
    except OSError:
        return b""
    return data if len(data) < _TAIL else data.partition(b"\n")[2]
