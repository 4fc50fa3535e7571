"""The sessions there are: in the store, and on disk waiting to be imported."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from foldmark.errors import InvalidRequest
from foldmark.requests import ALL_PROJECTS, Caller, Filter, Listed, Listing
from foldmark.sessions import cursor as cursors
from foldmark.sessions import folders
from foldmark.sessions.cursor import Cursor
from foldmark.sessions.folders import Folders
from foldmark.sessions.opening import FILES
from foldmark.store.rows import Session
from foldmark.store.store import Store
from foldmark.transcripts import lines

_PEEK = 32 * 1024  # bytes at either end of a transcript that tell what it is about
_SHOWN = 160  # characters of a prompt


async def listing(store: Store, places: Folders, wanted: Filter, caller: Caller) -> Listing:
    """List sessions newest first, without those of subagents.

    Without a project it is the caller's own, as long as that has any session; "*" means all.

    Raises:
        InvalidRequest: The cursor or the project is none.

    """
    stored = {s.id: _of_store(s) for s in await store.sessions() if not s.parent}
    known = list(_merged(stored, places.transcripts()))
    project, scope = _scope(wanted.project, known, caller)
    view = f"sessions:{project}:{wanted.assistant}:{wanted.query}"
    matching = sorted((s for s in scope if _matches(s, wanted)), key=lambda s: (-s.updated, s.id))
    start = cursors.read(wanted.cursor, view, "") if wanted.cursor else 0
    page = matching[start : start + wanted.limit]
    more = start + len(page)
    return Listing(
        sessions=page,
        project=project,
        total=len(matching),
        next_cursor=str(Cursor(view, more)) if more < len(matching) else None,
    )


def _merged(stored: dict[str, Listed], transcripts: Iterable[Path]) -> Iterator[Listed]:
    """Put stored sessions and those on disk together; one that goes on is as new as its file."""
    for path in transcripts:
        held = stored.pop(folders.session_id(path), None)
        if held is None:
            held = _of_disk(path)
        else:
            held = replace(held, updated=max(held.updated, folders.modified(path)))
        if held is not None:
            yield held
    yield from stored.values()


def _scope(project: str, known: list[Listed], caller: Caller) -> tuple[str, list[Listed]]:
    if project == ALL_PROJECTS:
        return ALL_PROJECTS, known
    if project and not Path(project).expanduser().is_absolute():
        raise InvalidRequest(
            f"{project!r} is no project: it must be an absolute folder, or '*' for all projects. "
            "Nothing was listed. Leave project out for the current one."
        )
    wanted = _real(project or str(caller.project))
    scope = [session for session in known if session.project and _real(session.project) == wanted]
    if not project and not scope:
        return ALL_PROJECTS, known
    return wanted, scope


def _matches(session: Listed, wanted: Filter) -> bool:
    if wanted.assistant and session.assistant != wanted.assistant:
        return False
    fields = (session.id, session.title, session.first_prompt, session.last_prompt, session.project)
    return not wanted.query or any(wanted.query.lower() in text.lower() for text in fields)


def _of_store(session: Session) -> Listed:
    return Listed(
        id=session.id,
        assistant=session.assistant,
        project=session.project,
        title=session.title[:_SHOWN],
        first_prompt=session.first_prompt[:_SHOWN],
        last_prompt=session.last_prompt[:_SHOWN],
        updated=session.updated,
        imported=True,
    )


def _of_disk(path: Path) -> Listed | None:
    """Describe a transcript by its first and last records; None if it is no transcript."""
    try:
        about = path.stat()
        with path.open("rb") as file:
            start = file.read(_PEEK)
            file.seek(max(len(start), about.st_size - _PEEK))
            end = file.read()
    except OSError:
        return None
    records = [
        FILES.record(value, raw) for value, raw in _peeked(start, end) if FILES.recognizes(value)
    ]
    if not records:
        return None
    prompts = [record.prompt for record in records if record.prompt and not record.thread]
    return Listed(
        id=folders.session_id(path),
        assistant=FILES.assistant,
        project=_first(record.project for record in records),
        title=_first(record.title for record in reversed(records))[:_SHOWN],
        first_prompt=_first(prompts)[:_SHOWN],
        last_prompt=_first(reversed(prompts))[:_SHOWN],
        updated=about.st_mtime,
        imported=False,
    )


def _peeked(start: bytes, end: bytes) -> list[tuple[dict[str, Any], bytes]]:
    whole = not end
    return [
        *lines.split(start, last=whole).records,
        *lines.split(end.partition(b"\n")[2], last=True).records,
    ]


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


def _real(project: str) -> str:
    return str(Path(project).expanduser().resolve())
