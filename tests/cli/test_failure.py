"""Why an expression ended in an error."""

from __future__ import annotations

import pytest

import tidegate
from tidegate.cli.failure import failure_of


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        (
            '1 == 1 && int(fields["n"]) > 1',
            ['in `int(fields["n"])` at 1:11', '`fields["n"]` is `""`'],
        ),
        ('1 / (size(fields["n"])) == 1', ["is `0`"]),
        ('["a"].exists(x, int(x) == 1)', ["in `int(x)` at 1:17"]),
    ],
)
def test_an_error_says_value_and_place(expression: str, parts: list[str]) -> None:
    """The message says what was called, where it stands, and what it was called with."""
    event = b'{"fields":{"n":""}}'
    with pytest.raises(tidegate.EvaluationError) as caught:
        tidegate.compile(expression).evaluate(event)
    text = failure_of(expression, event, caught.value)
    for each in parts:
        assert each in text
