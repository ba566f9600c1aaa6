"""Bodies are strict JSON."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.shared_data import shared_lines

from tidegate.errors import EventError
from tidegate.evaluation.json_text import read_json
from tidegate_server.http.json_body import MAX_BYTES, MAX_DEPTH, read_json_body
from tidegate_server.http.problems import Problem


def refusal(body: bytes) -> Problem:
    with pytest.raises(Problem) as raised:
        read_json_body(body)
    assert raised.value.code == "invalid-json"
    return raised.value


def test_plain_data_comes_out() -> None:
    """Objects, lists and scalars as Python has them."""
    body = b'{"a": [1, 2.5, true, null, "\\u00fc"], "b": {}}'
    assert read_json_body(body) == {"a": [1, 2.5, True, None, "ü"], "b": {}}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf{}",
        b"\xff",
        b"{",
        b"{} {}",
        b"[NaN]",
        b"[Infinity]",
        b"[1e999]",
        b'{"a": 1, "a": 1}',
        b'{"a": {"b": 1, "\\u0062": 1}}',
        b'"\\ud800"',
        b'{"\\ud800": 1}',
        b"[01]",
        b"['a']",
        b"[" * 100_000,
        b'{"a":' * 20_000,
    ],
)
def test_what_is_no_strict_json_is_refused(body: bytes) -> None:
    """Empty, cut, doubled, not finite, repeated, half a character, too deep."""
    refusal(body)


def test_a_number_may_have_many_digits() -> None:
    """A number of any form is read; only a whole one is bounded, and the refusal says so."""
    assert read_json_body(b"[" + b"9" * 39 + b"]") == [int("9" * 39)]
    assert read_json_body(b"[0." + b"1" * 60 + b", 1e0001]") == [float("0." + "1" * 60), 10.0]
    assert "1,000 digits" in refusal(b"[-" + b"9" * 1_000 + b"]").detail


LARGE = b" " * MAX_BYTES
"""Makes a body a large one, of which no places are kept."""


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{} {}",
        b"[NaN]",
        b"[-Infinity]",
        b"[1e999]",
        b'{"a": 1, "b": 2, "a": 1}',
        b'{"a": {"b": 1, "\\u0062": 1}}',
        b'"\\ud800"',
        b'{"\\ud800": 1}',
        b'[["\\ud800"]]',
        b"[01]",
        b"[" * 100_000,
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b"[" + b"9" * 100_000 + b"]",
        b"[" + b"9" * 1_001 + b"]",
    ],
)
def test_a_large_body_is_held_to_the_same(body: bytes) -> None:
    """It is read without keeping the places of its values."""
    refusal(LARGE + body)


def test_a_large_body_is_read() -> None:
    """As a small one is; a fault of its syntax has a line."""
    body = b'{"a": [1, 2.5, true, null, "\\u00fc"], "b": {}}'
    assert read_json_body(LARGE + body) == read_json_body(body)
    assert refusal(LARGE + b"\n\n[1,]").errors[0].line == 3


PARTS = [*'{}[],:"\\u01-.e+ \t\v\0aü', "d83d", "dc00", "true", "null", "NaN"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=24).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=12,
)


@given(TEXTS | VALUES.map(json.dumps) | st.tuples(VALUES.map(json.dumps), TEXTS).map("".join))
@example("[1.]")
@example("[-]")
@example('"\\ud83d\\udc00"')
@example('"\\udc00\\ud83d"')
@example('{"a":1,"\\u0061":2}')
@example("[1e400]")
@example("[" + "9" * 1_001 + "]")
def test_every_reader_reads_the_same_texts(text: str) -> None:
    """A small body, a large one and an event accept and refuse the same JSON."""
    body = text.encode()
    small = read_or_none(body)
    assert read_or_none(LARGE + body) == small
    has_other_numbers = "e" in text.lower() or len(text) > 1_000
    if not has_other_numbers:  # in an event, numbers of any size are read
        assert is_event_text(body) == (small is not None)


def read_or_none(body: bytes) -> str | None:
    """The contents of a body, with the types of its values; None if it is refused."""
    try:
        return repr(read_json_body(body))
    except Problem:
        return None


def is_event_text(body: bytes) -> bool:
    try:
        read_json(body)
    except EventError:
        return False
    return True


def test_depth_is_bounded() -> None:
    """A body may nest up to the limit, and not one level more."""
    read_json_body(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    refusal(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


def test_a_refusal_says_where() -> None:
    """Line and column of the text, and the pointer of a member that is given twice."""
    place = refusal(b'{"a": {\n  "b": 1,\n  "b": 2}}').errors[0]
    assert (place.line, place.column, place.pointer) == (3, 3, "/a/b")


def test_the_published_cases() -> None:
    """Texts that must be refused are, those that must be read are."""
    verdicts = {"accept": 0, "reject": 0}
    for each in shared_lines("data/adversarial/json/jsontestsuite.jsonl"):
        if each["expect"] in verdicts and "body_b64" in each:
            body = base64.b64decode(each["body_b64"])
            # The suite lets repeated members pass; here they are refused.
            repeated = "duplicated" in each["name"]
            was_read = read_or_none(body) is not None
            assert was_read == (each["expect"] == "accept" and not repeated), each["name"]
            verdicts[each["expect"]] += 1
    assert min(verdicts.values()) > 20
