"""An expression as rows and as text is one expression."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.console.node import run_node

from tidegate.errors import ExpressionError
from tidegate.functions import FUNCTIONS
from tidegate.language.canonical import to_json
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.testing import events
from tidegate.testing.choices import Choices, RandomChoices, happens, pick
from tidegate.testing.expressions import ExpressionGenerator
from tidegate.testing.vocabulary import WORDS, string_literal
from tidegate.types import BOOL, STRING, ListType

WANTED = 5_000
METHODS = sorted(
    {
        (signature.name, isinstance(signature.params[1], ListType))
        for function in FUNCTIONS.values()
        for signature in (overload.signature for overload in function.overloads)
        if signature.member and signature.result == BOOL and len(signature.params) == 2
        if signature.params[0] == STRING
    }
)
"""As the console takes them from the language: of texts, with one argument, true or false."""


def tree_of(text: str, schema: Schema) -> Any:
    """The canonical tree of an expression, without places in the text."""

    def bare(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {name: bare(each) for name, each in tree.items() if name != "span"}
        return list(map(bare, tree)) if isinstance(tree, list) else tree

    return bare(to_json(check(text, schema))["root"])


SIGNS = ("&&", "||")
FIELDS = ("request.method", "request.path", 'request.headers["x-a"]', "request.user_agent.lower()")


def condition(choices: Choices, schema: Schema) -> str:
    """A comparison as operators write it, or any expression that is true or false."""
    if happens(choices, 50):
        depth = 1 + choices.below(3)
        return f"({ExpressionGenerator(choices, schema).expression(BOOL, depth)})"
    field, value = pick(choices, FIELDS), string_literal(pick(choices, WORDS))
    shape = pick(
        choices, ("{} == {}", "{} != {}", "{} in [{}]", "!({} in [{}])", "!{}.contains({})")
    )
    return shape.format(field, value)


def expression(choices: Choices, schema: Schema) -> str:
    """Conditions in groups, with parentheses that are needed and some that are not."""
    parts = [condition(choices, schema) for _ in range(1 + choices.below(4))]
    if len(parts) > 2 and happens(choices, 50):
        inner = f" {pick(choices, SIGNS)} ".join(parts[1:])
        parts = [parts[0], f"({inner})" if happens(choices, 50) else inner]
    return f" {pick(choices, SIGNS)} ".join(parts)


def test_rows_keep_the_tree_of_an_expression(node: None) -> None:
    """Generated expressions go through rows, each row written anew and each group turned twice:
    the canonical tree is the same, and so are the rows."""
    choices = RandomChoices(random.Random(24))
    schema = events.schema(choices)
    trees: dict[str, Any] = {}
    while len(trees) < WANTED:
        text = expression(choices, schema)
        try:
            trees[text] = tree_of(text, schema)
        except ExpressionError:
            continue
    given = {"methods": METHODS, "texts": list(trees)}
    answers = json.loads(run_node("rows.mjs", json.dumps(given)))
    kinds = [kind for answer in answers for kind in answer["kinds"]]
    assert min(kinds.count(kind) for kind in ("comparison", "group", "text")) > WANTED // 50
    wrong = {
        text: answer
        for (text, tree), answer in zip(trees.items(), answers, strict=True)
        if not answer["same"]
        or (answer["text"] != text and tree_of(answer["text"], schema) != tree)
    }
    assert wrong == {}
