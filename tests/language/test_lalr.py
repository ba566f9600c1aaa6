"""The loop over the library's tables: the trees that the library makes."""

from __future__ import annotations

import pytest

from tidegate.language.lalr import UnexpectedSymbolError
from tidegate.language.parser import _lark, _Reading, _tables, parse
from tidegate.limits import DEFAULT


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "a.b(c, 'd')[?e].f || !g && -h in [1, 2u, 3.5, b'x', null, true]",
        "{'a': [x.map(y, y + 1)], ?'b': c ? d : e}",
        "has(request.path) ? request.headers['a'] : 'b' + \"c\"",
    ],
)
def test_the_tree_is_that_of_the_library(text: str) -> None:
    """What the loop makes of a text is what the library's own makes of it."""
    reading = _Reading(text, DEFAULT.nesting)
    assert _tables().parse(_Reading(text, DEFAULT.nesting).tokens) == _lark().parse(reading)
    assert parse(text) == _lark().parse(_Reading(text, DEFAULT.nesting))


@pytest.mark.parametrize("text", ["", "a b", "(a", "a)", "a and b", "1 +", "[1 2]"])
def test_what_is_no_sentence_is_left_to_the_library(text: str) -> None:
    """The loop refuses what the grammar does not have, at whatever place."""
    with pytest.raises(UnexpectedSymbolError):
        _tables().parse(_Reading(text, DEFAULT.nesting).tokens)
