"""The strict JSON reader."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import shared_lines
from tidegate.errors import EventError
from tidegate.evaluation.json_text import json_value, read_json
from tidegate.values import Map, UInt, to_python


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b"", 0),
        (b" ", 1),
        (b"{} {}", 3),
        (b"[1,]", 3),
        (b"{,}", 1),
        (b'{"a" 1}', 5),
        (b'{"a":1,}', 7),
        (b"{'a':1}", 1),
        (b"[NaN]", 1),
        (b"[-Infinity]", 1),
        (b"[01]", 2),
        (b"[1.]", 2),
        (b"[+1]", 1),
        (b"[.5]", 1),
        (b"tru", 0),
        (b'"a', 2),
        (b'"\x01"', 1),
        (b'"\\x41"', 1),
        (b'"\\u12"', 1),
        (b'"\\ud800"', 1),
        (b'"\\udc00\\ud800"', 1),
        (b'"\\ud800\\u0041"', 1),
        ('"é\\x"'.encode(), 3),
        (b"\xef\xbb\xbf{}", 0),
        (b'"\xff"', 1),
        (b'"\xed\xa0\x80"', 1),
        (b'{"a":1,"\\u0061":2}', 7),
        (b"\xff\xfe{\x00}\x00", 0),
    ],
)
def test_text_that_is_no_strict_json_is_refused_at_its_byte(text: bytes, offset: int) -> None:
    """Broken text is refused at its byte, with an empty pointer."""
    with pytest.raises(EventError) as raised:
        read_json(text)
    assert (raised.value.pointer, raised.value.offset) == ("", offset)


@pytest.mark.parametrize(
    ("text", "pointer", "offset"),
    [
        (b"[" * 33 + b"]" * 33, "/0" * 32, 32),
        (b"[" + b"1," * 256 + b"1]", "", 513),
        (b'{"a~/b":"' + b"a" * 16_385 + b'"}', "/a~0~1b", 8),
        (b"{" + b",".join(b'"%d":1' % n for n in range(257)) + b"}", "", None),
    ],
)
def test_what_passes_a_limit_is_refused_with_its_place(
    text: bytes, pointer: str, offset: int | None
) -> None:
    """Depth, members, elements and the length of strings are bounded to the unit."""
    with pytest.raises(EventError) as raised:
        read_json(text)
    assert raised.value.pointer == pointer
    assert offset in (None, raised.value.offset)


def test_limits_hold_to_the_unit() -> None:
    """Text exactly at a limit is read."""
    read_json(b"[" * 32 + b"]" * 32)
    read_json(b"[" + b"1," * 255 + b"1]")
    read_json(b'"' + b"a" * 16_384 + b'"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", UInt(2**63)),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775809", -(2.0**63)),
        ("1.0", 1.0),
        ("1e2", 100.0),
        ("1e999", float("inf")),
        ("9" * 10_000, float("inf")),
        ('"\\ud83d\\ude00\\/\\b"', "\U0001f600/\b"),
        ('{"b":1,"a":[null,true]}', Map([("b", 1), ("a", [None, True])])),
    ],
)
def test_values_are_those_of_the_language(text: str, expected: Any) -> None:
    """Integers where they are integers and fit, maps in the order of the text."""
    value = json_value(read_json(text.encode()))
    assert (value, type(value)) == (expected, type(expected))


def test_the_published_suite_is_judged_as_it_asks() -> None:
    """The published suite gets its verdicts, except that duplicate members are refused."""
    for case in shared_lines("data/adversarial/json/jsontestsuite.jsonl"):
        repeat = case.get("repeat")
        body = (
            (repeat["unit"] * repeat["count"] + repeat.get("tail", "")).encode()
            if repeat
            else base64.b64decode(case["body_b64"])
        )
        try:
            read_json(body)
            judged = "accept"
        except EventError:
            judged = "reject"
        if case["expect"] in {"accept", "reject"} and "duplicated_key" not in case["name"]:
            assert judged == case["expect"], case["name"]


documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("aé\0"), inner, max_size=4),
    max_leaves=12,
)


@given(documents, st.booleans(), st.sampled_from([None, 1]))
def test_what_a_json_writer_writes_is_read(document: Any, ascii_only: bool, indent: Any) -> None:
    """The output of a JSON writer is read, in either spelling of strings, spaces or none."""
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    assert to_python(json_value(read_json(text.encode()))) == document
