"""Expressions made to cost too much, written in the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


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

CROWDED = (
    "a[ab]{30}c",
    "a[ab]{300}c",
    "[ab]*a[ab]{900}c",
    "(?i)k[k-s]{1000}z",
    "(?:[ab]{1,1000}c)",
    "[ab]{1000}" * 20 + "c",
    "(?:ab|ba|a|b){300}c",
    "(?:(?:a|bc)?(?:ab|b)?){200}c",
    "(?:(?:a|b){1,10}c?){100}d",
    "(?:" + "|".join(f"{number:04b}" for number in range(16)).translate({48: 97, 49: 98}) + "|.)*",
    "(?:(a)|(b)|[ab])*",
    "a?" * 20 + "[ab]*c",
    r"(?:\b\w{1,20}\b\W?){30}z",
    r"(?:\b|a|b){20}c",
    r"(?:\Ba|\bb|^c|(?m:$)a|b\b)+z",
    r"\pL{40}z",
    r"[^a]{300}z",
    r"(?i)(?:k|s|\pL){20}z",
    "(?:(?:(?:(?:a|b)?[ab]){2}){3}[ab]?){50}c",
    "((((((((((a*)*)*)*)*)*)*)*)*)*)*c",
    "(?:a|b|ab)*?(a[ab]{300})c",
    "(.*a){12}",
)
"""Patterns that keep as many of their states alive as they may, on text of a and b."""


def crowd(dice: Random) -> str:
    """A pattern of the kind, of any shape: nested counts, alternations, classes, words."""
    return _crowd(dice, 5) + "[^a-z ]"


def _crowd(dice: Random, depth: int) -> str:
    def inner() -> str:
        return f"(?:{_crowd(dice, depth - 1)})"

    match dice.randrange(7 if depth else 2):
        case 0:
            return dice.choice(["a", "b", "c", ".", "[ab]", "[^c]", r"\w", " ", "ab", "abc"])
        case 1:
            return dice.choice(["[ab]", "[a-c]", r"\b", "a", "b", r"\w", r"\pL"])
        case 2 | 3:
            return "".join(inner() for _ in range(dice.randrange(2, 6)))
        case 4:
            return "(?:" + "|".join(inner() for _ in range(dice.randrange(2, 12))) + ")"
        case _:
            count = dice.choice([2, 5, 10, 30, 100, 300])
            counts = [f"{{{count}}}", f"{{{count},}}", f"{{0,{count}}}", f"{{{count},{2 * count}}}"]
            return inner() + dice.choice(["*", "+", "?", *counts])


SIZES = (1, 20, 64, 65, 1_000, 20_000)


def written(case: dict[str, Any]) -> str | None:
    """The expression for one case of the shared set, or None where it isn't an expression."""
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
