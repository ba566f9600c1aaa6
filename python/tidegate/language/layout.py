"""Documents with possible line breaks, and their layout.

The algebra of Wadler's "A prettier printer", with the usual stack machine: a group is laid out flat
if it fits the width; otherwise its lines become newlines. A comment forces every enclosing group to
break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence


@attrs.frozen
class Line:
    """A newline in a broken group, ``flat`` in an unbroken one."""

    flat: str = " "


@attrs.frozen
class Hard:
    """A newline, always."""


@attrs.frozen
class Forced:
    """The end of a comment: the enclosing groups must break, and no text follows on its line."""


@attrs.frozen
class Group:
    """Laid out flat if it fits; ``rigid`` groups break only if something in them must."""

    content: Document
    rigid: bool = False
    forced: bool = attrs.field(init=False)

    @forced.default
    def _forced(self) -> bool:
        return is_forced(self.content)


@attrs.frozen
class Nest:
    """Lines inside are indented further."""

    content: Document
    indent: int = 2


Document: TypeAlias = "str | Line | Hard | Forced | Group | Nest | Sequence[Document]"

LINE = Line()
SOFT = Line("")
HARD = Hard()
FORCED = Forced()


def is_forced(document: Document) -> bool:
    """Whether a document contains a forced newline."""
    match document:
        case str() | Line():
            return False
        case Hard() | Forced():
            return True
        case Group():
            return document.forced
        case Nest(content=content):
            return is_forced(content)
        case _:
            return any(map(is_forced, document))


def lay_out(document: Document, width: int) -> str:
    """The text of a document, in lines of at most ``width`` columns where breaks are possible."""
    out: list[str] = []
    column = 0
    ended = False
    stack: list[tuple[int, bool, Document]] = [(0, False, document)]
    while stack:
        indent, flat, current = stack.pop()
        match current:
            case "":
                pass
            case str() if ended:
                stack += [(indent, flat, current), (indent, flat, HARD)]
                ended = False
            case str():
                out.append(current)
                column += len(current)
            case Line() if flat:
                out.append(current.flat)
                column += len(current.flat)
            case Line() | Hard():
                out.append("\n" + " " * indent)
                column = indent
                ended = False
            case Forced():
                ended = True
            case Nest():
                stack.append((indent + current.indent, flat, current.content))
            case Group():
                fits = not current.forced and (
                    flat or current.rigid or _fits(current.content, width - column, stack)
                )
                stack.append((indent, fits, current.content))
            case _:
                stack.extend((indent, flat, part) for part in reversed(current))
    lines = "".join(out).split("\n")
    return "\n".join(line.rstrip(" ") for line in lines)


def _fits(document: Document, room: int, rest: list[tuple[int, bool, Document]]) -> bool:
    """Whether a document, laid out flat, and the rest of its line fit in ``room``."""
    stack: list[tuple[bool, Document]] = [(True, document)]
    following = len(rest)
    while room >= 0:
        if not stack:
            if following == 0:
                return True
            following -= 1
            _, flat, document = rest[following]
            stack.append((flat, document))
        flat, current = stack.pop()
        match current:
            case str():
                room -= len(current)
            case Line():
                if not flat:
                    return True
                room -= len(current.flat)
            case Hard() | Forced():
                return True
            case Nest():
                stack.append((flat, current.content))
            case Group():
                stack.append((flat or not current.forced, current.content))
            case _:
                stack.extend((flat, part) for part in reversed(current))
    return False
