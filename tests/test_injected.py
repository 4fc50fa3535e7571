"""What a program put into the user's words, told apart in files and in handed-over messages."""

import pytest

from foldmark.messages import Text
from foldmark.transcripts import api
from foldmark.transcripts.injected import parted

AGENTS = (
    "# AGENTS.md instructions for /src/importer\n\n<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>"
)
ENVIRONMENT = "<environment_context>\n  <cwd>/src</cwd>\n</environment_context>"
CONTEXT = "<session_context>\nThis is Gemini CLI.\n</session_context>"


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        pytest.param("fix it", ["fix it"], id="typed"),
        pytest.param("", [""], id="nothing"),
        pytest.param(AGENTS, [], id="AGENTS.md"),
        pytest.param(ENVIRONMENT, [], id="an environment"),
        pytest.param(f"{CONTEXT}\n\nfix it", ["fix it"], id="a context in front"),
        pytest.param(f"fix it\n{ENVIRONMENT}", ["fix it"], id="an environment behind"),
        pytest.param(f"do {ENVIRONMENT} it", ["do", "it"], id="in the middle"),
        pytest.param('<hook_context name="x">a</hook_context>', [], id="with attributes"),
        pytest.param("<turn_aborted>never closed", [], id="cut off"),
        pytest.param(
            "why does <turn_aborted> appear?", ["why does <turn_aborted> appear?"], id="mentioned"
        ),
        pytest.param("<div>fix</div>", ["<div>fix</div>"], id="markup of the user's own"),
        pytest.param("</skill> a <skill>b", ["</skill> a <skill>b"], id="ended before it began"),
        pytest.param("a <skill><skill>b</skill> c", ["a", "c"], id="begun twice"),
        pytest.param("<skill>a</skill>b</skill>", ["b</skill>"], id="ended twice"),
        pytest.param("<skill>a <turn_aborted></skill>b", ["b"], id="another inside"),
        pytest.param(" a <skill>b</skill> <skill>c", ["a", "<skill>c"], id="the second cut off"),
    ],
)
def test_only_what_a_person_typed_counts_as_typed(words: str, typed: list[str]) -> None:
    assert [part.text for part in parted(words) if not part.injected] == typed


@pytest.mark.parametrize("piece", ["x <skill>", "<skill>", "</skill>", "<skill>a</skill>", "<"])
def test_a_message_full_of_tags_is_read_in_linear_time(piece: str) -> None:
    """Looking for the end of each anew would take hours."""
    words = piece * 300_000

    assert sum(len(part.text) for part in parted(words)) <= len(words)


def test_no_injected_block_of_a_handed_over_message_is_a_prompt() -> None:
    content = [{"type": "text", "text": text} for text in (AGENTS, ENVIRONMENT, "fix it")]
    message = api.message("m", [{"role": "user", "content": content}])

    assert message is not None
    assert message.blocks == (
        Text(AGENTS, injected=True),
        Text(ENVIRONMENT, injected=True),
        Text("fix it"),
    )
