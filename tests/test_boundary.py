import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Json, opencode_dict, patient, user
from builders import assistant as assistant_message
from foldmark import boundary
from foldmark.messages import Entry, Marker, Message, Summary
from foldmark.transcripts.opencode import messages as opencode

CASES: list[Json] = json.loads(
    (Path(__file__).parent / "fixtures" / "boundary_cases.json").read_text(encoding="utf-8")
)


def u(id: str) -> Message:
    return user(id, id=id)


def a(id: str) -> Message:
    return assistant_message(id, id=id)


def m(id: str, keep: str = "") -> Marker:
    return Marker(id, keep)


def s(
    id: str,
    marker: str,
    text: str = "What was done.",
    finish: str = "stop",
    error: str = "",
    *,
    tool_call: bool = False,
) -> Summary:
    return Summary(id, marker, text, finish, error, tool_call)


def shown(view: boundary.View) -> list[str]:
    """Name what a model sees, the marker and the summary in force first."""
    first = [view.boundary.marker.id, view.boundary.summary.id] if view.boundary else []
    return [*first, *(message.id for message in view.messages)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_an_opencode_session_shows_what_a_model_should_see(case: Json) -> None:
    assert shown(boundary.visible(opencode.entries(case["messages"]))) == case["visible"]


ALL = ["u1", "a1", "u2", "a2", "u3"]
BEFORE = [u("u1"), a("a1"), u("u2"), a("a2")]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([*BEFORE, u("u3")], ALL, id="33 no marker"),
        pytest.param([], [], id="33 nothing at all"),
        pytest.param([*BEFORE, m("m1"), s("s1", "m1"), u("u3")], ["m1", "s1", "u3"], id="34"),
        pytest.param([*BEFORE, m("m1"), s("s1", "m1")], ["m1", "s1"], id="34 nothing after it"),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1"), u("u3")],
            ["m1", "s1", "u2", "a2", "u3"],
            id="35 tail from a turn",
        ),
        pytest.param(
            [*BEFORE, m("m1", "a2"), s("s1", "m1"), u("u3")],
            ["m1", "s1", "a2", "u3"],
            id="35 tail inside a turn",
        ),
        pytest.param([*BEFORE, m("m1"), u("u3")], ALL, id="36 without tail"),
        pytest.param([*BEFORE, m("m1", "u2"), u("u3")], ALL, id="36 with tail"),
        pytest.param(
            [*BEFORE, m("m1"), s("s1", "m1", "", "", "APIError"), u("u3")], ALL, id="37"
        ),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1", "", "", "APIError"), u("u3")], ALL, id="38"
        ),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1", "x", "stop", "APIError"), u("u3")],
            ALL,
            id="38 with text and a finish",
        ),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1", "x", "error", "APIError"), u("u3")],
            ALL,
            id="39",
        ),
        pytest.param([*BEFORE, m("m1", "u2"), s("s1", "m1", "x", ""), u("u3")], ALL, id="40"),
        pytest.param([*BEFORE, m("m1", "u2"), s("s1", "m1", ""), u("u3")], ALL, id="41 empty"),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1", " \n\t\u3000\n"), u("u3")], ALL, id="41 blank"
        ),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1", "I look.", tool_call=True), u("u3")],
            ALL,
            id="41 tool call",
        ),
        *(
            pytest.param(
                [*BEFORE, m("m1", "u2"), s("s1", "m1", "x", finish), u("u3")],
                ALL,
                id=f"42 {finish}",
            )
            for finish in (
                "error", "length", "content-filter", "max_tokens", "refusal", "tool_use",
                "tool-calls", "guardrail_intervened", "unknown", "MAX_TOKENS", "SAFETY",
            )
        ),
        *(
            pytest.param(
                [*BEFORE, m("m1", "u2"), s("s1", "m1", text), u("u3")], ALL, id=f"41 {text[:30]}"
            )
            for text in (
                "API Error: 400 `thinking` blocks in the latest assistant message cannot be "
                "modified",
                "I'm sorry, but I can't help with that request.",
                "# Summary\n\nThere is no conversation to summarize.",
            )
        ),
        pytest.param(
            [
                u("u1"), a("a1"), m("m1"), s("s1", "m1"), u("u2"), a("a2"),
                m("m2", "a2"), s("s2", "m2", "", "", "APIError"), u("u3"),
            ],
            ["m1", "s1", "u2", "a2", "u3"],
            id="43",
        ),
        pytest.param(
            [
                *BEFORE, m("m1", "u2"), s("s1", "m1", error="APIError"), u("u3"),
                m("m2", "u3"), s("s2", "m2"), a("a3"),
            ],
            ["m2", "s2", "u3", "a3"],
            id="44",
        ),
        pytest.param(
            [
                *BEFORE, m("m1", "u2"), s("s1", "m1", ""), m("m2"), u("u3"),
                m("m3", "u3"), s("s3", "m3"), a("a3"),
            ],
            ["m3", "s3", "u3", "a3"],
            id="45",
        ),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1", ""), s("s1b", "m1"), u("u3")],
            ["m1", "s1b", "u2", "a2", "u3"],
            id="46 failed, then not",
        ),
        pytest.param(
            [*BEFORE, m("m1", "u2"), s("s1", "m1"), s("s1b", "m1", ""), u("u3")],
            ["m1", "s1", "u2", "a2", "u3"],
            id="46 the other way round",
        ),
        pytest.param(
            [*BEFORE, m("m1", "a2"), s("s1", "m1"), u("u3"), m("m2", "u2"), s("s2", "m2"), a("a3")],
            ["m2", "s2", "u2", "a2", "u3", "a3"],
            id="47",
        ),
        pytest.param(
            [*BEFORE, s("s1", "u2"), u("u3")], ALL, id="48 the parent is an ordinary message"
        ),
        pytest.param([*BEFORE, s("s1", "m9"), u("u3")], ALL, id="48 the parent is elsewhere"),
        pytest.param([*BEFORE, s("s1", ""), u("u3")], ALL, id="48 there is no parent"),
        pytest.param(
            [*BEFORE, m("m1"), s("s1", ""), u("u3")], ALL, id="48 a parent is not guessed"
        ),
        pytest.param([*BEFORE, m("m1", "gone"), s("s1", "m1"), u("u3")], ALL, id="49 missing"),
        pytest.param([*BEFORE, m("m1", "u3"), s("s1", "m1"), u("u3")], ALL, id="49 after it"),
        pytest.param([*BEFORE, m("m1", "m1"), s("s1", "m1"), u("u3")], ALL, id="49 the marker"),
        pytest.param(
            [*BEFORE, s("s1", "m1"), m("m1"), u("u3")], ALL, id="a summary before its marker"
        ),
    ],
)  # fmt: skip
def test_history_is_hidden_only_behind_a_summary_that_stands(
    log: list[Entry], expected: list[str]
) -> None:
    assert shown(boundary.visible(log)) == expected


@pytest.mark.parametrize("kept", ["gone", "u3"])
def test_a_tail_that_cannot_be_found_is_said_with_its_name(kept: str) -> None:
    view = boundary.visible([*BEFORE, m("m1", kept), s("s1", "m1"), u("u3")])

    assert "'m1'" in view.warning
    assert f"'{kept}'" in view.warning
    assert "whole history is shown" in view.warning


def test_a_tail_that_is_found_needs_no_warning() -> None:
    assert boundary.visible([*BEFORE, m("m1", "u2"), s("s1", "m1")]).warning == ""


@pytest.mark.parametrize(
    "finish", ["stop", "end_turn", "stop_sequence", "STOP", "END_TURN"], ids=lambda finish: finish
)
def test_every_provider_s_normal_finish_counts(finish: str) -> None:
    assert boundary.stands(s("s1", "m1", finish=finish))


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [
                opencode_dict("user", {"type": "text", "text": "hi"}, id="u1", created=1),
                opencode_dict("user", {"type": "compaction"}, id="m1", created=2),
                opencode_dict(
                    "user",
                    {"type": "text", "text": "go on"},
                    id="u2",
                    created=3,
                    parentID="m1",
                    summary={"title": "A change", "diffs": []},
                    finish="stop",
                ),
            ],
            ["u1", "u2"],
            id="50 summary of a user's message is about files",
        ),
        pytest.param(
            [
                opencode_dict("user", {"type": "text", "text": "hi"}, id="u1", created=1),
                opencode_dict("user", {"type": "compaction"}, id="m1", created=2),
                opencode_dict(
                    "assistant",
                    {"type": "reasoning", "text": "It was about x."},
                    id="s1",
                    created=3,
                    parentID="m1",
                    summary=True,
                    finish="stop",
                ),
            ],
            ["u1"],
            id="41 reasoning is not text",
        ),
        pytest.param(
            [
                opencode_dict("assistant", {"type": "text", "text": "2"}, id="zz", created=5),
                opencode_dict("user", {"type": "text", "text": "4"}, id="aa", created=8),
                opencode_dict("user", {"type": "text", "text": "1"}, id="yy", created=5),
                opencode_dict("user", {"type": "compaction"}, id="m1", created=6),
                opencode_dict(
                    "assistant",
                    {"type": "text", "text": "3"},
                    id="a0",
                    created=7,
                    parentID="m1",
                    summary=True,
                    finish="stop",
                ),
            ],
            ["m1", "a0", "aa"],
            id="51 ids that do not rise",
        ),
        pytest.param(
            [
                opencode_dict("user", {"type": "text", "text": "2"}, id="m2", created=5),
                opencode_dict("user", {"type": "text", "text": "3"}, id="m3", created=5),
                opencode_dict("user", {"type": "text", "text": "1"}, id="m1", created=5),
            ],
            ["m1", "m2", "m3"],
            id="51 equal times",
        ),
    ],
)
def test_opencode_s_flags_are_read_for_what_they_are(
    messages: list[Json], expected: list[str]
) -> None:
    assert shown(boundary.visible(opencode.entries(messages))) == expected
    assert shown(boundary.visible(opencode.entries(messages[::-1]))) == expected


def test_52_a_thousand_orphans_hide_nothing_and_cost_no_more_than_their_number() -> None:
    def log(orphans: int) -> list[Entry]:
        return [*BEFORE, *(m(f"m{n}", "u2") for n in range(orphans)), u("u3")]

    def cost(entries: Sequence[Entry]) -> float:
        def once() -> float:
            start = time.perf_counter()
            boundary.visible(entries)
            return time.perf_counter() - start

        return min(once() for _ in range(5))

    assert shown(boundary.visible(log(1000))) == ALL
    assert len(boundary.orphans(reversed(log(1000)[4:-1]))) == 1000  # type: ignore[arg-type]
    assert cost(log(8000)) < 32 * cost(log(1000))  # quadratic would be 64 times


IDS = st.sampled_from(["m1", "m2", "m3", "u1", "u2", ""])
SUMMARIES = st.builds(
    s,
    st.sampled_from(["s1", "s2"]),
    IDS,
    st.sampled_from(["", " \n", "What was done."]),
    st.sampled_from(["stop", "end_turn", "", "length", "error"]),
    st.sampled_from(["", "", "APIError"]),
    tool_call=st.booleans(),
)
FAILED = SUMMARIES.filter(lambda summary: not boundary.stands(summary))
MESSAGES = st.sampled_from(["u1", "u2", "u3", "u4"]).map(u)
MARKERS = st.builds(m, st.sampled_from(["m1", "m2", "m3"]), IDS)
LOGS = st.lists(MESSAGES | MARKERS | SUMMARIES, max_size=12)


@patient
@given(LOGS)
def test_nothing_is_hidden_unless_a_summary_that_stands_answers_a_marker(log: list[Entry]) -> None:
    view = boundary.visible(log)
    everything = tuple(entry for entry in log if isinstance(entry, Message))

    if view.boundary is None:
        assert view.messages == everything
    else:
        assert view.boundary.summary in log
        assert view.boundary.marker in log
        assert view.boundary.summary.marker == view.boundary.marker.id
        assert boundary.stands(view.boundary.summary)
        assert view.messages == everything[len(everything) - len(view.messages) :]


@patient
@given(LOGS)
def test_what_comes_after_the_boundary_in_force_is_never_hidden(log: list[Entry]) -> None:
    view = boundary.visible(log)
    if view.boundary:
        last = max(at for at, entry in enumerate(log) if entry == view.boundary.marker)
        after = [entry for entry in log[last:] if isinstance(entry, Message)]
        assert list(view.messages)[len(view.messages) - len(after) :] == after


@patient
@given(LOGS, st.lists(st.tuples(st.integers(0, 12), IDS, st.none() | FAILED), max_size=5))
def test_failed_attempts_change_no_visible_message(
    log: list[Entry], attempts: list[tuple[int, str, Summary | None]]
) -> None:
    before = boundary.visible(log)
    for number, (at, keep, answer) in enumerate(attempts):
        failed: list[Entry] = [m(f"failed{number}", keep)]
        if answer:
            failed.append(replace(answer, marker=f"failed{number}"))
        log = [*log[:at], *failed, *log[at:]]
    after = boundary.visible(log)

    assert after.messages == before.messages
    assert after.boundary == before.boundary


@patient
@given(LOGS)
def test_an_orphan_is_a_marker_that_no_summary_makes_stand(log: list[Entry]) -> None:
    attempts = [entry for entry in reversed(log) if not isinstance(entry, Message)]
    orphans = boundary.orphans(attempts)
    found = boundary.in_force(attempts)

    assert all(
        not any(isinstance(e, Summary) and e.marker == o.id and boundary.stands(e) for e in log)
        for o in orphans
    )
    assert found is None or found.marker not in orphans
