"""Tasks of the editor extensions Cline, Roo and Kilo: `tasks/<id>/api_conversation_history.json`.

The history holds the messages as they were sent, written anew each time. What files beside it tell
of a message is put to it under a key of its own.

Cline cuts its model's view down to a range (`conversationHistoryDeletedRange`), which hides nothing
here. Roo and Kilo put a summary into the history, in front of the messages that stay:

    history    t1 h h h S k1 k2 k3 n     where S hides what it summarized, the task t1 aside
    log        t1 h h h k1 M S k2 k3 n   M keeps from k1, which the log can hold long before M
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from foldmark.transcripts import lines
from foldmark.transcripts.cline import beside as cline_beside
from foldmark.transcripts.cline.beside import Task
from foldmark.transcripts.cline.content import at
from foldmark.transcripts.cline.task_content import BESIDE, message, summary
from foldmark.transcripts.fields import digest, dumps, items, mapping, name, text
from foldmark.transcripts.record import (
    Files,
    Folder,
    Json,
    Place,
    Reader,
    Record,
    Skipped,
    Snapshot,
    compaction,
    of_message,
)

_HISTORY = "api_conversation_history.json"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server")
_HIDDEN = frozenset({"condenseParent", "truncationParent"})
_ABOUT = ("id", "number", "ts", "task", "workspace", "mode", "parentTaskId", "rootTaskId")
_MARKS = (b"<environment_details>", b"<task>", b"<user_message>")
_OF_ROO = (b"# Current Workspace Directory", b'"condenseParent"', b'"isSummary"')


def read(files: Files, path: str) -> Snapshot:
    """Read a task: what it is about, and its messages with the compactions among them."""
    told, skipped = _loaded(files, path)
    history: Any = mapping(told).get("messages", told)
    if not isinstance(history, list):
        return Snapshot((), None, skipped or [Skipped(path, "no messages")])
    native = items(history)
    beside = path.removesuffix(_HISTORY)
    others = (_loaded(files, beside + one)[0] for one in cline_beside.FILES)
    task, seen = cline_beside.task(native, *others), Counter[str]()
    found: list[Record] = []
    waiting: list[Record] = []
    for place, one in enumerate(native):
        if not isinstance(one, dict):
            skipped.append(Skipped(place, "not an object"))
            continue
        made = _record(task, seen, place, mapping(one))
        if made.kind == "summary":
            waiting.append(made)
            continue
        found.append(made)
        if made.kind == "message":
            kept = task.caller(mapping(one)) if waiting else ""
            found.extend(_pairs(waiting, kept or made.id))
            waiting.clear()
    found.extend(_pairs(waiting, ""))
    current = [record.id for record in found if record.kind != "other"]
    item = mapping(_loaded(files, f"{beside}history_item.json")[0])
    return Snapshot([*_about(item, task.folder), *found], current, skipped)


def _loaded(files: Files, path: str) -> tuple[Any, list[Skipped]]:
    data = files.read(path)
    try:
        return (lines.loads(data) if data.strip() else None), []
    except ValueError:
        return None, [Skipped(path, "not JSON")]


def _about(item: Json, folder: str) -> Iterator[Record]:
    kept = {key: item[key] for key in _ABOUT if key in item}
    project = text(item.get("workspace")) or folder
    if kept or project:
        yield Record(
            "other",
            "history_item.json",
            dumps({**kept, "folder": folder}).encode(),
            project=project,
            parent_session=name(item.get("parentTaskId")),
        )


def _record(task: Task, seen: Counter[str], place: int, told: Json) -> Record:
    """Record a message by a digest of what was said and when.

    Its place changes when a summary is put before it, and marks of what hides it come later.
    """
    kept = {key: value for key, value in told.items() if key not in _HIDDEN}
    words = [told.get(key) for key in ("role", "ts", "content")] if "content" in told else kept
    unique = digest(dumps(words).encode())
    seen[unique] += 1
    id = unique if seen[unique] == 1 else f"{unique}~{seen[unique]}"
    if told.get("isSummary") is True:
        raw = dumps({**kept, BESIDE: {}}).encode()
        return Record("summary", name(told.get("condenseId")) or id, raw, at=at(told.get("ts")))
    raw = {**kept, BESIDE: task.of(place, told)}
    role = told.get("role")
    if role not in ("user", "assistant", "tool") and told.get("type") != "reasoning":
        unknown = f"message/{name(role)[:60] or 'no role'}"
        return Record("other", id, dumps(raw).encode(), unknown=unknown)
    task.note(id, told)
    built = message(id, [raw])
    return of_message(built, Record("message", id, dumps(raw).encode()))


def _pairs(summaries: Sequence[Record], kept: str) -> Iterator[Record]:
    for one in summaries:
        yield from compaction(one, first_kept=kept)


def _recognizes(head: bytes) -> bool:
    """Tell whether a history begins so: of messages, with what the extensions write into them."""
    try:
        told = lines.loads(head)
    except ValueError:
        return False
    versioned = mapping(told)
    found = items(versioned.get("messages")) if versioned.get("version") == 2 else items(told)
    return bool(found) and "content" in mapping(found[0]) and any(mark in head for mark in _MARKS)


def _recognizes_cline(head: bytes) -> bool:
    return _recognizes(head) and not any(mark in head for mark in _OF_ROO)


def _session(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]


def places(*homes: Sequence[str], extensions: Sequence[str]) -> list[Place]:
    """List where an extension keeps its tasks: in its homes of its own, and in every editor's."""
    roots = [*homes]
    for extension in extensions:
        inside = f"User/globalStorage/{extension}/tasks"
        for app in _EDITORS:
            roots.append((f"$XDG_CONFIG_HOME/{app}/{inside}", f"~/.config/{app}/{inside}"))
            roots.append((f"~/Library/Application Support/{app}/{inside}",))
            roots.append((f"$APPDATA/{app}/{inside}",))
        roots.extend((f"~/{server}/data/{inside}",) for server in _SERVERS)
    is_cline = extensions[0].startswith("saoudrizwan")
    return [
        Folder(
            roots=one,
            pattern=f"*/{_HISTORY}",
            recognizes=_recognizes_cline if is_cline else _recognizes,
            read=read,
            session=_session,
        )
        for one in roots
    ]


ROO = Reader(
    assistant="roo",
    places=places(
        ("~/.vscode-mock/global-storage/tasks",),
        extensions=("rooveterinaryinc.roo-cline", "rooveterinaryinc.roo-code-nightly"),
    ),
    message=message,
    summary=summary,
    hosts=("roo code", "roo-code", "roo-cline"),
)
"""Roo Code in all its versions, the last of which is 3.54."""

KILO = Reader(
    assistant="kilo",
    places=places(("~/.kilocode/cli/global/tasks",), extensions=("kilocode.kilo-code",)),
    message=message,
    summary=summary,
    hosts=("kilo code", "kilo-code", "kilocode"),
)
"""Kilo Code as long as it was built on Roo: the extension to 5, the CLI to 0."""
