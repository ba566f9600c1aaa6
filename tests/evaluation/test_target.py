"""Targets of requests, and the pairs of their queries."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import EventError
from tidegate.evaluation.encoder import encode
from tidegate.evaluation.target import Target, lenient_path, pairs_of, query_members, read_target
from tidegate.language.tree.schema import FIELD_MODEL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a?x=1?y", Target(None, None, "/a", "x=1?y")),
        ("/a?", Target(None, None, "/a", "")),
        ("//shop/a", Target(None, None, "//shop/a", None)),
        ("/http://x/a", Target(None, None, "/http://x/a", None)),
        ("HTTPS://u@Shop:8443/a?x", Target("HTTPS", "Shop:8443", "/a", "x")),
        ("http://shop?x", Target("http", "shop", "/", "x")),
        ("1://shop/a", Target(None, None, "1://shop/a", None)),
        ("*", Target(None, None, "*", None)),
    ],
)
def test_a_target_is_a_path_with_a_query_or_an_absolute_address(
    text: str, expected: Target
) -> None:
    """Nothing but a scheme at the beginning makes an absolute address."""
    assert read_target(text) == expected


@given(st.text(alphabet="ab=&+%2fF ;?é", max_size=40).map(lambda text: text.lstrip("?")))
def test_pairs_are_those_of_the_standard_library(query: str) -> None:
    """A second reader of queries finds the same names and values in the same order."""
    assert pairs_of(query) == parse_qsl(query, keep_blank_values=True)


def test_a_query_without_pairs_says_nothing() -> None:
    """An empty query gives no members, and its question mark does not count."""
    assert query_members("?") == {}
    assert query_members("?a=1&a=2") == {"query": "a=1&a=2", "query_params": {"a": ["1", "2"]}}


@given(st.text(alphabet="/.;%025cC: $a\\", max_size=24))
def test_a_lenient_path_is_read_as_itself(path: str) -> None:
    """Once a path is read, there is nothing in it that a server reads otherwise."""
    lenient = lenient_path("/" + path)
    if "%" not in lenient:
        assert lenient_path(lenient) == lenient


@pytest.mark.parametrize("member", ["query", "path"])
def test_too_many_pairs_are_refused_where_a_rule_reads_them(member: str) -> None:
    """A query has as many pairs as an object may have members, so that none is passed over."""
    query = "&".join(["f=1"] * 256)
    prefix = "/?" if member == "path" else ""
    event = {"request": {member: prefix + query}}
    assert encode(event, ["request.query_params"], variables=FIELD_MODEL)
    event = {"request": {member: prefix + query + "&g"}}
    assert encode(event, ["request.path", "request.arguments"], variables=FIELD_MODEL)
    for name in ("request.query_params", "derived.repeated_params"):
        with pytest.raises(EventError) as caught:
            encode(event, [name], variables=FIELD_MODEL)
        assert caught.value.pointer == f"/request/{member}"


FORM = "Application/X-WWW-Form-URLencoded; charset=utf-8"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        (FORM, "a=1&b=%3C+x&a&&=z", [("form", "a", "1"), ("form", "b", "< x"), ("form", "a", ""),
                                     ("form", "", "z")]),
        (FORM, "12", [("form", "12", "")]),
        ("text/plain", "a=1", []),
        ("", {"a": [1, {"b": None}], "c": True, "d.e": 1.5, "": "x"},
         [("json", "a.0", "1"), ("json", "a.1.b", ""), ("json", "c", "true"),
          ("json", "d.e", "1.5"), ("json", "", "x")]),
        ("application/json", '[["x"], 18446744073709551615, 1e30]',
         [("json", "0.0", "x"), ("json", "1", "18446744073709551615"), ("json", "2", "1e+30")]),
        (FORM, {"a": "b"}, [("json", "a", "b")]),
        ("", '"x"', [("json", "", "x")]),
    ],
)  # fmt: skip
def test_arguments_of_the_body_follow_those_of_the_query(
    content_type: str, body: Any, expected: list[tuple[str, str, str]]
) -> None:
    """A form is read as a query is, and JSON by the names that lead to each scalar."""
    event = {
        "request": {"query": "q=1&q=2", "headers": {"Content-Type": content_type}},
        "fields": {"body": body},
    }
    found = encode(event, ["request.arguments"], variables=FIELD_MODEL)["request.arguments"]
    shown = [(each["where"], each["name"], each["value"]) for each in found]
    assert shown == [("query", "q", "1"), ("query", "q", "2"), *expected]


ARGUMENTS = ["request.arguments", "derived.arguments_incomplete"]


def arguments_of(event: dict[str, Any]) -> tuple[list[str], bool]:
    """The values of the arguments, and whether there may be others."""
    record = encode(event, ARGUMENTS, variables=FIELD_MODEL)
    return [each["value"] for each in record[ARGUMENTS[0]]], record[ARGUMENTS[1]]


@pytest.mark.parametrize(
    "body", [list(range(256)), "&".join(f"f={number}" for number in range(256))]
)
def test_the_first_arguments_are_read_and_a_field_says_that_there_are_others(body: Any) -> None:
    """Query and body together give 256 arguments, and one more makes them incomplete."""
    event: dict[str, Any] = {"request": {"content_type": FORM}, "fields": {"body": body}}
    numbers = [str(number) for number in range(256)]
    assert arguments_of(event) == (numbers, False)
    event["request"]["query"] = "f=first"
    assert arguments_of(event) == (["first", *numbers[:-1]], True)
    event["request"]["query"] = "&".join(["f"] * 256)
    assert arguments_of(event) == ([""] * 256, True)


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", '{"a": 1', True),
        ("Application/Problem+JSON; charset=utf-8", "a=1", True),
        ("multipart/form-data; boundary=x", "--x", True),
        ("application/json", "", False),
        ("application/json", "[1]", False),
        ("application/json", "[1e999]", True),
        ("application/json", "[" + "0," * 300 + "0]", True),
        ("", [float("inf")], True),
        ("", [], False),
        ("text/plain", "a=1", False),
        (FORM, '{"a": 1', False),
    ],
)
def test_a_body_with_arguments_that_is_not_read_makes_them_incomplete(
    content_type: str, body: Any, expected: bool
) -> None:
    """An argument may hide in a body that only a lenient application reads."""
    event = {"request": {"content_type": content_type}, "fields": {"body": body}}
    assert arguments_of(event)[1] is expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [("http/1.1", "HTTP/1.1"), ("HTTP/2.0", "HTTP/2"), ("http/3.0", "HTTP/3"), ("H2", "H2")],
)
def test_a_protocol_has_the_name_of_its_standard(sent: str, expected: str) -> None:
    """Servers write ``HTTP/2.0`` or ``HTTP/2``, and a rule sees one of them."""
    record = encode({"request": {"protocol": sent}}, ["request.protocol"], variables=FIELD_MODEL)
    assert record == {"request.protocol": expected}
