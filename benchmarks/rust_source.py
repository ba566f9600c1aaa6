"""Functions and imports of Rust files, read without a parser.

Comments and strings are blanked first, so that nothing in them counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/
    |\b(?:br|cr|r)(?P<hash>\#*)".*?"(?P=hash)
    |"(?:\\.|[^"\\])*"
    |'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'""",
    re.DOTALL | re.VERBOSE,
)
_FUNCTION = re.compile(r"\bfn\s+(?P<name>\w+)")
_TESTS = re.compile(r"#\[cfg\(test\)\](?:\s*#\[[^\]]*\])*\s*(?:pub\S*\s+)?mod\s+\w+\s*\{")
_USE = re.compile(r"(?<![\w$])use\s+(?P<tree>[^;]+);")
_PATH = re.compile(r"(?<![\w:.$'])\$?(?P<path>(?:crate|super|self)(?:::\w+)+)")


class Function(NamedTuple):
    """A function with a body."""

    name: str
    line: int
    lines: int


def code_of(text: str) -> str:
    """The text with spaces for comments and strings: every character stays where it is."""
    return _NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def without_tests(code: str) -> str:
    """Code without its modules of tests."""
    while match := _TESTS.search(code):
        code = code[: match.start()] + code[_closing(code, match.end() - 1) + 1 :]
    return code


def functions(text: str) -> Iterator[Function]:
    """Every function with a body, with the lines from its first to its closing brace."""
    code = code_of(text)
    for match in _FUNCTION.finditer(code):
        body = _body(code, match.end())
        if body is not None:
            lines = code.count("\n", match.start(), _closing(code, body)) + 1
            yield Function(match["name"], code.count("\n", 0, match.start()) + 1, lines)


def paths(code: str) -> Iterator[tuple[str, ...]]:
    """Every path of the own crate in code, with each name that a use line imports."""
    uses = []
    for match in _USE.finditer(code):
        uses.append(match.span())
        yield from _names(match["tree"], ())
    for match in _PATH.finditer(code):
        if not any(start <= match.start() < end for start, end in uses):
            yield tuple(match["path"].split("::"))


def _names(tree: str, before: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    head, brace, rest = tree.partition("{")
    path = (*before, *(part.strip() for part in head.split(" as ")[0].split("::") if part.strip()))
    if not brace:
        yield path
        return
    for part in _parts(rest[: rest.rindex("}")]):
        yield from _names(part, path)


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that are outside of braces."""
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and not depth:
            yield text[start:place]
            start = place + 1
    if text[start:].strip():
        yield text[start:]


def _body(code: str, start: int) -> int | None:
    """The start of a function's body; None for one without."""
    depth = 0
    for place in range(start, len(code)):
        depth += (code[place] in "([") - (code[place] in ")]")
        if not depth and code[place] == "{":
            return place
        if not depth and code[place] == ";":
            return None
    return None


def _closing(code: str, start: int) -> int:
    """The brace that closes the one at ``start``."""
    depth = 0
    for place in range(start, len(code)):
        depth += (code[place] == "{") - (code[place] == "}")
        if not depth:
            return place
    return len(code) - 1
