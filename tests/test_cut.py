from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import HISTORIES, assistant, call, image, patient, result, system, thinking, user
from foldmark.boundary import visible
from foldmark.cut import Tail, tail
from foldmark.messages import Entry, Marker, Message, Summary, size, tokens

ANY = 10**9


def cut(*history: Message, keep: int = ANY) -> Tail:
    return tail(reversed(history), keep)


def kept(*history: Message, keep: int) -> list[str]:
    """Name the messages that stay, after checking that the tail says the same of itself."""
    found = cut(*history, keep=keep)
    stay = history[len(history) - found.count :]
    assert found.chars == sum(size(message.blocks) for message in stay)
    if stay and not found.whole:
        assert found.first_kept == stay[0].id
    return [message.id for message in stay]


def words(count: int) -> str:
    """Write as many characters as make about so many tokens."""
    return "x" * round(count * 3.3)


def ask(id: str, count: int = 10) -> Message:
    return user(words(count), id=id)


def answer(id: str, count: int = 10) -> Message:
    return assistant(words(count), id=id)


def calls(id: str, *ids: str) -> Message:
    return assistant(*(call(one, "n", "") for one in ids), id=id)


def results(id: str, *ids: str, count: int = 10) -> Message:
    return user(*(result(one, words(count)) for one in ids), id=id)


# How much stays


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (0, []),
        (9, []),
        (10, ["a2"]),
        (19, ["a2"]),
        (20, ["u2", "a2"]),
        (39, ["a1", "u2", "a2"]),
        (40, ["u1", "a1", "u2", "a2"]),
        (ANY, ["u1", "a1", "u2", "a2"]),
    ],
)
def test_the_longest_run_that_fits_stays(keep: int, expected: list[str]):
    assert kept(ask("u1"), answer("a1"), ask("u2"), answer("a2"), keep=keep) == expected


def test_what_fits_whole_leaves_nothing_to_fold():
    found = cut(ask("u1"), answer("a1"), keep=20)

    assert (found.whole, found.first_kept, found.count) == (True, "u1", 2)
    assert not cut(ask("u1"), answer("a1"), keep=19).whole


def test_an_empty_history_leaves_nothing_to_fold():
    assert cut() == Tail("", 0, 0, whole=True)
    assert cut(keep=0) == Tail("", 0, 0, whole=True)


def test_nothing_stays_if_the_last_message_alone_is_too_large():
    assert cut(ask("u1"), answer("a1", 5000), keep=100) == Tail("", 0, 0, whole=False)


def test_one_large_message_in_the_middle_ends_the_tail():
    assert kept(ask("u1"), answer("a1", 5000), ask("u2"), answer("a2"), keep=100) == ["u2", "a2"]


def test_an_image_counts_as_what_it_costs_a_model():
    assert kept(ask("u1"), user(image(size=10**7), id="u2"), answer("a2"), keep=1400) == ["a2"]
    assert kept(ask("u1"), user(image(size=10**7), id="u2"), answer("a2"), keep=1511) == [
        "u2",
        "a2",
    ]


def test_empty_messages_cost_nothing():
    history = [ask("u1"), assistant(id="a1"), user("", id="u2"), assistant(id="a2")]

    assert kept(*history, keep=0) == ["a1", "u2", "a2"]


def test_only_as_much_is_read_as_is_needed():
    read: list[str] = []

    def newest_first():
        for number in range(1000, 0, -1):
            read.append(f"u{number}")
            yield ask(f"u{number}")

    assert tail(newest_first(), 50).count == 5
    assert len(read) == 6


# Calls and their results


def test_a_tail_moves_back_to_the_call_of_its_first_result():
    """C06: the window would begin at R2."""
    history = [
        *(ask("u"), calls("t1", "1"), results("r1", "1")),
        *(calls("t2", "2"), results("r2", "2"), calls("t3", "3"), results("r3", "3"), answer("a")),
    ]

    assert kept(*history, keep=21) == ["t3", "r3", "a"]
    assert kept(*history, keep=30) == ["t3", "r3", "a"]
    assert kept(*history, keep=31) == ["t2", "r2", "t3", "r3", "a"]
    assert kept(*history, keep=10) == ["a"]


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param([calls("t", "1", "2"), results("r", "1", "2")], id="one message, one answer"),
        pytest.param(
            [calls("t", "1", "2"), results("q", "1"), results("r", "2")], id="two answers"
        ),
        pytest.param([calls("s", "1"), calls("t", "2"), results("r", "1", "2")], id="two calls"),
        pytest.param(
            [calls("s", "1"), calls("t", "2"), results("q", "1"), results("r", "2")],
            id="two and two",
        ),
        pytest.param(
            [calls("s", "1"), calls("t", "2"), results("q", "2"), results("r", "1")], id="crossed"
        ),
        pytest.param(
            [calls("s", "1"), answer("w", 1), calls("t", "2"), results("r", "1", "2")],
            id="words in between",
        ),
        pytest.param(
            [calls("s", "1", "2"), results("q", "1"), user("go on", id="w"), results("r", "2")],
            id="a prompt in between",
        ),
    ],
)
def test_a_parallel_batch_is_kept_whole_or_not_at_all(batch: list[Message]):
    history = [ask("u"), *batch, answer("a")]

    for keep in range(60):
        stay = kept(*history, keep=keep)
        assert stay in (
            [],
            ["a"],
            [message.id for message in [*batch, history[-1]]],
            [message.id for message in history],
        )


def test_a_call_under_way_may_begin_the_tail():
    """C05: it never had a result, so nothing is parted."""
    assert kept(ask("u", 50), calls("t", "1"), keep=5) == ["t"]
    assert kept(ask("u", 50), calls("t", "1"), user("continue", id="v"), keep=5) == ["t", "v"]


def test_a_result_without_a_call_binds_nothing():
    history = [ask("u1"), answer("a1"), results("r", "lost"), ask("u2"), answer("a2")]

    assert kept(*history, keep=20) == ["u2", "a2"]
    assert kept(*history, keep=35) == ["u2", "a2"]
    assert kept(*history, keep=50) == ["u1", "a1", "r", "u2", "a2"]


def test_an_orphan_of_long_ago_does_not_hold_the_tail_back():
    turns = [one for number in range(9) for one in (ask(f"u{number}"), answer(f"a{number}"))]
    history = [*turns[:4], results("r", "lost"), *turns[4:]]

    assert kept(*history, keep=170)[0] == "u1"
    assert kept(*history, keep=155)[0] == "u2"


def test_ids_that_are_used_again_bind_only_within_their_turn():
    """Gemini and old transcripts call every call the same."""
    history = [
        *(ask("u1"), calls("t1", ""), results("r1", ""), answer("a1")),
        *(ask("u2"), calls("t2", ""), results("r2", ""), answer("a2")),
    ]

    assert kept(*history, keep=25) == ["t2", "r2", "a2"]
    assert kept(*history, keep=41) == ["a1", "u2", "t2", "r2", "a2"]


def test_a_tail_never_begins_with_a_result_even_at_no_cost():
    assert kept(ask("u"), calls("t", "1"), results("r", "1", count=0), keep=0) == []


# Markers stand between messages, never inside a pair


def test_a_marker_between_a_call_and_its_result_parts_nothing():
    """C09: a first compaction was marked while a call was under way."""
    before, t1, r1, a1 = ask("u"), calls("t1", "1"), results("r1", "1"), answer("a1")
    entries: list[Entry] = [before, t1, Marker("M1"), r1, a1]
    messages = [entry for entry in entries if isinstance(entry, Message)]

    found = cut(*messages, keep=25)
    assert found.first_kept == "t1"

    entries += [Marker("M2", found.first_kept), Summary("S2", "M2", "done", finish="end_turn")]
    assert visible(entries).messages == (t1, r1, a1)


# For any history


@patient
@given(HISTORIES, st.integers(0, 4000))
def test_the_tail_never_exceeds_its_size_nor_begins_with_a_result(
    history: list[Message], keep: int
):
    found = cut(*history, keep=keep)
    stay = history[len(history) - found.count :]

    assert found.chars == sum(size(message.blocks) for message in stay) <= keep * 3.3
    assert tokens(found.chars) <= keep
    assert found.whole == (sum(size(message.blocks) for message in history) <= keep * 3.3)
    if found.count and not found.whole:
        assert found.first_kept == stay[0].id
        assert not stay[0].results


@patient
@given(HISTORIES, st.integers(0, 4000))
def test_no_call_is_parted_from_its_result(history: list[Message], keep: int):
    found = cut(*history, keep=keep)
    start = len(history) - found.count

    for at in range(start, len(history)):
        for one in history[at].results:
            assert nearest_call(history, at, one.call_id) not in range(start)


def nearest_call(history: Sequence[Message], at: int, id: str) -> int | None:
    """Look back for a call within the run of answers that a result belongs to."""
    answers = False
    for earlier in range(at, -1, -1):
        if history[earlier].role == "assistant":
            answers = True
        elif answers:
            return None
        if any(one.id == id for one in history[earlier].calls):
            return earlier
    return None


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[Message], set[int]]:
    """Draw a sound history, and the places where a tail may begin."""
    history: list[Message] = []
    places: set[int] = set()

    def say(message: Message, *, place: bool) -> None:
        if place:
            places.add(len(history))
        history.append(message)

    for turn in range(draw(st.integers(0, 5))):
        say(ask(f"u{turn}", draw(st.integers(0, 30))), place=True)
        for step in range(draw(st.integers(0, 2))):
            ids = [f"{turn}.{step}.{number}" for number in range(draw(st.integers(1, 3)))]
            apart = draw(st.booleans())
            say(
                assistant(thinking(), *([] if apart else [call(i) for i in ids]), id="t"),
                place=True,
            )
            for number, id in enumerate(ids if apart else []):
                say(calls("c", id), place=number == 0)
            for id in draw(st.permutations(ids)):
                say(results("r", id, count=draw(st.integers(0, 30))), place=False)
        if draw(st.booleans()):
            say(answer(f"a{turn}"), place=True)
    return history, places


@patient
@given(conversations(), st.integers(0, 300))
def test_the_tail_is_the_longest_that_may_begin_where_it_does(
    drawn: tuple[list[Message], set[int]], keep: int
):
    history, places = drawn
    fitting = [
        place
        for place in places
        if sum(size(message.blocks) for message in history[place:]) <= keep * 3.3
    ]

    found = cut(*history, keep=keep)

    assert len(history) - found.count == min(fitting, default=len(history))


def test_a_system_message_parts_turns_like_a_prompt_does():
    history = [calls("t", "1"), system("note", id="s"), results("r", "1"), answer("a")]

    assert kept(ask("u", 50), *history, keep=25) == ["t", "s", "r", "a"]
