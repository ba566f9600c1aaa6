"""The editor's grammar takes what the language takes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.console.node import run_node
from tests.shared_data import shared_lines, shared_path, size

from tidegate.errors import ExpressionError
from tidegate.language.parse.parser import parse
from tidegate.language.tree.ast import Call, Identifier, Node, Select
from tidegate.language.tree.walk import walk

CORPUS = Path(__file__).parents[2] / "corpus"


KINDS: dict[type[Node], str] = {Identifier: "name", Select: "member", Call: "call"}
Place: TypeAlias = tuple[str, int, int]


def parsed(text: str) -> Node | None:
    """The tree that the language's own parser makes of a text, if it takes it."""
    try:
        return parse(text)
    except ExpressionError:
        return None


def published() -> Iterator[str]:
    """The texts of the published cases."""
    for path in sorted(shared_path("conformance/cel").glob("*.json")):
        for case in json.loads(path.read_text()).get("tests", ()):
            yield case["expr"]


def corpus() -> Iterator[str]:
    """The texts of the corpus."""
    for path in sorted(CORPUS.glob("*.toml")):
        for case in tomllib.loads(path.read_text())["case"]:
            yield case["text"]


def rules() -> Iterator[str]:
    """The conditions of the rules for traffic."""
    thousands = size(10, 1)
    for rule in shared_lines(f"data/traffic/rules-{thousands}k.jsonl.gz"):
        yield rule["expression"]


def places(tree: Node) -> list[Place]:
    """The fields and calls of a tree, in their order."""
    found = [
        (KINDS[type(each)], each.span.start, each.span.end)
        for each in walk(tree)
        if type(each) in KINDS
    ]
    return sorted(found)


@pytest.fixture(scope="module")
def read(node: None) -> dict[str, tuple[Node, Any]]:
    """The trees of the parser and of the editor, for each text that the parser takes."""
    trees = {
        text: tree
        for text in dict.fromkeys([*published(), *corpus(), *rules()])
        if (tree := parsed(text)) is not None
    }
    answers = json.loads(run_node("parse.mjs", json.dumps(list(trees))))
    assert len(trees) > 500
    return {
        text: (tree, answer) for (text, tree), answer in zip(trees.items(), answers, strict=True)
    }


def test_the_editor_colours_what_the_parser_takes(read: dict[str, tuple[Node, Any]]) -> None:
    """No published case, text of the corpus or rule leaves an error node."""
    wrong = {text: found["errors"] for text, (_, found) in read.items() if found["errors"]}
    assert wrong == {}


def test_fields_and_calls_are_where_the_parser_finds_them(
    read: dict[str, tuple[Node, Any]],
) -> None:
    """The editor and the parser give each name, member and call the same place."""
    assert sum(len(found["parts"]) for _, found in read.values()) > 2_000
    wrong = {
        text: found["parts"]
        for text, (tree, found) in read.items()
        if sorted(map(tuple, found["parts"])) != places(tree)
    }
    assert wrong == {}


def test_the_editor_marks_what_the_parser_refuses(node: None) -> None:
    """A text that ends too early has an error node."""
    found = json.loads(run_node("parse.mjs", json.dumps(["a &&", "f(1", '"open'])))
    assert all(each["errors"] for each in found)
