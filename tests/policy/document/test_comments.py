"""Comments of expressions in YAML: no form of a value hides what stands below a comment."""

from __future__ import annotations

import json

import pytest
from building import document
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import DefinitionsError
from tidegate.language.tree.checked import And, Or
from tidegate.policy.document import read_document

FIRST = 'request.path.startsWith("/wp-login.php")'
SECOND = '|| request.path.startsWith("/xmlrpc.php")'
HEAD = "apiVersion: tidegate/v1\ntenant: {name: T}\nactions:\n  - name: Old\n    expression: "
SWALLOWED = [
    f">-\n      {FIRST} // note\n      {SECOND}\n",
    f">-\n      // note\n      {FIRST}\n",
    f">\n      {FIRST} //\n      {SECOND}\n",
    f">-\r\n      {FIRST} // note\r\n      {SECOND}\r\n",
    f">-\n      {FIRST} // https://a.example\n      {SECOND}\n",
    f">-\n      ({FIRST} // note\n      {SECOND})\n",
    f"{FIRST} // note\n      {SECOND}\n",
    f"'{FIRST} // note\n      {SECOND}'\n",
    f"{json.dumps(FIRST)[:-1]} // note\n      {json.dumps(SECOND)[1:]}\n",
    f"{json.dumps(FIRST)[:-1]} // note\\\n      {json.dumps(SECOND)[1:]}\n",
    f"{json.dumps(FIRST)[:-1]} // note\\r{json.dumps(SECOND)[1:]}\n",
    f"{json.dumps(FIRST)[:-1]} // note\\u2028{json.dumps(SECOND)[1:]}\n",
]
KEPT = [
    f"|\n      {FIRST} // note\n      {SECOND}\n",
    f"|-\n      // note\n      {FIRST} // note\n      {SECOND} // note\n",
    f">-\n      {FIRST}\n      {SECOND} // note\n",
    f">-\n      {FIRST} // note\n\n      {SECOND}\n",
    f"{FIRST} {SECOND} // note\n",
    f"'{FIRST} {SECOND} // note'\n",
    f"{json.dumps(FIRST)[:-1]} // note\\n{json.dumps(SECOND)[1:]}\n",
    f'>-\n      request.referer == "http://a.example/"\n      {SECOND}\n',
    f'>-\n      request.referer.startsWith("//")\n      && fields["x"] != r"//x"\n      {SECOND}\n',
]  # fmt: skip


@pytest.mark.parametrize("written", SWALLOWED)
def test_a_comment_that_takes_in_the_next_line_is_refused(written: str) -> None:
    """Joined lines make the rest of a condition a comment; the finding says how to write it."""
    with pytest.raises(DefinitionsError) as caught:
        read_document(HEAD + written)
    found = {each.code: each for each in caught.value.diagnostics}["comment-over-lines"]
    assert found.pointer == "/actions/0/expression"
    assert found.hint is not None
    assert "`|`" in found.hint


@pytest.mark.parametrize("written", KEPT)
def test_a_comment_at_the_end_of_its_line_is_fine(written: str) -> None:
    """A literal block keeps its lines, and two slashes in a text aren't a comment."""
    (action,) = read_document(HEAD + written).compiled.actions
    assert isinstance(action.expression.root, (And, Or))


def test_the_finding_points_at_the_comment() -> None:
    """Line and column are those of the two slashes."""
    with pytest.raises(DefinitionsError) as caught:
        read_document(HEAD + SWALLOWED[0])
    (found,) = caught.value.diagnostics
    assert (found.line, found.column) == (6, 7 + len(FIRST) + 1)


@given(
    st.sampled_from([">-", ">", "|", "|-", "", "'", '"']),
    st.lists(st.sampled_from(["true", "|| false", "// note", "", "  || true"]), min_size=1),
)
def test_every_part_of_a_condition_counts(style: str, lines: list[str]) -> None:
    """A document is refused, or no `||` on a line of its own is inside a comment."""
    quote = style if style in ("'", '"') else ""
    block = f"{style}\n" if style[:1] in (">", "|") else quote
    indented = "\n".join(f"      {line}" for line in lines)
    text = f"{HEAD}{block}{indented if block != quote else indented.strip()}{quote}\n"
    try:
        (action,) = read_document(text).compiled.source.actions
    except DefinitionsError:
        return
    for line in action.expression.split("\n"):
        assert "||" not in line.partition("//")[2]


def test_plain_data_is_held_to_the_same_where_it_shows() -> None:
    """In plain data a comment ends at a newline, and other line ends in it are refused."""
    good = document(actions=[{"name": "A", "expression": "true // a\r\n|| false"}])
    assert read_document(good).compiled.source.actions
    bad = document(actions=[{"name": "A", "expression": "false // a\r|| true"}])
    with pytest.raises(DefinitionsError):
        read_document(bad)
