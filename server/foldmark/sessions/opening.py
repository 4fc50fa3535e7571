"""Finding the session that a call means, and bringing its log up to date."""

import difflib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldmark.errors import InvalidRequest, SessionNotFound, TranscriptRefused, TranscriptUnreadable
from foldmark.requests import Caller, Which
from foldmark.sessions import caller as calling
from foldmark.sessions import folders, handover, sync
from foldmark.sessions.folders import Folders
from foldmark.sessions.handover import Given
from foldmark.sessions.log import SessionLog
from foldmark.sessions.readers import FILES, READERS
from foldmark.sessions.sync import Progress, Transcript
from foldmark.store.overview import Overview
from foldmark.store.rows import Batch, Source
from foldmark.store.store import Store
from foldmark.transcripts.api import Messages
from foldmark.transcripts.record import Record

_NEAR = 3
_LONGEST_NAME = 200  # characters
_MOST_WARNINGS = 5
_OUR_COPY = "This is the copy that Foldmark keeps."
_HANDED_OVER = "messages:"  # in place of a path, for a session that never had a file


class NothingGiven(InvalidRequest):
    """No messages were handed over, and no session is known by the name."""

    def __init__(self) -> None:
        """Say what to do instead."""
        super().__init__(
            "messages is empty, so there is nothing to read. Nothing was stored. Pass the "
            "conversation's messages, or a session_id."
        )


@dataclass(frozen=True, slots=True)
class Opened:
    """A session found and brought up to date: `how` it was found, and what to tell of it.

    `seen` is what the store held of it at that moment.
    """

    log: SessionLog
    seen: Overview
    how: str
    warnings: tuple[str, ...] = ()


async def open_session(
    store: Store, places: Folders, which: Which, caller: Caller, progress: Progress | None = None
) -> Opened:
    """Find the session that a call means, and read what is new of it into the log.

    Raises:
        InvalidRequest: The arguments contradict each other.
        SessionNotFound: There is no such session; the message names the nearest ones.
        AmbiguousSession: Several could be meant, and none was touched.
        TranscriptRefused: The path lies outside the folders that may be read.
        TranscriptUnreadable: The file is no transcript.

    """
    if which.messages is not None:
        if which.transcript_path:
            raise InvalidRequest(
                "messages and transcript_path were both given, so it is unclear which to read. "
                "Nothing was stored. Pass one of them."
            )
        return await _hand_over(store, which.session_id, which.messages, caller)
    if which.transcript_path:
        path = places.permitted(which.transcript_path)
        id = folders.session_id(path)
        if which.session_id not in ("", id):
            raise InvalidRequest(
                f"transcript_path holds the session {id!r}, but session_id is "
                f"{which.session_id!r}. Nothing was read. Pass one of them."
            )
        return await _from_file(store, places, path, "transcript_path", progress)
    if which.session_id:
        return await _by_id(store, places, which.session_id, progress)
    found = await calling.find(caller, places)
    return await _from_file(store, places, found.path, found.how, progress)


async def _by_id(store: Store, places: Folders, id: str, progress: Progress | None) -> Opened:
    """Find a session by its id: where it was read before, on disk, or in the store alone."""
    seen = await store.overview(id)
    warnings: list[str] = []
    for source in seen.sources.values():
        if source.session == id and not source.path.startswith(_HANDED_OVER):
            try:
                path = places.permitted(source.path)
            except SessionNotFound:
                warnings.append(f"{_OUR_COPY} The transcript {source.path!r} is gone.")
            except TranscriptRefused as error:
                warnings.append(f"{_OUR_COPY} {error}")
            else:
                return await _from_file(store, places, path, "session_id", progress, seen)
    if path := places.find(id):
        return await _from_file(store, places, path, "session_id", progress, seen)
    if seen.session is None:
        raise SessionNotFound(await _unknown(store, places, id))
    return _opened(store, seen, "session_id", warnings)


async def _from_file(
    store: Store,
    places: Folders,
    path: Path,
    how: str,
    progress: Progress | None,
    seen: Overview | None = None,
) -> Opened:
    """Read a transcript and those of its subagents; what we hold survives whatever they became."""
    id = folders.session_id(path)
    seen = seen or await store.overview(id)
    parent = id.partition("/")[0] if "/" in id else ""
    wanted = [Transcript(path, FILES, id, parent)]
    wanted += [Transcript(a, FILES, folders.session_id(a), id) for a in places.subagents(path)]
    warnings: list[str] = []
    fresh = True
    for transcript in wanted:
        held = seen.sources.get(str(transcript.path))
        try:
            source = await sync.sync(store, transcript, progress, held)
        except FileNotFoundError as error:
            told = f"The transcript {str(transcript.path)!r} is gone."
            if transcript is wanted[0] and seen.session is None:
                raise SessionNotFound(f"{told} Nothing was changed. Call list_sessions.") from error
            warnings.append(f"{_OUR_COPY} {told}" if held else told)
        except TranscriptUnreadable as error:
            if transcript is wanted[0] and seen.session is None:
                raise
            warnings.append(f"{_OUR_COPY} {error}" if held else str(error))
        else:
            fresh &= source is held
            warnings += _faults(source)
    if not fresh:
        seen = await store.overview(id)
    return _opened(store, seen, how, warnings)


def _opened(store: Store, seen: Overview, how: str, warnings: Sequence[str]) -> Opened:
    if seen.session is None:  # cannot be: what holds no record is refused before
        raise SessionNotFound("The session holds no record. Nothing was changed.")
    log = SessionLog(store, seen.session, READERS[seen.session.assistant])
    more = len(warnings) - _MOST_WARNINGS
    rest = [f"{more} more transcripts of its subagents have such faults"] if more > 0 else []
    return Opened(log, seen, how, (*warnings[:_MOST_WARNINGS], *rest))


async def _unknown(store: Store, places: Folders, id: str) -> str:
    known = {session.id for session in await store.sessions()}
    known.update(folders.session_id(path) for path in places.transcripts())
    begin = sorted(other for other in known if id and other.startswith(id))[:_NEAR]
    near = begin or difflib.get_close_matches(id, sorted(known), n=_NEAR, cutoff=0.3)
    hint = f"The nearest are {', '.join(map(repr, near))}. " if near else ""
    return (
        f"There is no session {id!r}. Nothing was changed. {hint}"
        "Call list_sessions to see all there are."
    )


def _faults(source: Source) -> list[str]:
    """Say what was wrong with a transcript."""
    told: list[str] = []
    if source.skipped:
        places = ", ".join(f"line {line} ({reason})" for line, reason in source.places)
        more = ", ..." if source.skipped > len(source.places) else ""
        told.append(f"{source.skipped} damaged records were skipped: {places}{more}")
    if source.restarts:
        told.append(
            f"{source.path!r} was cut short or rewritten since it was first read; what it held "
            "before is kept, and shown too"
        )
    return told


async def _hand_over(
    store: Store, id: str, messages: Sequence[Mapping[str, Any]], caller: Caller
) -> Opened:
    """Store messages that came in a call, without those that came before."""
    if len(id) > _LONGEST_NAME or not id.isprintable() or id != id.strip():
        raise InvalidRequest(
            f"{id[:80]!r} cannot name a session. Nothing was stored. Take 1 to {_LONGEST_NAME} "
            "printable characters, with no blank at either end."
        )
    reader = READERS[Messages.assistant]
    given = handover.read(messages, reader)
    for name in [id] if id else handover.names(given):
        while True:
            seen = await store.overview(name)
            session = seen.session
            if session is not None and session.assistant != reader.assistant:
                raise InvalidRequest(
                    f"{name!r} is a session of {session.assistant}, read from its transcript, and "
                    "messages cannot be added to it. Nothing was stored. Leave session_id out, or "
                    "choose another."
                )
            if session is None and not given:
                raise NothingGiven
            held = await store.ids(session.key) if session else []
            told = await _without_preamble(store, seen, given)
            new = handover.align([handover.digest(i) for _, i in held], [g.digest for g in told])
            if not id and new.keep < len(held):
                break  # another conversation that began with the same words
            records = handover.named(told, new, held, after=seen.end.pos)
            since = seen.sources.get(_HANDED_OVER + name)
            if await _store(store, name, records, caller, since):
                return _opened(store, await store.overview(name), "messages", ())
    raise AssertionError("names() never ends")


async def _store(
    store: Store, name: str, records: Sequence[Record], caller: Caller, since: Source | None
) -> bool:
    """Append what is new since `since`; False when another call was faster."""
    if not records and since:
        return True
    batch = Batch(
        session=name,
        assistant=Messages.assistant,
        records=records,
        project=str(caller.project),
        updated=time.time(),
    )
    taken = (since.consumed if since else 0) + len(records)
    return await store.append([batch], Source(_HANDED_OVER + name, name, taken), since)


async def _without_preamble(store: Store, seen: Overview, given: list[Given]) -> list[Given]:
    """Leave out a first message that only hands our own summary back to us."""
    if seen.session is None or not seen.attempts or not given:
        return given
    standing = await _opened(store, seen, "", ()).log.standing(seen)
    stands = standing.boundary
    if stands and stands.summary.text.strip() in given[0].message.prompt:
        return given[1:]
    return given
