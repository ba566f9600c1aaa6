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
    record = encode(event, ["request.arguments"], variables=FIELD_MODEL)
    assert len(record["request.arguments"]) == 256
    event = {"request": {member: prefix + query + "&g"}}
    assert encode(event, ["request.path"], variables=FIELD_MODEL)
    for name in ("request.query_params", "request.arguments", "derived.repeated_params"):
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


@pytest.mark.parametrize("body", [[0] * 256, "&".join(["f"] * 256)])
def test_too_many_arguments_are_refused_where_a_rule_reads_them(body: Any) -> None:
    """Query and body together have as many arguments as an object may have members."""
    event: dict[str, Any] = {"request": {"content_type": FORM}, "fields": {"body": body}}
    record = encode(event, ["request.arguments"], variables=FIELD_MODEL)
    assert len(record["request.arguments"]) == 256
    event["request"]["query"] = "f"
    assert encode(event, ["request.query_params"], variables=FIELD_MODEL)
    with pytest.raises(EventError) as caught:
        encode(event, ["request.arguments"], variables=FIELD_MODEL)
    assert caught.value.pointer == "/fields/body"
