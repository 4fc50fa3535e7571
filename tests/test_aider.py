from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import patient
from foldmark.messages import Message, Text
from foldmark.transcripts.aider import READER
from foldmark.transcripts.record import Document
from readings import Reading, of_document, shared

LOG = (Path(__file__).parent / "fixtures" / "aider" / "chat.history.md").read_bytes()
TOKENS = Text("Tokens: 1.5k sent, 80 received.", injected=True)
HEADER = "# aider chat started at 2026-11-30 19:16:54"
FIRST, SECOND = "2026-11-30T19:16:54#1", "2026-11-30T19:18:52#1"

DOCUMENT = next(place for place in READER.places if isinstance(place, Document))


def read(*versions: bytes) -> Reading:
    return of_document(READER, *versions)


def run(*said: str) -> bytes:
    """Write a run: lines that end as Aider ends them, after its header."""
    return "\n".join(["", HEADER, "", *said, ""]).encode()


def typed(*lines: str) -> str:
    return "\n" + "\n".join(f"#### {line}  " for line in lines)


def console(words: str) -> str:
    return f"> {words}  "


def voices(reading: Reading) -> list[tuple[str, str]]:
    """List who said what: a person, the program (in a user's message), or the model."""
    return [
        ("model" if one.role == "assistant" else "person" if one.prompt else "program", block.text)
        for one in reading.messages
        for block in one.blocks
        if isinstance(block, Text)
    ]


# What Aider 0.86.2 wrote


def test_a_log_is_read_as_one_session_of_many_runs() -> None:
    reading = read(LOG)
    assert [(one.role, one.blocks, one.model) for one in reading.messages] == [
        ("user", (Text("first question about parser\nsecond line"),), ""),
        ("assistant", (Text("Answer 602 to your message."),), "openai/mock"),
        ("user", (TOKENS,), ""),
        ("user", (Text("second session\n> quoted line\n#### a user-typed heading"),), ""),
        ("assistant", (Text("Answer 614 to your message."),), "openai/mock"),
        ("user", (TOKENS,), ""),
    ]
    assert reading.prompts == [
        "first question about parser\nsecond line",
        "second session\n> quoted line\n#### a user-typed heading",
    ]
    assert not reading.skipped


def test_a_run_begins_with_a_record_that_holds_its_banner() -> None:
    reading = read(LOG)
    runs = [record for record in reading.records if record.kind == "other"]
    assert [record.at for record in runs] == ["2026-11-30T19:16:54", "2026-11-30T19:18:52"]
    assert b"--message first question about parser\\nsecond line a.py" in runs[0].raw
    assert b"#### a user-typed heading a.py" in runs[1].raw


def test_records_are_named_by_their_run_their_place_and_their_first_line() -> None:
    assert [record.id.partition("~")[0] for record in read(LOG).records] == [
        *(f"{FIRST}/{at}" for at in (1, 2, 3, 4)),
        *(f"{SECOND}/{at}" for at in (1, 2, 3, 4)),
    ]


def test_every_line_of_the_log_is_kept() -> None:
    kept = b"".join(record.raw for record in read(LOG).records).decode()
    lines = LOG.decode().split("\n")
    assert not [line for line in lines if line.replace('"', '\\"') not in kept]


# Who speaks


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(
            [typed("Hi"), "", "Hello.", "", "#### Details", "", "More.", ""],
            [("person", "Hi"), ("model", "Hello.\n\n#### Details\n\nMore.")],
            id="a heading in a reply is no prompt",
        ),
        pytest.param(
            [typed("Hi"), "", "It says:", "", "> quoted", "", "So it is.", "", console("Tokens")],
            [
                ("person", "Hi"),
                ("model", "It says:\n\n> quoted\n\nSo it is."),
                ("program", "Tokens"),
            ],
            id="a quotation in a reply is the model's",
        ),
        pytest.param(
            [typed("Hi"), typed("Are you there?"), "", "Yes."],
            [("person", "Hi"), ("person", "Are you there?"), ("model", "Yes.")],
            id="a prompt after a blank line is another one",
        ),
        pytest.param(
            [typed("First", "", "> third"), "", "Yes."],
            [("person", "First\n\n> third"), ("model", "Yes.")],
            id="a prompt may hold blank and quoted lines",
        ),
        pytest.param(
            [typed("/run ls"), "> a.py", "b.py", "", "#### c.py", "d.py  ", typed("Thanks")],
            [
                ("person", "/run ls"),
                ("program", "a.py\nb.py\n\n#### c.py\nd.py"),
                ("person", "Thanks"),
            ],
            id="an entry of the program goes on to two spaces",
        ),
        pytest.param(
            [
                typed("/add a.py"),
                console("Added a.py"),
                typed("Go"),
                "",
                "Done.",
                "",
                console("Yes"),
            ],
            [
                ("person", "/add a.py"),
                ("program", "Added a.py"),
                ("person", "Go"),
                ("model", "Done."),
                ("program", "Yes"),
            ],
            id="the program speaks between turns",
        ),
        pytest.param(
            ["> aider --message first", "", "#### second", "", "third a.py  ", typed("first")],
            [("person", "first")],
            id="a prompt that the banner repeats is part of the banner",
        ),
        pytest.param(
            [typed("<blank>"), console("Nothing was typed")],
            [("program", "<blank>"), ("program", "Nothing was typed")],
            id="nothing was typed",
        ),
        pytest.param(
            [typed("Hi"), "", "One.  ", "Two."], [("person", "Hi"), ("model", "One.  \nTwo.")]
        ),
    ],
)
def test_each_voice_is_told_from_the_others(
    said: list[str], expected: list[tuple[str, str]]
) -> None:
    assert voices(read(run(*said))) == expected


def test_lines_of_windows_are_read_alike() -> None:
    assert read(LOG.replace(b"\n", b"\r\n")).records == read(LOG).records


def test_a_log_without_a_header_keeps_what_it_holds() -> None:
    reading = read(b"Some words.\n\n#### Hi  \n\nHello.\n")
    assert voices(reading) == [("person", "Hi"), ("model", "Hello.")]
    assert [record.at for record in reading.records if record.kind == "other"] == [""]


def test_a_line_without_its_end_is_counted_and_left_for_the_next_time() -> None:
    torn = LOG + b"\n#### third que"
    assert read(torn).records == read(LOG).records
    [skip] = read(torn).skipped
    assert (skip.place, skip.reason) == (LOG.count(b"\n") + 2, "a line without its end")
    assert read(torn, torn + b"stion  \n").prompts[-1] == "third question"


# How a log changes


def test_a_log_that_grew_keeps_what_was_read() -> None:
    ends = [at + 1 for at, byte in enumerate(LOG) if byte == ord("\n")]
    whole = read(LOG)
    grown = read(*(LOG[:end] for end in ends))
    assert grown.messages == whole.messages
    assert not grown.rewound
    assert [record.id for record in grown.records if record.kind == "fork"] == []


def test_two_runs_of_one_second_are_told_apart() -> None:
    reading = read(run(typed("Hi")) + run(typed("Hi")))
    assert reading.prompts == ["Hi", "Hi"]


def test_runs_that_were_cut_off_before_change_nothing_after_them() -> None:
    second = LOG[LOG.index(b"\n# aider chat started at 2026-11-30 19:18:52") :]
    assert [one.id for one in read(second).messages] == [one.id for one in read(LOG).messages[3:]]
    assert read(LOG, second).messages == read(LOG).messages


@patient
@given(st.integers(0, len(LOG)), st.integers(0, len(LOG)))
def test_a_log_that_was_read_anywhere_converges(first: int, second: int) -> None:
    reading = read(LOG[:first], LOG[: max(first, second)], LOG)
    assert reading.messages == read(LOG).messages


PIECES = st.sampled_from(
    ["\n", "#### ", "> ", "  \n", "words", f"{HEADER}\n", "\r\n", "\0", "é", "#", " ", "\ud800"]
)


@patient
@given(st.lists(PIECES, max_size=20), st.binary(max_size=20))
def test_nothing_in_a_file_breaks_the_reading(pieces: list[str], rest: bytes) -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass") + rest
    reading = read(data, data)
    assert reading.records == read(data).records
    assert len({record.id for record in reading.records}) == len(reading.records)
    DOCUMENT.recognizes(data)


# Whose it is


@pytest.mark.parametrize(
    ("data", "known"),
    [
        (LOG, True),
        (run(), True),
        (b"# aider chat started at noon\n", False),
        (b"words\n" + LOG, False),
        (b"", False),
    ],
)
def test_a_log_is_known_by_its_header(data: bytes, known: bool) -> None:
    assert DOCUMENT.recognizes(data) is known


def test_a_session_has_no_name_but_its_folder() -> None:
    for place in READER.places:
        assert isinstance(place, Document)
        assert place.session(".aider.chat.history.md", LOG) == ""


def test_nothing_in_a_log_is_a_summary() -> None:
    assert READER.summary("s", "m", {"text": "All is well."}).finish == ""


def test_aider_starts_no_servers() -> None:
    assert READER.hosts == ()
    assert READER.variables == ()


def prompts(text: str) -> list[str]:
    """Find the prompts in a log by nothing but their lines and the blank line before them."""
    found: list[list[str]] = []
    lines = text.split("\n")
    for before, line in zip(["", *lines], lines, strict=False):
        if not line.startswith("#### ") or not line.endswith("  "):
            continue
        if not before:
            found.append([])
        if not before or (before.startswith("#### ") and before.endswith("  ")):
            found[-1].append(line[5:-2])
    return ["\n".join(lines) for lines in found]


@pytest.mark.parametrize("path", shared("aider", "**/.aider.chat.history.md"))
def test_every_prompt_and_run_of_every_file_is_accounted_for(path: Path) -> None:
    data = path.read_bytes()
    text = data.decode()
    reading = read(data)
    assert reading.prompts == prompts(text)
    assert reading.kinds["other"] == text.count("\n# aider chat started at ")
    replies = [one for one in reading.messages if one.role == "assistant"]
    assert len(replies) == text.count("\nAnswer ")
    assert reading.kinds["message"] == len(reading.messages)
    assert all(isinstance(one, Message) for one in reading.entries)
