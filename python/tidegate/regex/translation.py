"""Writes a regex tree as text for Rust's ``regex`` crate with its default flags.

The text leaves nothing to the library's defaults: no flag, no named class, no dot.  The native
evaluator parses it with ``regex-syntax``, that crate's parser.
"""

from __future__ import annotations

from tidegate.regex.tree import (
    Alternation,
    Assertion,
    Characters,
    Concatenation,
    Empty,
    Group,
    Position,
    Ranges,
    Regex,
    RegexNode,
    Repetition,
)

# Only the ASCII word boundaries need a flag: without `-u` they would be Unicode's.  They match no
# text, so the other effect of the flag (matching half a character) does not arise.
_ASSERTIONS = {
    Position.TEXT_START: r"\A",
    Position.TEXT_END: r"\z",
    Position.LINE_START: "(?m:^)",
    Position.LINE_END: "(?m:$)",
    Position.WORD_BOUNDARY: r"(?-u:\b)",
    Position.NOT_WORD_BOUNDARY: r"(?-u:\B)",
}

_NOTHING = r"[^\x{0}-\x{10FFFF}]"


def translate(regex: Regex) -> str:
    """The text of ``regex`` for the Rust crate, with the same matches and groups."""
    return _text(regex.root)


def _text(node: RegexNode) -> str:
    match node:
        case Empty():
            return "(?:)"
        case Characters(ranges=ranges):
            return _characters(ranges)
        case Assertion(position=position):
            return _ASSERTIONS[position]
        case Group(item=item, name=None):
            return f"({_text(item)})"
        case Group(item=item, name=name):
            return f"(?P<{name}>{_text(item)})"
        case Repetition():
            return _operand(node.item) + _quantifier(node)
        case Concatenation(items=items):
            return "".join(
                f"(?:{_text(item)})" if isinstance(item, Alternation) else _text(item)
                for item in items
            )
        case Alternation(items=items):
            return "|".join(_text(item) for item in items)


def _operand(node: RegexNode) -> str:
    if isinstance(node, Concatenation | Alternation | Repetition):
        return f"(?:{_text(node)})"
    return _text(node)


def _quantifier(node: Repetition) -> str:
    match node.minimum, node.maximum:
        case 0, None:
            text = "*"
        case 1, None:
            text = "+"
        case 0, 1:
            text = "?"
        case minimum, None:
            text = f"{{{minimum},}}"
        case minimum, maximum if minimum == maximum:
            text = f"{{{minimum}}}"
        case minimum, maximum:
            text = f"{{{minimum},{maximum}}}"
    return text if node.greedy else text + "?"


def _characters(ranges: Ranges) -> str:
    if not ranges:
        return _NOTHING
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _literal(ranges[0][0])
    return "[" + "".join(map(_range, ranges)) + "]"


def _literal(code_point: int) -> str:
    character = chr(code_point)
    return character if character.isascii() and character.isalnum() else _escape(code_point)


def _range(pair: tuple[int, int]) -> str:
    low, high = pair
    return _escape(low) if low == high else f"{_escape(low)}-{_escape(high)}"


def _escape(code_point: int) -> str:
    return f"\\x{{{code_point:X}}}"
