"""Reading on and on: every page of a history, and long messages whole."""

from collections.abc import AsyncGenerator
from dataclasses import replace

from foldmark.offload import Progress
from foldmark.requests import Caller, History, Json, Query, Which
from foldmark.sessions.service import Sessions


async def pages(
    engine: Sessions, which: Which, query: Query, caller: Caller, progress: Progress
) -> AsyncGenerator[History]:
    """Read every page from the query's cursor on; a message cut to fit its page comes whole."""
    while True:
        page = await engine.history(which, query, caller, progress)
        # The next page must be of this session, whichever is the newest by then.
        which = Which(session_id=page.session_id)
        whole = [
            await _whole(engine, which, query, caller, item) if _is_cut(item) else item
            for item in page.messages
        ]
        yield replace(page, messages=whole)
        if page.next_cursor is None:
            return
        query = replace(query, cursor=page.next_cursor)


async def joined(reading: AsyncGenerator[History]) -> History:
    """Make one page of all pages: the slices of one message become one text again."""
    first: History | None = None
    items: list[Json] = []
    async for page in reading:
        first = first or page
        for item in page.messages:
            if items and "from" in item and items[-1].get("id") == item["id"]:
                items[-1] = _unsliced({**item, "text": items[-1]["text"] + item["text"]})
            else:
                items.append(item)
    assert first is not None, "there is always one page"
    return replace(first, messages=items, next_cursor=None)


async def _whole(engine: Sessions, which: Which, query: Query, caller: Caller, item: Json) -> Json:
    slices = Query(
        max_chars=query.max_chars,
        include_reasoning=query.include_reasoning,
        message_id=item["id"],
    )
    text = ""
    while True:
        page = await engine.history(which, slices, caller)
        text += "".join(part["text"] for part in page.messages)
        if page.next_cursor is None:
            return _unsliced({**item, "text": text})
        slices = replace(slices, cursor=page.next_cursor)


def _unsliced(item: Json) -> Json:
    return {key: value for key, value in item.items() if key not in ("from", "truncated", "chars")}


def _is_cut(item: Json) -> bool:
    return bool(item.get("truncated")) and "from" not in item
