"""The editor's grammar takes what the language takes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.console.node import node
from tests.shared_data import shared_path

from tidegate.errors import ExpressionError
from tidegate.language.parse.parser import parse

CORPUS = Path(__file__).parents[1] / "corpus"


def is_parsed(text: str) -> bool:
    """Whether the language's own parser takes a text."""
    try:
        parse(text)
    except ExpressionError:
        return False
    return True


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


def test_the_editor_colours_what_the_parser_takes() -> None:
    """No published case and no text of the corpus leaves an error node."""
    texts = [text for text in dict.fromkeys([*published(), *corpus()]) if is_parsed(text)]
    errors = json.loads(node("parse.mjs", json.dumps(texts)))
    assert len(texts) > 500
    assert {text: found for text, found in zip(texts, errors, strict=True) if found} == {}


def test_the_editor_marks_what_the_parser_refuses() -> None:
    """A text that ends too early has an error node."""
    assert all(json.loads(node("parse.mjs", json.dumps(["a &&", "f(1", '"open']))))
