"""Every real transcript beside the project, through the engine: known, read, and read again.

What each must give is written down in the tests of its reader; this is about nothing being left
over, and nothing changing when it is read once more.
"""

import shutil
from pathlib import Path

import pytest

from foldmark.requests import Caller, Compact, Query, Which
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sessions.service import Sessions
from foldmark.sources.places import Places
from foldmark.store.store import open_store
from readings import SHARED, shared

FOLDERS = {
    "aider": ".aider.chat.history.md",
    "claude-code": "**/*.jsonl",
    "cline": "*/*/*.messages.json",
    "codex": "**/*.jsonl",
    "copilot-cli": "**/*.jsonl",
    "cursor": "moraine-agent-transcript.jsonl",
    "gemini-cli": "**/session-*",
    "goose": "**/export/*.json",
    "opencode": "**/exports/*.json",
    "pi": "**/*.jsonl",
}
STRANGE = {"cclog-edge_cases.jsonl"}
"""Files with a record of a type that does not exist."""

FILES = [
    pytest.param(assistant, *param.values, id=param.id, marks=param.marks)
    for assistant, pattern in FOLDERS.items()
    for param in shared(assistant, f"**/{pattern}" if assistant == "aider" else pattern)
]


@pytest.mark.parametrize(("assistant", "path"), FILES)
async def test_a_real_transcript_is_known_read_and_the_same_when_read_again(
    tmp_path: Path, assistant: str, path: Path
):
    places = Places(ASSISTANTS, {"HOME": str(tmp_path)}, project=tmp_path, allowed=[SHARED])
    which, caller = Which(transcript_path=str(path)), Caller(tmp_path)
    async with open_store(tmp_path / "f.db") as store:
        engine = Sessions(store, places)
        first = await engine.history(which, Query(view="full"), caller)
        end = (await store.overview(first.session_id)).end

        again = await engine.history(which, Query(view="full"), caller)

        assert first.assistant == assistant
        assert first.total_messages > 0
        assert again == first
        assert (await store.overview(first.session_id)).end == end
        unknown = [told for told in first.warnings if "does not know" in told]
        assert len(unknown) == (path.name in STRANGE)
        done = await engine.compact(which, Compact(keep_recent_tokens=0), caller)
        assert done.status in ("compacted", "nothing_to_compact")
        await engine.stop()


@pytest.mark.parametrize("path", shared("opencode", "**/*.db") + shared("goose", "**/*.db"))
async def test_every_session_of_a_real_database_is_read_and_the_same_when_read_again(
    tmp_path: Path, path: Path
):
    folder = "goose/sessions" if "goose" in path.parts else "opencode"
    home = tmp_path / ".local" / "share" / folder
    home.mkdir(parents=True)
    shutil.copyfile(path, home / path.name)
    places = Places(ASSISTANTS, {"HOME": str(tmp_path)}, project=tmp_path)
    caller = Caller(tmp_path)
    async with open_store(tmp_path / "f.db") as store:
        engine = Sessions(store, places)
        for one in places.transcripts():
            which = Which(session_id=one.session)
            first = await engine.history(which, Query(view="full"), caller)
            end = (await store.overview(one.session)).end

            assert first.total_messages > 0
            assert first.warnings == []
            assert await engine.history(which, Query(view="full"), caller) == first
            assert (await store.overview(one.session)).end == end
