"""Counts the contents of a tree while it is built, to stop reading hopeless documents early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.language.tree.diagnostics import quote
from tidegate.policy.definitions import shapes
from tidegate.policy.document import tree
from tidegate.policy.document.members import text_problem
from tidegate.policy.document.tree import Scalar, unreadable

if TYPE_CHECKING:
    from tidegate.policy.document.expected import Expected
    from tidegate.policy.document.tree import Node


class NodeCount:
    """Counts a tree's nodes while it is built, and the mistakes that show at once.

    The reader would report each of these too.  A list or object in the wrong place, or for an
    unknown member, isn't entered: it is one mistake.
    """

    def __init__(self) -> None:
        self._left = tree.MAX_NODES
        self._mistakes = 0

    def name(
        self, name: str, around: Expected, members: int, offset: int | None
    ) -> Expected | None:
        """Count a member name in an object; return the expected value.

        Args:
            name: the member's name.
            around: the object.
            members: its earlier members.
            offset: the name's offset.

        Returns:
            None if the member doesn't exist.

        Raises:
            UnreadableDocumentError: too many mistakes.
        """
        found = around.member(name)
        if found is None:
            self._mistake("unknown-member", f"unknown member {quote(name)}", offset)
        elif around.kind == "object" and members >= len(around.members):
            self._mistake("duplicate-member", f"{quote(name)} is given twice", offset)
        elif around.kind == "free" and members >= around.maximum:
            self._mistake("wrong-length", f"more than {around.maximum} names", offset)
        return found

    def scalar(self, value: object, wanted: Expected, offset: int | None) -> None:
        """Count a text, number, bool or null.

        Raises:
            UnreadableDocumentError: too many mistakes.
        """
        fits = isinstance(value, wanted.types)
        if isinstance(value, bool):
            fits = bool in wanted.types
        if not fits and wanted.kind != "any":
            self._mistake("wrong-type", f"a value of a wrong type: {quote(str(value))}", offset)
        elif wanted.checked is not None and value is not None:
            problem = _problem(wanted.checked, value)
            if problem is not None:
                self._mistake(*problem, offset)

    def collection(self, wanted: Expected, *, is_object: bool, offset: int | None) -> bool:
        """Count a list or an object; return whether it is allowed.

        Raises:
            UnreadableDocumentError: too many mistakes.
        """
        if wanted.kind in (("object", "free", "any") if is_object else ("list", "any")):
            return True
        found = "an object" if is_object else "a list"
        self._mistake("wrong-type", f"{found} where there may be none", offset)
        return False

    def end(self, entries: list[tuple[Scalar, Node]], of: Expected, offset: int | None) -> None:
        """Count the required members that an object lacks.

        Raises:
            UnreadableDocumentError: too many mistakes.
        """
        if of.required:
            given = {
                key.value
                for key, value in entries
                if not isinstance(value, Scalar) or value.value is not None
            }
            if not of.required <= given:
                missing = min(of.required - given)
                self._mistake("missing-member", f"`{missing}` is missing", offset)

    def _mistake(self, code: str, message: str, offset: int | None) -> None:
        self._mistakes += 1
        if self._mistakes > tree.MAX_MISTAKES:
            message = f"more than {tree.MAX_MISTAKES:,} mistakes; the last one read: {message}"
            raise unreadable(code, message, offset)

    def item(self, items: int, around: Expected, offset: int | None) -> Expected:
        """Count one more item of a list; return the expected value.

        Raises:
            UnreadableDocumentError: too many items or mistakes.
        """
        if items >= tree.MAX_ITEMS:
            message = f"more than {tree.MAX_ITEMS:,} items, the most that a list may have"
            raise unreadable("document-too-large", message, offset)
        if around.item is None:
            return around
        if items >= around.maximum:
            message = f"more than {around.maximum:,} items"
            self._mistake("wrong-length", message, offset)
        return around.item

    def add(self, depth: int, offset: int | None, nodes: int = 1) -> None:
        """Count one or more nodes at this depth.

        Raises:
            UnreadableDocumentError: too many, or too deep.
        """
        self._left -= nodes
        if self._left < 0:
            raise unreadable("document-too-large", f"more than {tree.MAX_NODES} values", offset)
        if depth > tree.MAX_DEPTH:
            raise unreadable("document-too-deep", f"nested deeper than {tree.MAX_DEPTH}", offset)


def _problem(shape: shapes.Shape, value: object) -> tuple[str, str] | None:
    """Why a value of the right type does not fit a shape, as code and message."""
    if isinstance(shape, (shapes.Integer, shapes.Number)):
        if isinstance(value, (int, float)) and not shape.minimum <= value <= shape.maximum:
            return "out-of-range", f"{value} is not between {shape.minimum} and {shape.maximum}"
        return None
    return text_problem(shape, str(value))
