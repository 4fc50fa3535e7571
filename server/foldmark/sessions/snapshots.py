"""Reading a transcript that is written anew: what changed in it, and what was taken back.

A database is asked for what changed since; a file is read whole if it is not the one we know. What
is gone from the end was taken back by the assistant and leaves the active branch, as a fork says.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from foldmark.errors import TranscriptUnreadable
from foldmark.offload import offload
from foldmark.sessions.growing import stamp, with_unknown
from foldmark.sources import database, files
from foldmark.sources.files import FolderFiles
from foldmark.sources.transcript import Transcript
from foldmark.store.placement import Held, forks
from foldmark.store.rows import Batch, Source
from foldmark.store.store import Store
from foldmark.transcripts.record import Database, Document, Folder, Record, Snapshot

_PLACES_KEPT = 20


@dataclass(frozen=True, slots=True)
class _Taken:
    """A snapshot, and how far it reaches; `whole` says that it does not build on an earlier one."""

    snapshot: Snapshot
    reached: Source
    whole: bool


async def read(
    store: Store,
    transcript: Transcript,
    held: Source | None,
    may_read: Callable[[Path], bool],
) -> Source | None:
    """Read what changed, and tell what is known now; None when another server was faster.

    Raises:
        TranscriptUnreadable: It cannot be read, or there is nothing in it.
        FileNotFoundError: It is gone.

    """
    same = held if held and held.session == transcript.session else None
    taken = await offload(_take, transcript, same, may_read)
    if taken is None and same:
        return same
    if taken is None or (held is None and not taken.snapshot.records):
        raise TranscriptUnreadable(
            f"{str(transcript.path)!r} holds no message of the session {transcript.session!r} that "
            f"{transcript.reader.assistant} wrote. Nothing was read. Pass the path of a session's "
            "transcript, or call list_sessions to see the sessions there are."
        )
    records = await _with_forks(store, transcript.session, taken.snapshot)
    if same and not records and taken.reached == same:
        return same
    seen = transcript.seen
    batch = await offload(
        lambda: Batch(
            session=transcript.session,
            assistant=transcript.reader.assistant,
            records=records,
            parent=transcript.parent,
            project=files.project(transcript),
            title=seen.title if seen else "",
            updated=transcript.updated,
        )
    )
    return taken.reached if await store.append([batch], taken.reached, held) else None


def _take(
    transcript: Transcript, held: Source | None, may_read: Callable[[Path], bool]
) -> _Taken | None:
    """Read the transcript; None if it is as it was."""
    at = held or Source(transcript.name, transcript.session)
    match transcript.place:
        case Database() as place:
            state = deepcopy(dict(at.state))
            with database.reading(transcript.path, place.tables) as rows:
                snapshot = place.read(rows, transcript.session, state)
            return _taken(snapshot, replace(at, state=state), at, whole=False)
        case Document() as place:
            about = transcript.path.stat()
            size, modified = about.st_size, stamp(about)
            if held and (held.size, held.modified) == (size, modified):
                return None
            data = _whole(transcript.path)
            snapshot = place.read(data)
            digest = blake2b(data, digest_size=16).digest()
            reached = replace(at, size=size, modified=modified, head=digest)
            return _taken(snapshot, reached, at, whole=True)
        case Folder() as place:
            transcript.path.stat()
            found = FolderFiles(transcript.root, may_read)
            snapshot = place.read(found, transcript.below)
            if held and held.head == found.digest:
                return None
            return _taken(snapshot, replace(at, head=found.digest), at, whole=True)
        case _:
            raise AssertionError("a file of lines grows")


def _taken(snapshot: Snapshot, reached: Source, before: Source, *, whole: bool) -> _Taken:
    """Count what was skipped and what is of no known type, anew or on top of before."""
    skips = [(skip.place, skip.reason) for skip in snapshot.skipped]
    known: Mapping[str, int] = before.unknown if not whole else dict[str, int]()
    places = (*(() if whole else before.places), *skips)
    reached = replace(
        reached,
        skipped=len(skips) + (0 if whole else before.skipped),
        places=places[:_PLACES_KEPT],
        unknown=with_unknown(known, snapshot.records),
    )
    return _Taken(snapshot, reached, whole)


async def _with_forks(store: Store, session: str, snapshot: Snapshot) -> Sequence[Record]:
    """Put before and after the new records what is to be said of the old ones."""
    if snapshot.current is None:
        return snapshot.records
    end, held = await store.held(session)
    before = list(forks(held, snapshot.current, end))
    wanted = set(snapshot.current)
    known = {one.id for one in held}
    fresh = [r for r in snapshot.records if r.kind in ("message", "marker", "summary")]
    after: list[Record] = []
    if any(r.id not in wanted and r.id not in known for r in fresh):
        now = [replace(one, live=one.id in wanted) for one in held]
        new = {r.id: Held(r.id, True, r.kind == "message") for r in fresh if r.id not in known}
        last = end + len(before) + len(snapshot.records)
        after = list(forks([*now, *new.values()], snapshot.current, last))
    return [*before, *snapshot.records, *after]


def _whole(path: Path) -> bytes:
    try:
        return files.whole(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TranscriptUnreadable(
            f"{str(path)!r} cannot be read ({error.strerror}). Nothing was changed. Check who may "
            "read the file."
        ) from error
