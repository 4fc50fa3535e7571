import os
from pathlib import Path

import pytest

from foldmark.errors import SessionNotFound, TranscriptRefused
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sources.places import Places
from foldmark.sources.transcript import Transcript

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay out a home with a key in it, two projects' transcripts and an allowed folder."""
    home = tmp_path / "home"
    for path in (
        home / ".ssh" / "id_rsa",
        home / ".claude" / "settings.json",
        home / ".claude" / "projects-old" / "p" / f"{ONE}.jsonl",
        home / ".claude" / "projects" / "-home-dev-p" / f"{ONE}.jsonl",
        home / ".claude" / "projects" / "-home-dev-q" / f"{TWO}.jsonl",
        home / "allowed" / "deep" / "run.jsonl",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return home


@pytest.fixture(name="projects")
def _projects(home: Path) -> Path:
    return home / ".claude" / "projects"


@pytest.fixture(name="places")
def _places(home: Path) -> Places:
    allowed = (Path("~/allowed"), home / "not-there-yet")
    return Places(ASSISTANTS, {"HOME": str(home)}, project=home / "work", allowed=allowed)


def paths(found: list[Transcript]) -> list[Path]:
    return [one.path for one in found]


# Paths that a caller names


@pytest.mark.parametrize(
    ("named", "real"),
    [
        (
            f"~/.claude/projects/-home-dev-p/{ONE}.jsonl",
            f".claude/projects/-home-dev-p/{ONE}.jsonl",
        ),
        (f".claude/projects/-home-dev-p/{ONE}.jsonl", f".claude/projects/-home-dev-p/{ONE}.jsonl"),
        ("~/allowed/deep/run.jsonl", "allowed/deep/run.jsonl"),
        ("allowed/deep/../deep/./run.jsonl", "allowed/deep/run.jsonl"),
        (".ssh/../allowed/deep/run.jsonl", "allowed/deep/run.jsonl"),
    ],
)
def test_a_file_inside_is_permitted(home: Path, places: Places, named: str, real: str):
    assert places.permitted(named) == home / real


@pytest.mark.parametrize(
    "named",
    [
        pytest.param(".ssh/id_rsa", id="a key"),
        pytest.param("~/.ssh/id_rsa", id="a key by the tilde"),
        pytest.param("~nobody-by-that-name/x", id="another's tilde"),
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("/", id="the root"),
        pytest.param("", id="nothing"),
        pytest.param("allowed/../.ssh/id_rsa", id="up and out"),
        pytest.param(".claude/projects/../settings.json", id="beside the folder"),
        pytest.param(f".claude/projects-old/p/{ONE}.jsonl", id="a folder that starts alike"),
        pytest.param("allowed/deep/run.jsonl\0", id="a NUL at the end"),
        pytest.param(".ssh/id_rsa\0.jsonl", id="a NUL inside"),
        pytest.param("allowed/\ud83d", id="a lone surrogate"),
        pytest.param("x/" * 5000, id="too long"),
    ],
)
def test_a_path_outside_is_refused(places: Places, named: str):
    with pytest.raises(TranscriptRefused, match="FOLDMARK_ALLOWED_DIRS") as raised:
        places.permitted(named)

    assert str(raised.value).encode()


def test_a_refusal_does_not_tell_whether_the_file_exists(home: Path, places: Places):
    refusals: set[str] = set()
    for name in ("id_rsa", "absent"):
        with pytest.raises(TranscriptRefused) as raised:
            places.permitted(str(home / ".ssh" / name))
        refusals.add(str(raised.value).replace(name, "NAME"))

    assert len(refusals) == 1


@pytest.mark.parametrize(
    ("link", "target", "named"),
    [
        pytest.param("allowed/x.jsonl", ".ssh/id_rsa", "allowed/x.jsonl", id="file"),
        pytest.param("allowed/out", ".ssh", "allowed/out/id_rsa", id="folder"),
        pytest.param("allowed/a", "allowed/deep/../../.ssh", "allowed/a/id_rsa", id="folder by .."),
        pytest.param(
            f".claude/projects/-home-dev-p/{TWO}.jsonl",
            ".ssh/id_rsa",
            f".claude/projects/-home-dev-p/{TWO}.jsonl",
            id="in a project",
        ),
    ],
)
def test_a_link_that_leads_outside_is_refused(
    home: Path, places: Places, link: str, target: str, named: str
):
    (home / link).symlink_to(home / target)

    with pytest.raises(TranscriptRefused):
        places.permitted(named)


def test_a_link_to_a_link_that_leads_outside_is_refused(home: Path, places: Places):
    (home / "allowed" / "b.jsonl").symlink_to(home / "allowed" / "a.jsonl")
    (home / "allowed" / "a.jsonl").symlink_to(home / ".ssh" / "id_rsa")

    with pytest.raises(TranscriptRefused):
        places.permitted("allowed/b.jsonl")


def test_a_link_that_stays_inside_is_followed(home: Path, places: Places):
    (home / "allowed" / "x.jsonl").symlink_to(home / "allowed" / "deep" / "run.jsonl")

    assert places.permitted("allowed/x.jsonl") == home / "allowed" / "deep" / "run.jsonl"


def test_a_link_into_an_allowed_folder_is_followed(home: Path, places: Places):
    (home / "x.jsonl").symlink_to(home / "allowed" / "deep" / "run.jsonl")

    assert places.permitted("x.jsonl") == home / "allowed" / "deep" / "run.jsonl"


def test_an_allowed_folder_may_itself_be_a_link(home: Path):
    (home / "shortcut").symlink_to(home / "allowed")
    places = Places(ASSISTANTS, {"HOME": str(home)}, allowed=[home / "shortcut"])

    assert places.permitted("shortcut/deep/run.jsonl") == home / "allowed" / "deep" / "run.jsonl"
    assert places.permitted("allowed/deep/run.jsonl") == home / "allowed" / "deep" / "run.jsonl"


def test_links_in_a_circle_lead_nowhere(home: Path, places: Places):
    (home / "allowed" / "a").symlink_to(home / "allowed" / "b")
    (home / "allowed" / "b").symlink_to(home / "allowed" / "a")

    with pytest.raises((TranscriptRefused, SessionNotFound)):
        places.permitted("allowed/a")


@pytest.mark.parametrize(
    "named",
    [
        pytest.param("allowed/absent.jsonl", id="absent"),
        pytest.param("allowed/deep", id="a folder"),
        pytest.param("allowed/deep/run.jsonl/x", id="under a file"),
        pytest.param("allowed/pipe", id="a pipe"),
        pytest.param("not-there-yet/x.jsonl", id="an allowed folder that is not there"),
        pytest.param(
            "allowed/" + "x" * 300,
            id="a name too long",
        ),
    ],
)
def test_what_is_no_file_inside_is_not_found(home: Path, places: Places, named: str):
    os.mkfifo(home / "allowed" / "pipe")

    with pytest.raises(SessionNotFound, match="Nothing was changed"):
        places.permitted(named)


# Sessions by name


def test_a_session_is_found_in_whatever_project_it_lies(projects: Path, places: Places):
    assert paths(places.find(ONE)) == [projects / "-home-dev-p" / f"{ONE}.jsonl"]
    assert paths(places.find(TWO)) == [projects / "-home-dev-q" / f"{TWO}.jsonl"]


def test_of_two_files_of_one_session_the_newer_is_found(projects: Path, places: Places):
    copy = projects / "-home-dev-q" / f"{ONE}.jsonl"
    copy.write_text("{}\n")
    os.utime(projects / "-home-dev-p" / f"{ONE}.jsonl", (1, 1))

    assert paths(places.find(ONE)) == [copy]


@pytest.mark.parametrize(
    "id",
    [
        "",
        ".",
        "..",
        "*",
        "**",
        "?" * 36,
        "[0-9]*",
        "1*",
        ONE[:-1],
        f"{ONE}.jsonl",
        f"{ONE}\0",
        f"{ONE}\n",
        f" {ONE}",
        f"../{ONE}",
        f"-home-dev-p/{ONE}",
        f"{ONE}/..",
        f"{ONE}/../../..",
        f"{ONE}/agent-x/y",
        f"/{ONE}",
        "../../.ssh/id_rsa",
        "~",
        "\ud83d",
        "é",
        "x" * 100_000,
    ],
)
def test_a_hostile_id_finds_nothing(places: Places, id: str):
    assert places.find(id) == []


def test_what_a_link_leads_out_to_is_neither_found_nor_listed(
    home: Path, projects: Path, places: Places
):
    third, fourth = (str(number) * 8 + ONE[8:] for number in (3, 4))
    (projects / "-home-dev-p" / f"{third}.jsonl").symlink_to(home / ".ssh" / "id_rsa")
    (home / ".ssh" / f"{fourth}.jsonl").write_text("{}\n")
    (projects / "-out").symlink_to(home / ".ssh")

    assert places.find(third) == []
    assert places.find(fourth) == []
    assert sorted(one.session for one in places.transcripts()) == [ONE, TWO]


def test_a_subagents_transcript_is_found_by_both_names(projects: Path, places: Places):
    path = agent_file(projects, "agent-x")

    assert paths(places.find(f"{ONE}/agent-x")) == [path]
    assert places.find(f"{TWO}/agent-x") == []
    assert paths(places.subagents(places.find(ONE)[0])) == [path]


@pytest.mark.parametrize("at", ["subagents", "session"])
def test_subagents_behind_a_link_out_are_not_listed(
    home: Path, projects: Path, places: Places, at: str
):
    outside = home / ".ssh" / "subagents"
    outside.mkdir()
    (outside / "agent-x.jsonl").write_text("{}\n")
    session = projects / "-home-dev-p" / ONE
    if at == "session":
        session.symlink_to(home / ".ssh")
    else:
        session.mkdir()
        (session / "subagents").symlink_to(outside)

    assert places.subagents(places.find(ONE)[0]) == []


# Lists


def test_transcripts_are_listed_newest_first_without_those_of_subagents(
    projects: Path, places: Places
):
    one = projects / "-home-dev-p" / f"{ONE}.jsonl"
    two = projects / "-home-dev-q" / f"{TWO}.jsonl"
    (projects / "-home-dev-p" / "agent-old.jsonl").write_text("{}\n")
    (projects / "-home-dev-p" / "folder.jsonl").mkdir()
    (projects / "-home-dev-p" / "notes.txt").write_text("x")
    os.mkfifo(projects / "-home-dev-p" / "pipe.jsonl")
    agent_file(projects, "agent-x")
    os.utime(one, (100, 100))
    os.utime(two, (200, 200))

    assert paths(places.transcripts()) == [two, one]
    assert paths(places.transcripts("claude-code", since=150)) == [two]
    assert places.transcripts("nobody") == []


def test_folders_that_are_not_there_hold_nothing(tmp_path: Path):
    places = Places(ASSISTANTS, {"HOME": str(tmp_path / "absent")}, project=tmp_path)

    assert places.transcripts() == []
    assert places.find(ONE) == []


def agent_file(projects: Path, name: str) -> Path:
    path = projects / "-home-dev-p" / ONE / "subagents" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    return path


# Names of sessions


@pytest.mark.parametrize(
    ("path", "id"),
    [
        (f"-p/{ONE}.jsonl", ONE),
        (f"-p/{TWO.upper()}.jsonl", TWO.upper()),
        (f"-p/{ONE}/subagents/agent-x.jsonl", f"{ONE}/agent-x"),
        (f"-p/{ONE}/subagents/workflows/wf_1/agent-x.jsonl", f"{ONE}/agent-x"),
    ],
)
def test_a_file_of_the_assistants_is_named_by_its_session(
    projects: Path, places: Places, path: str, id: str
):
    assert places.identify(put(projects / path)).session == id


def test_any_other_file_is_named_by_its_folder_too(home: Path, places: Places):
    names = {places.identify(put(home / path)).session for path in ("a/run.jsonl", "b/run.jsonl")}
    names.add(places.identify(put(home / "a/walk.jsonl")).session)

    assert len(names) == 3
    assert {name.rpartition("-")[0] for name in names} == {"run", "walk"}
    assert places.identify(home / "a" / "run.jsonl").session in names


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"type":"user","uuid":"u1","message":{"content":"hello"}}\n')
    return path
