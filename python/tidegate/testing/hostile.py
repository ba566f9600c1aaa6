"""Expressions made to cost too much, written in the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def _nested(opening: str, inside: str, closing: str, depth: int) -> str:
    return opening * depth + inside + closing * depth


def _comprehensions(depth: int) -> str:
    text = "true"
    for level in range(depth):
        text = f"request.headers.all(k{level}, {text})"
    return text


def _doubling(kind: str, rounds: int) -> str:
    start, empty = ('"a"', "==") if kind == "string" else ("[1]", "==")
    binds = "".join(f"cel.bind(v{n + 1}, v{n} + v{n}, " for n in range(rounds))
    return f"cel.bind(v0, {start}, {binds}v{rounds} {empty} v{rounds}" + ")" * (rounds + 1)


def _replacing(rounds: int) -> str:
    return '"a"' + '.replace("a", "aa")' * rounds + ' == "a"'


def _joining(rounds: int) -> str:
    return '"a,a"' + '.split(",").map(x, x + ",a,a").join(",")' * rounds + ' == "a"'


SHAPES: dict[str, Callable[[int], str]] = {
    "nested_parentheses": lambda n: _nested("(", "true", ")", n),
    "nested_not": lambda n: "!" * n + "true",
    "nested_ternary": lambda n: "false ? true : " * n + "true",
    "member_access_chain": lambda n: "request.body" + ".a" * n + " == 1",
    "and_chain": lambda n: " && ".join(['request.method == "GET"'] * n),
    "or_chain_right_nested": lambda n: _nested('request.method == "GET" || (', "true", ")", n),
    "nested_list_literal": lambda n: _nested("[", "", "]", n) + " == []",
    "nested_function_call": lambda n: _nested("dyn(", "true", ")", n),
    "in_list_literal": lambda n: (
        "request.method in [" + ", ".join(f'"m{i}"' for i in range(n)) + "]"
    ),
    "string_literal_bytes": lambda n: f'request.path == "{"a" * n}"',
    "unary_minus_chain": lambda n: "-" * n + "1 == 1",
    "whitespace_or_comment_bytes": lambda n: " " * n + "true",
    "identifier_bytes": lambda n: "a" * n + " == 1",
    "string_doubling_by_concat": lambda n: _doubling("string", n),
    "list_doubling_by_concat": lambda n: _doubling("list", n),
    "replace_all_growth": _replacing,
    "split_then_join_growth": _joining,
    "nested_comprehension_over_headers": _comprehensions,
}

SIZES = (1, 20, 64, 65, 1_000, 20_000)


def written(case: dict[str, Any]) -> str | None:
    """The expression for one case of the shared set, or None where it is no expression."""
    shape = case["shape"]
    if shape == "value_edge":
        return str(case["expr"])
    if shape == "regex_pattern":
        return f"request.path.matches({quoted(case['pattern'])})"
    if shape not in SHAPES:
        return None
    size: int = case.get("n") or case.get("depth") or case["rounds"]
    return SHAPES[shape](size)


def quoted(text: str) -> str:
    """The text as a string literal of the language."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'
