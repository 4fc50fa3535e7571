"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.json`, later `.jsonl`.

At first a session is one document, written anew. Later it is JSON lines: a header at each start,
messages, each written again when there is more of it, and two records that change the whole:

    $rewindTo       takes back a message and all behind it
    $set.messages   the chat as it is from now on, rebuilt of parts, and so a copy

A rebuilt chat is kept in the log as it is, and its messages are not added again. Three things are
read of it: that its end was taken back, because the person stopped a turn; that it begins with a
summary; and which of its messages are copies under new ids, to which a `$rewindTo` may point.

    lines     u1 a1 u2 a2            the ids by which we hold them
    rebuilt   summary u2' a2'        u2' is a copy of u2, the first message that was kept

What a tool answered stands with its call; a user's message that repeats it is a copy as well.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from foldmark.transcripts import blocks
from foldmark.transcripts.fields import digest, dumps, items, loads, mapping, name, text
from foldmark.transcripts.gemini_cli import chat
from foldmark.transcripts.gemini_cli.content import (
    TYPES,
    answered,
    folder,
    is_context,
    message,
    passages,
    rebuilt,
    role,
    snapshot,
    summary,
)
from foldmark.transcripts.record import (
    Document,
    Files,
    Json,
    Lines,
    Reader,
    Record,
    Skipped,
    Snapshot,
    State,
    compaction,
    of_message,
)

_ROOTS = ("$GEMINI_CLI_HOME/.gemini/tmp", "~/.gemini/tmp")
_LONGEST_TYPE = 60


def records(record: Json, raw: bytes, state: State) -> Iterator[Record]:
    """Read one line for the log."""
    other = Record("other", digest(raw), raw)
    if isinstance(record.get("$rewindTo"), str):
        yield _taken_back(chat.take_back(name(record["$rewindTo"]), state), other)
    elif name(record.get("id")) or _is_message(record):
        state.pop("begun", None)
        yield from (other,) if _is_copied(record, state) else _message(record, raw, state)
    elif isinstance(record.get("$set"), dict):
        told = mapping(record["$set"])
        if "sessionId" in told:
            state["begun"] = "resumed"
        yield from _told(told, other, state)
    elif _is_header(record):
        state["begun"] = "started"
        state.pop("copying", None)
        yield from _told(record, other, state)
    else:
        kind = name(record.get("type")) or next(map(name, record), "")
        yield replace(other, unknown=kind[:_LONGEST_TYPE] or "no type")


def read(data: bytes) -> Snapshot:
    """Read a session that is one document."""
    try:
        whole = mapping(loads(data.decode("utf-8", "replace")))
    except ValueError:
        return Snapshot((), skipped=[Skipped("the document", "not JSON")])
    if not _is_header(whole):
        return Snapshot(())
    about = {key: v for key, v in whole.items() if key not in ("messages", "lastUpdated")}
    id = f"{name(whole.get('sessionId'))}/session"
    found = [_with_facts(whole, Record("other", id, dumps(about).encode()))]
    skipped: list[Skipped] = []
    state: State = {}
    for number, one in enumerate(items(whole.get("messages")), 1):
        if isinstance(one, dict):
            found += _message(mapping(one), dumps(one).encode(), state)
        else:
            skipped.append(Skipped(f"message {number}", "not an object"))
    current = dict.fromkeys(record.id for record in found if record.kind == "message")
    return Snapshot(found, list(current) or None, skipped)


def _message(record: Json, raw: bytes, state: State) -> Iterator[Record]:
    """Read a message; another of the same id and type is the same one, with more in it."""
    key = chat.key(record)
    if not name(record.get("id")):
        state["nameless"] = state.get("nameless", 0) + 1
        key = f"{digest(raw)}-{state['nameless']}"
    held = chat.held(key, state)
    other = Record("other", held.id, raw, at=name(record.get("timestamp")))
    speaker = role(record)
    if speaker is None:
        kind = name(record.get("type"))
        unknown = "" if kind in TYPES else f"message/{kind or 'no type'}"
        yield replace(other, unknown=unknown[:_LONGEST_TYPE])
        return
    left = _without_copies(record, state) if speaker == "user" else record
    if left is not record:
        yield replace(other, id=digest(raw))
        other = replace(other, raw=dumps(left).encode())
    if left is not None:
        yield _read(left, other, state)
    chat.hold(key, held.id if left is not None else "", record, state, folded=held.folded)


def _read(record: Json, other: Record, state: State) -> Record:
    built = message("", [record])
    chat.answers(state).update((result.call_id, other.id) for result in built.results)
    project = folder(record) if is_context(record) else ""
    return of_message(built, replace(other, project=project))


def _without_copies(record: Json, state: State) -> Json | None:
    """Leave out the answers that stand with their calls; None if nothing else is in a message."""
    content = list(blocks.parts(record.get("content")))
    known, own = chat.answers(state), chat.held(chat.key(record), state).id
    left = [part for part in content if known.get(answered(part) or "-", own) == own]
    if len(left) == len(content):
        return record
    return {**record, "content": left} if left else None


def _is_copied(record: Json, state: State) -> bool:
    """Tell whether a line is one of those by which a whole chat is written again.

    They begin with what the program says of the session, which no other line does, and end with a
    rebuilt chat.
    """
    if is_context(record) and chat.is_begun(state):
        state["copying"] = True
    elif not isinstance(record.get("content"), list):
        state.pop("copying", None)
    return state.get("copying") is True


def _told(told: Json, other: Record, state: State) -> Iterator[Record]:
    """Read what is said of the session, and the chat that is rebuilt with it."""
    other = _with_facts(told, other)
    turns = rebuilt(told)
    if turns is None:
        yield other
        return
    begun = state.pop("begun", "")
    copied = state.pop("copying", False)
    if turns and is_context(turns[0]) and len(passages(turns[0])) == 1:
        yield from _context(turns[0], state)
    found = snapshot(turns)
    if found and not copied and chat.key(turns[found[0]]) != state.get("snapshot"):
        yield from _compacted(turns, found[0], other, state)
    elif not chat.is_begun(state):
        yield other
        for turn in turns:
            if chat.key(turn) != state.get("context"):
                yield from _message(turn, dumps(turn).encode(), state)
    elif begun == "started":  # an old chat may be taken up again behind this new one
        yield other
    else:
        if found:
            state["snapshot"] = chat.key(turns[found[0]])
        replaces = "" if begun or copied else chat.taken_back(turns, state)
        chat.rebuild(turns, state)
        yield _taken_back(replaces, other)


def _taken_back(first: str, other: Record) -> Record:
    return replace(other, kind="fork", id=f"{other.id}/{first}", replaces=first) if first else other


def _context(turn: Json, state: State) -> Iterator[Record]:
    """Read what the program says of the session, where it says anything new."""
    key, words = chat.key(turn), digest("".join(passages(turn)).encode("utf-8", "replace"))
    if (state.get("context"), state.get("said")) != (key, words):
        state.update(context=key, said=words)
        yield from _message(turn, dumps(turn).encode(), state)


def _compacted(turns: Sequence[Json], at: int, other: Record, state: State) -> Iterator[Record]:
    """Read a compaction, and what it kept that we do not hold."""
    kept = turns[at + 2 :]
    first, start = chat.first_kept(kept, state)
    new = [] if first else chat.unheld(kept, state)
    id = state["snapshot"] = chat.key(turns[at])
    if again := state.get("again", 0):
        id = f"{id}~{again}"
    found = replace(other, id=id, at=name(turns[at].get("timestamp")))
    yield from compaction(found, first_kept=first)
    chat.rebuild(turns, state, start=start, folded=True)
    for turn in new:
        yield from _message(turn, dumps(turn).encode(), state)


def _with_facts(told: Json, other: Record) -> Record:
    """Add what is said of the session.

    A subagent's gives its own id or, in early versions, that of the session it worked for. Where
    it is in the folder of that session, the folder tells.
    """
    folders = [name(one) for one in items(told.get("directories"))]
    return replace(
        other,
        title=text(told.get("summary")),
        project=next((one for one in folders if one), ""),
        parent_session=name(told.get("sessionId")) if told.get("kind") == "subagent" else "",
    )


def _is_header(record: Json) -> bool:
    return all(name(record.get(key)) for key in ("sessionId", "projectHash"))


def _is_message(record: Json) -> bool:
    return text(record.get("type")) in TYPES and "content" in record


def _recognizes(record: Json) -> bool:
    """Tell whether this record is of Gemini CLI's making."""
    known = _is_message(record) and all(name(record.get(key)) for key in ("id", "timestamp"))
    changes = isinstance(record.get("$set"), dict) or isinstance(record.get("$rewindTo"), str)
    return known or changes or _is_header(record)


def _recognizes_document(data: bytes) -> bool:
    return bool(read(data).records)


def _session(path: str, first: Json) -> str:
    """Name a session as it does itself; a subagent's by the one it worked for and by its file."""
    *folders, file = path.split("/")
    stem = file.partition(".")[0]
    if len(folders) > 1 and folders[-2] == "chats":
        return f"{folders[-1]}/{stem}"
    id = name(first.get("sessionId"))
    return f"{id}/{stem}" if id and first.get("kind") == "subagent" else id


def _session_of_document(path: str, data: bytes) -> str:
    try:
        return _session(path, mapping(loads(data.decode("utf-8", "replace"))))
    except ValueError:
        return ""


def _project(files: Files, path: str) -> str:
    """Find the project's folder in the file that claims a folder of chats for it."""
    return files.read(f"{path.partition('/')[0]}/.project_root").decode("utf-8", "replace").strip()


READER = Reader(
    assistant="gemini-cli",
    places=(
        Document(
            roots=_ROOTS,
            pattern="*/chats/session-*.json",
            recognizes=_recognizes_document,
            read=read,
            session=_session_of_document,
            project=_project,
        ),
        Lines(
            roots=_ROOTS,
            pattern="*/chats/session-*.jsonl",
            recognizes=_recognizes,
            records=records,
            session=_session,
            project=_project,
            subagents="*/chats/{session}/*.jsonl",
        ),
    ),
    message=message,
    summary=summary,
    hosts=("gemini-cli",),
)
"""Gemini CLI, from the documents of 0.8 to the lines of 0.61."""
