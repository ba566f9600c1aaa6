"""A comparison that is said to fail for recorded events fails for them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tidegate.evaluation.redact import Redactor
from tidegate.policy.document import read_document
from tidegate.program import compile

KEY = bytes(32)
TESTS = [
    ('fields["password"]', {"fields": {"password": "hunter2"}}),
    ('request.cookies["sid"]', {"request": {"cookies": {"sid": "hunter2"}}}),
    ('request.headers["x-api-key"]', {"request": {"headers": {"x-api-key": "hunter2"}}}),
    ('request.query_params["token"]', {"request": {"query_params": {"token": "hunter2"}}}),
]
CLEAR = [
    ('fields["plan"]', {"fields": {"plan": "hunter2"}}),
    ('request.headers["accept"]', {"request": {"headers": {"accept": "hunter2"}}}),
    ('request.query_params["page"]', {"request": {"query_params": {"page": "hunter2"}}}),
]


def is_found(expression: str) -> bool:
    document = {
        "apiVersion": "tidegate/v1",
        "policies": [{"name": "A", "clauses": [{"expression": expression}]}],
    }
    found = {each.code for each in read_document(document, lint="").findings}
    return "redacted-field-compared" in found


@pytest.mark.parametrize(("member", "event"), [*TESTS, *CLEAR])
@pytest.mark.parametrize("form", ['{} == "hunter2"', '{} in ["hunter2"]', '"hunter2" == {}'])
def test_the_finding_says_what_a_recorded_event_does(
    member: str, event: dict[str, Any], form: str
) -> None:
    """The test passes for the event; for the stored one it passes unless it was found."""
    expression = form.format(member)
    program = compile(expression)
    assert program.evaluate(event) is True
    stored = orjson.loads(Redactor([], KEY).redact(orjson.dumps(event)))
    assert program.evaluate(stored) is not is_found(expression)


@pytest.mark.parametrize("member", [member for member, _ in TESTS])
def test_a_test_for_presence_is_not_meant(member: str) -> None:
    """An empty text is stored as it is, so a test for one works on records, too."""
    assert not is_found(f'{member} != ""')
