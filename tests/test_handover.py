import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import call_dict, opencode_dict, patient, result_dict, thinking_dict
from foldmark.errors import InvalidRequest
from foldmark.requests import Caller, Which
from foldmark.sessions.handover import New, align, digest, named, names, read
from foldmark.sessions.opening import Opened, open_session
from foldmark.sessions.readers import ASSISTANTS
from foldmark.sources.places import Places
from foldmark.store.store import Store
from transcript_builder import Json, spoken

HI = {"role": "user", "content": "hi"}


def ask(words: str) -> Json:
    return {"role": "user", "content": words}


def answer(words: str) -> Json:
    return {"role": "assistant", "content": [{"type": "text", "text": words}]}


def conversation(*words: str) -> list[Json]:
    return [(ask, answer)[at % 2](one) for at, one in enumerate(words)]


def digests(*messages: Json) -> list[str]:
    return [one.digest for one in read(messages)]


# What of it is new


@pytest.mark.parametrize(
    ("held", "given_", "new"),
    [
        pytest.param("", "", New(0, 0), id="nothing"),
        pytest.param("", "12", New(0, 0), id="the first time"),
        pytest.param("1234", "123456", New(4, 4), id="sent again, longer"),
        pytest.param("1234", "1234", New(4, 4), id="sent again"),
        pytest.param("1234", "12", New(2, 4), id="sent again, shorter"),
        pytest.param("1234", "", New(0, 4), id="nothing sent"),
        pytest.param("1234", "3456", New(2, 4), id="a window that moved on"),
        pytest.param("1234", "34", New(2, 4), id="a window within"),
        pytest.param("1234", "4", New(1, 4), id="the last one again"),
        pytest.param("1234", "1278", New(2, 2), id="edited"),
        pytest.param("1234", "1299", New(2, 2), id="edited to the end"),
        pytest.param("1234", "127", New(2, 2), id="edited and shorter"),
        pytest.param("1234", "78", New(0, 4), id="only what came since"),
        pytest.param("1234", "23", New(0, 4), id="the middle is not the end"),
        pytest.param("1212", "121212", New(4, 4), id="the same words again and again"),
        pytest.param("1111", "11", New(2, 4), id="fewer of the same"),
        pytest.param("0111", "1112", New(3, 4), id="an overlap of the same"),
        pytest.param("011", "1112", New(2, 3), id="one more of the same"),
    ],
)
def test_what_is_new_lies_behind_what_is_held(held: str, given_: str, new: New):
    assert align(held, given_) == new


def test_a_window_that_begins_with_the_first_words_again_hides_nothing():
    """ "hi" was said at the start and again later; the window moved on to the second."""
    assert align("h123h45", "h456") == New(3, 7)


@patient
@given(st.text("ab"), st.text("ab"))
def test_aligning_never_drops_what_was_given_nor_invents_it(held: str, given_: str):
    new = align(held, given_)

    assert 0 <= new.start <= len(given_)
    assert 0 <= new.keep <= len(held)
    assert (held[: new.keep] + given_[new.start :]).endswith(given_) or given_ in held


@patient
@given(st.text("abc"), st.text("abc"))
def test_a_history_sent_again_longer_adds_its_end(held: str, more: str):
    assert align(held, held + more) == New(len(held), len(held))


@patient
@given(st.text("abc", min_size=40), st.integers(0, 40), st.text("xyz"))
def test_a_window_of_other_words_is_laid_over_the_end(held: str, at: int, more: str):
    first = "f" + held  # nothing in a window is the first message
    window = held[at:]

    new = align(first, window + more)

    assert new.keep == len(first)
    assert first + (window + more)[new.start :] == first + more if window else new.start == 0


# What a message says


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            ask("hi"),
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            id="a string or a block",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}],
            },
            id="a cache mark",
        ),
        pytest.param(
            {"role": "assistant", "content": [thinking_dict(signature="a"), call_dict()]},
            {"role": "assistant", "content": [thinking_dict(signature="b"), call_dict()]},
            id="a signature",
        ),
        pytest.param(
            answer("x") | {"id": "msg_1", "usage": {"input_tokens": 1}, "stop_reason": "end_turn"},
            answer("x"),
            id="what an API tells beside it",
        ),
        pytest.param(
            {"role": "user", "content": [result_dict() | {"cache_control": {"type": "ephemeral"}}]},
            {"role": "user", "content": [result_dict()]},
            id="a cache mark on a result",
        ),
    ],
)
def test_what_clients_change_between_sendings_changes_no_digest(one: Json, other: Json):
    assert digests(one) == digests(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(ask("hi"), ask("ho"), id="words"),
        pytest.param(ask("hi"), answer("hi"), id="role"),
        pytest.param(ask("hi"), ask("hi "), id="a space"),
        pytest.param(
            {"role": "assistant", "content": [call_dict(input={"a": 1})]},
            {"role": "assistant", "content": [call_dict(input={"a": 2})]},
            id="an input",
        ),
        pytest.param(
            {"role": "user", "content": [result_dict("c1")]},
            {"role": "user", "content": [result_dict("c2")]},
            id="which call",
        ),
    ],
)
def test_what_a_message_says_makes_its_digest(one: Json, other: Json):
    assert digests(one) != digests(other)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(2**70, id="a huge integer"),
        pytest.param(float("nan"), id="no number"),
        pytest.param("\ud83d", id="a lone surrogate"),
        pytest.param(json.loads("[" * 300 + "]" * 300), id="nested"),
    ],
)
def test_odd_values_in_a_call_are_stored(value: Any):
    message = {"role": "assistant", "content": [call_dict(input={"x": value})]}

    [one] = read([message])

    assert one.message.calls[0].id == "c1"
    assert one.record.raw.decode()


@pytest.mark.parametrize("odd", [{}, {"role": "wizard", "content": "x"}, {"content": "x"}])
def test_what_is_no_message_is_refused_with_its_place(odd: Json):
    with pytest.raises(InvalidRequest, match=r"messages\[1\]"):
        read([HI, odd])


# Names


def test_a_message_is_named_by_its_place_and_what_it_says():
    given_ = read(conversation("a", "b", "a"))

    first, second, third = (record.id for record in named(given_, New(0, 0), [], after=0))

    assert [id.partition("-")[0] for id in (first, second, third)] == ["2", "3", "4"]
    assert digest(first) == digest(third) == given_[0].digest
    assert [record.id for record in named(given_, New(1, 1), [(7, "x")], after=7)] == [
        *(f"9-{given_[1].digest}", f"10-{given_[2].digest}")
    ]


def test_where_messages_replace_what_is_held_a_fork_comes_first_and_says_so():
    given_ = read(conversation("a", "x"))

    fork, new = named(given_, New(1, 1), [(1, "2-a"), (2, "3-b"), (3, "4-c")], after=3)

    assert (fork.kind, fork.id, fork.replaces) == ("fork", "4-fork", "3-b")
    assert (new.kind, new.id) == ("message", f"5-{given_[1].digest}")


def test_a_message_that_names_itself_keeps_its_name():
    given_ = read([opencode_dict("user", id="msg_1"), opencode_dict("assistant", id="msg_2")])

    assert [record.id for record in named(given_, New(1, 1), [(1, "msg_1")], after=7)] == [
        *("msg_1", "msg_2")
    ]
    assert digest("msg_1") == "msg_1"


def test_conversations_are_named_by_their_first_message():
    one, same, other = (
        list(islice(names(read(conversation(*words))), 3))
        for words in (["a", "b"], ["a", "x", "y"], ["b", "a"])
    )

    assert one == same
    assert one[0].startswith("messages-")
    assert one[1:] == [f"{one[0]}-2", f"{one[0]}-3"]
    assert not set(one) & set(other)


# In the store


class Desk:
    """Hands messages over as a caller does, and reads back what is live."""

    def __init__(self, store: Store, folder: Path):
        self.store = store
        self.places = Places(ASSISTANTS, {"HOME": str(folder)}, project=folder)
        self.caller = Caller(folder)

    async def hand(self, messages: Sequence[Mapping[str, Any]], id: str = "") -> Opened:
        return await open_session(
            self.store, self.places, Which(session_id=id, messages=messages), self.caller
        )

    async def live(self, opened: Opened, *, live: bool = True) -> list[str]:
        rows = await self.store.page(opened.log.session.key, limit=1000, live=live)
        return spoken(placed.message for placed in opened.log.messages(rows))


@pytest.fixture(name="desk")
def _desk(store: Store, tmp_path: Path) -> Desk:
    return Desk(store, tmp_path)


async def test_a_history_sent_again_is_stored_once(desk: Desk):
    words = ["a", "b", "c", "d", "e", "f"]
    for length in (2, 4, 4, 2, 6, 6):
        opened = await desk.hand(conversation(*words[:length]), "s")

    assert await desk.live(opened) == ["U:a", "A:b", "U:c", "A:d", "U:e", "A:f"]
    assert opened.seen.end.pos == 6
    assert opened.seen.rewound == []


async def test_a_window_that_moves_on_is_laid_over_the_end(desk: Desk):
    words = ["a", "b", "c", "d", "e", "f", "g", "h"]
    for start, stop in ((0, 4), (2, 6), (4, 8)):
        opened = await desk.hand(conversation(*words)[start:stop], "s")

    assert await desk.live(opened) == [*("U:a", "A:b", "U:c", "A:d", "U:e", "A:f", "U:g", "A:h")]


async def test_only_what_came_since_is_added(desk: Desk):
    await desk.hand(conversation("a", "b"), "s")
    opened = await desk.hand(conversation("c", "d"), "s")

    assert await desk.live(opened) == ["U:a", "A:b", "U:c", "A:d"]


async def test_an_edited_history_replaces_what_it_left(desk: Desk):
    await desk.hand(conversation("a", "b", "c", "d"), "s")
    opened = await desk.hand(conversation("a", "b", "x", "y"), "s")

    assert await desk.live(opened) == ["U:a", "A:b", "U:x", "A:y"]
    assert await desk.live(opened, live=False) == ["U:a", "A:b", "U:c", "A:d", "U:x", "A:y"]
    assert [(gone.first, gone.last, gone.messages) for gone in opened.seen.rewound] == [(3, 4, 2)]

    again = await desk.hand(conversation("a", "b", "x", "y", "z"), "s")
    assert await desk.live(again) == ["U:a", "A:b", "U:x", "A:y", "U:z"]


async def test_a_history_edited_back_is_what_it_was(desk: Desk):
    for words in (["a", "b", "c", "d"], ["a", "b", "x", "y"], ["a", "b", "c", "d"]):
        opened = await desk.hand(conversation(*words), "s")

    assert await desk.live(opened) == ["U:a", "A:b", "U:c", "A:d"]
    assert opened.seen.end.pos == 10  # eight messages and two forks


async def test_where_a_history_was_edited_is_told_by_the_log(desk: Desk):
    """R1: the index of the active branch can be rebuilt from the log."""
    edited, since = (
        await desk.hand(conversation("a", "b", "c", "d"), "edited"),
        await desk.hand(conversation("a", "b", "c", "d"), "since"),
    )
    edited = await desk.hand(conversation("a", "b", "x"), "edited")
    since = await desk.hand(conversation("x", "y", "z"), "since")

    told = [
        [
            (row.kind, row.target)
            for row in await desk.store.page(
                opened.log.session.key, first=5, limit=1, live=False, kinds=("message", "fork")
            )
        ]
        for opened in (edited, since)
    ]
    third = (await desk.store.page(edited.log.session.key, first=3, limit=1, live=False))[0].id
    assert told == [[("fork", third)], [("message", "")]]


async def test_the_same_words_twice_in_one_history_both_stay(desk: Desk):
    opened = await desk.hand(conversation("yes", "ok", "yes", "ok"), "s")
    assert await desk.live(opened) == ["U:yes", "A:ok", "U:yes", "A:ok"]

    opened = await desk.hand(conversation("yes", "ok", "yes", "ok", "yes"), "s")
    assert len(await desk.live(opened)) == 5


async def test_cache_marks_that_move_add_nothing(desk: Desk):
    opened = await desk.hand(conversation("a", "b", "c", "d"), "s")
    for marked in range(4):
        messages = conversation("a", "b", "c", "d")
        messages[marked]["content"] = [
            {"type": "text", "text": "abcd"[marked], "cache_control": {"type": "ephemeral"}}
        ]
        opened = await desk.hand(messages, "s")

    assert opened.seen.end.pos == 4


async def test_a_conversation_without_a_name_is_recognized_when_it_grows(desk: Desk):
    first = await desk.hand(conversation("a", "b"))
    again = await desk.hand(conversation("a", "b", "c", "d"))

    assert again.log.session.id == first.log.session.id
    assert await desk.live(again) == ["U:a", "A:b", "U:c", "A:d"]


async def test_another_conversation_that_begins_alike_gets_a_name_of_its_own(desk: Desk):
    one = await desk.hand(conversation("a", "b", "c"))
    two = await desk.hand(conversation("a", "x"))
    three = await desk.hand(conversation("a", "z", "q"))
    two = await desk.hand(conversation("a", "x", "y"))

    ids = [opened.log.session.id for opened in (one, two, three)]
    assert ids == [ids[0], f"{ids[0]}-2", f"{ids[0]}-3"]
    assert await desk.live(one) == ["U:a", "A:b", "U:c"]
    assert await desk.live(two) == ["U:a", "A:x", "U:y"]


async def test_a_name_of_the_callers_choosing_is_kept(desk: Desk):
    opened = await desk.hand(conversation("a"), "my session / 7")

    assert opened.log.session.id == "my session / 7"
    assert (await desk.hand([], "my session / 7")).seen.end.pos == 1


@pytest.mark.parametrize("id", ["", "s"])
async def test_nothing_handed_over_stores_nothing(desk: Desk, id: str):
    with pytest.raises(InvalidRequest, match="Nothing was stored"):
        await desk.hand([], id)
    assert await desk.store.sessions() == []


@pytest.mark.parametrize(
    "id",
    [
        pytest.param(" s", id="a blank in front"),
        pytest.param("s\n", id="a line break"),
        pytest.param(" ", id="blank"),
        pytest.param("a\x1b[2Jb", id="an escape sequence"),
        pytest.param("a\u202eb", id="a sign that turns the text around"),
        pytest.param("x" * 201, id="too long"),
    ],
)
async def test_what_would_not_show_on_a_screen_names_no_session(desk: Desk, id: str):
    with pytest.raises(InvalidRequest, match=r"cannot name a session\. Nothing was stored"):
        await desk.hand(conversation("a"), id)
    assert await desk.store.sessions() == []


async def test_a_bad_message_stores_nothing_of_the_others(desk: Desk):
    with pytest.raises(InvalidRequest, match=r"messages\[2\]"):
        await desk.hand([*conversation("a", "b"), {"role": "wizard"}], "s")
    assert await desk.store.sessions() == []


# opencode: messages that name themselves and grow in place


def part(text: str) -> Json:
    return {"type": "text", "text": text}


async def test_a_message_that_grows_in_place_is_one_message(desk: Desk):
    asked = opencode_dict("user", part("do it"), id="msg_1")
    for texts in (["wor"], ["working"], ["working", "done"]):
        told = opencode_dict("assistant", *map(part, texts), id="msg_2")
        opened = await desk.hand([asked, told], "s")

    assert await desk.live(opened) == ["U:do it", "A:workingdone"]
    assert (opened.seen.end.pos, opened.seen.end.messages) == (4, 2)
    assert opened.seen.rewound == []


async def test_messages_that_name_themselves_may_come_in_any_part(desk: Desk):
    messages = [
        opencode_dict(role, part(f"{number}"), id=f"msg_{number}")
        for number, role in enumerate(["user", "assistant"] * 3)
    ]
    for start, stop in ((0, 3), (2, 4), (0, 2), (0, 6), (5, 6)):
        opened = await desk.hand(messages[start:stop], "s")

    assert await desk.live(opened) == ["U:0", "A:1", "U:2", "A:3", "U:4", "A:5"]
    assert opened.seen.end.pos == 6
