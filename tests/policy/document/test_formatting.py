"""Documents whose expressions are formatted in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import DefinitionsError
from tidegate.policy.document import format_document

GOOD = sorted((Path(__file__).resolve().parents[2] / "documents" / "good").iterdir())
LONG = " && ".join(f'request.path!="/a/path/number/{number}"' for number in range(4))


def of_action(expression: str) -> str:
    return f"apiVersion: tidegate/v1\nactions:\n  - name: A # stays\n    expression: {expression}\n"


@pytest.mark.parametrize(
    ("written", "formatted"),
    [
        ('request.path=="/a" # stays', 'request.path == "/a" # stays'),
        (
            'request.path=="/a" || request.path=="/b"',
            'request.path == "/a" || request.path == "/b"',
        ),
        ("'request.path==\"it''s\"'", "'request.path == \"it''s\"'"),
        ("\"request.path=='/a'\"", '"request.path == \\"/a\\""'),
        ('fields["a"]=="b"', 'fields["a"] == "b"'),
        ('>-\n      request.path=="/a"\n      &&true', '>-\n      request.path == "/a" && true'),
        ("|\n      a//why\n      &&b", "|\n      a //why\n      && b"),
        ("'a&&// why\n\n      b'", "'a&&// why\n\n      b'"),
    ],
)
def test_only_expressions_change(written: str, formatted: str) -> None:
    """Quotes, comments and everything around an expression stay."""
    found = format_document(of_action(written))
    assert found.text == of_action(formatted)
    assert format_document(found.text).text == found.text


def test_a_long_expression_breaks_in_a_block_and_nowhere_else() -> None:
    """Only a block of lines can hold several."""
    block = format_document(of_action(f">-\n      {LONG}")).text
    assert "|-\n      request.path != " in block
    assert block.count("\n      && ") == 3
    assert format_document(of_action(f"'{LONG}'")).text.count("\n") == 4


def test_comments_that_only_a_block_can_hold_are_left_and_named() -> None:
    """Nothing is lost: such an expression stays as it is."""
    text = '{"apiVersion": "tidegate/v1", "actions": [{"name": "A", "expression": "a&&// b\\nc"}]}'
    found = format_document(text)
    assert (found.text, found.skipped) == (text, ("/actions/0/expression",))


def test_line_endings_stay() -> None:
    """A document with carriage returns keeps them."""
    text = of_action('>-\n      request.path=="/a"').replace("\n", "\r\n")
    assert format_document(text).text == text.replace('path=="', 'path == "')


@pytest.mark.parametrize("path", GOOD, ids=[path.name for path in GOOD])
def test_formatting_again_changes_nothing(path: Path) -> None:
    """Every good document can be formatted, and then stays."""
    once = format_document(path.read_bytes()).text
    assert format_document(once).text == once


def test_an_expression_that_does_not_parse_is_refused_at_its_place() -> None:
    """The finding has the line of the document."""
    with pytest.raises(DefinitionsError) as refused:
        format_document(of_action("a &&"))
    assert (refused.value.diagnostics[0].code, refused.value.diagnostics[0].line) == (
        "syntax-error",
        4,
    )
