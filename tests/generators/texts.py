"""``python -m tests.generators.texts``: texts that both ways of parsing must read alike.

The parser runs Lark's tables by a loop of its own and leaves texts with mistakes to Lark. Here
every text goes both ways; the trees with all their places, or the findings with their words, are
compared. The texts are those of the corpus, joined, damaged, and made of tokens.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import attrs
import click
from tests.generators.corpus import read_corpus

from tidegate.errors import ExpressionError
from tidegate.language.parse import parser, syntax_errors
from tidegate.language.tree.diagnostics import Diagnostic, in_order
from tidegate.limits import DEFAULT

CORPUS = Path(__file__).parents[1] / "corpus"
TOKENS = (
    *("request", "path", "headers", "body", "fields", "x", "k", "has", "exists", "all", "map"),
    *(".", ".", "(", ")", "(", ")", "[", "]", "{", "}", ",", ",", ":", "?", ".?", "[?"),
    *("&&", "||", "&&", "||", "!", "-", "+", "*", "/", "%", "==", "!=", "<", ">=", "in"),
    *("1", "0", "2u", "1.5", "0x1F", "1e400", "9223372036854775808", "'a'", "b'a'", '"(a"'),
    *("r'\\d'", "'\\q'", "null", "true", "false", "`a-b`", "if", "and", "or", "=", "===", "=~"),
    *("&", "^", "//c\n", "'''", "\\", "\x00", "é", "\n", "  ", "#"),
)


def damaged(text: str, dice: Random) -> str:
    """A text with a few characters or tokens deleted, repeated, moved or put in."""
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(text) + 1)
        end = min(len(text), at + dice.choice((1, 1, 1, 2, 5, 20)))
        match dice.randrange(4):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + dice.choice(TOKENS) + text[at:]
            case 2:
                text = text[:at] + dice.choice(TOKENS) + text[end:]
            case _:
                text = text[:at] + text[at:end] + text[at:]
    return text


def texts(seed: int) -> Iterator[str]:
    """Endlessly many texts; the corpus comes first, as it is."""
    dice = Random(seed)
    corpus = [case.text for case in read_corpus(CORPUS)]
    yield from corpus
    short = [text for text in corpus if len(text) < 300]
    while True:
        match dice.randrange(6):
            case 0:
                yield " ".join(dice.choices(TOKENS, k=dice.randrange(1, 14)))
            case 1:
                yield f"{dice.choice(short)} {dice.choice(TOKENS)} {dice.choice(short)}"
            case 2 | 3:
                first, second, third = dice.choices(short, k=3)
                yield dice.choice((f"({first}) && {second}", f"{first} ? [{second}] : {third}"))
            case _:
                yield damaged(dice.choice(short), dice)


def by_lark(text: str) -> Any:
    """The result of Lark's own loop: a tree, or findings."""
    found: list[Diagnostic] = []
    previous = syntax_errors.findings.set(found)
    try:
        tree = parser._explained(parser._Reading(text, DEFAULT.nesting), found)
    finally:
        syntax_errors.findings.reset(previous)
    found = found or parser._past_limits(tree, DEFAULT)
    return tuple(in_order(found)) if found else spelled(tree)


def as_shipped(text: str) -> Any:
    """The result of the parser as it ships: a tree, or findings."""
    try:
        return spelled(parser.parse(text))
    except ExpressionError as refusal:
        return refusal.diagnostics


def spelled(node: Any) -> Any:
    """A tree as nested tuples, with the places that nodes don't compare."""
    if isinstance(node, tuple) and not hasattr(node, "_fields"):
        return tuple(map(spelled, node))
    if attrs.has(type(node)):
        members = (spelled(getattr(node, each.name)) for each in attrs.fields(type(node)))
        return type(node).__name__, *members
    return type(node).__name__, repr(node)


@click.command()
@click.option("--count", default=100_000, show_default=True, help="How many texts to compare.")
@click.option("--seed", default=0, show_default=True, help="The same seed makes the same texts.")
def main(count: int, seed: int) -> None:
    """Compare both ways of parsing; exit 1 at a difference."""
    started, refused = time.monotonic(), 0
    for number, text in enumerate(texts(seed)):
        if number == count:
            break
        expected, found = by_lark(text), as_shipped(text)
        refused += bool(found) and isinstance(found[0], Diagnostic)
        if expected != found:
            click.echo(f"{text!r}\nby Lark:    {expected}\nas shipped: {found}")
            sys.exit(1)
    seconds = time.monotonic() - started
    click.echo(f"{count:,} texts are equal, {refused:,} of them refused, in {seconds:.0f} s")


if __name__ == "__main__":
    main()
