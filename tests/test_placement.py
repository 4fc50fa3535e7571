import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import patient
from foldmark.store.placement import Log, Rewind, Row
from foldmark.store.rows import Batch, decompress
from foldmark.store.store import open_store
from foldmark.transcripts import claude_code
from foldmark.transcripts.lines import split
from foldmark.transcripts.record import Record
from transcript_builder import READER, Json, jsonl, log_of, rows, told
from transcript_builder import assistant as assistant_line
from transcript_builder import boundary as boundary_line
from transcript_builder import user as user_line

SESSION = "s"


def typed(id: str, parent: str = "", at: str = "", text: str = "words") -> Record:
    raw = f"{id} {parent} {at} {text}".encode()
    return Record(
        "message", id, raw, parent, role="user", at=at or id, prompt=text, chars=len(text)
    )


def said(id: str, parent: str = "", message: str = "", text: str = "words") -> Record:
    raw = f"{id} {parent} {message} {text}".encode()
    return Record(
        "message", id, raw, parent, message or f"msg_{id}", role="assistant", chars=len(text)
    )


def noted(id: str, parent: str = "") -> Record:
    return Record("other", id, f"{id} {parent}".encode(), parent)


def marked(id: str) -> Record:
    return Record("marker", id, id.encode())


def place(log: Log, records: Sequence[Record]) -> list[Row]:
    return [row for record in records if (row := log.place(record)) is not None]


def placed(*records: Record) -> tuple[list[Row], list[tuple[int, int]]]:
    log = Log()
    found = place(log, records)
    return found, [(rewind.first, rewind.last) for rewind in log.rewound]


def heads(*records: Record) -> list[int]:
    return [row.head for row in placed(*records)[0]]


def rewinds(*records: Record) -> list[tuple[int, int]]:
    return placed(*records)[1]


def test_positions_and_totals_count_up():
    found, _ = placed(typed("u1", text="abc"), said("a1", "u1", text="de"), noted("x", "a1"))

    assert [(row.pos, row.head, row.messages, row.chars) for row in found] == [
        (1, 1, 1, 3),
        (2, 2, 2, 5),
        (3, 3, 2, 5),
    ]


# Rewinds


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(
            [typed("u1"), said("a1", "u1"), typed("u2", "a1"), said("a2", "u2")], [], id="none"
        ),
        pytest.param(
            [typed("u1"), said("a1", "u1"), typed("u2", "a1"), said("a2", "u2"), typed("u3", "a1")],
            [(3, 4)],
            id="one",
        ),
        pytest.param(
            [
                typed("u1"),
                said("a1", "u1"),
                typed("u2", "a1"),
                typed("u3", "a1"),
                typed("u4", "a1"),
            ],
            [(3, 3), (4, 4)],
            id="twice to the same place",
        ),
        pytest.param(
            [
                *(typed("u1"), said("a1", "u1"), typed("u2", "a1"), said("a2", "u2")),
                *(typed("u3", "a2"), typed("u4", "a2"), typed("u5", "a1")),
            ],
            [(5, 5), (3, 6)],
            id="one inside another",
        ),
        pytest.param(
            [typed("u1"), said("a1", "u1"), typed("u2", "a1", "noon"), typed("u3", "a1", "noon")],
            [],
            id="the same moment is the same prompt written twice",
        ),
        pytest.param(
            [
                typed("u1"),
                said("a1", "u1"),
                typed("u2", "lost"),
                said("a2", "u2"),
                typed("u3", "a2"),
            ],
            [],
            id="a parent nobody knows",
        ),
        pytest.param(
            [typed("u1"), said("a1", "u1"), typed("u2", "a1"), said("a2", "u2"), typed("u3")],
            [],
            id="no parent",
        ),
        pytest.param(
            [
                typed("u1"),
                said("a1", "u1"),
                typed("u2", "a1"),
                said("a2", "u2"),
                typed("u3", "later"),
                noted("later", "a1"),
                typed("u4", "later"),
            ],
            [],
            id="a parent that comes later",
        ),
        pytest.param(
            [typed("u1"), said("a1", "u1"), noted("x", "a1"), said("a2", "a1"), noted("y", "a1")],
            [],
            id="branches that nobody typed",
        ),
        pytest.param(
            [typed("u1"), said("a1", "u1"), marked("m"), said("a2", "a1"), typed("u2", "a1")],
            [],
            id="a marker in between is no prompt",
        ),
        pytest.param(
            [typed("u1"), said("a1", "u1"), typed("u2", "a1"), marked("m"), typed("u3", "a1")],
            [(3, 4)],
            id="a marker on the branch left goes with it",
        ),
    ],
)
def test_a_prompt_under_an_earlier_point_replaces_what_stood_between(
    records: list[Record], expected: list[tuple[int, int]]
):
    assert rewinds(*records) == expected


def test_a_prompt_under_its_own_predecessor_takes_nothing_away():
    """Parallel results hang under the calls, not under each other."""
    records = (
        *(typed("u1"), said("a1", "u1", "m1"), said("a2", "a1", "m1")),
        *(noted("r1", "a1"), noted("r2", "a2"), said("a3", "r2"), typed("u2", "a3")),
    )

    assert rewinds(*records) == []


def test_a_branch_that_is_taken_up_again_is_live_again():
    records = (typed("u1"), said("a1", "u1"), typed("u2", "a1"), said("a2", "u2"))

    _, gone = placed(*records, typed("u3", "a1"), said("a3", "u3"), typed("u4", "a2"))

    live = [pos for pos in range(1, 8) if not any(first <= pos <= last for first, last in gone)]
    assert live == [1, 2, 3, 4, 7]


# Messages of several records


def test_lines_of_one_message_share_its_head():
    assert heads(typed("u"), said("a", "u", "m"), said("b", "a", "m"), said("c", "b", "m")) == [
        *(1, 2, 2, 2)
    ]


def test_a_line_belongs_to_its_message_even_after_something_else():
    """Results of parallel calls come in between."""
    assert heads(said("a", "", "m"), noted("r", "a"), said("b", "a", "m"), typed("u", "b")) == [
        *(1, 2, 1, 4)
    ]


def test_a_message_id_used_again_is_another_message():
    """Some APIs call every response "msg_1"."""
    records = (
        *(typed("u1"), said("a1", "u1", "msg_1"), said("b1", "a1", "msg_1")),
        *(typed("u2", "b1"), said("a2", "u2", "msg_1"), said("b2", "a2", "msg_1")),
    )

    assert heads(*records) == [1, 2, 2, 4, 5, 5]
    assert [row.messages for row in placed(*records)[0]] == [1, 2, 2, 3, 4, 4]


def test_a_result_that_follows_a_line_is_no_line_of_it():
    result = replace(said("r", "a"), message="", role="user")

    assert heads(said("a", "", "m"), result, said("b", "r", "m")) == [1, 2, 3]


def test_what_has_no_message_id_is_a_message_of_its_own():
    first, second = (
        replace(said(id, parent), message="") for id, parent in (("a", ""), ("b", "a"))
    )

    assert heads(first, second) == [1, 2]


# Duplicates and new versions


def test_a_record_that_is_held_is_passed_over():
    records = [typed("u1"), said("a1", "u1"), typed("u2", "a1")]

    assert heads(*records, *records, *records) == [1, 2, 3]
    assert rewinds(*records, *records) == []


def test_the_same_words_under_another_name_both_stay():
    assert heads(typed("u1", text="yes"), said("a1", "u1"), typed("u2", "a1", text="yes")) == [
        1,
        2,
        3,
    ]


def test_a_record_written_again_in_other_words_is_a_row_of_the_same_head():
    found, gone = placed(
        typed("u1", text="one"),
        said("a1", "u1", text="to"),
        typed("u2", "a1"),
        said("a1", "u1", text="two"),
        typed("u3", "u2"),
    )

    assert [(row.record.id, row.head) for row in found] == [
        *(("u1", 1), ("a1", 2), ("u2", 3), ("a1", 2), ("u3", 5))
    ]
    assert [row.messages for row in found] == [1, 2, 3, 3, 4]
    assert gone == []


def test_a_prompt_written_again_in_other_words_rewinds_nothing():
    records = (typed("u1"), said("a1", "u1"), typed("u2", "a1", text="x"), said("a2", "u2"))

    assert rewinds(*records, typed("u2", "a1", "later", "y"), typed("u3", "a2")) == []


def test_a_version_that_comes_back_is_held_already():
    one, two = typed("u1", text="one"), typed("u1", text="two")

    assert heads(one, two, one, two) == [1, 1]


def test_a_line_of_a_message_that_was_rewritten_follows_the_first_version():
    records = (
        said("a", "", "m", "x"),
        typed("u", "a"),
        said("a", "", "m", "y"),
        said("b", "a", "m"),
    )

    assert heads(*records) == [1, 2, 1, 1]


# What a conversation is, told in another way: each prompt stands under an answer on the live branch


@patient
@given(st.lists(st.integers(0, 30), max_size=25))
def test_the_live_branch_is_the_path_to_the_last_answer(choices: list[int]):
    branch: list[int] = []
    records: list[Record] = []
    for choice in choices:
        kept = len(branch) // 2
        branch = branch[: 2 * (min(kept, 1 + choice % kept) if kept else 0)]
        parent = f"a{branch[-1]}" if branch else ""
        number = len(records) + 1
        records += [typed(f"u{number}", parent), said(f"a{number + 1}", f"u{number}")]
        branch += [number, number + 1]

    _, gone = placed(*records)

    positions = range(1, len(records) + 1)
    assert [p for p in positions if not any(first <= p <= last for first, last in gone)] == branch


# In the store: any way of cutting the same lines into batches, and the log replayed from scratch


@st.composite
def transcripts(draw: st.DrawFn) -> list[Json]:
    """Draw lines as they are found, and as they are not: parents lost, ids and moments reused."""
    lines: list[Json] = []
    for number in range(draw(st.integers(0, 16))):
        back = draw(st.sampled_from([1, 1, 1, 2, 3, 4, 6, 9]))
        parent = lines[-back]["uuid"] if back <= len(lines) else draw(st.sampled_from(["", "lost"]))
        uuid = draw(st.sampled_from([f"n{number}"] * 9 + ["n0"]))
        match draw(st.sampled_from([*["user"] * 5, *["assistant"] * 4, "marker", "again"])):
            case "user":
                lines.append(user_line(uuid, draw(st.sampled_from(["x", "x", "yy", " "])), parent))
                if draw(st.sampled_from([False, False, False, True])):
                    lines[-1]["timestamp"] = "noon"
            case "assistant":
                name = draw(st.sampled_from(["msg_1", "msg_2"]))
                lines.append(assistant_line(uuid, "zzz", parent=parent, message=name))
            case "marker":
                lines.append(boundary_line(uuid))
            case _:
                lines += lines[-1:]
    return lines


def read(lines: Sequence[Json]) -> list[Record]:
    return [claude_code.read(line, json.dumps(line).encode()) for line in lines]


@settings(patient, max_examples=40)
@given(transcripts(), st.data())
def test_batches_of_any_size_give_the_log_that_a_replay_from_scratch_gives(
    lines: list[Json], data: st.DataObject
):
    records = read(lines)
    cuts = data.draw(st.sets(st.integers(0, len(records)), max_size=4))
    edges = [0, *sorted(cuts), len(records)]
    batches = [records[start:stop] for start, stop in pairwise(edges)]

    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "foldmark.db"
        asyncio.run(append(database, batches))
        stored = rows(database)
        gone = rows(
            database, "SELECT first, last, messages, chars FROM rewinds ORDER BY first, last"
        )

    replayed = Log()
    again = place(replayed, read([json.loads(decompress(row[9])) for row in stored]))
    expected = Log()
    assert [(r.record.id, r.pos, r.head, r.messages, r.chars) for r in again] == [
        (r.record.id, r.pos, r.head, r.messages, r.chars) for r in place(expected, records)
    ]
    assert [(row[4], row[1], row[2], row[7], row[8]) for row in stored] == [
        (row.record.id, row.pos, row.head, row.messages, row.chars) for row in again
    ]
    assert sorted(replayed.rewound, key=order) == sorted(expected.rewound, key=order)
    assert [(first, last) for first, last, *_ in gone] == [
        (rewind.first, rewind.last) for rewind in sorted(replayed.rewound, key=order)
    ]


def order(rewind: Rewind) -> tuple[int, int]:
    return rewind.first, rewind.last


async def append(database: Path, batches: Sequence[Sequence[Record]]) -> None:
    async with open_store(database) as store:
        for records in batches:
            await store.append([Batch(SESSION, READER.assistant, records)])


@settings(patient, max_examples=25)
@given(transcripts())
def test_the_totals_are_what_counting_the_rows_gives(lines: list[Json]):
    async def measured(database: Path) -> None:
        await append(database, [read(lines)])
        async with open_store(database) as store:
            log = await log_of(store, SESSION)
            view = await log.overview()
            stored = rows(database)
            gone = {p for one in view.rewound for p in range(one.first, one.last + 1)}
            heads = [row for row in stored if row[3] == "message" and row[1] == row[2]]

            assert view.end.pos == len(stored)
            assert view.end.messages == len(heads)
            live = [row for row in heads if row[1] not in gone]
            assert view.end.messages - sum(r.messages for r in view.rewound) == len(live)
            assert len(await told(store, SESSION)) <= len(live)
            chars = [
                row[8] - before
                for row, before in zip(stored, [0, *(r[8] for r in stored)], strict=False)
            ]
            assert view.end.chars == sum(chars)
            assert view.end.chars - sum(r.chars for r in view.rewound) == sum(
                size for row, size in zip(stored, chars, strict=True) if row[1] not in gone
            )
            for pos in range(1, len(stored) + 2):
                before = await store.before(log.session.key, pos)
                assert before.messages == len([row for row in heads if row[1] < pos])
                assert before.chars == sum(chars[: pos - 1])

    if lines:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measured(Path(folder) / "foldmark.db"))


@settings(patient, max_examples=20)
@given(transcripts(), st.integers(1, 400))
def test_a_file_is_placed_alike_however_it_is_cut(lines: list[Json], cut: int):
    text = jsonl(*lines)
    found = split(text[:cut], last=True)
    rest = split(text[found.consumed :], last=True)
    cut_up, whole = Log(), Log()

    parts = [*place(cut_up, read_raw(found.records)), *place(cut_up, read_raw(rest.records))]
    assert parts == place(whole, read(lines))
    assert cut_up.rewound == whole.rewound


def read_raw(found: Sequence[tuple[Json, bytes]]) -> list[Record]:
    return [claude_code.read(value, raw) for value, raw in found]
