"""The JSON form of checked expressions, out and in."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import shared_lines
from tidegate.errors import ExpressionError
from tidegate.language.canonical import from_json, to_json
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.types import NamedList

SCHEMA = Schema.default().with_lists({"bad": NamedList("ip", ())}).with_variables({"n": "int"})

EXPRESSIONS = [
    'request.path.startsWith("/api/")',
    'request.headers["x-a"] != "" && has(request.body) || !(n > 1)',
    'n > 1 ? [n, 2] : [-3]',
    '{"a": n, ?"b": request.headers.?accept}',
    "[?optional.of(n)]",
    'request.query_params.exists(k, v, k.matches("^a") && v == "b")',
    "[1, 2].map(x, x > 1, x * n)",
    "cel.bind(a, n, a + a)",
    "optional.of(n).optFlatMap(x, optional.of(x)).optMap(y, y).hasValue()",
    'has(fields.country) && request.body[?"x"].orValue(1) == 1',
    "[null, true, 1, 1u, 1.5, -0.0, 'a', b'a', [1], {1: 2}, int]",
    'request.client_ip.inList("bad")',
    "request.path == \"日本\"",
    "[" * 60 + "n" + "]" * 60,
    "{'a': " * 60 + "n" + "}" * 60,
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_form_reads_back(text: str) -> None:
    """A checked tree survives JSON, with its spans, and writes the same JSON again."""
    found = check(text, SCHEMA)
    data = orjson.dumps(to_json(found))
    again = from_json(data)
    assert again.root == found.root
    assert again.type == found.type
    assert again.references == found.references
    assert orjson.dumps(to_json(again)) == data


def test_the_form_is_the_documented_one() -> None:
    """Members are named as documented, and left out when false, null or empty."""
    found = to_json(check('"a" in request.headers', SCHEMA))
    assert found == {
        "version": 1,
        "text": '"a" in request.headers',
        "type": "bool",
        "root": {
            "kind": "call",
            "span": [0, 22],
            "function": "in",
            "args": [
                {"kind": "literal", "span": [0, 3], "value": {"type": "string", "value": "a"}},
                {"kind": "field", "span": [7, 22], "name": "request.headers"},
            ],
        },
    }


def test_published_rules_read_back() -> None:
    """Every rule of the workload survives JSON."""
    for rule in shared_lines("data/traffic/rules-1k.jsonl.gz"):
        found = check(rule["expression"], SCHEMA)
        assert from_json(to_json(found)).root == found.root


def refuse(data: Any) -> str:
    with pytest.raises(ExpressionError) as refusal:
        from_json(data)
    return refusal.value.diagnostics[0].code


def deep(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"kind": "field", "span": [0, 1], "name": "a"}
    for _ in range(levels):
        node = {"kind": "select", "span": [0, 1], "operand": node, "field": "b"}
    return node


LITERAL = {"kind": "literal", "span": [0, 1], "value": {"type": "int", "value": "1"}}
HOSTILE: list[Any] = [
    None,
    {},
    {"kind": "literal"},
    {**LITERAL, "span": [1, 0]},
    {**LITERAL, "span": [0, 99]},
    {**LITERAL, "span": [0.5, 1]},
    {**LITERAL, "span": [False, True]},
    {**LITERAL, "value": {"type": "int", "value": "99999999999999999999"}},
    {**LITERAL, "value": {"type": "map", "value": [[1, 2]]}},
    {**LITERAL, "value": {"type": "double", "value": "one"}},
    {**LITERAL, "kind": ["literal"]},
    {"kind": "local", "span": [0, 1], "name": "nowhere"},
    {"kind": "field", "span": [0, 1], "name": "\ud800"},
    {"kind": "and", "span": [0, 1], "args": [LITERAL]},
    {"kind": "conditional", "span": [0, 1], "args": [LITERAL, LITERAL]},
    {"kind": "call", "span": [0, 1], "function": "f", "member": True, "args": []},
    {"kind": "call", "span": [0, 1], "function": "f", "member": 1, "args": [LITERAL]},
    {"kind": "call", "span": [0, 1], "function": "f", "args": [LITERAL], "regexes": [1]},
    {"kind": "list", "span": [0, 1], "elements": [LITERAL["value"]]},
    {"kind": "list", "span": [0, 1], "elements": [[]]},
    {"kind": "map", "span": [0, 1], "entries": [{"key": LITERAL}]},
    {"kind": "comprehension", "span": [0, 1], "macro": "loop", "variables": ["a"],
     "range": LITERAL, "body": LITERAL},
    {"kind": "comprehension", "span": [0, 1], "macro": "all", "variables": ["a", "b", "c"],
     "range": LITERAL, "body": LITERAL},
    {"kind": "bind", "span": [0, 1], "variable": "a", "value": LITERAL},
    deep(100),
    deep(3_000),
    {"kind": "list", "span": [0, 1], "elements": [{"value": LITERAL}] * 5_000},
]  # fmt: skip


@pytest.mark.parametrize("root", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_trees_are_refused(root: Any) -> None:
    """Whatever is wrong with a tree is a coded finding, never a crash."""
    envelope = {"version": 1, "text": "a", "type": "bool", "root": root}
    assert refuse(envelope) == "invalid-canonical-tree"


@pytest.mark.parametrize(
    ("envelope", "code"),
    [
        (b"", "invalid-canonical-tree"),
        (b"[]", "invalid-canonical-tree"),
        (b"[" * 100_000, "invalid-canonical-tree"),
        (b"{" + b" " * (5 * 1024 * 1024) + b"}", "invalid-canonical-tree"),
        ({"version": 2, "text": "a", "type": "bool", "root": LITERAL}, "invalid-canonical-tree"),
        ({"version": True, "text": "a", "type": "bool", "root": LITERAL}, "invalid-canonical-tree"),
        ({"version": 1, "text": 1, "type": "bool", "root": LITERAL}, "invalid-canonical-tree"),
        ({"version": 1, "text": "a", "type": "what", "root": LITERAL}, "invalid-canonical-tree"),
        ({"version": 1, "text": "a b", "type": "bool", "root": LITERAL}, "syntax-error"),
    ],
)
def test_hostile_envelopes_are_refused(envelope: Any, code: str) -> None:
    """Version, text and type are checked before the tree."""
    assert refuse(envelope) == code


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "span", "args", "value", "name", "type", "elements"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(st.sampled_from(EXPRESSIONS), st.data())
def test_mutated_trees_never_crash(text: str, data: st.DataObject) -> None:
    """Any member replaced by anything gives an expression or a coded finding."""
    envelope = copy.deepcopy(to_json(check(text, SCHEMA)))
    spot: Any = envelope["root"]
    for _ in range(data.draw(st.integers(0, 4))):
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        below = [key for key in keys if isinstance(spot[key], (dict, list)) and spot[key]]
        if not below:
            break
        spot = spot[data.draw(st.sampled_from(below))]
    keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
    spot[data.draw(st.sampled_from(keys))] = data.draw(json_values)
    try:
        from_json(envelope)
    except ExpressionError as refusal:
        assert refusal.diagnostics[0].code
