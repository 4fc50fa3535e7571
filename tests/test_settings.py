import os
from pathlib import Path

import pytest

from foldmark.errors import InvalidRequest
from foldmark.sessions.folders import Folders
from foldmark_server.settings import read


@pytest.fixture(name="home", autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("TEAM", "blue")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path


def test_without_settings_everything_lies_where_the_platform_puts_it(home: Path) -> None:
    found = read({})

    assert found.database.name == "foldmark.db"
    assert found.database.is_relative_to(home)
    assert found.folders == Folders(home / ".claude" / "projects")
    assert found.summary_chars == 7_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("/data/f.db", "/data/f.db", id="a path"),
        pytest.param(" /data/f.db ", "/data/f.db", id="spaces around it"),
        pytest.param("/data/a b.db", "/data/a b.db", id="a space inside"),
        pytest.param("/data/$TEAM.db", "/data/blue.db", id="a variable"),
        pytest.param("~/f.db", "{home}/f.db", id="the home folder"),
    ],
)
def test_the_database_can_be_put_elsewhere(home: Path, value: str, expected: str) -> None:
    assert read({"FOLDMARK_DB": value}).database == Path(expected.format(home=home))


@pytest.mark.parametrize("value", ["", "  ", "${user_config.database}"])
def test_a_value_that_a_host_left_unfilled_counts_as_unset(value: str) -> None:
    environ = {
        "FOLDMARK_DB": value,
        "FOLDMARK_ALLOWED_DIRS": value,
        "FOLDMARK_SUMMARY_CHARS": value,
        "CLAUDE_CONFIG_DIR": value,
    }

    assert read(environ) == read({})


def test_folders_are_allowed_as_in_path(home: Path) -> None:
    value = os.pathsep.join(["/a", "~/b", "", "/c d"])

    assert read({"FOLDMARK_ALLOWED_DIRS": value}).folders.allowed == (
        Path("/a"),
        home / "b",
        Path("/c d"),
    )


def test_claude_code_s_folder_can_be_elsewhere() -> None:
    assert read({"CLAUDE_CONFIG_DIR": "/cfg"}).folders.projects == Path("/cfg/projects")


@pytest.mark.parametrize("value", ["1000", "8000", "32000"])
def test_the_room_of_a_summary_can_be_set(value: str) -> None:
    assert read({"FOLDMARK_SUMMARY_CHARS": value}).summary_chars == int(value)


@pytest.mark.parametrize("value", ["999", "32001", "-5", "8e3", "many", "\u0668\u0660\u0660\u0660"])
def test_a_room_that_makes_no_sense_is_refused_with_the_range(value: str) -> None:
    with pytest.raises(InvalidRequest, match=r"from 1,000 to 32,000") as refused:
        read({"FOLDMARK_SUMMARY_CHARS": value})

    assert repr(value) in str(refused.value)
    assert "Correct or unset it" in str(refused.value)
