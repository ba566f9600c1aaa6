"""YAML that is written is read as the same."""

from __future__ import annotations

import json

import pytest
from building import document
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.errors import DefinitionsError
from tidegate.policy.document import read_document, to_document
from tidegate.policy.document.tree import Mapping, Node, Scalar, Sequence
from tidegate.policy.document.yaml_text import compose_yaml, write_yaml

LIKE_OTHERS = [
    "1e3", "08", "+1e3", ".1e3", "0o17", "0x1f", "1_000", "1:30", "-0", "+.5", "1.", "1e400",
    ".inf", ".NaN", "yes", "no", "On", "y", "N", "true", "TRUE", "null", "Null", "~", "", "=",
    "<<", "-", "--", "---", "...", "?", ":", "- a", "a: b", "a #b", "#", "&a", "*a", "!a", "@a",
    "`a", "%a", "{}", "[a", "'", '"', "\\", "2026-01-01", "2026-01-01T00:00:00Z", "12:30:00",
    " a", "a ", "\ta", "a\t", "\n", "a\n", "\na", "a\nb", " a\nb", "a\n b", "a \nb",
    "a\n\nb\n\n", "\r", "a\r\nb", "\x00", "\x1b", "\x7f", "\x80", "\x85", "a\x85b", "\xa0",
    "\u2028", "a\u2029", "\ufeff", "\ufeffa", "\ufffe", "\uffff", "\U0001f600", "a // b",
    "a // b\n|| c", "x " * 200, "|", ">", "|-\n a",
]  # fmt: skip
TEXTS = (
    st.sampled_from(LIKE_OTHERS)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.text("0123456789+-.eExo_:~ \n\t\r\x85\u2028\ufeff#'\"\\|>&*!%@`?,[]{}<=ynft", max_size=8)
)
NUMBERS = st.integers(-(10**30) + 1, 10**30 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


def value_of(node: Node) -> object:
    match node:
        case Mapping(entries):
            return {str(key.value): value_of(value) for key, value in entries}
        case Sequence(items):
            return [value_of(each) for each in items]
        case Scalar(value):
            return value


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
@example({text: [text, {"a": text}] for text in LIKE_OTHERS})
def test_plain_data_survives_the_way_out_and_in(data: dict[str, object]) -> None:
    """Every text, number, bool and null is read back as it was, as a member's name too."""
    found = value_of(compose_yaml(write_yaml(data)))
    assert found == data
    assert repr(found) == repr(data)


@given(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
def test_definitions_survive_the_way_out_and_in(
    entry: str, name: str, slug: str, body: str, header: str
) -> None:
    """Definitions that are accepted are the same definitions after an export, in both forms."""
    given = document(
        lists=[{"name": "L", "kind": "string", "entries": [entry, "1e3"]}],
        actions=[{"name": name, "slug": "a", "description": body, "expression": f"true // {name}"}],
        mitigations=[
            {"name": name, "slug": slug, "mode": "Block", "block": {"body": body}},
            {"name": "B", "mode": "Block", "block": {"headers": {header: "08", "1e3": name}}},
        ],
    )
    try:
        definitions = read_document(given).compiled.source
    except DefinitionsError:
        return
    exported = to_document(definitions)
    assert read_document(write_yaml(exported)).compiled.source == definitions
    assert read_document(json.dumps(exported)).compiled.source == definitions


@pytest.mark.parametrize("name", ["1e3", "08", "0o17", "null", "true", "1_000"])
def test_the_name_of_a_header_is_read_as_it_is_written(name: str) -> None:
    """The name of a member is always a text, in quotes or not."""
    block = f"{{name: B, mode: Block, block: {{headers: {{{name}: 'x'}}}}}}"
    text = f"apiVersion: tidegate/v1\nmitigations: [{block}]\n"
    (mitigation,) = read_document(text).compiled.source.mitigations
    assert mitigation.block is not None
    assert dict(mitigation.block.headers) == {name: "x"}


def test_what_is_written_is_good_to_read() -> None:
    """Ordinary texts have no quotes, and several lines are a block."""
    data = {"a": ["plain text", "https://a.example/", "NO"], "b": "one // x\n|| two"}
    written = "a:\n- plain text\n- https://a.example/\n- 'NO'\nb: |-\n  one // x\n  || two\n"
    assert write_yaml(data) == written
