"""Cursor: what its agent writes as JSON lines, and the databases of its agent and its editor.

    ~/.cursor/projects/<slug>/agent-transcripts/<session>/<session>.jsonl
    ~/.cursor/chats/<md5 of the folder>/<session>/store.db, or acp-sessions/<session>/store.db
    globalStorage/state.vscdb

The same session may stand in several of them. The transcripts hold the least: no times, no ids, and
never what a tool answered. Their lines are messages and, between turns, `turn_ended`.
"""

from collections.abc import Iterable
from dataclasses import replace

from foldmark.transcripts.cursor import chat as cursor_chat
from foldmark.transcripts.cursor import composer as cursor_composer
from foldmark.transcripts.cursor.content import message, summary, turn_error
from foldmark.transcripts.fields import count, digest, loads, mapping, name, text
from foldmark.transcripts.record import (
    Database,
    Files,
    Json,
    Lines,
    Reader,
    Record,
    State,
    of_message,
)

_ROLES = frozenset({"user", "assistant", "tool", "system"})
_ENDED = "turn_ended"
_LONGEST_TYPE = 60
_STORAGE = "User/globalStorage"


def recognizes(record: Json) -> bool:
    """Tell whether this line is one of Cursor's agent."""
    if record.get("type") == _ENDED:
        return "status" in record
    return text(record.get("role")) in _ROLES and "content" in mapping(record.get("message"))


def records(record: Json, raw: bytes, state: State) -> Iterable[Record]:
    """Read one line; `state` counts them and keeps the newest one, and the newest reply.

    A line is named by its number and a digest. Where a transcript was written anew, from an earlier
    point of the conversation on, the first prompt that differs stands under that point.
    """
    number = count(state.get("lines")) + 1
    id = f"{number}{digest(raw)}"
    before, reply = text(state.get("newest")), text(state.get("reply"))
    state.update(lines=number, newest=id)
    if record.get("type") == _ENDED:
        state["reply"] = ""
        if reply and turn_error(record):  # it says of the reply why it broke off
            return (Record("message", id, raw, parent=reply, message=reply, role="assistant"),)
        return (Record("other", id, raw),)
    if text(record.get("role")) not in _ROLES:
        return (Record("other", id, raw, unknown=_unknown(record)),)
    built = message(id, [record])
    is_reply = built.role == "assistant"
    state["reply"] = id if is_reply else reply
    if record.get("role") == "system":
        return (Record("other", id, raw),)
    found = of_message(built, Record("message", id, raw, message=id if is_reply else ""))
    return (replace(found, parent=before if built.prompt else ""),)


def project(files: Files, below: str) -> str:
    """Find the project's folder, which Cursor notes once it is trusted; the slug is lossy."""
    noted = files.read(f"{below.split('/')[0]}/.workspace-trusted").decode("utf-8", "replace")
    try:
        return text(mapping(loads(noted)).get("workspacePath")) if noted else ""
    except ValueError:
        return ""


def _unknown(record: Json) -> str:
    kind = text(record.get("type")) or f"role/{text(record.get('role')) or 'none'}"
    return name(kind)[:_LONGEST_TYPE]


def _session(path: str, _: Json) -> str:
    """Name a session by its file; a subagent's by its own and that of the session it worked for."""
    *folders, file = path.split("/")
    stem = file.removesuffix(".jsonl")
    if "subagents" in folders[1:]:
        return f"{folders[folders.index('subagents') - 1]}/{stem}"
    return stem


def _transcripts(pattern: str, subagents: str = "") -> Lines:
    return Lines(
        roots=("$CURSOR_DATA_DIR/projects", "~/.cursor/projects"),
        pattern=pattern,
        recognizes=recognizes,
        records=records,
        session=_session,
        project=project,
        subagents=subagents,
    )


def _chats(folder: str, pattern: str) -> Database:
    return Database(
        roots=(f"$CURSOR_DATA_DIR/{folder}", f"~/.cursor/{folder}"),
        pattern=pattern,
        tables=("meta", "blobs"),
        sessions=cursor_chat.sessions,
        read=cursor_chat.read,
    )


READER = Reader(
    assistant="cursor",
    places=(
        _transcripts(
            "*/agent-transcripts/*/*.jsonl", "*/agent-transcripts/{session}/subagents/*.jsonl"
        ),
        _transcripts("*/agent-transcripts/*.jsonl"),
        _chats("chats", "*/*/store.db"),
        _chats("acp-sessions", "*/store.db"),
        *(
            Database(
                roots=roots,
                pattern="state.vscdb",
                tables=("cursorDiskKV",),
                sessions=cursor_composer.sessions,
                read=cursor_composer.read,
            )
            for roots in (
                (f"$APPDATA/Cursor/{_STORAGE}",),
                (f"~/Library/Application Support/Cursor/{_STORAGE}",),
                (f"$XDG_CONFIG_HOME/Cursor/{_STORAGE}", f"~/.config/Cursor/{_STORAGE}"),
            )
        ),
    ),
    message=message,
    summary=summary,
    hosts=("cursor",),
)
"""Cursor, its agent since transcripts are JSON lines and its editor since 2024."""
