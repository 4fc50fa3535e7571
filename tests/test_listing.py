import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from session_files import (
    OTHER,
    SESSION,
    Host,
    Json,
    Mode,
    ask,
    connected,
    linked,
    refused,
    said,
    typed,
)

MODES = ["auto", "legacy"]
THIRD = "33333333-3333-4333-8333-333333333333"


def conversation(about: str) -> list[Json]:
    return [typed(f"Work on {about}"), said("Done."), typed(f"Now test {about}"), said("Passed.")]


async def ids(client: Client, **arguments: Any) -> list[str]:
    listed = await ask(client, "list_sessions", **arguments)
    return [one["session_id"] for one in listed["sessions"]]


@pytest.mark.parametrize("mode", MODES)
async def test_sessions_in_the_store_and_on_disk_are_one_list_newest_first(
    tmp_path: Path, mode: Mode
) -> None:
    host = Host(tmp_path)
    host.save(conversation("a"), SESSION, age=50)
    host.save(conversation("b"), OTHER, age=100)
    host.save(conversation("c"), THIRD, age=10)
    async with connected(host, mode) as client:
        await ask(client, "get_history", session_id=SESSION)
        listed = await ask(client, "list_sessions")

    assert [one["session_id"] for one in listed["sessions"]] == [THIRD, SESSION, OTHER]
    assert [one["imported"] for one in listed["sessions"]] == [False, True, False]
    assert listed["total"] == 3
    assert listed["next_cursor"] is None


async def test_a_session_is_described_the_same_before_and_after_it_is_read(tmp_path: Path) -> None:
    host = Host(tmp_path)
    title: Json = {"type": "ai-title", "aiTitle": "The importer"}
    host.save([*conversation("the importer"), title])
    async with connected(host) as client:
        [before] = (await ask(client, "list_sessions"))["sessions"]
        await ask(client, "get_history", session_id=SESSION)
        [after] = (await ask(client, "list_sessions"))["sessions"]

    assert before == {
        "session_id": SESSION,
        "assistant": "claude-code",
        "project": str(host.project),
        "title": "The importer",
        "first_prompt": "Work on the importer",
        "last_prompt": "Now test the importer",
        "updated_at": before["updated_at"],
        "imported": False,
        "transcript_gone": False,
    }
    assert after == {**before, "imported": True}


async def test_what_stands_at_one_end_of_a_long_session_is_not_told_of_the_other(
    tmp_path: Path,
) -> None:
    """Codex begins with so many instructions that the first prompt comes late."""
    host = Host(tmp_path)
    long = said("x" * 400_000)
    host.save([typed("first"), long, typed("last")], SESSION)
    host.save([long, typed("only last")], OTHER)
    host.save([typed("only first"), long], THIRD)
    async with connected(host) as client:
        listed = await ask(client, "list_sessions")

    told = {s["session_id"]: (s["first_prompt"], s["last_prompt"]) for s in listed["sessions"]}
    assert told == {
        SESSION: ("first", "last"),
        OTHER: ("", "only last"),
        THIRD: ("only first", ""),
    }


async def test_a_session_whose_transcript_was_deleted_is_listed_as_gone(tmp_path: Path) -> None:
    """Claude Code deletes transcripts after 30 days."""
    host = Host(tmp_path)
    path = host.save(conversation("a"), SESSION)
    host.save(conversation("b"), OTHER)
    async with connected(host) as client:
        await ask(client, "get_history", session_id=SESSION)
        await ask(client, "compact_session", messages=[{"role": "user", "content": "handed over"}])
        path.unlink()
        listed = await ask(client, "list_sessions", project="*")
        kept = await ask(client, "get_history", session_id=SESSION)

    gone = {one["assistant"]: one["transcript_gone"] for one in listed["sessions"]}
    assert {one["session_id"] for one in listed["sessions"] if one["transcript_gone"]} == {SESSION}
    assert gone["messages"] is False
    assert kept["total_messages"] == len(conversation("a"))
    assert "This is the copy that Foldmark keeps." in kept["warnings"][0]


async def test_an_imported_session_that_goes_on_comes_first_again(tmp_path: Path) -> None:
    host = Host(tmp_path)
    path = host.save(conversation("a"), SESSION, age=100)
    host.save(conversation("b"), OTHER, age=50)
    async with connected(host) as client:
        await ask(client, "get_history", session_id=SESSION)
        host.add(path, [typed("One more thing")], after=4)
        listed = await ask(client, "list_sessions")

    assert [one["session_id"] for one in listed["sessions"]] == [SESSION, OTHER]


@pytest.mark.parametrize("limit", [1, 2, 7, 50])
async def test_pages_of_the_list_hold_each_session_once(tmp_path: Path, limit: int) -> None:
    host = Host(tmp_path)
    names = [f"{n:08}-0000-4000-8000-000000000000" for n in range(12)]
    for age, name in enumerate(names):
        host.save(conversation(name[:8]), name, age=10.0 * age)
    found: list[str] = []
    cursor: str | None = None
    async with connected(host) as client:
        await ask(client, "get_history", session_id=names[5])
        while True:
            more = {"cursor": cursor} if cursor else {}
            listed = await ask(client, "list_sessions", limit=limit, **more)
            assert len(listed["sessions"]) <= limit
            assert listed["total"] == 12
            found += [one["session_id"] for one in listed["sessions"]]
            cursor = listed["next_cursor"]
            if cursor is None:
                break

    assert found == names


async def test_a_list_s_cursor_fits_no_other_list(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(conversation("a"), SESSION)
    host.save(conversation("a"), OTHER)
    async with connected(host) as client:
        listed = await ask(client, "list_sessions", limit=1)
        cursor = listed["next_cursor"]
        told = [
            await refused(client, "list_sessions", cursor=cursor, query="a"),
            await refused(client, "list_sessions", cursor=cursor, project="*"),
            await refused(client, "list_sessions", cursor=cursor, assistant="claude-code"),
            await refused(client, "get_history", cursor=cursor, session_id=SESSION),
        ]

    assert all("Call again without a cursor" in words for words in told)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("importer", [OTHER], id="a word of a prompt"),
        pytest.param("IMPORTER", [OTHER], id="in capitals"),
        pytest.param("now test the queue", [SESSION], id="words of the last prompt"),
        pytest.param(OTHER[:6], [OTHER], id="the start of an id"),
        pytest.param("work", [SESSION, OTHER], id="a word of both"),
        pytest.param("zebra", [], id="a word of none"),
        pytest.param("%", [], id="no wildcard"),
    ],
)
@pytest.mark.parametrize("imported", [False, True])
async def test_a_query_is_looked_for_in_what_describes_a_session(
    tmp_path: Path, query: str, expected: list[str], imported: bool
) -> None:
    host = Host(tmp_path)
    host.save(conversation("the queue"), SESSION)
    host.save(conversation("the importer"), OTHER, age=10)
    async with connected(host) as client:
        if imported:
            await ask(client, "get_history", session_id=SESSION)
            await ask(client, "get_history", session_id=OTHER)

        assert await ids(client, query=query) == expected


@pytest.mark.parametrize("imported", [False, True])
async def test_c50_only_the_project_s_own_sessions_are_listed_unless_all_are_asked_for(
    tmp_path: Path, imported: bool
) -> None:
    host = Host(tmp_path)
    host.save(conversation("zebra"), SESSION)
    host.save(conversation("zebra"), OTHER, project=tmp_path / "q", age=10)
    async with connected(host) as client:
        if imported:
            await ask(client, "get_history", session_id=SESSION)
            await ask(client, "get_history", session_id=OTHER)
        own = await ask(client, "list_sessions", query="zebra")
        other = await ids(client, query="zebra", project=str(tmp_path / "q"))
        every = await ask(client, "list_sessions", query="zebra", project="*")

    assert [one["session_id"] for one in own["sessions"]] == [SESSION]
    assert own["project"] == str(host.project)
    assert "project='*' lists all projects" in own["next_step"]
    assert other == [OTHER]
    assert [one["session_id"] for one in every["sessions"]] == [SESSION, OTHER]
    assert every["project"] == "*"


@pytest.mark.parametrize("project", ["work", "./work", "..", "%", "**", "", " "])
async def test_c50_a_project_that_makes_no_sense_lists_nothing_of_another(
    tmp_path: Path, project: str
) -> None:
    host = Host(tmp_path)
    host.save(conversation("a"), SESSION)
    host.save(conversation("b"), OTHER, project=tmp_path / "q")
    async with connected(host) as client:
        if project == "":  # the same as none
            assert await ids(client, project=project) == [SESSION]
        else:
            assert "absolute folder" in await refused(client, "list_sessions", project=project)


async def test_where_the_own_project_has_no_session_all_are_listed_and_it_says_so(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path)
    host.save(conversation("b"), OTHER, project=tmp_path / "q")
    async with connected(host) as client:
        listed = await ask(client, "list_sessions")

    assert [one["session_id"] for one in listed["sessions"]] == [OTHER]
    assert listed["project"] == "*"


@pytest.mark.parametrize("imported", [False, True])
async def test_a_project_in_a_very_deep_folder_is_found_and_shown_by_its_start(
    tmp_path: Path, imported: bool
) -> None:
    host = Host(tmp_path)
    deep = str(tmp_path / "/".join(["folder" * 10] * 9))
    host.save([typed("Where am I?", cwd=deep), said("Deep down.", cwd=deep)], OTHER)
    async with connected(host) as client:
        if imported:
            await ask(client, "get_history", session_id=OTHER)
        page = await ask(client, "list_sessions", project=deep)

    [found] = page["sessions"]
    assert found["session_id"] == OTHER
    assert deep.startswith(found["project"])
    assert len(found["project"]) == 300


async def test_sessions_can_be_limited_to_an_assistant(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save(conversation("a"), SESSION)
    given = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]
    async with connected(host) as client:
        await ask(client, "compact_session", messages=given, session_id="handed over")

        assert await ids(client, assistant="messages") == ["handed over"]
        assert await ids(client, assistant="claude-code") == [SESSION]
        assert await ids(client, assistant="cobol") == []


async def test_subagents_are_no_sessions_of_their_own(tmp_path: Path) -> None:
    host = Host(tmp_path)
    aside = typed("Look around", isSidechain=True, agentId="abc")
    path = host.save([*conversation("a"), aside])
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    told = linked([typed("Search", isSidechain=True, agentId="def")], SESSION, host.project)
    (folder / "agent-def.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in told), encoding="utf-8"
    )
    (path.parent / "agent-old.jsonl").write_bytes((folder / "agent-def.jsonl").read_bytes())
    async with connected(host) as client:
        assert await ids(client, project="*") == [SESSION]
        page = await ask(client, "get_history", session_id=SESSION)
        assert await ids(client, project="*") == [SESSION]

        found = await ids(client, project="*", query=f"{SESSION}/")

    assert sorted(found) == [f"{SESSION}/agent-abc", f"{SESSION}/agent-def"]
    assert sorted(page["subagents"]) == [f"{SESSION}/agent-abc", f"{SESSION}/agent-def"]
    assert page["total_messages"] == 4


BROKEN = {
    "empty": b"",
    "blank": b"\n\n\n",
    "not-json": b"\x89PNG\r\n\x1a\n" * 100,
    "zeros": b"\0" * 70_000,
    "numbers": b"1\n2\n3\n",
    "foreign": b'{"a": 1}\n' * 50,
    "torn": b'{"type": "user", "uuid": "x", "message": {"role": "us',
    "deep": b'{"type": "user", "uuid": "x", "a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n",
    "odd-fields": (
        b'{"type": "user", "uuid": 5, "sessionId": [], "message": {"content": {"a": 1}}, '
        b'"cwd": 7, "timestamp": null}\n'
        b'{"type": "ai-title", "sessionId": "x", "aiTitle": {"a": 1}}\n'
        b'{"type": "user", "uuid": null, "message": null, "isMeta": 3}\n'
    ),
    "surrogates": b'{"type": "user", "uuid": "x", "cwd": "/\\ud83d", '
    b'"message": {"role": "user", "content": "\\ud83d"}}\n',
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_file_on_disk_does_not_stop_the_list(tmp_path: Path, name: str) -> None:
    host = Host(tmp_path)
    path = host.save(conversation("a"), SESSION)
    (path.parent / f"{name}.jsonl").write_bytes(BROKEN[name])
    async with connected(host) as client:
        assert SESSION in await ids(client, project="*")
        assert await ids(client) == [SESSION]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
async def test_what_is_no_regular_file_does_not_stop_the_list(tmp_path: Path) -> None:
    host = Host(tmp_path)
    path = host.save(conversation("a"), SESSION)
    os.mkfifo(path.parent / "pipe.jsonl")
    (path.parent / "folder.jsonl").mkdir()
    (path.parent / "loop.jsonl").symlink_to(path.parent / "loop.jsonl")
    (path.parent / "gone.jsonl").symlink_to(path.parent / "nowhere.jsonl")
    async with connected(host) as client:
        assert await ids(client, project="*") == [SESSION]


@pytest.mark.parametrize("imported", [False, True])
@pytest.mark.parametrize("folder", ["/a\0b", "~nobody-here/x", "{loop}/x"])
async def test_a_session_whose_folder_is_none_does_not_stop_the_list(
    tmp_path: Path, imported: bool, folder: str
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    host = Host(tmp_path)
    odd = typed("Where am I?", cwd=folder.format(loop=loop))
    host.save(conversation("a"), SESSION)
    host.save([odd, said("Nowhere.", cwd=odd["cwd"])], OTHER)
    async with connected(host) as client:
        if imported:
            await ask(client, "get_history", session_id=OTHER)

        assert await ids(client) == [SESSION]


async def test_a_first_line_longer_than_a_peek_hides_no_session(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.save([typed("x" * 100_000), *conversation("a")], SESSION)
    async with connected(host) as client:
        [one] = (await ask(client, "list_sessions"))["sessions"]

    assert one["session_id"] == SESSION
    assert one["last_prompt"] == "Now test a"


async def test_long_prompts_are_shown_by_their_start(tmp_path: Path) -> None:
    host = Host(tmp_path)
    names = [f"{n:08}-0000-4000-8000-000000000000" for n in range(50)]
    for name in names:
        host.save([typed("long " * 2_000), said("ok")], name)
    async with connected(host) as client:
        listed = await ask(client, "list_sessions", limit=50)

    assert len(listed["sessions"]) == 50
    assert {len(one["first_prompt"]) for one in listed["sessions"]} == {160}
    assert len(json.dumps(listed)) < 50_000


async def test_with_no_session_anywhere_the_list_is_empty(tmp_path: Path) -> None:
    async with connected(Host(tmp_path)) as client:
        listed = await ask(client, "list_sessions")

    assert (listed["sessions"], listed["total"]) == ([], 0)
