"""Reading a session back, page by page."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from foldmark import boundary, render, turns
from foldmark.errors import InvalidRequest, SessionNotFound
from foldmark.messages import Message, Reasoning, Summary, size, tokens
from foldmark.requests import PROJECT_SHOWN, History, Json, Query
from foldmark.sessions import cursor, own_rows, pages
from foldmark.sessions.cursor import Cursor
from foldmark.sessions.log import Placed, SessionLog, Standing
from foldmark.sessions.opening import Opened
from foldmark.sessions.pages import Entry, Page
from foldmark.store.rows import Stored
from foldmark.transcripts import lines
from foldmark.transcripts.blocks import without_native
from foldmark.transcripts.fields import dumps

_MOST_AT_ONCE = 32  # messages read from the log at a time
_USUAL = 1_000  # characters of a message, so that the first trip to the log mostly suffices
_FULL = 0.8  # of a page is enough not to go to the log again
_ENVELOPE = 700  # characters for the fields around the messages, beside those of open length
_MOST_ASIDE = 800  # characters for warnings and orphans
_LISTED = 10
_LEAST_SLICE = 80  # characters even on the smallest page, or reading on would never end
_BEFORE = 4  # messages before a page that may hold the calls of its first results

_T = TypeVar("_T")


async def history(opened: Opened, query: Query) -> History:
    """Read one page of a session.

    Raises:
        InvalidRequest: The cursor is not of this view, or the arguments do not go together.
        SessionNotFound: The session holds no such message.

    """
    log = opened.log
    standing = await log.standing(opened.seen)
    about = await _about(opened, standing, query)
    room = query.max_chars - _ENVELOPE - _open_length(about) - _asides(query)
    room = max(room, query.max_chars // 8)
    in_force = standing.boundary.marker.id if standing.boundary else ""
    what = f"message:{query.message_id}" if query.message_id else f"{query.view}:{query.format}"
    view = f"{log.session.key}:{what}"
    at = cursor.read(query.cursor, view, in_force) if query.cursor else None
    if query.message_id:
        page = await _slice(log, standing, query, at or 0, room)
    elif query.view == "summary":
        page = _summary(standing, at or 0, room)
    elif query.format == "text":
        page = await _text(log, standing, query, at, room)
    else:
        page = await _formatted(log, standing, query, at, room)
    following = str(Cursor(view, page.next, in_force)) if page.next is not None else None
    return replace(about, messages=page.items, next_cursor=following)


async def _about(opened: Opened, standing: Standing, query: Query) -> History:
    session = opened.log.session
    warnings = [*opened.warnings, *([standing.warning] if standing.warning else [])]
    if query.view == "summary" and standing.boundary is None and not query.message_id:
        warnings.append(
            "no compaction is in force, so there is no summary; compact_session makes one"
        )
    rewound = standing.end.messages - standing.total
    if query.view == "full" and query.format != "text" and rewound:
        warnings.append(f"{rewound} rewound messages are left out; format='text' shows them")
    subagents = opened.seen.children
    if len(subagents) > _LISTED:
        everything = f"list_sessions(query='{session.id}/', project='*')"
        warnings.append(f"{len(subagents)} subagents; {everything} lists them all")
    orphans = [
        {"compaction_id": orphan.marker.id, "at": orphan.marker.at, "reason": orphan.reason[:200]}
        for orphan in standing.orphans
    ]
    asides = _asides(query)
    listed = _fitting_in(orphans, asides // 2)
    if len(listed) < len(orphans):
        warnings.append(f"{len(orphans)} orphan markers; view='full' shows each")
    return History(
        session_id=session.id,
        assistant=session.assistant,
        project=session.project[:PROJECT_SHOWN],
        title=(session.title or session.first_prompt)[:100],
        how=opened.how,
        view=query.view,
        format=query.format,
        boundary=_boundary(standing),
        orphans=listed,
        forked_from=session.forked_from,
        subagents=subagents[-_LISTED:],
        total_messages=standing.total,
        visible_messages=standing.visible_messages,
        visible_tokens=tokens(standing.visible_chars),
        warnings=_warnings_in(warnings, asides - asides // 2),
    )


def _asides(query: Query) -> int:
    """Set room aside for warnings and orphans.

    The same whether there are any or not: a failed attempt must not move a single message to
    another page.
    """
    return min(_MOST_ASIDE, query.max_chars // 8)


def _fitting_in(told: list[_T], room: int) -> list[_T]:
    """Keep the first things that fit."""
    left = room
    for number, one in enumerate(told):
        left -= pages.size(one) + 1
        if left < 0:
            return told[:number]
    return told


def _warnings_in(told: list[str], room: int) -> list[str]:
    """Keep the warnings that fit; never none where there is one, and never without saying so."""
    kept = _fitting_in(told, room - 30)
    if len(kept) == len(told):
        return told
    if not kept:
        return [f"{told[0][: max(room - 40, 40)]}..."]
    return [*kept, f"{len(told) - len(kept)} more warnings"]


def _boundary(standing: Standing) -> Json | None:
    if standing.boundary is None:
        return None
    marker, summary = standing.boundary.marker, standing.boundary.summary
    return {
        "compaction_id": marker.id,
        "summary_id": summary.id,
        "summarizer": str(standing.details.get("summarizer") or "assistant"),
        "at": summary.at,
        "messages_folded": standing.total - standing.visible_messages,
        "summary_tokens": tokens(len(summary.text)),
    }


def _open_length(about: History) -> int:
    free = (about.session_id, about.project, about.title, about.how)
    return pages.size([about.boundary, about.subagents, free])


async def _text(
    log: SessionLog, standing: Standing, query: Query, at: int | None, room: int
) -> Page:
    """Read a page of the visible or the full history as labelled text."""
    full = query.view == "full"
    kinds = ("message", "marker", "summary") if full else ("message",)
    entries: list[Entry] = []
    if at is None and standing.boundary and not full:
        entries.append(Entry.of(0, _summary_item(standing.boundary.summary, "live")))
    after: int | None = at if at is not None else (1 if full else standing.start)
    own: set[str] = set()
    if at is not None and not full:  # a result may answer a call on the page before
        rows = await log.store.page(log.session.key, last=at - 1, limit=_BEFORE, backward=True)
        own |= render.own_calls([one.message for one in log.messages(rows)])
    limit = max(room // _USUAL, 2)
    while after is not None and sum(entry.size for entry in entries) <= room * _FULL:
        rows = await log.store.page(
            log.session.key, first=after, limit=limit, live=not full, kinds=kinds
        )
        groups = log.grouped(rows)
        entries += [_entry(log, standing, query, group, own) for group in groups]
        last = groups[-1][0].head if groups else standing.end.pos
        after = last + 1 if len(groups) == limit and last < standing.end.pos else None
        limit = min(limit * 2, _MOST_AT_ONCE)
    return pages.of_text(entries, room, after)


def _entry(
    log: SessionLog, standing: Standing, query: Query, rows: Sequence[Stored], own: set[str]
) -> Entry:
    """Write one message, marker or summary; `own` collects the calls to Foldmark's own tools."""
    head = rows[0].head
    state = standing.state(head)
    if rows[0].kind == "message":
        message = log.message(rows)
        own |= render.own_calls([message])
        item = {
            "id": message.id,
            "role": message.role,
            "state": state,
            "at": message.at,
            **(_billed(message) if query.view == "full" else {}),
            "text": _words(message, query, own),
        }
        return Entry.of(head, item)
    [found] = own_rows.read(rows[-1:], log.reader)
    if isinstance(found, Summary):
        item = _summary_item(found, state)
        if not boundary.stands(found):
            item["text"] = f"[not usable: {boundary.lack(found)}] {found.text}".rstrip()
        return Entry.of(head, item)
    reasons = {orphan.marker.id: f"orphan: {orphan.reason}" for orphan in standing.orphans}
    stands = standing.boundary is not None and standing.boundary.marker.id == found.id
    text = reasons.get(found.id) or ("the boundary in force" if stands else "an earlier boundary")
    item = {"id": found.id, "role": "marker", "state": state, "at": found.at, "text": text}
    return Entry.of(head, item)


def _billed(message: Message) -> Json:
    """Tell which model wrote a message and what it billed, as far as the transcript says."""
    told: Json = {"model": message.model} if message.model else {}
    if message.usage:
        told["usage"] = {name: count for name, count in asdict(message.usage).items() if count}
    return told


def _summary_item(summary: Summary, state: str) -> Json:
    return {
        "id": summary.id,
        "role": "summary",
        "state": state,
        "at": summary.at,
        "text": summary.text,
    }


def _words(message: Message, query: Query, own: set[str]) -> str:
    kept = message if query.include_reasoning else _without_reasoning(message)
    words = render.text(kept, echo=query.view == "full", own=own)
    if not words and message.blocks and not kept.blocks:
        return "[reasoning only; include_reasoning=true shows what can be read of it]"
    return words or "[empty message]"


def _without_reasoning(message: Message) -> Message:
    kept = tuple(block for block in message.blocks if not isinstance(block, Reasoning))
    return message if len(kept) == len(message.blocks) else replace(message, blocks=kept)


async def _formatted(
    log: SessionLog, standing: Standing, query: Query, at: int | None, room: int
) -> Page:
    """Read a page of messages that are ready to send to a provider's API."""
    full = query.view == "full"
    preamble = ""
    if at is None and standing.boundary and not full:
        preamble = _fitting(standing.boundary.summary, room // 2)
    start = at if at is not None else (1 if full else standing.start)
    placed: list[Placed] = []
    after: int | None = start
    while after is not None and not _enough(placed, room):
        rows = await log.store.page(log.session.key, first=after, limit=_MOST_AT_ONCE)
        new = log.messages(rows)
        if not query.include_reasoning:
            new = [replace(one, message=_without_reasoning(one.message)) for one in new]
        placed.extend(new)
        last = new[-1].pos if new else standing.end.pos
        after = last + 1 if len(new) == _MOST_AT_ONCE and last < standing.end.pos else None
    return pages.of_messages(placed, room, after, query.format, preamble, continued=at is not None)


def _enough(placed: Sequence[Placed], room: int) -> bool:
    """Tell whether these messages fill a page, and there is a place among them to end it."""
    return sum(size(one.message.blocks) for one in placed) > room and bool(
        turns.breaks([one.message for one in placed])
    )


def _fitting(summary: Summary, room: int) -> str:
    """Keep a summary small enough to leave room for messages, and say where the rest is.

    On a page too small even for that it is left out: `boundary` tells that there is one.
    """
    if len(summary.text) <= room:
        return summary.text
    where = "[get_history(view='summary') reads all of the summary]"
    left = room - len(where) - len(turns.BEGIN) - len(turns.END)
    return f"{render.clip(summary.text, left)}\n{where}" if left > 100 else ""


def _summary(standing: Standing, at: int, room: int) -> Page:
    """Read the summary in force, in slices."""
    if standing.boundary is None:
        return Page([], None)
    return _sliced(_summary_item(standing.boundary.summary, "live"), at, room)


async def _slice(log: SessionLog, standing: Standing, query: Query, at: int, room: int) -> Page:
    """Read one message in slices."""
    if query.format != "text":
        raise InvalidRequest(
            f"message_id reads one message as text, and format is {query.format!r}. Nothing was "
            "changed. Leave format out."
        )
    rows = await log.store.whole(log.session.key, query.message_id)
    if not rows:
        raise SessionNotFound(
            f"The session {log.session.id!r} holds no message {query.message_id!r}. Nothing was "
            "changed. Take ids from get_history; view='full' lists every message."
        )
    whole = replace(query, view="full")
    if rows[0].kind in ("fork", "other"):
        text = dumps(without_native(lines.loads(rows[0].raw)))
        item = {
            "id": rows[0].id,
            "role": "record",
            "state": standing.state(rows[0].pos),
            "text": text,
        }
    else:
        item = _entry(log, standing, whole, rows, set()).item
    return _sliced(item, at, room)


def _sliced(item: Json, at: int, room: int) -> Page:
    """Give the slice of an item's text that begins at `at`."""
    if not at and pages.size(item) <= room:
        return Page([item], None)
    text: str = item["text"]
    rest: dict[str, Any] = {**item, "text": text[at:], "from": at, "chars": len(text)}
    if pages.size(rest) <= room:
        return Page([rest], None)
    part = pages.shortened(rest, room, least=_LEAST_SLICE)
    return Page([part | {"chars": len(text)}], at + len(part["text"]))
