"""How many places a new kind of node and a new function take, as CONTRIBUTING says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from benchmarks import rust_source, sizes

from tidegate.functions import FUNCTIONS
from tidegate.language.check import estimate
from tidegate.language.check.checker import check
from tidegate.language.tree import checked
from tidegate.language.tree.schema import Schema
from tidegate.language.tree.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

PYTHON = sizes.ROOT / "python/tidegate"
RUST = sizes.ROOT / "rust/core/src"

OTHER_WORDS = frozenset(
    {
        *("bool", "bytes", "cidr", "double", "duration", "dyn", "int", "ip", "string"),
        *("timestamp", "type", "uint", "in", "or", "value"),
    }
)
"""Functions that have the name of a type, or of a part of the canonical tree."""

NODES = {
    "Literal": "1",
    "Field": "request.path",
    "HasField": "has(request.body)",
    "Local": "[1].exists(x, x == 2)",
    "Select": "fields.country",
    "Has": "has(fields.country)",
    "Index": "request.headers['a']",
    "Call": "request.path.startsWith('/a')",
    "And": "request.path == 'a' && request.path == 'b'",
    "Or": "request.path == 'a' || request.path == 'b'",
    "Conditional": "request.path == 'a' ? 1 : 2",
    "List": "[request.path]",
    "Map": "{'a': request.path}",
    "Comprehension": "request.headers.exists(k, k == 'a')",
    "Bind": "cel.bind(a, request.path, a + a)",
    "Slot": "cel.block([request.path], cel.index(0) + cel.index(0))",
    "OptionalMap": "optional.of(request.path).optMap(y, y)",
}
"""Each kind of node, in an expression that has it."""


def rust_code(path: Path) -> str:
    """A file up to its tests: strings stay, which the names of functions are."""
    return path.read_text().split("#[cfg(test)]")[0]


def naming_all(patterns: Iterable[str], paths: Iterable[Path], root: Path) -> set[str]:
    """The files in which every pattern is found."""
    compiled = [re.compile(pattern) for pattern in patterns]
    texts = ((path, path.read_text()) for path in paths if not sizes.is_test(path))
    return {
        path.relative_to(root).as_posix()
        for path, text in texts
        if all(pattern.search(text) for pattern in compiled)
    }


def test_the_examples_have_every_kind_of_node() -> None:
    """The expressions of these tests have each kind of node that the language has."""
    assert list(NODES) == [kind.__name__ for kind in get_args(checked.Checked)]
    for kind, text in NODES.items():
        nodes = walk(check(text, Schema.default()).root)
        assert kind in {type(node).__name__ for node in nodes}, text


def test_a_kind_of_node_is_a_class_and_an_arm_in_python() -> None:
    """Next to the checker that makes nodes, two files have to know every kind of them.

    The estimate of costs knows those whose bound is closer than the sum of their parts.
    """
    patterns = [rf"(?m)\bchecked\.{name}\b|^class {name}:" for name in NODES]
    found = naming_all(patterns, PYTHON.rglob("*.py"), PYTHON)
    assert found - {"language/check/estimate.py"} == {
        "language/tree/checked.py",
        "language/check/tree_checker.py",
        "evaluation/reference.py",
    }


@pytest.mark.parametrize("kind", NODES)
def test_a_kind_of_node_without_a_bound_costs_its_parts(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kind of node that the estimate of costs does not know is estimated all the same."""
    found = check(NODES[kind], Schema.default())
    node: Any = getattr(checked, kind)
    monkeypatch.delitem(estimate.BOUNDS, node)
    again = check(NODES[kind], Schema.default())
    assert again.root == found.root
    assert again.cost_estimate.total > 0


def test_a_kind_of_node_stands_in_two_rooms_in_rust() -> None:
    """Rust has every kind of node in `program/`, which reads it, and in `evaluate/`."""
    code = rust_source.code_of((RUST / "program/mod.rs").read_text())
    variants = code.split("enum Node {")[1].split("\n}")[0]
    kinds = re.findall(r"^    (\w+)", variants, re.MULTILINE)
    assert len(kinds) > len(NODES)
    found = naming_all([rf"\bNode::{kind}\b" for kind in kinds], RUST.rglob("*.rs"), RUST)
    assert found == {"program/mod.rs", "evaluate/mod.rs"}


def test_a_function_stands_in_one_file_of_each_language() -> None:
    """Rust names a function in one file, which has the name of its family in Python."""
    files = {path: rust_code(path) for path in RUST.rglob("*.rs") if not sizes.is_test(path)}
    named = [each for each in FUNCTIONS.values() if re.fullmatch(r"[\w.]+", each.name)]
    assert len(named) > 90
    for function in named:
        if function.name in OTHER_WORDS:
            continue
        modules = (overload.meaning.__module__ for overload in function.overloads)
        families = {RUST / f"functions/{module.rpartition('.')[2]}.rs" for module in modules}
        found = {path for path, text in files.items() if f'"{function.name}"' in text}
        assert len(found) == 1, function.name
        assert found <= families, function.name
