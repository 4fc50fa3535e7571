"""The sessions there are: in the store, and on disk waiting to be imported."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from foldmark.errors import InvalidRequest
from foldmark.offload import offload
from foldmark.requests import (
    ALL_PROJECTS,
    MOST_CHARS,
    PROJECT_SHOWN,
    Caller,
    Filter,
    Listed,
    Listing,
)
from foldmark.sessions import cursor as cursors
from foldmark.sessions.cursor import Cursor
from foldmark.sessions.glimpse import SHOWN, glimpse, together
from foldmark.sources.places import Places
from foldmark.sources.transcript import Transcript
from foldmark.store.rows import Session
from foldmark.store.store import Store
from foldmark.transcripts.fields import dumps

_ROOM = 9_500  # characters of sessions in an answer of the usual size, and at the most
_MOST = MOST_CHARS - 4_000


async def listing(store: Store, places: Places, wanted: Filter, caller: Caller) -> Listing:
    """List sessions newest first; those of subagents only where a query asks for them.

    Without a project it is the caller's own, as long as that has any session; "*" means all.

    Raises:
        InvalidRequest: The cursor or the project is none.

    """
    kept = [one for one in await store.sessions() if not one.parent or wanted.query]
    files = await store.files()
    stored = {one.id: _of_store(one, gone=_is_gone(files.get(one.id, ()))) for one in kept}
    # Peeking into thousands of files takes seconds, in which other calls must be answered.
    known = await offload(lambda: list(_merged(stored, places.transcripts())))
    project, scope = _scope(wanted.project, known, caller)
    view = f"sessions:{project}:{wanted.assistant}:{wanted.query}"
    matching = sorted((s for s in scope if _matches(s, wanted)), key=lambda s: (-s.updated, s.id))
    start = cursors.read(wanted.cursor, view, "") if wanted.cursor else 0
    shown = [
        replace(one, project=one.project[:PROJECT_SHOWN])
        for one in matching[start : start + wanted.limit]
    ]
    page = _fitting(shown, _ROOM if wanted.limit <= 20 else _MOST)
    more = start + len(page)
    return Listing(
        sessions=page,
        project=project,
        total=len(matching),
        next_cursor=str(Cursor(view, more)) if more < len(matching) else None,
    )


def _merged(stored: dict[str, Listed], transcripts: Iterable[Transcript]) -> Iterator[Listed]:
    """Put stored sessions and those on disk together; one that goes on is as new as its file."""
    there: dict[str, Listed] = {}
    for one in transcripts:
        if held := stored.pop(one.session, None):
            there[one.session] = replace(held, updated=max(held.updated, one.updated), gone=False)
            continue
        known = there.get(one.session)
        if known and (known.imported or known.first_prompt):
            continue
        if seen := glimpse(one):
            there[one.session] = together(known, seen) if known else seen
    yield from there.values()
    yield from stored.values()


def _scope(project: str, known: list[Listed], caller: Caller) -> tuple[str, list[Listed]]:
    if project == ALL_PROJECTS:
        return ALL_PROJECTS, known
    if project and not Path(project).is_absolute() and not project.startswith("~"):
        raise InvalidRequest(
            f"{project!r} is no project: it must be an absolute folder, or '*' for all projects. "
            "Nothing was listed. Leave project out for the current one."
        )
    wanted = _real(project or str(caller.project))
    scope = [session for session in known if _is_of(session, wanted)]
    if not project and not scope:
        return ALL_PROJECTS, known
    return wanted, scope


def _fitting(found: list[Listed], room: int) -> list[Listed]:
    """Keep the sessions that fit into `room` characters, and always the first."""
    for number, one in enumerate(found):
        room -= len(dumps(one))
        if room < 0 and number:
            return found[:number]
    return found


def _matches(session: Listed, wanted: Filter) -> bool:
    if wanted.assistant and session.assistant != wanted.assistant:
        return False
    fields = (session.id, session.title, session.first_prompt, session.last_prompt, session.project)
    return not wanted.query or any(wanted.query.lower() in text.lower() for text in fields)


def _is_gone(files: Collection[str]) -> bool:
    """Tell whether every transcript that a session was read from is no longer there."""
    return bool(files) and not any(Path(file).exists() for file in files)


def _of_store(session: Session, *, gone: bool) -> Listed:
    return Listed(
        id=session.id,
        assistant=session.assistant,
        project=session.project,
        title=session.title[:SHOWN],
        first_prompt=session.first_prompt[:SHOWN],
        last_prompt=session.last_prompt[:SHOWN],
        updated=session.updated,
        imported=True,
        gone=gone,
    )


def _is_of(session: Listed, project: str) -> bool:
    try:
        return bool(session.project) and _real(session.project) == project
    except InvalidRequest:  # whatever a transcript calls its folder, it is not this one
        return False


def _real(project: str) -> str:
    """Follow every link of a project's folder, which need not exist any more.

    Raises:
        InvalidRequest: No folder can have that name.

    """
    try:
        return str(Path(project).expanduser().resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidRequest(
            f"{project!r} is no project: no folder can have that name. Nothing was listed. Leave "
            "project out for the current one, or pass '*' for all."
        ) from error
