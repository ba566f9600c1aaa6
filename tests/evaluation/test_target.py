"""Targets of requests, and the pairs of their queries."""

from __future__ import annotations

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
