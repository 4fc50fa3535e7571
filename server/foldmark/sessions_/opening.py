"""Finding the session that a call means, and bringing its log up to date."""

import difflib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldmark import caller as calling
from foldmark import folders, handover, sync
from foldmark.caller import Caller
from foldmark.errors import InvalidRequest, SessionNotFound, TranscriptUnreadable
from foldmark.folders import Folders
from foldmark.handover import Given, New
from foldmark.rows import Batch, Session, Source
from foldmark.session_log import SessionLog
from foldmark.store import Store
from foldmark.sync import Progress, Transcript
from foldmark.transcripts.api import Messages
from foldmark.transcripts.claude_code import ClaudeCode
from foldmark.transcripts.record import Reader

FILES: Reader = ClaudeCode()
"""The reader of transcript files."""

_HANDED_OVER = "messages:"  # in place of a path, for a session that never had a file

READERS: Mapping[str, Reader] = {reader.assistant: reader for reader in (FILES, Messages())}


class NothingGiven(InvalidRequest):
    """No messages were handed over, and no session is known by the name."""

    def __init__(self) -> None:
        """Say what to do instead."""
        super().__init__(
            "messages is empty, so there is nothing to read. Nothing was stored. Pass the "
            "conversation's messages, or a session_id."
        )


@dataclass(frozen=True, slots=True)
class Which:
    """How a call names the session it means; with nothing set it means its own."""

    session_id: str = ""
    transcript_path: str = ""
    messages: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A session found and brought up to date: `how` it was found, and what to tell of it."""

    log: SessionLog
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
        if path := places.find(which.session_id):
            return await _from_file(store, places, path, "session_id", progress)
        return await _from_store(store, places, which.session_id)
    found = await calling.find(caller, places)
    return await _from_file(store, places, found.path, found.how, progress)


async def _from_file(
    store: Store, places: Folders, path: Path, how: str, progress: Progress | None
) -> Opened:
    """Read a transcript and those of its subagents; what we hold survives whatever they became."""
    id = folders.session_id(path)
    parent = id.partition("/")[0] if "/" in id else ""
    warnings: list[str] = []
    try:
        source = await sync.sync(store, Transcript(path, FILES, id, parent), progress)
        warnings += _skipped(source)
    except (TranscriptUnreadable, FileNotFoundError) as error:
        if await store.session(id) is None:
            raise
        warnings.append(f"{error} This is the copy that Foldmark keeps.")
    for agent in places.subagents(path):
        try:
            await sync.sync(store, Transcript(agent, FILES, folders.session_id(agent), id))
        except (TranscriptUnreadable, FileNotFoundError) as error:
            warnings.append(f"A subagent's transcript was passed over: {error}")
    return Opened(await _log(store, id), how, tuple(warnings))


async def _from_store(store: Store, places: Folders, id: str) -> Opened:
    """Find a session whose transcript is nowhere, or that never had one."""
    session = await store.session(id)
    if session is None:
        raise SessionNotFound(await _unknown(store, places, id))
    warnings = [_gone(source) for source in await store.sources(id) if _is_gone(source)]
    return Opened(
        SessionLog(store, session, READERS[session.assistant]), "session_id", tuple(warnings)
    )


def _is_gone(source: Source) -> bool:
    return not source.path.startswith(_HANDED_OVER) and not Path(source.path).exists()


def _gone(source: Source) -> str:
    return f"The transcript {source.path!r} is gone; this is the copy that Foldmark keeps."


async def _unknown(store: Store, places: Folders, id: str) -> str:
    known = {session.id for session in await store.sessions()}
    known.update(folders.session_id(path) for path in places.transcripts())
    near = difflib.get_close_matches(id, sorted(known), n=3, cutoff=0.3)
    hint = f"The nearest are {', '.join(map(repr, near))}. " if near else ""
    return (
        f"There is no session {id!r}. Nothing was changed. {hint}"
        "Call list_sessions to see all there are."
    )


async def _log(store: Store, id: str) -> SessionLog:
    session = await store.session(id)
    if session is None:  # cannot be: a transcript with nothing in it is refused
        raise SessionNotFound(f"The session {id!r} holds no message. Nothing was changed.")
    return SessionLog(store, session, READERS[session.assistant])


def _skipped(source: Source) -> list[str]:
    if not source.skipped:
        return []
    places = ", ".join(f"line {line} ({reason})" for line, reason in source.places)
    more = ", ..." if source.skipped > len(source.places) else ""
    return [f"{source.skipped} damaged records were skipped: {places}{more}"]


async def _hand_over(
    store: Store, id: str, messages: Sequence[Mapping[str, Any]], caller: Caller
) -> Opened:
    """Store messages that came in a call, without those that came before."""
    reader = READERS[Messages.assistant]
    given = handover.read(messages, reader)
    for name in [id] if id else handover.names(given):
        while True:
            session = await store.session(name)
            if session is None:
                if not given:
                    raise NothingGiven
                held: list[tuple[int, str]] = []
            elif session.assistant != reader.assistant:
                raise InvalidRequest(
                    f"{name!r} is a session of {session.assistant}, read from its transcript, and "
                    "messages cannot be added to it. Nothing was stored. Leave session_id out, or "
                    "choose another."
                )
            else:
                held = await store.ids(session.key)
                given = await _without_preamble(store, session, given)
            new = handover.align([handover.digest(i) for _, i in held], [g.digest for g in given])
            if not id and new.keep < len(held):
                break  # another conversation that began with the same words
            if await _store(store, name, given, held, new, caller):
                return Opened(await _log(store, name), "messages")
    raise AssertionError("names() never ends")


async def _store(
    store: Store,
    name: str,
    given: Sequence[Given],
    held: Sequence[tuple[int, str]],
    new: New,
    caller: Caller,
) -> bool:
    """Append what is new; False when another call on the same session was faster."""
    path = f"{_HANDED_OVER}{name}"
    since = await store.source(path)
    end = max((pos for pos, _ in held), default=0)
    named = any(one.record.id for one in given)
    fork = held[new.keep][0] if new.keep < len(held) and not named else None
    batch = Batch(
        session=name,
        assistant=Messages.assistant,
        records=handover.named(given, new.start, after=end),
        project=str(caller.project),
        updated=time.time(),
        fork=fork,
    )
    seen = Source(path, name, consumed=(since.consumed if since else 0) + len(batch.records))
    if not batch.records and since:
        return True
    return await store.append([batch], seen, since)


async def _without_preamble(store: Store, session: Session, given: list[Given]) -> list[Given]:
    """Leave out a first message that only hands our own summary back to us."""
    stands = (await SessionLog(store, session, READERS[session.assistant]).standing()).boundary
    if given and stands and stands.summary.text.strip() in given[0].message.prompt:
        return given[1:]
    return given
