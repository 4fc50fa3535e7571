"""Amp: threads as JSON files, `threads/T-<uuid>.json`, written anew at every change.

The newest versions keep threads on the server; `amp threads export` writes the same shape.

    {v, id, created, title, agentMode, mainThreadID, relationships, env: {initial: {trees}},
     messages: [{role: user | assistant | info, messageId, content, state, usage, meta}]}

A compaction is a `summary` block in a message: what stands after that message is what Amp still
sends. Editing a prompt cuts the thread there and goes on under new message ids.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from foldmark.transcripts import blocks, lines
from foldmark.transcripts.amp.content import compacted, is_summary, message, summary
from foldmark.transcripts.fields import (
    digest,
    dumps,
    folder,
    items,
    mapping,
    milliseconds,
    name,
    text,
)
from foldmark.transcripts.record import (
    Document,
    Json,
    Reader,
    Record,
    Skipped,
    Snapshot,
    compaction,
    of_message,
)

_THREAD = "thread"
_ABOUT = ("id", "created", "title", "agentMode", "mainThreadID", "relationships")
"""What is kept of a thread, beside its folders; its version and traces change all the time."""

_ROLES = frozenset({"user", "assistant", "info"})
_LONGEST_TYPE = 60


def recognizes(data: bytes) -> bool:
    """Tell whether a file begins like a thread of Amp's."""
    whole = _thread(data)
    return text(whole.get("id")).startswith("T-") and isinstance(whole.get("messages"), list)


def read(data: bytes) -> Snapshot:
    """Read a thread, its messages in the order in which Amp keeps them."""
    whole = _thread(data)
    if not whole:
        return Snapshot((), None, (Skipped("thread", "not JSON"),))
    found = [_about(whole)]
    skipped: list[Skipped] = []
    seen = Counter[str]()
    for at, native in enumerate(items(whole.get("messages"))):
        if not isinstance(native, dict):
            skipped.append(Skipped(f"message {at}", "not an object"))
            continue
        id = _id(mapping(native))
        seen[id] += 1
        id = id if seen[id] == 1 else f"{id}#{seen[id]}"
        for record in _records(id, mapping(native)):
            # An edited prompt stands under an earlier message than the newest: what followed goes.
            found.append(replace(record, parent=found[-1].id) if record.prompt else record)
    return Snapshot(found, [record.id for record in found], skipped)


def _thread(data: bytes) -> Mapping[str, Any]:
    try:
        return mapping(lines.loads(data))
    except ValueError:
        return mapping(None)


def _about(whole: Json) -> Record:
    """Keep what the thread says of itself; a subagent's names the thread that it works for."""
    trees = items(mapping(mapping(whole.get("env")).get("initial")).get("trees"))
    about = {key: whole[key] for key in _ABOUT if key in whole} | {"trees": trees}
    tree = mapping(trees[0] if trees else None)
    return Record(
        kind="other",
        id=_THREAD,
        raw=dumps(about).encode(),
        at=milliseconds(whole.get("created")),
        project=folder(tree.get("uri")),
        branch=_branch(mapping(tree.get("repository"))),
        title=text(whole.get("title")),
        parent_session=name(whole.get("mainThreadID")),
    )


def _branch(repository: Json) -> str:
    return text(repository.get("ref")).removeprefix("refs/heads/")


def _id(native: Json) -> str:
    """Name a message: numbers on disk, strings in exports of the newest versions."""
    for key in ("messageId", "protocolMessageID", "dtwMessageID"):
        told = native.get(key)
        if isinstance(told, int) and not isinstance(told, bool):
            return str(told)[:20] if abs(told) < 1 << 63 else "number"
        if name(told):
            return name(told)
    return digest(dumps(native).encode())


def _records(id: str, native: Json) -> Iterator[Record]:
    raw = dumps(native).encode()
    found = list(blocks.parts(native.get("content")))
    kept = [part for part in found if not is_summary(part)]
    if unknown := _unknown(native):
        yield Record(kind="other", id=id, raw=raw, unknown=unknown)
        return
    if kept or not found:
        yield _message(id, native, raw)
    if len(kept) < len(found):
        yield from compaction(Record(kind="summary", id=f"{id}/summary" if kept else id, raw=raw))


def _unknown(native: Json) -> str:
    """Name what is not known of a message: its role, or the kind of its summary."""
    role, told = text(native.get("role")), compacted(native)
    if role not in _ROLES:
        return f"role/{role[:_LONGEST_TYPE] or 'none'}"
    if told is not None and not isinstance(told.get("summary"), str):
        return f"summary/{text(told.get('type'))[:_LONGEST_TYPE] or 'none'}"
    return ""


def _message(id: str, native: Json, raw: bytes) -> Record:
    if native.get("role") == "info" and _is_hidden(native):
        return Record(kind="other", id=id, raw=raw)  # a command whose output Amp never sent
    built = message(id, [native])
    return of_message(built, Record("message", id, raw))


def _is_hidden(native: Json) -> bool:
    found = list(blocks.parts(native.get("content")))
    return bool(found) and all(mapping(part).get("hidden") is True for part in found)


def _session(path: str, head: bytes) -> str:
    """Name a thread by its file; a file by another name is an export or a copy."""
    stem = path.rpartition("/")[2].removesuffix(".json")
    return stem if stem.startswith("T-") else name(_thread(head).get("id"))


READER = Reader(
    assistant="amp",
    places=(
        Document(
            roots=(
                "$AMP_THREADS_DIR",
                "$XDG_DATA_HOME/amp/threads",
                "~/.local/share/amp/threads",
            ),
            pattern="T-*.json",
            recognizes=recognizes,
            read=read,
            session=_session,
        ),
    ),
    message=message,
    summary=summary,
    hosts=("amp",),
)
"""Amp, as long as it kept threads on disk, and what it exports since."""
