import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import patient
from foldmark.transcripts import lines
from foldmark.transcripts.lines import Lines, loads, split, well_formed
from foldmark.transcripts.record import Skipped

NUL = b"\0"
BOM = b"\xef\xbb\xbf"


def values(found: Lines) -> list[Any]:
    return [value for value, _ in found.records]


def raws(found: Lines) -> list[bytes]:
    return [raw for _, raw in found.records]


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize(
    ("data", "records", "skipped"),
    [
        pytest.param(b"", [], [], id="nothing"),
        pytest.param(b'{"a":1}\n{"b":2}\n', [{"a": 1}, {"b": 2}], [], id="two lines"),
        pytest.param(b'{"a":1}\r\n{"b":2}\r\n', [{"a": 1}, {"b": 2}], [], id="CRLF"),
        pytest.param(b'\n \n\t\r\n{"a":1}\n\n', [{"a": 1}], [], id="blank lines"),
        pytest.param(BOM + b'{"a":1}\n', [{"a": 1}], [], id="BOM"),
        pytest.param(BOM + b"\n" + b'{"a":1}\n', [{"a": 1}], [], id="BOM on a line of its own"),
        pytest.param(b'{"a":1}{"b":2}\n', [{"a": 1}, {"b": 2}], [], id="two glued"),
        pytest.param(b'{"a":1} {"b":2}\t{"c":3}\n', [{"a": 1}, {"b": 2}, {"c": 3}], [], id="three"),
        pytest.param(b'{"a":1}\0\0{"b":2}\n', [{"a": 1}, {"b": 2}], [], id="glued by NULs"),
        pytest.param(NUL * 700 + b'{"a":1}\n', [{"a": 1}], [], id="NULs before a record"),
        pytest.param(
            b'{"a":1}' + NUL * 9000 + b'\n{"b":2}\n', [{"a": 1}, {"b": 2}], [], id="after"
        ),
        pytest.param(
            b'{"a":1}\noops\n{"b":2}\n',
            [{"a": 1}, {"b": 2}],
            [Skipped(2, "not JSON")],
            id="a bad line in the middle",
        ),
        pytest.param(
            b'\n\n{"a":1}\n\nbad\n\n{"b"\n',
            [{"a": 1}],
            [Skipped(5, "not JSON"), Skipped(7, "not JSON")],
            id="blank lines count",
        ),
        pytest.param(
            b'3\n[]\n"x"\nnull\ntrue\n[{"a":1}]\n{"b":2}\n',
            [{"b": 2}],
            [Skipped(number, "not an object") for number in range(1, 7)],
            id="no objects",
        ),
        pytest.param(
            b'{"a":1,"pay{"b":2}\n',
            [{"b": 2}],
            [Skipped(1, "not JSON")],
            id="one torn into another",
        ),
        pytest.param(
            b'{"a":{"id":"x"},"pay\n{"b":2}\n',
            [{"b": 2}],
            [Skipped(1, "not JSON")],
            id="no piece of a torn record is taken for one",
        ),
        pytest.param(
            b'oops {"a":1}\n', [{"a": 1}], [Skipped(1, "not JSON")], id="garbage before a record"
        ),
        pytest.param(
            b'{"a":1} oops\n', [{"a": 1}], [Skipped(1, "not JSON")], id="garbage after a record"
        ),
        pytest.param(b"\xff\xfe\n", [], [Skipped(1, "not JSON")], id="no text at all"),
        pytest.param(b'{"a":"\xff"}\n', [{"a": "\ufffd"}], [], id="invalid UTF-8"),
        pytest.param(b'{"a":"\xc3"}\n', [{"a": "\ufffd"}], [], id="half a character"),
        pytest.param(rb'{"a":"x\ud83d"}' + b"\n", [{"a": "x\ufffd"}], [], id="lone surrogate"),
        pytest.param(rb'{"\udc81":1}' + b"\n", [{"\ufffd": 1}], [], id="surrogate in a key"),
        pytest.param(rb'{"a":"\ud83d\ude00"}' + b"\n", [{"a": "😀"}], [], id="a surrogate pair"),
        pytest.param(rb'{"a":"x\u0000y"}' + b"\n", [{"a": "x\0y"}], [], id="a NUL inside a text"),
        pytest.param(b'{"a":1e999}\n', [{"a": float("inf")}], [], id="Infinity"),
        pytest.param(b'{"a":-Infinity}\n', [{"a": float("-inf")}], [], id="no JSON but in Python"),
        pytest.param(b'{"a":18446744073709551616}\n', [{"a": 2**64}], [], id="huge integer"),
    ],
)
def test_what_is_a_record_is_taken_and_the_rest_is_counted_with_its_line(
    data: bytes, records: list[Any], skipped: list[Skipped]
):
    found = split(data)

    assert values(found) == records
    assert found.skipped == skipped
    assert found.consumed == len(data)
    assert found.lines == data.count(b"\n")


def test_a_number_that_is_none_is_kept_as_it_is():
    [(value, raw)] = split(b'{"a":NaN}\n').records

    assert value["a"] != value["a"]
    assert raw == b'{"a":NaN}'


def test_a_number_of_five_thousand_digits_costs_its_own_line_at_most():
    found = split(b'{"a":' + b"9" * 5000 + b'}\n{"b":2}\n')

    assert values(found)[-1] == {"b": 2}
    assert len(found.records) + len(found.skipped) == 2


@pytest.mark.parametrize("depth", [1, 200, 1000, 5000, 100_000])
def test_nesting_costs_its_own_line_at_most(depth: int):
    found = split(b'{"a":1}\n' + nested(depth) + b'\n{"b":2}\n')

    assert values(found)[0] == {"a": 1}
    assert values(found)[-1] == {"b": 2}
    assert len(found.records) + len(found.skipped) == 3
    assert all(skip == Skipped(2, "not JSON") for skip in found.skipped)


def test_deep_nesting_in_a_damaged_line_costs_its_own_line_at_most():
    found = split(b'{"a":1}\n' + nested(700) + b'{"c":3}\n{"b":2}\n')

    assert values(found)[0] == {"a": 1}
    assert values(found)[-1] == {"b": 2}


def test_a_run_of_nul_bytes_is_counted():
    found = split(b'{"a":1}\n' + NUL * 300 + b'\n{"b":2}\n')

    assert values(found) == [{"a": 1}, {"b": 2}]
    assert [skip.place for skip in found.skipped] == [2]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a":1}', id="plain"),
        pytest.param(b'{ "b" : [1,  2.50, 1e3] , "a":1}', id="spaces, order and number forms"),
        pytest.param('{"a":"é😀"}'.encode(), id="UTF-8"),
        pytest.param(rb'{"a":"\u00e9\/\ud83d"}', id="escapes and a lone surrogate"),
        pytest.param(b'{"a":1,"a":2}', id="a key twice"),
        pytest.param(b'{"a":NaN}', id="NaN"),
        pytest.param(
            b'{"a":"\xff\xc3"}',
            id="invalid UTF-8",
        ),
    ],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"", b"\n", id="alone"),
        pytest.param(b'{"x":0}', b'{"y":0}\n', id="glued"),
        pytest.param(BOM + NUL * 9, NUL * 9 + b"\n", id="padded"),
    ],
)
def test_the_bytes_of_a_record_are_kept(raw: bytes, before: bytes, after: bytes):
    assert raw in raws(split(before + raw + after))


def test_a_record_has_the_same_bytes_whatever_ends_its_line():
    ends = (b"\n", b"\r\n", b"\r", b'{"b":2}\n', b"")

    assert {raws(split(b'{"a":1}' + end, last=True))[0] for end in ends} == {b'{"a":1}'}


def test_a_torn_last_line_is_left_for_the_next_time():
    found = split(b'{"a":1}\n{"b":', last=True)

    assert values(found) == [{"a": 1}]
    assert found.skipped == []
    assert found.consumed == len(b'{"a":1}\n')


def test_a_whole_last_line_without_its_end_is_taken_only_where_the_file_ends():
    assert values(split(b'{"a":1}', last=False)) == []
    assert split(b'{"a":1}', last=False).consumed == 0
    assert values(split(b'{"a":1}', last=True)) == [{"a": 1}]
    assert split(b'{"a":1}', last=True).lines == 0


def test_glued_records_on_a_whole_last_line_are_taken():
    assert values(split(b'{"a":1}{"b":2}', last=True)) == [{"a": 1}, {"b": 2}]


SAMPLE = (
    BOM
    + '{"n":1,"text":"é😀 \\ud83d \\" } {"}\n'.encode()
    + b"\n"
    + b'{"n":2}\r\n'
    + b'bad {"x" line\n'
    + NUL * 5
    + b'\n{"n":3}{"n":4}\n[]\n'
    + b'{"n":{"deep":[{"er":{}}]}}\n'
    + b'{"n":6}'
)


@pytest.mark.parametrize("cut", range(len(SAMPLE) + 1))
def test_a_file_cut_anywhere_converges_when_the_rest_arrives(cut: int):
    whole = split(SAMPLE, last=True)

    before = split(SAMPLE[:cut], last=True)
    after = split(SAMPLE[before.consumed :], line=before.lines + 1, last=True)

    assert values(before) + values(after) == values(whole)
    assert before.skipped + after.skipped == whole.skipped
    assert before.consumed + after.consumed == len(SAMPLE)
    assert before.lines + after.lines == whole.lines


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


@patient
@given(st.lists(OBJECTS, max_size=6), st.booleans(), st.data())
def test_any_prefix_loses_the_last_record_at_most_and_repeats_none(
    objects: list[Any], ascii_only: bool, data: st.DataObject
):
    written = [json.dumps(one, ensure_ascii=ascii_only).encode() for one in objects]
    text = b"".join(one + b"\n" for one in written)
    cut = data.draw(st.integers(0, len(text)))

    before = split(text[:cut], last=True)
    after = split(text[before.consumed :], line=before.lines + 1, last=True)

    assert len(before.records) >= text[:cut].count(b"\n")
    assert raws(before) + raws(after) == written
    assert before.skipped + after.skipped == []


PIECES = st.sampled_from(
    [
        b'{"a":1}',
        b'{"b":"\\n"}',
        b"\n",
        b"\r\n",
        b"{",
        b"}",
        b'{"',
        b'"',
        NUL * 3,
        BOM,
        b"\xff",
        b"7",
    ]
)


@patient
@given(st.lists(PIECES, max_size=20).map(b"".join), st.data())
def test_bytes_read_in_pieces_give_what_they_give_at_once(text: bytes, data: st.DataObject):
    text += b"\n"
    whole = split(text)
    records: list[Any] = []
    skipped: list[Skipped] = []
    start = done = line = 0
    while done < len(text):
        done = data.draw(st.integers(done + 1, len(text)))
        found = split(text[start:done], line=line + 1)
        records += found.records
        skipped += found.skipped
        start += found.consumed
        line += found.lines

    assert records == whole.records
    assert skipped == whole.skipped
    assert start == len(text)


@patient
@given(st.binary(max_size=200))
def test_no_bytes_make_it_stumble(data: bytes):
    found = split(data, last=True)

    assert found.consumed <= len(data)
    assert all(isinstance(loads(raw), dict) for raw in raws(found))


@pytest.fixture(name="short")
def _short(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(lines, "LONGEST_RECORD", 50)
    return 50


def test_a_line_too_long_to_hold_is_counted_and_the_rest_is_read(short: int):
    found = split(b'{"a":1}\n{"x":"' + b"y" * short + b'"}\n{"b":2}\n')

    assert values(found) == [{"a": 1}, {"b": 2}]
    assert found.skipped == [Skipped(2, "too long")]


def test_a_line_just_short_enough_is_read(short: int):
    longest = b'{"x":"' + b"y" * (short - 8) + b'"}'

    assert values(split(longest + b"\n")) == [{"x": "y" * (short - 8)}]
    assert split(longest[:-2] + b'y"}\n').skipped == [Skipped(1, "too long")]


def test_a_line_too_long_is_given_up_before_its_end_is_seen_and_counted_once(short: int):
    first = split(b'{"a":1}\n{"x":"' + b"y" * short)
    second = split(b"y" * short, line=first.lines + 1, discarding=first.discarding)
    third = split(b'yyy"}\n{"b":2}\n', line=first.lines + 1, discarding=second.discarding)

    assert [first.discarding, second.discarding, third.discarding] == [True, True, False]
    assert (second.consumed, second.lines) == (short, 0)
    assert [first.skipped, second.skipped, third.skipped] == [[Skipped(2, "too long")], [], []]
    assert values(third) == [{"b": 2}]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param(b'{"a":"\xff"}', {"a": "\ufffd"}, id="invalid UTF-8"),
        pytest.param(rb'{"a":"\ud83d"}', {"a": "\ufffd"}, id="lone surrogate"),
        pytest.param(BOM + b'{"a":1}' + NUL, {"a": 1}, id="padded"),
    ],
)
def test_a_stored_record_is_decoded_as_it_was_when_it_came(raw: bytes, value: Any):
    assert loads(raw) == value


@pytest.mark.parametrize("raw", [b"", b"{", b'{"a":1}x', nested(100_000)[:-1]])
def test_what_is_no_json_is_a_value_error(raw: bytes):
    with pytest.raises(ValueError, match=r"\w"):
        loads(raw)


@patient
@given(st.text(st.characters(codec=None) | st.characters(categories=["Cs"])))
def test_a_well_formed_text_can_be_written_and_is_otherwise_unchanged(text: str):
    made = well_formed({text: [text]})

    assert json.dumps(made, ensure_ascii=False).encode("utf-8")
    [(key, [value])] = made.items()
    assert key == value
    assert len(key) == len(text)
    assert all(new == old or new == "\ufffd" for new, old in zip(key, text, strict=True))
