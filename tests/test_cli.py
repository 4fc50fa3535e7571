import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foldmark_server.cli import app
from session_files import (
    OTHER,
    SESSION,
    Host,
    answered,
    ask,
    connected,
    said,
    talk,
    typed,
)

FOLDMARK = (sys.executable, "-m", "foldmark_server")

SUMMARY = """\
Goal: find out why question 3 and answer 5 keep coming back, and put an end to it for good.
Decisions: every question is answered once, in the order in which it was asked, by one person.
Files: none was touched. Errors: none was met. The user wants short answers to long questions.
Next step: answer question 19.
"""


@dataclass(frozen=True)
class Run:
    """What a command wrote, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(name="host")
def _host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path)
    host.project.mkdir()
    monkeypatch.chdir(host.project)
    return host


def foldmark(host: Host, *arguments: str | Path, stdin: str = "") -> Run:
    """Run a command in this process; an exception that it does not expect fails the test."""
    ran = CliRunner().invoke(
        app,
        [str(argument) for argument in arguments],
        input=stdin,
        env={**host.environ, "CLAUDE_CODE_SESSION_ID": None, "COLUMNS": "250"},
        catch_exceptions=False,
        prog_name="foldmark",
    )
    return Run(ran.exit_code, ran.stdout, ran.stderr)


def surroundings(host: Host, **more: str) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**inherited, **host.environ, **more}


def process(host: Host, *command: str, stdin: str = "", **more: str) -> Run:
    """Run a command in a process of its own, as a shell does."""
    ran = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env=surroundings(host, **more),
        timeout=60,
        check=False,
    )
    return Run(ran.returncode, ran.stdout, ran.stderr)


def done(host: Host, *arguments: str | Path, stdin: str = "") -> str:
    """Run a command that must succeed and have nothing to complain of."""
    run = foldmark(host, *arguments, stdin=stdin)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def done_json(host: Host, *arguments: str | Path) -> dict[str, Any]:
    return json.loads(done(host, *arguments, "--json"))


def refused(host: Host, *arguments: str | Path, code: int = 1, stdin: str = "") -> str:
    """Run a command that must fail, with words on stderr only."""
    run = foldmark(host, *arguments, stdin=stdin)
    assert (run.returncode, run.stdout) == (code, "")
    return run.stderr


def test_compact_folds_any_transcript_that_a_person_names(host: Host) -> None:
    path = host.save(talk(20)).rename(host.root / "notes.jsonl")

    told = done(host, "compact", path, "--keep-recent-tokens", "100")

    assert "Compacted notes-" in told
    assert "found by    the path you gave" in told
    assert "34 folded, 6 kept as they are" in told
    assert "- First request: Question 0: why why" in told
    again = done(host, "compact", path, "--keep-recent-tokens", "100")
    assert "Nothing to compact in notes-" in again


def test_a_relative_path_and_a_link_name_a_transcript_too(host: Host) -> None:
    path = host.save(talk(3)).rename(host.root / "real.jsonl")
    (host.project / "link.jsonl").symlink_to(path)

    by_link = done_json(host, "history", "link.jsonl")
    relative = done_json(host, "history", os.path.relpath(path, host.project))

    assert by_link["total_messages"] == relative["total_messages"] == 6
    assert by_link["session_id"] == relative["session_id"]


def test_json_is_what_the_tools_return(host: Host) -> None:
    host.save(talk(20, size=400))
    preview = done_json(host, "compact", SESSION, "--keep-recent-tokens", "500", "--preview")
    compacted = done_json(host, "compact", SESSION, "--keep-recent-tokens", "500")
    history = done_json(host, "history", SESSION, "--max-chars", "4000")
    full = done_json(host, "history", SESSION, "--view", "full", "--format", "openai")
    sessions = done_json(host, "sessions")

    async def of_the_tools() -> list[dict[str, Any]]:
        asked = {"session_id": SESSION}
        async with connected(host) as client:
            return [
                await ask(client, "compact_session", **asked, keep_recent_tokens=500),
                await ask(client, "get_history", **asked, max_chars=4000),
                await ask(client, "get_history", **asked, view="full", format="openai"),
                await ask(client, "list_sessions"),
            ]

    again, *read = asyncio.run(of_the_tools())
    assert [history, full, sessions] == read
    assert (preview["status"], preview["compaction_id"]) == ("preview", "")
    assert compacted["status"] == "compacted"
    assert list(compacted) == list(again)
    assert (again["status"], again["summary"]) == ("nothing_to_compact", compacted["summary"])
    assert preview["summary"] == compacted["summary"]


def test_a_preview_changes_nothing(host: Host) -> None:
    host.save(talk(20))
    before = done(host, "history", SESSION, "--view", "full", "--all")

    told = done(host, "compact", SESSION, "--keep-recent-tokens", "100", "--preview")

    assert told.startswith(f"Preview, nothing was changed: {SESSION}\n")
    assert before == done(host, "history", SESSION, "--view", "full", "--all")


def test_without_argument_the_only_session_of_the_folder_is_meant(host: Host) -> None:
    host.save(talk(20))

    told = done(host, "compact", "--keep-recent-tokens", "100")

    assert f"Compacted {SESSION}" in told
    assert "the only live session of the project" in told


def test_without_argument_two_sessions_are_named_and_none_is_touched(host: Host) -> None:
    host.save(talk(20))
    host.save(talk(20), OTHER)

    told = refused(host, "compact", "--keep-recent-tokens", "0")

    assert SESSION in told
    assert OTHER in told
    assert [one["imported"] for one in done_json(host, "sessions")["sessions"]] == [False, False]


@pytest.mark.parametrize("flag", [("--summary", SUMMARY), ("--summary-file", "-")])
def test_a_summary_of_ones_own_is_taken(host: Host, flag: tuple[str, str]) -> None:
    host.save(talk(20))

    told = done(host, "compact", SESSION, "--keep-recent-tokens", "0", *flag, stdin=SUMMARY)

    assert "Summary (caller)" in told
    assert SUMMARY.strip() in told


def test_a_refused_summary_is_an_error_that_changes_nothing(host: Host) -> None:
    host.save(talk(20))
    before = done_json(host, "history", SESSION, "--all")["messages"]

    told = refused(
        host, "compact", SESSION, "--keep-recent-tokens", "0", "--summary", "I cannot do that."
    )

    assert told.startswith("Error: The summary was not accepted (refusal_or_error)")
    assert "--summarizer extractive" in told
    assert before == done_json(host, "history", SESSION, "--all")["messages"]


def test_history_labels_what_is_live_and_what_is_folded(host: Host) -> None:
    host.save(talk(20))
    done(host, "compact", SESSION, "--keep-recent-tokens", "100")

    visible = done(host, "history", SESSION)
    full = done(host, "history", SESSION, "--view", "full", "--all")

    assert "40 messages, 6 visible to a model" in visible
    assert "34 messages folded behind a summary" in visible
    assert "── summary  live" in visible
    assert "[User]: Question 16" not in visible
    assert full.count("  folded  ") == 34
    assert full.count("  live  ") == 8, "6 messages, a marker and its summary"


def test_all_reads_every_page_and_long_messages_whole(host: Host) -> None:
    long = " ".join(f"word{number}" for number in range(20_000))
    host.save([*talk(60, size=400), typed(long), said("Done.")])

    told = done(host, "history", SESSION, "--all")
    page = done_json(host, "history", SESSION, "--all")
    alone = done_json(host, "history", SESSION, "--all", "--message-id", "r121")

    assert told.count("\n── ") == 122
    assert long in told
    assert len(page["messages"]) == 122
    assert page["next_cursor"] is None
    assert page["messages"][120] == alone["messages"][0]
    assert alone["messages"][0]["text"] == f"[User]: {long}"


def test_a_page_says_how_to_read_on(host: Host) -> None:
    host.save(talk(60, size=400))

    first = foldmark(host, "history", SESSION)
    cursor = first.stderr.split("--cursor ")[1].strip()
    second = foldmark(host, "history", SESSION, "--cursor", cursor)

    assert first.returncode == second.returncode == 0
    assert first.stderr.startswith("Note: There is more: repeat the command with --all")
    shown = re.findall(r"(Question|Answer) (\d+):", first.stdout + second.stdout)
    told = list(dict.fromkeys(shown))  # the title is a question too
    assert len(told) > 10
    all_told = [(who, str(turn)) for turn in range(60) for who in ("Question", "Answer")]
    assert told == all_told[: len(told)]


def test_messages_for_an_api_are_one_json_array(host: Host) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
    host.save([typed("List it."), said(thinking, call), answered("c1", "a.txt"), said("a.txt")])

    told = done(host, "history", SESSION, "--format", "anthropic", "--all")

    assert [
        (one["role"], [block["type"] for block in one["content"]]) for one in json.loads(told)
    ] == [
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]


def test_sessions_are_listed_with_what_they_are_about(host: Host) -> None:
    host.save([typed("Mend the fence."), said("Done.")])
    host.save([typed("Paint it."), said("Done.")], OTHER, project=host.root / "elsewhere", age=9000)

    here = done(host, "sessions")
    everywhere = done(host, "sessions", "--project", "*")
    relative = done(host, "sessions", "--project", "../elsewhere")
    none = done(host, "sessions", "--query", "no such words")

    assert SESSION in here
    assert "Mend the fence." in here
    assert "not imported yet" in here
    assert OTHER not in here
    assert "2 h ago" in everywhere
    assert str(host.root / "elsewhere") in everywhere
    assert OTHER in relative
    assert none == f"No sessions of {host.project} match.\n"


def test_nothing_in_a_transcript_reaches_the_terminal_as_anything_but_text(host: Host) -> None:
    nasty = "\x1b]0;owned\x07\x1b[31mred\x1b[0m \x9b2J [bold]plain[/bold] b\x08 \u202eevil :smile:"
    host.save([typed(nasty), said("ok")])

    told = done(host, "history", SESSION) + done(host, "sessions")
    machine = done(host, "history", SESSION, "--json")

    assert told.count("red  [bold]plain[/bold] b evil :smile:") == 3, "title, text, list"
    assert not {*"\x07\x08\x1b\x9b\u202e"} & {*told}
    assert not {*"\x07\x08\x1b\x9b"} & {*machine}
    assert json.loads(machine)["messages"][0]["text"] == f"[User]: {nasty}"


def test_output_is_utf_8_whatever_the_locale(host: Host) -> None:
    host.save([typed("Grüße, 世界 ✓"), said("ok")])
    latin = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    for_people = process(host, *FOLDMARK, "history", SESSION, **latin)
    for_scripts = process(host, *FOLDMARK, "history", SESSION, "--json", **latin)

    assert "[User]: Grüße, 世界 ✓" in for_people.stdout
    assert '"[User]: Grüße, 世界 ✓"' in for_scripts.stdout
    assert (for_people.returncode, for_scripts.returncode) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["history", "nope"], "There is no session 'nope'", id="unknown session"),
        pytest.param(["history", "nope"], "Run foldmark sessions", id="next step in shell words"),
        pytest.param(["history", "n" * 5000], "There is no session", id="endless name"),
        pytest.param(["history", f"{SESSION}/agent-7"], "There is no session", id="subagent"),
        pytest.param(["history", "./nope.jsonl"], "There is no file at", id="missing file"),
        pytest.param(["history", "~nobody/nope.jsonl"], "There is no file at", id="no such home"),
        pytest.param(["history", "made.jsonl"], "is no transcript that is", id="foreign"),
        pytest.param(["history", SESSION, "--cursor", "x"], "'x' is no cursor", id="bad cursor"),
        pytest.param(["history", SESSION, "--message-id", "x"], "no message 'x'", id="message"),
        pytest.param(["sessions", "--cursor", "x"], "'x' is no cursor", id="bad cursor 2"),
        pytest.param(
            ["compact", SESSION, "--summarizer", "caller"],
            "--summarizer caller needs your own summary of the session in --summary.",
            id="no summary",
        ),
        pytest.param(
            ["compact", SESSION, "--summarizer", "bedrock"], "use --summarizer extractive", id="aws"
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_paragraph(
    host: Host, arguments: list[str], words: str
) -> None:
    host.save(talk(2))
    (host.project / "made.jsonl").write_text('{"made": "elsewhere"}\n', encoding="utf-8")

    told = refused(host, *arguments)

    assert told.startswith("Error: ")
    assert words in told
    assert told.count("\n") == 1


def test_a_database_that_is_none_is_an_error_with_its_path(host: Host) -> None:
    host.database.parent.mkdir()
    host.database.write_bytes(b"no database" * 1000)

    assert str(host.database) in refused(host, "sessions")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["fold"], id="unknown command"),
        pytest.param(["history", "--colour"], id="unknown option"),
        pytest.param(["history", SESSION, OTHER], id="too many arguments"),
        pytest.param(["history", "--view", "all"], id="unknown view"),
        pytest.param(["history", "--max-chars", "10"], id="page too small"),
        pytest.param(["compact", "--keep-recent-tokens", "-1"], id="negative tokens"),
        pytest.param(["compact", "--summary", " "], id="blank summary"),
        pytest.param(["compact", "--summary", "a", "--summary-file", "b"], id="two summaries"),
        pytest.param(["compact", "--summary-file", "none.md"], id="missing summary"),
        pytest.param(["sessions", "--limit", "0"], id="no limit"),
        pytest.param(["history", "."], id="a folder"),
    ],
)
def test_wrong_usage_has_an_exit_code_of_its_own(host: Host, arguments: list[str]) -> None:
    assert "Error" in refused(host, *arguments, code=2)


def test_a_reader_that_has_seen_enough_is_no_error(host: Host) -> None:
    host.save(talk(400, size=400))  # more than a pipe holds

    with subprocess.Popen(
        [*FOLDMARK, "history", SESSION, "--all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings(host),
    ) as run:
        assert run.stdout
        assert run.stderr
        assert run.stdout.readline().startswith(b"Session ")
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait(60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is full")
@pytest.mark.parametrize("command", [["sessions"], ["history", SESSION, "--json"]])
def test_a_full_disk_is_said_without_a_traceback(host: Host, command: list[str]) -> None:
    host.save(talk(400, size=400))

    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*FOLDMARK, *command],
            stdout=full,
            stderr=subprocess.PIPE,
            env=surroundings(host),
            cwd=host.project,
            check=False,
        )

    assert ran.returncode == 1
    assert ran.stderr.decode().startswith("Error: There is no space left")
    assert "Traceback" not in ran.stderr.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes and SIGINT are POSIX's")
def test_an_interrupted_command_has_an_exit_code_of_its_own(host: Host) -> None:
    host.save(talk(20))
    pipe = host.root / "summary.md"
    os.mkfifo(pipe)

    with (
        subprocess.Popen(
            [*FOLDMARK, "compact", SESSION, "--summary-file", pipe],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=surroundings(host),
        ) as run,
        pipe.open("wb"),
    ):  # returns once the command reads
        run.send_signal(signal.SIGINT)
        out, complaint = run.communicate(timeout=60)

    assert (run.returncode, out) == (130, b"")
    assert b"Interrupted. Nothing was lost" in complaint
    assert b"Traceback" not in complaint


def test_help_documents_the_exit_codes(host: Host) -> None:
    for command in ([], ["compact"], ["history"], ["sessions"]):
        told = done(host, *command, "--help")
        assert "  1    Foldmark could not do it, and changed nothing\n" in told
        assert "  130  interrupted" in told


def test_version_is_told(host: Host) -> None:
    assert done(host, "--version") == "foldmark 0.1.0\n"


def test_commands_for_people_do_not_pay_for_the_protocol(host: Host) -> None:
    code = """
import sys
from foldmark_server.cli import run
sys.argv = ["foldmark", "history", sys.argv[1]]
try:
    run()
finally:
    sys.stderr.write(" ".join(sorted({"mcp", "boto3"} & set(sys.modules))))
"""
    host.save(talk(2))
    run = process(host, sys.executable, "-c", code, SESSION)

    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["serve"]])
def test_without_arguments_and_with_serve_it_speaks_mcp(host: Host, arguments: list[str]) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    run = process(host, *FOLDMARK, *arguments, stdin=json.dumps(hello) + "\n")

    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["result"]["serverInfo"]["name"] == "foldmark"
