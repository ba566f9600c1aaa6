"""Words that authors know from other languages, and the hint that each gets."""

from __future__ import annotations

import pytest

from tidegate.errors import DefinitionsError, ExpressionError
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.policy.document import read_document


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ('not request.path == "/a"', "write `!`"),
        ('request.path like "/a%"', "`text.like("),
        ('request.path ~ "^/a"', "`text.matches("),
        ('request.path in ("/a", "/b")', "`x in [...]`"),
        ('request.headers.User-Agent == "x"', '`request.headers["user-agent"]`'),
        ('http.request.uri.path == "/a"', "it is `request.path` here"),
        ('ip.src == "192.0.2.1"', "it is `request.client_ip` here"),
    ],
)
def test_words_of_other_languages_get_a_hint(expression: str, hint: str) -> None:
    """The hint says what is written here."""
    with pytest.raises(ExpressionError) as caught:
        check(expression, Schema.default())
    assert any(hint in (each.hint or "") for each in caught.value.diagnostics)


def test_unequal_or_unequal_is_always_true() -> None:
    """`x != "a" || x != "b"` is what people write who mean `&&`."""
    checked = check('request.path != "/a" || request.path != "/b"', Schema.default())
    (warning,) = checked.warnings
    assert warning.code == "always-true"
    assert "&&" in (warning.hint or "")
    same = check('request.path != "/a" || request.path != "/a"', Schema.default())
    assert "always-true" not in {each.code for each in same.warnings}


@pytest.mark.parametrize(
    "expression",
    [
        '"/a" == request.path',
        'fields["x"] == "a: b"',
        'request.path == "/a #b"',
        '{"a": 1}.size() == 1',
        '!request.path.contains("a")',
        "[1].size() == 1",
    ],
)
def test_an_expression_that_yaml_takes_for_something_else_says_quote_it(expression: str) -> None:
    """A plain value of YAML is refused with a hint, and the same in single quotes is read."""
    document = "apiVersion: tidegate/v1\nactions:\n  - name: A\n    expression: {}\n"
    with pytest.raises(DefinitionsError) as caught:
        read_document(document.format(expression))
    assert "quote it" in str(caught.value)
    read_document(document.format(f"'{expression}'"))
