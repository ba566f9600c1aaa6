"""Headers, origins, URLs and identifiers."""

from __future__ import annotations

from typing import Any

import pytest
from building import BLOCK, document
from hypothesis import given
from hypothesis import strategies as st

from shared_data import shared_lines
from tidegate.errors import DefinitionsError
from tidegate.policy.document import read_document
from tidegate.policy.document.forms import (
    header_problem,
    identifier_problem,
    origin_problem,
    url_problem,
)


def is_accepted(block: dict[str, Any]) -> bool:
    try:
        read_document(document(mitigations=[{**BLOCK, "block": block}]))
    except DefinitionsError:
        return False
    return True


def test_block_answers_made_to_do_harm() -> None:
    """Header injection, hop-by-hop headers, credentials and impossible statuses are refused."""
    for case in shared_lines("data/adversarial/headers/block_action.jsonl"):
        if "name" in case:
            accepted = is_accepted({"headers": {case["name"]: case["value"]}})
        else:
            accepted = is_accepted({"status_code": case["status_code"], "body": "x"})
        verdict = case["at_definition"]
        if verdict in ("accept", "accept_absent"):
            assert accepted, case
        elif verdict in ("reject", "reject_with_body", "reject_or_encode"):
            assert not accepted, case


def test_a_header_is_not_named_like_a_part_of_every_object() -> None:
    """A name begins with a letter or a digit: an edge may put headers into an object."""
    for name in ("__proto__", "__defineGetter__", "_x", "constructor", "Prototype", "~", "-"):
        assert not is_accepted({"headers": {name: "x"}}), name
    for name in ("x_y", "x__proto__", "1x", "X-Constructor", "x~"):
        assert is_accepted({"headers": {name: "x"}}), name


def test_a_block_answer_is_bounded() -> None:
    """A block answer has at most twenty headers and 64 KiB of body."""
    assert is_accepted({"headers": {f"x-{number}": "v" for number in range(20)}})
    assert not is_accepted({"headers": {f"x-{number}": "v" for number in range(21)}})
    assert is_accepted({"body": "x" * 65_536})
    assert not is_accepted({"body": "x" * 65_537})


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_accepted_header_cannot_break_out_of_its_line(name: str, value: str) -> None:
    """Whatever is accepted is one visible ASCII line with one colon that counts."""
    if header_problem(name, value) is None:
        assert f"{name}: {value}".isascii()
        assert f"{name}: {value}".isprintable()
        assert not {":", " ", ""} & set(name)


@pytest.mark.parametrize(
    ("text", "is_url", "is_origin"),
    [
        ("https://a.example", True, True),
        ("http://a.example:8080", True, True),
        ("https://[2001:db8::1]:8443", True, True),
        ("https://a.example/", True, False),
        ("https://a.example/x?y=z#w", True, False),
        ("https://a.example?x", True, False),
        ("HTTPS://a.example", True, True),
        ("ftp://a.example", False, False),
        ("javascript:alert(1)", False, False),
        ("//a.example", False, False),
        ("https://", False, False),
        ("https:///x", False, False),
        ("https://u@a.example", False, False),
        ("https://a.example:0", False, False),
        ("https://a.example:99999", False, False),
        ("https://a.example:x", False, False),
        ("https://a b", False, False),
        ("https://a.example\\@b.example", False, False),
        ("https://a.example\n", False, False),
        ("https://[::1", False, False),
        ("https://é.example", False, False),
        ("https://a.example/" + "x" * 2_048, False, False),
    ],
)
def test_urls_and_origins(text: str, is_url: bool, is_origin: bool) -> None:
    """Absolute http and https only, without user, blank or backslash."""
    assert (url_problem(text) is None) is is_url
    assert (origin_problem(text) is None) is is_origin


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e", True),
        ("0190F1C4-5B7E-7C3A-9D2E-1F4A6B8C0D2E", True),
        ("0190f1c45b7e7c3a9d2e1f4a6b8c0d2e", False),
        ("{0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e}", False),
        ("urn:uuid:0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e", False),
        ("", False),
        ("x" * 36, False),
    ],
)
def test_identifiers(text: str, fits: bool) -> None:
    """UUIDs in their usual form, in either case."""
    assert (identifier_problem(text) is None) is fits
