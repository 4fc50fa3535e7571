"""Where transcripts lie on disk, and which files may be read at all.

Names are only looked for under folders of known assistants. A path that a caller names must lie
under one of those, or under one that the user allowed, after every link in it is followed: a
prompt-injected assistant must not read a private key through us.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from foldmark.errors import SessionNotFound, TranscriptRefused

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_NOT_SLUG = re.compile(r"[^A-Za-z0-9-]")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class Folders:
    """The folders we may read: Claude Code's `projects`, and what the user allowed."""

    projects: Path
    allowed: tuple[Path, ...] = field(default=())

    @cached_property
    def roots(self) -> list[Path]:
        """The real folders, every link followed."""
        return [root.expanduser().resolve() for root in (self.projects, *self.allowed)]

    def permitted(self, path: str) -> Path:
        """Resolve a path that a caller named.

        Raises:
            TranscriptRefused: It lies outside every folder that may be read.
            SessionNotFound: There is no file.

        """
        roots = self.roots
        try:
            real = Path(path).expanduser().resolve()
            inside = any(real.is_relative_to(root) for root in roots)
        except (OSError, RuntimeError, ValueError):
            inside, real = False, Path(path)
        if not inside:
            known = ", ".join(repr(str(root)) for root in roots)
            raise TranscriptRefused(
                f"{path!r} lies outside the folders that may be read ({known}), so it was not "
                "opened. Pass a transcript under one of them, or have the user add its folder to "
                "FOLDMARK_ALLOWED_DIRS."
            )
        if not _is_file(real):
            raise SessionNotFound(
                f"There is no file at {path!r}. Nothing was changed. Call list_sessions to see the "
                "sessions there are."
            )
        return real

    def find(self, session: str) -> Path | None:
        """Find the transcript of a session by its id, in whatever project it lies."""
        name, _, agent = session.partition("/")
        if not _NAME.fullmatch(name) or (agent and not _NAME.fullmatch(agent)):
            return None
        patterns = (
            [f"*/{name}/subagents/**/{agent}.jsonl", f"*/{agent}.jsonl"]
            if agent
            else [f"*/{name}.jsonl"]
        )
        found = [path for pattern in patterns for path in self._glob(pattern)]
        return max(found, key=modified, default=None)

    def transcripts(self, project: Path | None = None) -> list[Path]:
        """List the main transcripts, of one project folder or of all, newest first."""
        name = slug(project) if project else "*"
        found = [path for path in self._glob(f"{name}/*.jsonl") if not is_agent(path)]
        return sorted(found, key=modified, reverse=True)

    def subagents(self, transcript: Path) -> list[Path]:
        """List the transcripts of the subagents that worked for a session, oldest first."""
        folder = transcript.with_suffix("") / "subagents"
        if not folder.is_dir() or not any(folder.resolve().is_relative_to(r) for r in self.roots):
            return []
        return sorted(_files(folder, "**/agent-*.jsonl"), key=modified)

    def _glob(self, pattern: str) -> Iterator[Path]:
        return _files(self.projects, pattern)


def slug(project: Path) -> str:
    """Name a project's folder of transcripts as Claude Code does; two may share one name."""
    return _NOT_SLUG.sub("-", str(project))


def session_id(transcript: Path) -> str:
    """Name the session that a transcript holds.

    A file of the assistant's is named by its session. Any other file gets its folder's digest
    too, since two of them may well share a name.
    """
    if is_agent(transcript) and "subagents" in transcript.parts:
        parts = transcript.parts[::-1]
        session = parts[parts.index("subagents") + 1]
        return f"{session}/{transcript.stem}"
    if _UUID.fullmatch(transcript.stem):
        return transcript.stem
    digest = hashlib.blake2b(str(transcript.parent).encode(), digest_size=3).hexdigest()
    return f"{transcript.stem}-{digest}"


def is_agent(path: Path) -> bool:
    """Tell whether a transcript is a subagent's."""
    return path.name.startswith("agent-")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def _files(root: Path, pattern: str) -> Iterator[Path]:
    """Find regular files under `root`, passing over whatever a link leads out of it to."""
    real = root.resolve()
    for path in root.glob(pattern):
        try:
            if path.is_file() and path.resolve().is_relative_to(real):
                yield path
        except OSError:
            continue


def modified(path: Path) -> float:
    """Tell when a file was last written to, in seconds since 1970; 0 if that cannot be told."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
