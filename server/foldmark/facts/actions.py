"""What a tool call can do, as far as a summary cares."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["pending", "in_progress", "completed", "dropped", "unknown"]
How: TypeAlias = Literal["read", "edited", "created", "deleted"]


@dataclass(frozen=True, slots=True)
class Ran:
    """A shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class Touched:
    """A file was read or changed."""

    path: str
    how: How


@dataclass(frozen=True, slots=True)
class Task:
    """One item of a task list; `id` is set where the tool changes a single task."""

    text: str
    status: Status
    id: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """The whole task list was written."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A plan was laid before the person."""

    plan: str


@dataclass(frozen=True, slots=True)
class Delegated:
    """A subagent was sent to do something."""

    title: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """A web page was asked for."""

    url: str


@dataclass(frozen=True, slots=True)
class Looked:
    """A search or a listing: `what` was looked for."""

    what: str


Action: TypeAlias = Ran | Touched | Task | Planned | Proposed | Delegated | Fetched | Looked
