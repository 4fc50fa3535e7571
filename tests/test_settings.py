import os
from dataclasses import replace
from pathlib import Path

import pytest

from foldmark.errors import InvalidRequest
from foldmark.sessions.readers import ASSISTANTS
from foldmark.summarizers.bedrock.summarizer import Options
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
    assert home / ".claude" / "projects" in [spot.root for spot in found.places.spots]
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

    unset, found = read({}), read(environ)

    assert found == replace(unset, places=found.places)
    assert found.places.spots == unset.places.spots
    assert found.places.allowed == []


def test_folders_are_allowed_as_in_path(home: Path) -> None:
    value = os.pathsep.join(["/a", "~/b", "", "/c d"])

    assert read({"FOLDMARK_ALLOWED_DIRS": value}).places.allowed == [
        Path("/a"),
        home / "b",
        Path("/c d"),
    ]


def test_claude_code_s_folder_can_be_elsewhere() -> None:
    spots = read({"CLAUDE_CONFIG_DIR": "/cfg"}).places.spots

    assert Path("/cfg/projects") in [spot.root for spot in spots]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("claude-code", ["claude-code"], id="one"),
        pytest.param(" Codex, claude-code ,", ["claude-code", "codex"], id="spaces, capitals"),
        pytest.param("", [reader.assistant for reader in ASSISTANTS], id="all by default"),
    ],
)
def test_only_the_assistants_that_are_named_are_read(value: str, expected: list[str]) -> None:
    places = read({"FOLDMARK_SOURCES": value}).places

    assert [reader.assistant for reader in places.readers] == expected


def test_an_assistant_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidRequest, match=r"'copilot'.*Nothing was started.*claude-code, codex"):
        read({"FOLDMARK_SOURCES": "codex,copilot"})


def test_without_a_model_nothing_is_sent_anywhere() -> None:
    found = read({"FOLDMARK_BEDROCK_CONTEXT": "50000", "AWS_REGION": "eu-central-1"})

    assert found.bedrock is None
    assert not found.fallback


def test_a_model_on_bedrock_can_be_set_in_all_its_ways() -> None:
    found = read(
        {
            "FOLDMARK_BEDROCK_MODEL": " eu.anthropic.claude-haiku-5-5 ",
            "FOLDMARK_BEDROCK_CONTEXT": "50000",
            "FOLDMARK_BEDROCK_MAX_OUTPUT": "9000",
            "FOLDMARK_BEDROCK_EFFORT": "Low",
            "FOLDMARK_REASONING": "drop",
            "FOLDMARK_REDACT": "off",
            "FOLDMARK_FALLBACK": "extractive",
            "AWS_REGION": "eu-central-1",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    )

    assert found.bedrock == Options(
        "eu.anthropic.claude-haiku-5-5", 50_000, 9_000, "low", "drop", redact=False
    )
    assert found.fallback
    assert found.region == "eu-central-1"


def test_thinking_is_labeled_and_secrets_are_redacted_unless_a_user_says_otherwise() -> None:
    assert read({"FOLDMARK_BEDROCK_MODEL": "m"}).bedrock == Options("m", 0, 0, "", "label", True)


@pytest.mark.parametrize("region", ["", "${user_config.aws_region}"])
def test_a_region_that_a_bundle_left_unfilled_is_that_of_the_profile(region: str) -> None:
    assert read({"AWS_REGION": region}).region == ""
    assert read({"AWS_REGION": region, "AWS_DEFAULT_REGION": "us-west-2"}).region == "us-west-2"


@pytest.mark.parametrize(
    ("name", "value", "choices"),
    [
        ("FOLDMARK_BEDROCK_EFFORT", "huge", "'low', 'medium', 'high', 'xhigh', 'max'"),
        ("FOLDMARK_REASONING", "keep", "'label', 'drop'"),
        ("FOLDMARK_REDACT", "no", "'on', 'off'"),
        ("FOLDMARK_FALLBACK", "caller", "'off', 'extractive'"),
        ("FOLDMARK_BEDROCK_CONTEXT", "200k", "from 1,000 to 10,000,000"),
        ("FOLDMARK_BEDROCK_MAX_OUTPUT", "0", "from 1,000 to 10,000,000"),
    ],
)
def test_a_word_that_a_setting_does_not_know_is_refused(
    name: str, value: str, choices: str
) -> None:
    with pytest.raises(InvalidRequest, match=choices) as refused:
        read({name: value})

    assert f"{name}={value!r}" in str(refused.value)
    assert "Correct or unset it" in str(refused.value)


@pytest.mark.parametrize("value", ["1000", "8000", "32000"])
def test_the_room_of_a_summary_can_be_set(value: str) -> None:
    assert read({"FOLDMARK_SUMMARY_CHARS": value}).summary_chars == int(value)


@pytest.mark.parametrize("value", ["999", "32001", "-5", "8e3", "many", "\u0668\u0660\u0660\u0660"])
def test_a_room_that_makes_no_sense_is_refused_with_the_range(value: str) -> None:
    with pytest.raises(InvalidRequest, match=r"from 1,000 to 32,000") as refused:
        read({"FOLDMARK_SUMMARY_CHARS": value})

    assert repr(value) in str(refused.value)
    assert "Correct or unset it" in str(refused.value)
