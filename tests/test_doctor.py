import re
from collections.abc import Generator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bedrock.server import FakeBedrock
from foldmark_server.cli import app
from session_files import Host, talk

MODEL = {"FOLDMARK_BEDROCK_MODEL": "us.anthropic.claude-sonnet-4-6"}
UNSET = ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "FOLDMARK_BEDROCK_MODEL")


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.save(talk(1))
    return host


@pytest.fixture(name="aws")
def _aws() -> Generator[FakeBedrock]:
    with FakeBedrock() as bedrock:
        yield bedrock


def doctor(host: Host, environ: dict[str, str], code: int = 0) -> str:
    """Ask the doctor; an empty value unsets a variable."""
    given = {**dict.fromkeys(UNSET, ""), **host.environ, **environ, "COLUMNS": "400"}
    ran = CliRunner().invoke(
        app,
        ["doctor"],
        env={name: value or None for name, value in given.items()},
        catch_exceptions=False,
        prog_name="foldmark",
    )
    assert (ran.exit_code, ran.stderr) == (code, "")
    return ran.stdout


def test_the_doctor_says_what_is_there_and_spends_nothing(host: Host):
    told = doctor(host, {})

    assert re.search(r"ok +settings", told)
    assert re.search(r"ok +database +'.*foldmark\.db' holds 0 sessions", told)
    assert re.search(r"ok +transcripts +claude-code keeps 1 sessions in '.*projects'", told)
    assert re.search(r"transcripts +none of codex, ", told)
    assert "FOLDMARK_BEDROCK_MODEL is not set" in told


def test_the_doctor_asks_bedrock_only_what_is_free(host: Host, aws: FakeBedrock):
    told = doctor(host, {**aws.environ, **MODEL})

    assert re.search(r"ok +credentials +found by env", told)
    assert re.search(r"ok +region +us-east-1", told)
    assert re.search(r"ok +model", told)
    assert not aws.generations
    assert aws.environ["AWS_ACCESS_KEY_ID"] not in told


@pytest.mark.parametrize(
    ("change", "found"),
    [
        pytest.param({"FOLDMARK_REDACT": "maybe"}, r"problem +settings.*'on', 'off'", id="setting"),
        pytest.param({"AWS_ACCESS_KEY_ID": ""}, r"problem +credentials.*aws sso login", id="keys"),
        pytest.param(
            {"AWS_REGION": "", "AWS_DEFAULT_REGION": ""},
            r"problem +region.*AWS_REGION",
            id="region",
        ),
        pytest.param(
            {"FOLDMARK_BEDROCK_MODEL": "us.anthropic.claude-nothing-9"},
            r"problem +model.*FOLDMARK_BEDROCK_MODEL",
            id="no such model",
        ),
        pytest.param({"FOLDMARK_DB": "/dev/null/x.db"}, r"problem +database", id="database"),
    ],
)
def test_the_doctor_says_what_is_missing(
    host: Host, aws: FakeBedrock, change: dict[str, str], found: str
):
    told = doctor(host, {**aws.environ, **MODEL, **change}, code=1)

    assert re.search(found, told)
    assert "Bedrock wrote no summary" not in told


@pytest.mark.parametrize(
    "model",
    [
        "amazon.nova-lite-v1:0",
        "arn:aws:bedrock:us-east-1:1:application-inference-profile/anthropic.x",
    ],
)
def test_the_doctor_says_what_cannot_be_known_for_free(host: Host, aws: FakeBedrock, model: str):
    told = doctor(host, {**aws.environ, "FOLDMARK_BEDROCK_MODEL": model})

    assert re.search(r"unknown +model.*without spending tokens", told)
    assert not aws.requests


@pytest.mark.parametrize(
    ("model", "state"),
    [
        ("eu.anthropic.claude-sonnet-4-6", "ok"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-6", "ok"),
        ("anthropic.claude-sonnet-4-6", "unknown"),
        ("bogus.anthropic.claude-sonnet-4-6", "unknown"),
    ],
)
def test_the_doctor_does_not_vouch_for_an_id_that_was_not_tried(
    host: Host, aws: FakeBedrock, model: str, state: str
):
    assert re.search(
        rf"{state} +model", doctor(host, {**aws.environ, "FOLDMARK_BEDROCK_MODEL": model})
    )
