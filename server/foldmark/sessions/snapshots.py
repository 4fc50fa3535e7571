"""Reading a transcript that is written anew: what changed in it, and what was taken back.

A database is asked for what changed since; a file is read whole if it is not the one we know. What
is gone from the end was taken back by the assistant and leaves the active branch, as a fork says.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from foldmark.errors import TranscriptUnreadable
from foldmark.offload import offload
from foldmark.sessions.growing import counted, stamp
from foldmark.sources import database, files
from foldmark.sources.files import FolderFiles
from foldmark.sources.transcript import Transcript
from foldmark.store.placement import Held, forks
from foldmark.store.rows import Batch, Source
from foldmark.store.store import Store
from foldmark.transcripts.record import Database, Document, Folder, Record, Snapshot


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
    snapshot, reached = taken or (Snapshot(()), None)
    if reached is None or (held is None and not snapshot.records):
        raise TranscriptUnreadable(
            f"{str(transcript.path)!r} holds no message of the session {transcript.session!r} that "
            f"{transcript.reader.assistant} wrote. Nothing was read. Pass the path of a session's "
            "transcript, or call list_sessions to see the sessions there are."
        )
    records = await _with_forks(store, transcript.session, snapshot)
    if same and not records and reached == same:
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
    return reached if await store.append([batch], reached, held) else None


def _take(
    transcript: Transcript, held: Source | None, may_read: Callable[[Path], bool]
) -> tuple[Snapshot, Source] | None:
    """Read the transcript, and tell what is known of it now; None if it is as it was."""
    at = held or Source(transcript.name, transcript.session)
    anew = replace(at, skipped=0, places=(), unknown={})  # what is read whole is counted whole
    match transcript.place:
        case Database() as place:
            state = deepcopy(dict(at.state))
            with database.reading(transcript.path, place.tables) as rows:
                snapshot = place.read(rows, transcript.session, state)
            at = replace(at, state=state)
        case Document() as place:
            about = transcript.path.stat()
            size, modified = about.st_size, stamp(about)
            if held and (held.size, held.modified) == (size, modified):
                return None
            data = files.whole(transcript.path)
            snapshot = place.read(data)
            digest = blake2b(data, digest_size=16).digest()
            at = replace(anew, size=size, modified=modified, head=digest)
        case Folder() as place:
            transcript.path.stat()
            found = FolderFiles(transcript.root, may_read)
            snapshot = place.read(found, transcript.below)
            if held and held.head == found.digest:
                return None
            at = replace(anew, head=found.digest)
        case _:
            raise AssertionError("a file of lines grows")
    return snapshot, counted(at, snapshot.skipped, snapshot.records)


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
