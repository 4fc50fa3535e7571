"""All there is to know of a session before its messages are read, in one trip to the database."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from foldmark.store.rows import (
    SESSION,
    SOURCE,
    STORED,
    Claim,
    Extent,
    Rewound,
    Session,
    Source,
    Stored,
)

_WIDTH = 15  # columns of a row, the tag among them


def _part(tag: str, columns: str, rest: str) -> str:
    padding = ", NULL" * (_WIDTH - 2 - columns.count(","))
    return f"SELECT '{tag}', {columns}{padding} {rest}"


SQL = " UNION ALL ".join(
    (
        _part(
            "session",
            SESSION,
            "FROM sessions WHERE id = ?1",
        ),
        _part(
            "end",
            "pos, messages, chars",
            "FROM (SELECT * FROM log WHERE session = (SELECT key FROM sessions WHERE id = ?1)"
            " ORDER BY pos DESC LIMIT 1)",
        ),
        _part(
            "rewound",
            "first, last, messages, chars",
            "FROM rewinds WHERE session = (SELECT key FROM sessions WHERE id = ?1)",
        ),
        _part(
            "attempt",
            STORED,
            "FROM log WHERE session = (SELECT key FROM sessions WHERE id = ?1)"
            " AND kind IN ('marker', 'summary')",
        ),
        _part(
            "claim",
            "marker, owner, expires",
            "FROM claims WHERE session = (SELECT key FROM sessions WHERE id = ?1)",
        ),
        _part("child", "id", "FROM sessions WHERE parent = ?1 AND parent <> ''"),
        # "0" comes right after "/": these are the session's own sources and its subagents'.
        _part(
            "source",
            SOURCE,
            "FROM sources WHERE session = ?1 OR session >= ?1 || '/' AND session < ?1 || '0'"
            " OR session IN (SELECT id FROM sessions WHERE parent = ?1 AND parent <> '')",
        ),
    )
)


@dataclass(slots=True)
class Overview:
    """A session, the extent of its log, and what stands out in it.

    `attempts` are its markers and summaries, newest first; `claim` says who compacts it, if
    that has not expired; `sources` how far its transcript
    and those of its subagents were read, by path.
    """

    session: Session | None = None
    end: Extent = field(default_factory=Extent)
    rewound: list[Rewound] = field(default_factory=list[Rewound])
    attempts: list[Stored] = field(default_factory=list[Stored])
    claim: Claim | None = None
    children: list[str] = field(default_factory=list[str])
    sources: dict[str, Source] = field(default_factory=dict[str, Source])


def read(rows: Iterable[tuple[Any, ...]]) -> Overview:
    """Sort the rows of the query by what they tell."""
    view = Overview()
    for tag, *columns in rows:
        match tag:
            case "session":
                view.session = Session(*columns[:11])
            case "end":
                view.end = Extent(*columns[:3])
            case "rewound":
                view.rewound.append(Rewound(*columns[:4]))
            case "attempt":
                view.attempts.append(Stored.of(columns))
            case "claim":
                view.claim = Claim(*columns[:3])
            case "child":
                view.children.append(columns[0])
            case _:
                source = Source.of(columns)
                view.sources[source.path] = source
    view.attempts.sort(key=lambda row: (row.head, row.pos), reverse=True)
    return view
