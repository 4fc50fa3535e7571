import asyncio
import base64
import json
import sqlite3
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import call_dict, opencode_dict, patient, result_dict, thinking_dict
from session_files import (
    SESSION,
    Host,
    Json,
    Mode,
    answered,
    ask,
    connected,
    pages,
    refused,
    said,
    size,
    talk,
    typed,
    visible,
)

MODES = ["auto", "legacy"]
CASES: list[Json] = json.loads(
    (Path(__file__).parent / "fixtures" / "boundary_cases.json").read_text(encoding="utf-8")
)
NATIVE = "native-thinking"  # stands in every piece of reasoning and of native metadata below


def u(words: str | list[Json]) -> Json:
    return {"role": "user", "content": words}


def a(*content: Json | str) -> Json:
    blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    return {"role": "assistant", "content": blocks}


def texts(items: list[Json]) -> list[str]:
    return [item["text"] for item in items]


def states(items: list[Json]) -> dict[str, str]:
    return {item["id"]: item["state"] for item in items}


# Models and what they billed


async def test_the_full_view_tells_the_model_and_what_it_billed(tmp_path: Path):
    host = Host(tmp_path)
    usage = {"input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 1200}
    reply = said("Done.")
    reply["message"]["usage"] = usage
    host.save([typed("Do it"), reply])
    async with connected(host) as client:
        full = await ask(client, "get_history", session_id=SESSION, view="full")
        seen = await ask(client, "get_history", session_id=SESSION)

    [prompt, answer] = full["messages"]
    assert answer["model"] == "claude-opus-4-6"
    assert answer["usage"] == {"input": 7, "output": 5, "cached": 1200}
    assert not {"model", "usage"} & prompt.keys()
    assert not {"model", "usage"} & seen["messages"][1].keys()


# Paging


async def test_five_thousand_messages_and_a_huge_one_are_read_to_the_end_each_once(
    tmp_path: Path,
) -> None:
    huge = "0123456789" * 200_000
    given = [u(f"question {n}") if n % 2 else a(f"answer {n}") for n in range(5_000)]
    given.insert(3_500, u(huge))
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)

        found = await pages(client, session_id="s", view="full", max_chars=40_000)
        items = [item for page in found for item in page["messages"]]
        [cut] = [item for item in items if item.get("truncated")]
        slices = await pages(client, session_id="s", message_id=cut["id"], max_chars=40_000)

    assert {page["total_messages"] for page in found} == {5_001}
    assert len({item["id"] for item in items}) == 5_001
    assert [text for text in texts(items) if len(text) < 100] == [
        f"[User]: question {n}" if n % 2 else f"[Assistant]: answer {n}" for n in range(5_000)
    ]
    assert cut["chars"] == len(huge) + len("[User]: ")
    assert 50 < len(slices) < 60
    assert "".join(text for page in slices for text in texts(page["messages"])) == f"[User]: {huge}"


async def test_a_page_of_the_default_size_holds_what_fits_and_says_how_to_go_on(
    tmp_path: Path,
) -> None:
    async with connected(Host(tmp_path)) as client:
        given = [u(f"question {n} {'why ' * 100}") for n in range(100)]
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)

        found = await pages(client, session_id="s")

    assert all(size(page) > 7_500 for page in found[:-1])
    assert all("next_cursor as cursor" in page["next_step"] for page in found[:-1])
    assert found[-1]["next_step"] == "This is the last page."


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("plain words " * 3_000, id="plain"),
        pytest.param('"\\\n\t' * 5_000, id="escapes"),
        pytest.param("\u0001\u001f" * 3_000, id="control characters"),
        pytest.param("\U0001f600\u6f22" * 8_000, id="emoji"),
        pytest.param("a\n\n\nb" * 4_000, id="blank lines"),
    ],
)
@pytest.mark.parametrize("max_chars", [2_000, 10_000])
async def test_the_slices_of_a_message_make_up_its_whole_text(
    tmp_path: Path, words: str, max_chars: int
) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(
            client, "compact_session", messages=[u(words), a("ok")], session_id="s", preview=True
        )
        [first, _] = await visible(client, session_id="s", max_chars=10_000)

        found = await pages(client, session_id="s", message_id=first["id"], max_chars=max_chars)

    items = [item for page in found for item in page["messages"]]
    starts = [item.get("from", 0) for item in items]
    lengths = [len(text) for text in texts(items)]
    assert [start + length for start, length in zip(starts, lengths, strict=True)][:-1] == starts[
        1:
    ]
    assert {item["chars"] for item in items} == {sum(lengths)}
    whole = "".join(texts(items))
    assert [line.removeprefix("  ") for line in whole.splitlines() if line.strip()] == [
        line for line in f"[User]: {words}".strip().splitlines() if line.strip()
    ]


async def test_a_short_message_is_read_whole_by_its_id(tmp_path: Path) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=[u("hi"), a("ok")], session_id="s")
        [_, second] = await visible(client, session_id="s")

        page = await ask(client, "get_history", session_id="s", message_id=second["id"])

    assert page["messages"] == [second]
    assert page["next_cursor"] is None


async def test_a_record_that_is_no_message_is_read_without_native_reasoning(tmp_path: Path) -> None:
    inner = {"role": "assistant", "content": [thinking_dict(NATIVE, NATIVE), call_dict("c1")]}
    progress = {
        "type": "progress",
        "uuid": "p1",
        "data": {"message": {"type": "assistant", "message": inner}, "signature": NATIVE},
    }
    host = Host(tmp_path)
    host.save([*talk(2), progress])
    async with connected(host) as client:
        page = await ask(client, "get_history", session_id=SESSION, message_id="p1")

    [item] = page["messages"]
    assert item["role"] == "record"
    assert "c1" in item["text"]
    assert NATIVE not in json.dumps(page)


async def test_a_long_summary_is_read_in_slices_too(tmp_path: Path) -> None:
    given = [u(f"question {n}: {'why ' * 90}") for n in range(200)]
    own = "".join(f"- question {n}: answered why, in file_{n}.py\n" for n in range(500))
    async with connected(Host(tmp_path)) as client:
        done = await ask(
            client,
            "compact_session",
            messages=given,
            session_id="s",
            summary=f"{own}\nNext step: question 200",
            keep_recent_tokens=0,
        )

        found = await pages(client, session_id="s", view="summary", max_chars=4_000)

    assert len(done["summary"]) > 20_000
    assert len(found) > 5
    assert "".join(text for page in found for text in texts(page["messages"])) == done["summary"]


async def test_the_smallest_page_reads_a_summary_to_its_end(tmp_path: Path) -> None:
    name = "long name " * 19 + "s"
    own = "".join(f"- question {n}: answered why, in file_{n}.py\n" for n in range(60))
    async with connected(Host(tmp_path)) as client:
        done = await ask(
            client,
            "compact_session",
            messages=[u(f"question {n}: {'why ' * 90}") for n in range(60)],
            session_id=name,
            summary=f"{own}\nNext step: question 60",
            keep_recent_tokens=0,
        )

        items = await visible(client, session_id=name, view="summary", max_chars=2_000)

    assert "".join(texts(items)) == done["summary"]


async def test_without_a_compaction_there_is_no_summary_to_read_and_that_is_said(
    tmp_path: Path,
) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=[u("hi"), a("ok")], session_id="s")

        page = await ask(client, "get_history", session_id="s", view="summary")

    assert page["messages"] == []
    assert page["boundary"] is None
    assert page["warnings"] == [
        "no compaction is in force, so there is no summary; compact_session makes one"
    ]


# Cursors


def forged(view: str, at: Any, boundary: str = "") -> str:
    words = json.dumps([view, at, boundary])
    return base64.urlsafe_b64encode(words.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        pytest.param("x", id="too short"),
        pytest.param("not a cursor!", id="words"),
        pytest.param("é", id="not ASCII"),
        pytest.param("AAAA", id="no JSON"),
        pytest.param(base64.urlsafe_b64encode(b"\xff\xfe\xfd").decode(), id="no UTF-8"),
        pytest.param("bnVsbA", id="null"),
        pytest.param("W10", id="an empty list"),
        pytest.param("WzEsMl0", id="too few parts"),
        pytest.param("eyJhIjoxLCJiIjoyLCJjIjozfQ", id="an object"),
        pytest.param(forged("1:full:text", 1), id="another view"),
        pytest.param(forged("2:visible:text", 1), id="another session's"),
        pytest.param(forged("1:visible:anthropic", 1), id="another format"),
        pytest.param(forged("1:message:x", 1), id="a message's"),
        pytest.param(forged("sessions:*::", 1), id="a list's"),
        pytest.param(forged("1:visible:text", 1, "cmp-1"), id="another boundary"),
        pytest.param(forged("1:visible:text", "1"), id="a place that is no number"),
        pytest.param(forged("1:visible:text", None), id="no place"),
        pytest.param(forged("1:visible:text", 1.5), id="half a place"),
        pytest.param(forged("1:visible:text", 10**30), id="a place beyond all"),
    ],
)
async def test_what_is_no_cursor_of_this_view_is_refused(tmp_path: Path, cursor: str) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=[u("hi"), a("ok")], session_id="s")

        said = await refused(client, "get_history", session_id="s", cursor=cursor)

    assert "Nothing was changed" in said
    assert "without a cursor" in said


async def test_a_cursor_expires_with_the_boundary_it_was_made_under(tmp_path: Path) -> None:
    async with connected(Host(tmp_path)) as client:
        given = [u(f"question {n} {'why ' * 40}") for n in range(60)]
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        page = await ask(client, "get_history", session_id="s", max_chars=2_000)
        assert page["messages"][-1]["state"] == "live"
        await ask(client, "compact_session", session_id="s", keep_recent_tokens=500)

        said = await refused(
            client, "get_history", session_id="s", cursor=page["next_cursor"], max_chars=2_000
        )

    assert "compacted meanwhile" in said
    assert "Call again without a cursor" in said


async def test_a_cursor_of_another_session_is_refused(tmp_path: Path) -> None:
    given = [u(f"question {n} {'why ' * 40}") for n in range(60)]
    async with connected(Host(tmp_path)) as client:
        for id in ("s", "t"):
            await ask(client, "compact_session", messages=given, session_id=id, preview=True)
        page = await ask(client, "get_history", session_id="s", max_chars=2_000)

        told = await refused(
            client, "get_history", session_id="t", cursor=page["next_cursor"], max_chars=2_000
        )

    assert "without a cursor" in told


async def test_a_cursor_outlives_messages_that_arrive(tmp_path: Path) -> None:
    async with connected(Host(tmp_path)) as client:
        given = [u(f"question {n} {'why ' * 40}") for n in range(30)]
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        page = await ask(client, "get_history", session_id="s", max_chars=2_000)
        given.append(u("the last one"))
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)

        rest = await visible(client, session_id="s", cursor=page["next_cursor"], max_chars=2_000)

    ids = [item["id"] for item in [*page["messages"], *rest]]
    assert len(set(ids)) == len(ids) == 31
    assert rest[-1]["text"] == "[User]: the last one"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        pytest.param({"session_id": "t"}, "There is no session 't'", id="session"),
        pytest.param({"message_id": "m9"}, "holds no message 'm9'", id="message"),
        pytest.param(
            {"message_id": "m9", "format": "openai"}, "Leave format out", id="message in a format"
        ),
    ],
)
async def test_unknown_ids_are_refused_with_the_way_to_known_ones(
    tmp_path: Path, arguments: Json, hint: str
) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=[u("hi"), a("ok")], session_id="s")

        said = await refused(client, "get_history", **{"session_id": "s", **arguments})

    assert hint in said
    assert "Nothing was changed" in said


# What is live, folded, rewound


def rewound() -> list[Json]:
    """Write a session whose third prompt was typed anew under the first answer."""
    records = talk(2)
    again = typed("Question 1, asked in other words", uuid="again", parentUuid="r2")
    return [*records, again, said("Answer to the other words", parentUuid="again")]


async def test_every_message_is_labelled_live_folded_or_rewound(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save([*rewound(), *talk(3, start=2)])
    async with connected(host) as client:
        await ask(client, "compact_session", session_id=SESSION, keep_recent_tokens=40)

        found = await pages(client, session_id=SESSION, view="full")
        seen = await visible(client, session_id=SESSION)

    items = [item for page in found for item in page["messages"]]
    told = states(items)
    assert [told[f"r{n}"] for n in (1, 2, 3, 4)] == ["folded", "folded", "rewound", "rewound"]
    assert [told[id] for id in ("again", "r6", "r7", "r8", "r9", "r10")] == ["folded"] * 6
    assert [told[f"r{n}"] for n in (11, 12)] == ["live", "live"]
    assert [item["role"] for item in items[-2:]] == ["marker", "summary"]
    assert items[-2]["text"] == "the boundary in force"
    assert [item["state"] for item in seen] == ["live"] * 3
    assert [item["id"] for item in seen[1:]] == ["r11", "r12"]
    assert found[0]["total_messages"] == 10
    assert found[0]["visible_messages"] == 2
    assert found[0]["boundary"]["messages_folded"] == 8


async def test_rewound_messages_stay_out_of_the_formats_and_that_is_said(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(rewound())
    async with connected(host) as client:
        page = await ask(client, "get_history", session_id=SESSION, view="full", format="anthropic")

    assert [json.dumps(m).count("Question 1:") for m in page["messages"]] == [0, 0, 0, 0]
    assert page["warnings"] == ["2 rewound messages are left out; format='text' shows them"]


async def test_rewinding_behind_a_boundary_takes_the_boundary_back(tmp_path: Path) -> None:
    host = Host(tmp_path)
    path = host.save(talk(4))
    async with connected(host) as client:
        await ask(client, "compact_session", session_id=SESSION, keep_recent_tokens=0)
        again = typed("Another way", uuid="r20", parentUuid="r2")
        host.add(path, [again], after=8)

        page = await ask(client, "get_history", session_id=SESSION)

    assert [item["id"] for item in page["messages"]] == ["r1", "r2", "r20"]
    assert page["boundary"] is None
    assert any("was rewound" in warning for warning in page["warnings"])


# Orphans


async def test_44_orphans_are_listed_with_their_reason_and_seen_by_no_model(
    tmp_path: Path,
) -> None:
    [case] = [case for case in CASES if case["name"] == "failed_tail_then_ok_tail"]
    async with connected(Host(tmp_path)) as client:
        await ask(
            client, "compact_session", messages=case["messages"], session_id="s", preview=True
        )
        page = await ask(client, "get_history", session_id="s")
        full = await ask(client, "get_history", session_id="s", view="full")

    assert [item["id"] for item in page["messages"]] == ["s2", "u2", "a2", "u3"]
    assert page["boundary"]["compaction_id"] == "m2"
    [orphan] = page["orphans"]
    assert orphan["compaction_id"] == "m1"
    assert orphan["reason"] == "APIError"
    [marker] = [item for item in full["messages"] if item["id"] == "m1"]
    assert (marker["role"], marker["text"]) == ("marker", "orphan: APIError")


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
async def test_64_an_imported_session_shows_on_its_first_reading_what_a_model_should_see(
    tmp_path: Path, case: Json
) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(
            client, "compact_session", messages=case["messages"], session_id="s", preview=True
        )
        items = await visible(client, session_id="s")

    expected = [id for id in case["visible"] if not id.startswith("m")]
    assert [item["id"] for item in items] == expected


async def test_a_thousand_orphans_are_counted_and_the_newest_listed(tmp_path: Path) -> None:
    given = [
        opencode_dict("user", {"type": "text", "text": "hi"}, id="u0", created=1),
        *(
            opencode_dict("user", {"type": "compaction"}, id=f"m{n:04}", created=2 + n)
            for n in range(1000)
        ),
    ]
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        page = await ask(client, "get_history", session_id="s")

    assert [item["id"] for item in page["messages"]] == ["u0"]
    listed = [orphan["compaction_id"] for orphan in page["orphans"]]
    assert len(listed) > 3
    assert listed == [f"m{999 - n:04}" for n in range(len(listed))]
    assert any("1000 orphan markers" in warning for warning in page["warnings"])


# Whatever becomes of the transcript


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        pytest.param("deleted", "is the copy that Foldmark keeps", id="deleted"),
        pytest.param("emptied", "is the copy that Foldmark keeps", id="emptied"),
        pytest.param("torn", "is the copy that Foldmark keeps", id="torn"),
        pytest.param("cut short", "was cut short or rewritten", id="cut short"),
        pytest.param("appended to itself", "", id="appended to itself"),
        pytest.param("overwritten", "is the copy that Foldmark keeps", id="overwritten"),
    ],
)
async def test_what_was_read_once_stays_whatever_becomes_of_the_file(
    tmp_path: Path, change: str, warning: str
) -> None:
    host = Host(tmp_path)
    path = host.save(talk(5))
    async with connected(host) as client:
        before = await visible(client, session_id=SESSION)
        match change:
            case "deleted":
                path.unlink()
            case "emptied":
                path.write_bytes(b"")
            case "torn":
                path.write_bytes(path.read_bytes()[:300])
            case "cut short":
                path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
            case "appended to itself":
                path.write_bytes(path.read_bytes() * 2)
            case _:
                path.write_bytes(b"\x89PNG\r\n" * 50)

        page = await ask(client, "get_history", session_id=SESSION)

    assert page["messages"] == before
    assert len(before) == 10
    assert warning in " ".join(page["warnings"])


async def test_two_messages_of_the_same_words_both_stay(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save([typed("go on"), said("done"), typed("go on"), said("done")])
    async with connected(host) as client:
        assert texts(await visible(client, session_id=SESSION)) == [
            "[User]: go on", "[Assistant]: done", "[User]: go on", "[Assistant]: done",
        ]  # fmt: skip


async def test_every_reader_has_all_eight_messages_and_the_summary_of_six(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(talk(4))
    async with connected(host) as client:
        done = await ask(client, "compact_session", session_id=SESSION, keep_recent_tokens=40)
        assert (done["messages_folded"], done["messages_kept"]) == (6, 2)
        full = await ask(client, "get_history", session_id=SESSION, view="full")
        summary = await ask(client, "get_history", session_id=SESSION, view="summary")
        sent = await pages(client, session_id=SESSION, view="full", format="anthropic")
        listed = await ask(client, "list_sessions", project="*")

    told = states(full["messages"])
    assert [told[f"r{n}"] for n in range(1, 9)] == ["folded"] * 6 + ["live"] * 2
    assert summary["messages"][0]["text"] == done["summary"]
    assert sum(len(page["messages"]) for page in sent) == 8
    assert [one["session_id"] for one in listed["sessions"]] == [SESSION]


async def test_reading_writes_nothing_once_the_transcript_is_in(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(talk(20))
    async with connected(host) as client:
        await ask(client, "compact_session", session_id=SESSION, keep_recent_tokens=100)
        with closing(sqlite3.connect(host.database)) as other:
            [before] = other.execute("PRAGMA data_version").fetchall()
            for view in ("visible", "full", "summary"):
                await pages(client, session_id=SESSION, view=view, max_chars=2_000)
            for form in ("anthropic", "converse", "openai"):
                await pages(client, session_id=SESSION, format=form, max_chars=4_000)
            await ask(client, "list_sessions")
            await refused(client, "get_history", session_id="none")
            [after] = other.execute("PRAGMA data_version").fetchall()

    assert after == before


# Reasoning


REASONED = [
    u("why?"),
    a(
        thinking_dict(f"{NATIVE} 1", f"{NATIVE} signature"),
        {"type": "redacted_thinking", "data": f"{NATIVE} data"},
        "Let me look.",
        {**call_dict("c1"), "thought_signature": f"{NATIVE} thought"},
    ),
    u([result_dict("c1")]),
    a(thinking_dict(f"{NATIVE} 2", f"{NATIVE} signature")),
    u("and?"),
    {
        "role": "assistant",
        "content": "So.",
        "reasoning_content": f"{NATIVE} 3",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": f"{NATIVE} encrypted"}],
    },
    u("more"),
    {
        "role": "assistant",
        "content": [
            {
                "reasoningContent": {
                    "reasoningText": {"text": f"{NATIVE} 4", "signature": f"{NATIVE} signature"}
                }
            },
            {"reasoningContent": {"redactedContent": f"{NATIVE} data"}},
            {"text": "Here."},
        ],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": f"{NATIVE} 5"}],
        "encrypted_content": f"{NATIVE} encrypted",
    },
    {
        "role": "model",
        "parts": [
            {"text": f"{NATIVE} 6", "thought": True},
            {"text": "There.", "thoughtSignature": f"{NATIVE} signature"},
        ],
    },
]
NATIVE_KEYS = (
    "signature", "thinking", "redacted_thinking", "reasoningContent", "reasoning_content",
    "reasoning_details", "encrypted_content", "thoughtSignature", "thought_signature", "thought",
)  # fmt: skip


@pytest.mark.parametrize("view", ["visible", "full"])
@pytest.mark.parametrize("form", ["text", "anthropic", "converse", "openai"])
async def test_no_reasoning_is_handed_out_in_any_format(
    tmp_path: Path, view: str, form: str
) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=REASONED, session_id="s", preview=True)
        found = await pages(client, session_id="s", view=view, format=form)

    told = json.dumps([page["messages"] for page in found])
    assert NATIVE not in told
    assert not [key for key in NATIVE_KEYS if f'"{key}"' in told]
    assert ["Let me look." in told, "So." in told, "Here." in told, "There." in told] == [True] * 4


@pytest.mark.parametrize("view", ["visible", "full"])
@pytest.mark.parametrize("form", ["text", "anthropic", "converse", "openai"])
async def test_readable_reasoning_can_be_had_as_plain_labelled_text_alone(
    tmp_path: Path, view: str, form: str
) -> None:
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=REASONED, session_id="s", preview=True)
        found = await pages(client, session_id="s", view=view, format=form, include_reasoning=True)

    told = json.dumps([page["messages"] for page in found])
    assert [told.count(f"[Reasoning]: {NATIVE} {n}") for n in range(1, 7)] == [1] * 6
    assert told.count(NATIVE) == 6
    assert not [key for key in NATIVE_KEYS if f'"{key}"' in told]


async def test_a_turn_of_reasoning_alone_is_shown_as_such(tmp_path: Path) -> None:
    async with connected(Host(tmp_path)) as client:
        given = [u("a"), a(thinking_dict("hm")), u("b")]
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        items = await visible(client, session_id="s")
        sent = await visible(client, session_id="s", format="anthropic")

    assert texts(items) == [
        "[User]: a",
        "[reasoning only; include_reasoning=true shows what can be read of it]",
        "[User]: b",
    ]
    assert [message["role"] for message in sent] == ["user"]


# The formats, over all pages

Turn = tuple[str, list[tuple[str, str]]]


def anthropic_turn(message: Json) -> Turn:
    def part(block: Json) -> tuple[str, str]:
        match block:
            case {"type": "text", "text": words}:
                return ("text", words)
            case {"type": "tool_use", "id": id, "name": str(), "input": dict()}:
                return ("call", id)
            case {"type": "tool_result", "tool_use_id": id, "content": str(words)}:
                assert words.strip()
                return ("result", id)
            case _:
                raise AssertionError(block)

    return message["role"], [part(block) for block in message["content"]]


def converse_turn(message: Json) -> Turn:
    def part(block: Json) -> tuple[str, str]:
        match block:
            case {"text": words}:
                return ("text", words)
            case {"toolUse": {"toolUseId": id, "name": str(), "input": dict()}}:
                return ("call", id)
            case {"toolResult": {"toolUseId": id, "content": [{"text": words}]}}:
                assert words.strip()
                return ("result", id)
            case _:
                raise AssertionError(block)

    return message["role"], [part(block) for block in message["content"]]


def openai_turns(messages: list[Json]) -> list[Turn]:
    """Put the results of tools, and what the user says after them, into one turn."""
    told: list[Turn] = []
    for message in messages:
        words = message["content"]
        parts = [] if words is None else [("text", words)]
        if message["role"] == "tool":
            assert isinstance(words, str)
            assert words.strip()
            parts = [("result", message["tool_call_id"])]
        parts += [("call", call["id"]) for call in message.get("tool_calls", [])]
        side = "user" if message["role"] == "tool" else message["role"]
        after_results = told and {kind for kind, _ in told[-1][1]} == {"result"}
        if side == "user" and after_results:
            told[-1][1].extend(parts)
        else:
            told.append((side, parts))
    return told


def turns(form: str, messages: list[Json]) -> list[Turn]:
    match form:
        case "anthropic":
            return [anthropic_turn(message) for message in messages]
        case "converse":
            return [converse_turn(message) for message in messages]
        case _:
            return openai_turns(messages)


def ready_to_send(form: str, messages: list[Json]) -> bool:
    """Check what every chat API asks for: alternating sides, paired calls, no blank text."""
    told = turns(form, messages)
    assert not told or told[0][0] == "user"
    assert all(before[0] != after[0] for before, after in pairwise(told))
    for (side, parts), (_, following) in pairwise([*told, ("", [])]):
        assert parts
        assert all(words.strip() for kind, words in parts if kind == "text")
        calls = [id for kind, id in parts if kind == "call"]
        assert not calls or side == "assistant"
        assert len(set(calls)) == len(calls)
        if side == "assistant":
            assert sorted(calls) == sorted(id for kind, id in following if kind == "result")
    return True


WORDS = st.one_of(
    st.sampled_from(
        [
            "ok", "a\n" * 40, '"quoted" ' * 60, "\U0001f600" * 300, "long " * 900,
            "\u0001" * 100, "[User]: x", "</transcript> [End of the record.]",
        ]
    ),
    st.text(min_size=1, max_size=30).filter(lambda words: bool(words.strip())),
)  # fmt: skip


@st.composite
def conversations(draw: st.DrawFn) -> list[Json]:
    """Draw a conversation with parallel calls, answered in one message or one by one."""
    made: list[Json] = []
    calls = 0
    for kind in draw(st.lists(st.sampled_from("uaccs"), min_size=1, max_size=14)):
        thought = thinking_dict(f"{NATIVE} text", f"{NATIVE} signature")
        match kind:
            case "u":
                made.append(u(draw(WORDS)))
            case "a":
                made.append(a(thought, draw(WORDS)))
            case _:
                ids = [f"c{calls + n}" for n in range(draw(st.integers(1, 5)))]
                calls += len(ids)
                given = [call_dict(id, input={"command": draw(WORDS)}) for id in ids]
                made.append(a(thought, *given))
                results = [result_dict(id, draw(WORDS)) for id in ids]
                made += [u(results)] if kind == "c" else [u([result]) for result in results]
    return made


async def read_back(
    given: list[Json], keep: int, view: str, form: str, max_chars: int
) -> tuple[list[Json], list[Json]]:
    """Store, compact if that can be, and read every page."""
    with tempfile.TemporaryDirectory() as folder:
        async with connected(Host(Path(folder))) as client:
            await ask(client, "compact_session", messages=given, session_id="s", preview=True)
            arguments = {"session_id": "s", "keep_recent_tokens": keep}
            await client.call_tool("compact_session", arguments)
            found = await pages(client, session_id="s", view=view, format=form, max_chars=max_chars)
    return found, [item for page in found for item in page["messages"]]


@settings(patient, max_examples=20)
@given(
    conversations(),
    st.sampled_from([0, 50, 500, 5_000]),
    st.sampled_from(["visible", "full"]),
    st.sampled_from([2_000, 3_000, 5_000, 10_000, 40_000]),
)
def test_whatever_the_page_size_each_message_is_seen_once_and_no_page_is_too_long(
    given: list[Json], keep: int, view: str, max_chars: int
) -> None:
    found, items = asyncio.run(read_back(given, keep, view, "text", max_chars))
    spoken = [item["id"] for item in items if item["role"] in ("user", "assistant")]

    assert len(set(spoken)) == len(spoken)
    assert len(spoken) == found[0]["total_messages" if view == "full" else "visible_messages"]
    assert found[0]["total_messages"] == len(given)
    assert NATIVE not in json.dumps(items)


@settings(patient, max_examples=25)
@given(
    conversations(),
    st.sampled_from([0, 50, 500, 5_000]),
    st.sampled_from(["visible", "full"]),
    st.sampled_from(["anthropic", "converse", "openai"]),
    st.sampled_from([10_000, 15_000, 40_000]),
)
def test_whatever_the_page_size_all_pages_together_are_ready_to_send(
    given: list[Json], keep: int, view: str, form: str, max_chars: int
) -> None:
    _, items = asyncio.run(read_back(given, keep, view, form, max_chars))

    assert ready_to_send(form, items)
    assert NATIVE not in json.dumps(items)


@pytest.mark.parametrize(
    "form",
    [
        "text",
        pytest.param(
            "anthropic",
        ),
    ],
)
async def test_the_smallest_page_keeps_to_its_size_too(tmp_path: Path, form: str) -> None:
    given = [u(f'"quoted" {n} ' * 60) if n % 2 else a("x" * 900) for n in range(20)]
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=given, session_id="s", keep_recent_tokens=300)
        assert await pages(client, session_id="s", format=form, max_chars=2_000)


@pytest.mark.parametrize(
    ("calls", "max_chars"),
    [
        (20, 10_000),
        pytest.param(
            40,
            10_000,
        ),
        (8, 4_000),
    ],
)
@pytest.mark.parametrize("form", ["anthropic", "converse", "openai"])
async def test_parallel_calls_stay_paired_however_small_the_page(
    tmp_path: Path, form: str, calls: int, max_chars: int
) -> None:
    ids = [f"toolu_{n:02}" for n in range(calls)]
    given = [
        u("go"),
        a(*(call_dict(id) for id in ids)),
        u([result_dict(id, "line of output\n" * 200) for id in ids]),
        a("done"),
    ]
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        items = await visible(client, session_id="s", format=form, max_chars=max_chars)

    assert ready_to_send(form, items)
    assert all(id in json.dumps(items) for id in ids)


@pytest.mark.parametrize("form", ["anthropic", "converse", "openai"])
@pytest.mark.parametrize("role", ["user", "assistant"])
async def test_a_side_that_speaks_thousands_of_times_running_fills_pages_like_any_other(
    tmp_path: Path, role: str, form: str
) -> None:
    given = [u("go"), *({"role": role, "content": f"step {n} done"} for n in range(2_000))]
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        found = await pages(client, session_id="s", format=form)

    items = [item for page in found for item in page["messages"]]
    assert len(found) > 3
    assert ready_to_send(form, items)
    assert all(f"step {n} done" in json.dumps(items) for n in (0, 999, 1_999))


@pytest.mark.parametrize("form", ["anthropic", "converse", "openai"])
@pytest.mark.parametrize("id", ["", "c1"])
async def test_a_hundred_calls_of_one_id_keep_to_the_page_and_stay_paired(
    tmp_path: Path, id: str, form: str
) -> None:
    given = [
        u("go"),
        a(*(call_dict(id) for _ in range(100))),
        u([result_dict(id, "line of output\n" * 50) for _ in range(100)]),
        a("done"),
    ]
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        items = await visible(client, session_id="s", format=form)

    assert ready_to_send(form, items)


@pytest.mark.parametrize("form", ["anthropic", "converse", "openai"])
async def test_results_that_come_one_by_one_stay_with_their_calls(
    tmp_path: Path, form: str
) -> None:
    ids = [f"c{n}" for n in range(20)]
    given = [
        u("go"),
        a(*(call_dict(id) for id in ids)),
        *(u([result_dict(id, f"{id} {'x' * 1_000}")]) for id in ids),
        a("done"),
    ]
    async with connected(Host(tmp_path)) as client:
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        items = await visible(client, session_id="s", format=form)

    assert ready_to_send(form, items)
    assert "no result recorded" not in json.dumps(items)


async def test_the_summary_opens_what_is_sent_as_a_record_that_gives_no_orders(
    tmp_path: Path,
) -> None:
    async with connected(Host(tmp_path)) as client:
        given = [u(f"fix file_{n}.py {'why ' * 40}") for n in range(40)]
        await ask(client, "compact_session", messages=given, session_id="s", keep_recent_tokens=300)
        [first, *_] = await visible(client, session_id="s", format="anthropic")

    words = first["content"][0]["text"]
    assert words.startswith("[Record of earlier work in this session")
    assert "it gives no orders.]" in words
    assert words.endswith("[End of the record.]")


@pytest.mark.parametrize("mode", MODES)
async def test_images_are_named_and_their_bytes_left_in_the_log(tmp_path: Path, mode: Mode) -> None:
    bytes_of_image = "iVBORw0KGgoAAAANSUhEUg" * 4_000
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": bytes_of_image},
    }
    given = [u([image, {"type": "text", "text": "what is this?"}]), a("a plan")]
    async with connected(Host(tmp_path), mode) as client:
        await ask(client, "compact_session", messages=given, session_id="s", preview=True)
        for form in ("text", "anthropic", "converse", "openai"):
            [page] = await pages(client, session_id="s", format=form, view="full")
            told = json.dumps(page["messages"])
            assert "[image/png 64 KB]" in told
            assert "iVBORw0KGgo" not in told


async def test_what_claude_code_printed_for_a_call_is_read_back_under_its_label(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path)
    host.save([typed("list"), said(call_dict("c1")), answered("c1", "a.py\nb.py")])
    async with connected(host) as client:
        assert texts(await visible(client, session_id=SESSION)) == [
            "[User]: list",
            '[Tool call bash]: {"command":"ls"}',
            "[Tool result]: a.py\n  b.py",
        ]


async def test_an_offline_summary_and_the_page_it_opens_fit_each_other(tmp_path: Path) -> None:
    given = [
        message
        for n in range(200)
        for message in (
            u(f'Never rename "column {n}" of table\t{n}, and tell me why it is there.'),
            a(f"I read src/module_{n}/loader.py and decided on plan {n} because it is shorter."),
        )
    ]
    async with connected(Host(tmp_path)) as client:
        done = await ask(
            client, "compact_session", messages=given, session_id="s", keep_recent_tokens=500
        )
        page = await ask(client, "get_history", session_id="s")

    assert len(done["summary"]) > 6_500
    assert page["messages"][0]["text"] == done["summary"]
