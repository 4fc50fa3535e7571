"""An assistant that does not exist, in all four forms: what a new reader has to bring.

A message is `{"id", "who", "text"}`; a line with `"base"` begins a fork.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from foldmark.messages import Message, Summary, Text
from foldmark.transcripts.fields import dumps, items, mapping, name, text
from foldmark.transcripts.record import (
    Base,
    Database,
    Document,
    Files,
    Folder,
    Json,
    Lines,
    Reader,
    Record,
    Rows,
    Seen,
    Snapshot,
    State,
    compaction,
)

ROOT = "~/toy"


def message(id: str, records: Sequence[Json]) -> Message:
    told = records[-1]
    role = "assistant" if told.get("who") == "toy" else "user"
    return Message(id, role, (Text(text(told.get("text"))),))


def summary(id: str, marker: str, record: Json) -> Summary:
    return Summary(id, marker, text(record.get("text")), "stop")


def read(value: Any, raw: bytes | None = None, state: State | None = None) -> Record:
    told = mapping(value)
    kind = "message" if "who" in told else "other"
    built = message("", [told])
    return Record(
        kind=kind,
        id=name(told.get("id")),
        raw=raw or dumps(told).encode(),
        role=built.role,
        prompt=built.prompt if kind == "message" else "",
        chars=len(text(told.get("text"))),
        project=text(told.get("cwd")),
        model=text((state or {}).get("model")) if kind == "message" else "",
        unknown=text(told.get("type")),
    )


def _records(value: Json, raw: bytes, state: State) -> Iterable[Record]:
    if "model" in value:
        state["model"] = value["model"]
    yield read(value, raw, state)


def _whole(data: bytes) -> Snapshot:
    try:
        told = mapping(json.loads(data))
    except ValueError:
        return Snapshot(())
    records = [record for one in items(told.get("messages")) for record in _told(one)]
    return Snapshot(records, [record.id for record in records])


def _told(value: Any) -> Sequence[Record]:
    if "summary" not in mapping(value):
        return [read(value)]
    told = {"text": value["summary"]}
    return compaction(Record("summary", value["id"], dumps(told).encode()))


def _recognizes(data: bytes) -> bool:
    return b'"toy"' in data


def _base(first: Json) -> Base | None:
    told = mapping(first.get("base"))
    return Base(told["session"], told["length"]) if told else None


def _in_folder(files: Files, named: str) -> Snapshot:
    session = named.split("/")[0]
    told = [json.loads(files.read(n) or b"{}") for n in files.names(f"{session}/said/*.json")]
    records = [read(one) for one in told if one]
    return Snapshot(records, [record.id for record in records])


def _sessions(rows: Rows, _: str = "") -> Iterable[Seen]:
    for row in rows("SELECT DISTINCT session, max(time) AS time FROM said GROUP BY session"):
        session = row["session"]
        yield Seen(session, project="/p", title=f"About {session}", updated=row["time"])


def _rows(rows: Rows, session: str, state: State) -> Snapshot:
    since = state.get("since", 0)
    fresh = rows(
        "SELECT id, who, text, time FROM said WHERE session = ? AND time > ? ORDER BY time",
        session,
        since,
    )
    state["since"] = max([since, *(row["time"] for row in fresh)])
    every = rows("SELECT id FROM said WHERE session = ? ORDER BY time", session)
    return Snapshot([read(row) for row in fresh], [row["id"] for row in every])


READER = Reader(
    assistant="toy",
    places=(
        Lines(
            roots=("$TOY_HOME", ROOT),
            pattern="lines/*.jsonl",
            recognizes=lambda record: record.get("who") in ("toy", "you") or "base" in record,
            records=_records,
            session=lambda path, _: path.split("/")[-1].removesuffix(".jsonl"),
            base=_base,
            subagents="lines/{session}/*.jsonl",
        ),
        Lines(
            roots=("$TOY_HOME", ROOT),
            pattern="lines/*.jsonl.zst",
            recognizes=lambda record: record.get("who") in ("toy", "you"),
            records=_records,
            session=lambda path, _: path.split("/")[-1].removesuffix(".jsonl.zst"),
        ),
        Document(
            roots=("$TOY_HOME", ROOT),
            pattern="whole/*.json",
            recognizes=_recognizes,
            read=_whole,
            session=lambda path, _: path.split("/")[-1].removesuffix(".json"),
        ),
        Folder(
            roots=(f"{ROOT}/folders",),
            pattern="*/about.json",
            recognizes=_recognizes,
            read=_in_folder,
            session=lambda path: path.split("/")[0],
        ),
        Database(roots=(ROOT,), pattern="toy.db", tables=("said",), sessions=_sessions, read=_rows),
    ),
    message=message,
    summary=summary,
    hosts=("toy-host",),
    variables=("TOY_SESSION",),
)
