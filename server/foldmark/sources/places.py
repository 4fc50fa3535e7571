"""Where the assistants keep their transcripts on this machine, and which files may be read at all.

Names are only looked for under the folders of known assistants. A path that a caller names must be
one of their transcripts, or lie under a folder that the user allowed, after every link in it is
followed: a prompt-injected assistant must not read a private key through us.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from foldmark.errors import (
    AmbiguousSession,
    SessionNotFound,
    TranscriptRefused,
    TranscriptUnreadable,
)
from foldmark.sources import files
from foldmark.sources.spot import LONGEST_ID, Spot
from foldmark.sources.transcript import Transcript, state
from foldmark.transcripts import lines
from foldmark.transcripts.record import Base, Database, Folder, Lines, Place, Reader

_VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]*)")


def variables(reader: Reader) -> set[str]:
    """Name the variables by which an assistant lets itself be told where to keep its sessions."""
    return {n for place in reader.places for root in place.roots for n in _VARIABLE.findall(root)}


class Places:
    """The transcripts that these readers can read, found by what the environment says."""

    def __init__(
        self,
        readers: Sequence[Reader],
        environ: Mapping[str, str],
        *,
        project: Path | None = None,
        allowed: Iterable[Path] = (),
    ) -> None:
        """Take the variables that are set, HOME among them, and the folders that are allowed."""
        self.readers = readers
        self._environ = environ
        self._project = project or Path.cwd()
        self._allowed = tuple(allowed)
        self._identified: dict[Path, tuple[tuple[int, ...], Transcript]] = {}

    def also_allowing(self, folders: Iterable[Path]) -> "Places":
        """Allow more folders."""
        allowed = (*self._allowed, *folders)
        return Places(self.readers, self._environ, project=self._project, allowed=allowed)

    @cached_property
    def spots(self) -> list[Spot]:
        """Every place that can exist here, whether or not it does."""
        return [
            Spot(reader, place, root)
            for reader in self.readers
            for place in reader.places
            if (root := self._root(place)) is not None
        ]

    @cached_property
    def allowed(self) -> list[Path]:
        """The folders that the user allowed, every link followed."""
        return [root.expanduser().resolve() for root in self._allowed]

    def permitted(self, path: str) -> Path:
        """Resolve a path that a caller named.

        Raises:
            TranscriptRefused: It is no file that may be read.
            SessionNotFound: There is no file.

        """
        try:
            real = Path(path).expanduser().resolve()
            inside = self.may_read(real)
        except (OSError, RuntimeError, ValueError):
            inside, real = False, Path(path)
        if not inside:
            known = ", ".join(repr(str(root)) for root in self._named())
            raise TranscriptRefused(
                f"{path!r} lies outside the folders that may be read ({known}), or is no "
                "transcript in them, so it was not opened. Pass a transcript under one of them, or "
                "have the user add its folder to FOLDMARK_ALLOWED_DIRS."
            )
        if not files.is_file(real):
            raise SessionNotFound(
                f"There is no file at {path!r}. Nothing was changed. Call list_sessions to see the "
                "sessions there are."
            )
        return real

    def may_read(self, real: Path) -> bool:
        """Tell whether a file, its links followed, may be read."""
        return any(real.is_relative_to(root) for root in self.allowed) or any(
            spot.holds(real) for spot in self.spots
        )

    def may_read_beside(self, real: Path) -> bool:
        """Tell whether a file of a session of several files, its links followed, may be read."""
        folders = [spot.real for spot in self.spots if isinstance(spot.place, Folder)]
        return any(real.is_relative_to(root) for root in (*self.allowed, *folders))

    def known(self, path: Path) -> Transcript | None:
        """Tell again whose transcript a file is that has not changed since."""
        seen, found = self._identified.get(path, ((), None))
        return found if seen == state(path) else None

    def identify(self, path: Path, session: str = "") -> Transcript:
        """Tell who wrote a file and which session it holds, by what it says and where it lies.

        Raises:
            TranscriptUnreadable: It is nobody's transcript, or holds many sessions.

        """
        if known := self.known(path):
            return known
        at_home = [spot for spot in self.spots if spot.holds(path)]
        elsewhere = [
            Spot.around(reader, place, path) for reader in self.readers for place in reader.places
        ]
        if any(isinstance(spot.place, Database) for spot in at_home):
            return _in_database(at_home, path, session)
        head = files.head(path)
        for spot in (*at_home, *elsewhere):
            if spot.recognizes(head):
                found = spot.transcript(path, head)
                self._identified[path] = (state(path), found)
                return found
        if at_home:
            return at_home[0].transcript(path, head)
        what = "is no transcript that is known" if head.strip() else "holds no record yet"
        raise TranscriptUnreadable(
            f"{str(path)!r} {what}. Nothing was read. Pass the path of a session's transcript, or "
            "call list_sessions to see the sessions there are."
        )

    def find(self, session: str, assistant: str = "") -> list[Transcript]:
        """Find the transcripts that hold a session, oldest first: mostly one.

        Of a file and its copies (compressed, archived, in another folder) one is taken, and a
        database rather than the files that it took over from.
        """
        if not 0 < len(session) <= 2 * LONGEST_ID or not session.isprintable():
            return []
        spots = list(self._of(assistant))
        found = [one for spot in spots for one in spot.find(session)]
        if not found:
            found = [one for spot in spots for one in spot.find(session, anywhere=True)]
        if len(owners := sorted({one.reader.assistant for one in found})) > 1:
            raise AmbiguousSession(
                f"{session!r} is a session of {' and of '.join(owners)}, and none was touched. "
                "Pass transcript_path as well as session_id."
            )
        found.sort(key=lambda one: (not one.compressed, one.updated))
        found = list({one.path.name.removesuffix(".zst"): one for one in found}.values())
        in_database = [one for one in found if isinstance(one.place, Database)]
        return in_database[-1:] or sorted(found, key=lambda one: one.updated)

    def transcripts(self, assistant: str = "", *, since: float = 0.0) -> list[Transcript]:
        """List the main transcripts, newest first: of all assistants or of one, written `since`."""
        some = (one for spot in self._of(assistant) for one in spot.transcripts(since))
        found = {(one.path, one.session): one for one in some}  # two places may be one folder
        return sorted(found.values(), key=lambda one: one.updated, reverse=True)

    def subagents(self, transcript: Transcript) -> list[Transcript]:
        """List the transcripts of the subagents that worked for a session, oldest first."""
        root = transcript.root
        same = (s for s in self.spots if s.place is transcript.place and s.root == root)
        spot = next(same, None) or Spot(transcript.reader, transcript.place, root)
        found = spot.subagents(transcript.session, near=transcript.below)
        return sorted(found, key=lambda one: one.updated)

    def bases(self, transcript: Transcript) -> tuple[list[Transcript], str]:
        """Find what a fork begins with: parts of other transcripts, oldest first.

        Also names the session that is missing, if one is.
        """
        found: list[Transcript] = []
        seen = {transcript.session}
        at = transcript
        while base := _base(at):
            known = self.find(base.session, transcript.reader.assistant)
            if not known or base.session in seen:
                return found, base.session
            seen.add(base.session)
            at = known[-1]
            found.insert(0, replace(at, session=transcript.session, length=base.length))
        return found, ""

    def _of(self, assistant: str) -> Iterator[Spot]:
        return (s for s in self.spots if not assistant or s.reader.assistant == assistant)

    def _root(self, place: Place) -> Path | None:
        """Take the first root whose variables are set."""
        for root in place.roots:
            if all(self._environ.get(name) for name in _VARIABLE.findall(root)):
                told = _VARIABLE.sub(lambda found: self._environ[found[1]], root)
                if told.startswith("~/"):
                    return Path(self._environ.get("HOME") or Path.home()) / told[2:]
                return self._project if told == "." else Path(told)
        return None

    def _named(self) -> list[Path]:
        """Name the folders to tell of: those that are there, or the first if none is."""
        roots = [spot.root for spot in self.spots if spot.root != self._project]
        there = [root for root in roots if root.exists()] or roots[:1]
        return list(dict.fromkeys([*there, *self.allowed]))


def _base(transcript: Transcript) -> Base | None:
    """Tell what of another session a transcript begins with, if it is a fork that says so."""
    if not isinstance(transcript.place, Lines) or transcript.place.base is None:
        return None
    records = lines.split(files.head(transcript.path), last=True).records
    return transcript.place.base(records[0][0]) if records else None


def _in_database(spots: Iterable[Spot], path: Path, session: str) -> Transcript:
    held = [one for spot in spots for one in spot.held(path)]
    for one in held:
        if one.session == session or (not session and len(held) == 1):
            return one
    raise TranscriptUnreadable(
        f"{str(path)!r} is a database of {len(held)} sessions. Nothing was read. Pass the "
        "session_id of one of them instead; list_sessions shows them."
    )
