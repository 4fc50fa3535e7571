"""Finding the session that a call means, and bringing its log up to date."""

import difflib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldmark.errors import InvalidRequest, SessionNotFound, TranscriptRefused, TranscriptUnreadable
from foldmark.offload import offload
from foldmark.requests import Caller, Which
from foldmark.sessions import caller as calling
from foldmark.sessions import handover, sync
from foldmark.sessions.growing import Progress
from foldmark.sessions.handover import Given
from foldmark.sessions.log import SessionLog
from foldmark.sessions.readers import READERS
from foldmark.sources.places import Places
from foldmark.sources.transcript import Transcript
from foldmark.store.overview import Overview
from foldmark.store.rows import Batch, Source
from foldmark.store.store import HANDED_OVER, Store
from foldmark.transcripts import api
from foldmark.transcripts.record import Database, Lines, Record

_NEAR = 3
_LONGEST_NAME = 200  # characters
_MOST_WARNINGS = 5
_OUR_COPY = "This is the copy that Foldmark keeps."


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
    store: Store, places: Places, which: Which, caller: Caller, progress: Progress | None = None
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
        one = places.known(path) or await offload(places.identify, path, which.session_id)
        if which.session_id not in ("", one.session):
            raise InvalidRequest(
                f"transcript_path holds the session {one.session!r}, but session_id is "
                f"{which.session_id!r}. Nothing was read. Pass one of them."
            )
        return await _read(store, places, [one], "transcript_path", progress)
    if which.session_id:
        return await _by_id(store, places, which.session_id, progress)
    found = await calling.find(caller, places)
    return await _read(store, places, found.transcripts, found.how, progress)


async def _by_id(store: Store, places: Places, id: str, progress: Progress | None) -> Opened:
    """Find a session by its id: on disk, where it was read before, or in the store alone."""
    seen = await store.overview(id)
    assistant = seen.session.assistant if seen.session else ""
    if found := await offload(places.find, id, assistant):
        return await _read(store, places, found, "session_id", progress, seen)
    warnings: list[str] = []
    for source in seen.sources.values():
        if source.session == id and not source.path.startswith(HANDED_OVER):
            try:
                path = places.permitted(source.file)
                found = [await offload(places.identify, path, id)]
            except SessionNotFound:
                warnings.append(f"{_OUR_COPY} The transcript {source.file!r} is gone.")
            except (TranscriptRefused, TranscriptUnreadable) as error:
                warnings.append(f"{_OUR_COPY} {error}")
            else:
                if found[0].session == id:
                    return await _read(store, places, found, "session_id", progress, seen)
    if seen.session is None:
        raise SessionNotFound(await _unknown(store, places, id))
    return _opened(store, seen, "session_id", warnings)


async def _read(
    store: Store,
    places: Places,
    found: Sequence[Transcript],
    how: str,
    progress: Progress | None,
    seen: Overview | None = None,
) -> Opened:
    """Read a session's transcripts, what it was forked from, and those of its subagents.

    What we hold survives whatever became of them.
    """
    newest = found[-1]
    seen = seen or await store.overview(newest.session)
    bases, missing, subagents = await _around(places, newest)
    warnings = [f"It was forked from {missing!r}, whose transcript is gone."] if missing else []
    if seen.session and any(base.name not in seen.sources for base in bases):
        # What it began with cannot be put before what is there.
        bases, origin = [], seen.session.forked_from
        warnings = [f"It was first read without what it was forked from; see {origin!r} for that."]
    fresh = True
    for transcript in (*bases, *found, *subagents):
        held = seen.sources.get(transcript.name)
        try:
            source = await sync.sync(
                store, transcript, progress, held, may_read=places.may_read_beside
            )
        except FileNotFoundError as error:
            told = f"The transcript {str(transcript.path)!r} is gone."
            if transcript is newest and seen.session is None:
                raise SessionNotFound(f"{told} Nothing was changed. Call list_sessions.") from error
            warnings.append(f"{_OUR_COPY} {told}" if held else told)
        except TranscriptUnreadable as error:
            if transcript is newest and seen.session is None:
                raise
            warnings.append(f"{_OUR_COPY} {error}" if held else str(error))
        else:
            fresh &= source is held
            warnings += sync.faults(source)
    if not fresh:
        seen = await store.overview(newest.session)
    return _opened(store, seen, how, warnings)


async def _around(
    places: Places, transcript: Transcript
) -> tuple[list[Transcript], str, list[Transcript]]:
    """Find what a session was forked from, what of that is missing, and its subagents.

    Databases and the beginnings of other files are read for it beside the event loop.
    """

    def found() -> tuple[list[Transcript], str, list[Transcript]]:
        return *places.bases(transcript), places.subagents(transcript)

    place = transcript.place
    reads = isinstance(place, Database) or (isinstance(place, Lines) and place.siblings)
    return await offload(found) if reads else found()


def _opened(store: Store, seen: Overview, how: str, warnings: Sequence[str]) -> Opened:
    if seen.session is None:  # cannot be: what holds no record is refused before
        raise SessionNotFound("The session holds no record. Nothing was changed.")
    log = SessionLog(store, seen.session, READERS[seen.session.assistant])
    more = len(warnings) - _MOST_WARNINGS
    rest = [f"{more} more transcripts of its subagents have such faults"] if more > 0 else []
    return Opened(log, seen, how, (*warnings[:_MOST_WARNINGS], *rest))


async def _unknown(store: Store, places: Places, id: str) -> str:
    known = {session.id for session in await store.sessions()}
    known.update(one.session for one in await offload(places.transcripts))
    begin = sorted(other for other in known if id and other.startswith(id))[:_NEAR]
    near = begin or difflib.get_close_matches(id, sorted(known), n=_NEAR, cutoff=0.3)
    hint = f"The nearest are {', '.join(map(repr, near))}. " if near else ""
    return (
        f"There is no session {id!r}. Nothing was changed. {hint}"
        "Call list_sessions to see all there are."
    )


async def _hand_over(
    store: Store, id: str, messages: Sequence[Mapping[str, Any]], caller: Caller
) -> Opened:
    """Store messages that came in a call, without those that came before."""
    if len(id) > _LONGEST_NAME or not id.isprintable() or id != id.strip():
        raise InvalidRequest(
            f"{id[:80]!r} cannot name a session. Nothing was stored. Take 1 to {_LONGEST_NAME} "
            "printable characters, with no blank at either end."
        )
    given = handover.read(messages)
    for name in [id] if id else handover.names(given):
        while True:
            seen = await store.overview(name)
            session = seen.session
            if session is not None and session.assistant != api.READER.assistant:
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
            since = seen.sources.get(HANDED_OVER + name)
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
        assistant=api.READER.assistant,
        records=records,
        project=str(caller.project),
        updated=time.time(),
    )
    taken = (since.consumed if since else 0) + len(records)
    return await store.append([batch], Source(HANDED_OVER + name, name, taken), since)


async def _without_preamble(store: Store, seen: Overview, given: list[Given]) -> list[Given]:
    """Leave out a first message that only hands our own summary back to us."""
    if seen.session is None or not seen.attempts or not given:
        return given
    standing = await _opened(store, seen, "", ()).log.standing(seen)
    stands = standing.boundary
    if stands and stands.summary.text.strip() in given[0].message.prompt:
        return given[1:]
    return given
