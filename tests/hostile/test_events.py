"""Events made to break the reader."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import tidegate
from shared_data import shared_lines

RULES = {
    name: tidegate.RuleSet(
        {"all": 'request.path != "x" || fields["a"] == request.user_agent'}, evaluator=name
    )
    for name in ("native", "reference")
}


def verdict(body: bytes, evaluator: str) -> str:
    try:
        RULES[evaluator].match(body)
    except tidegate.EventError as refusal:
        assert str(refusal)
        return "refused"
    return "accepted"


def body_of(case: dict[str, Any]) -> bytes:
    if "body_b64" in case:
        return base64.b64decode(case["body_b64"])
    repeat = case["repeat"]
    return (repeat["unit"] * repeat["count"] + repeat.get("tail", "")).encode()


def test_json_of_the_published_suite_is_read_alike_and_strictly() -> None:
    """Both readers refuse what RFC 8259 forbids, wherever it stands in an event."""
    for case in shared_lines("data/adversarial/json/jsontestsuite.jsonl"):
        body = b'{"fields":{"body":' + body_of(case) + b"}}"
        answers = {verdict(body, evaluator) for evaluator in RULES}
        assert len(answers) == 1, case["name"]
        if case["expect"] == "reject" and not case["name"].startswith("n_structure_trailing_#"):
            assert answers == {"refused"}, case["name"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"{",
        b'{"request":{"path":"/","path":"/admin"}}',
        b'{"fields":{"a":NaN}}',
        b'{"fields":{"a":"\\ud800"}}',
        b'\xef\xbb\xbf{"fields":{}}',
        b'{"fields":{"a":"\xff"}}',
        b'{"fields":{"a":"\x00"}}',
        b'{"request":[]}',
        b'{"request":{"path":7}}',
        b'{"request":{"headers":{"a":{"b":"c"}}}}',
        b'{"observed_at":"yesterday"}',
        b'{"fields":{"a":' + b"[" * 40 + b"]" * 40 + b"}}",
        b'{"fields":{"a":"' + b"a" * 16_385 + b'"}}',
        b'{"fields":{' + b",".join(b'"k%d":"v"' % number for number in range(257)) + b"}}",
        b'{"fields":{"a":"' + b"a" * 70_000 + b'"}}',
        b'{"fields":{}}{"fields":{}}',
    ],
)
def test_bad_events_are_refused_by_both_readers(body: bytes) -> None:
    """Text that isn't an event is refused with a reason, not guessed at."""
    assert {verdict(body, evaluator) for evaluator in RULES} == {"refused"}


def test_naughty_strings_pass_through_every_member() -> None:
    """Strings that break programs are data like any other."""
    rules = tidegate.RuleSet({"same": 'fields["a"] == request.headers["b"]'})
    for case in shared_lines("data/adversarial/strings/blns.jsonl"):
        text = case["s"]
        if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
            continue
        assert rules.match(
            {"request": {"headers": {"b": text}}, "fields": {"a": text}}
        ).matched == ["same"]
