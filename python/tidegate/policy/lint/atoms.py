"""Conditions as alternatives: a condition holds if all tests of one alternative hold.

The alternatives say exactly when a condition holds, errors included: ``a && b`` holds if both do,
``a || b`` if one does, whatever the other is. A part that would give too many alternatives stays
one test.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate.language.tree.ast import Span
from tidegate.language.tree.checked import And, Call, Conditional, Field, Index, Literal, Or, Select
from tidegate.policy.lint.constraints import read_constraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tidegate.language.tree.checked import Checked
    from tidegate.policy.lint.constraints import Constraint

MAX_ALTERNATIVES = 64
ACTION = "actions."
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@attrs.frozen(eq=False)
class Atom:
    """A test, and the result that it must have.

    Two are equal if they are the same test with the same result, wherever they are written.
    """

    node: Checked
    wanted: bool = True

    @cached_property
    def key(self) -> str:
        """The test as text; spans are not part of it."""
        return repr(self.node)

    @cached_property
    def constraint(self) -> Constraint | None:
        """The constraint on a part of the event, if the atom compares that with constants."""
        return read_constraint(self.node, self.wanted)

    @property
    def about(self) -> str:
        """The part of the event that it tests, as text; itself if it isn't a constraint."""
        return self.key if self.constraint is None else self.constraint.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.wanted is other.wanted and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.key, self.wanted))

    @property
    def opposite(self) -> Atom:
        """The same test with the other result."""
        return Atom(self.node, not self.wanted)

    @property
    def is_action(self) -> bool:
        """Whether it asks for a matched action."""
        return self.wanted and isinstance(self.node, Field) and self.node.name.startswith(ACTION)


Alternative: TypeAlias = "frozenset[Atom]"
_Alternatives: TypeAlias = "list[Alternative]"


def alternatives(
    conditions: Iterable[Checked], actions: Mapping[str, Checked]
) -> list[Alternative]:
    """The alternatives in which several conditions all hold.

    Args:
        conditions: checked expressions.
        actions: the expressions of enabled actions by slug; a test for one includes its tests.
    """
    return _Reader(actions).all_of([(normal(each), True) for each in conditions])


@attrs.frozen
class _Reader:
    actions: Mapping[str, Checked]

    def read(self, node: Checked, wanted: bool) -> _Alternatives:
        match node:
            case Call("!", _, (operand,)):
                return self.read(operand, not wanted)
            case Call("!=", is_member, arguments):
                equal = Call("==", is_member, arguments, span=node.span)
                return self.read(equal, not wanted)
            case And(operands):
                join = self.all_of if wanted else self.any_of
                return join([(each, wanted) for each in operands])
            case Or(operands):
                join = self.any_of if wanted else self.all_of
                return join([(each, wanted) for each in operands])
            case Conditional(condition, then, otherwise):
                return self.any_of_all(
                    [[(condition, True), (then, wanted)], [(condition, False), (otherwise, wanted)]]
                )
            case Field(name) if wanted and name.removeprefix(ACTION) in self.actions:
                found = self.read(normal(self.actions[name.removeprefix(ACTION)]), True)
                return [each | {Atom(node)} for each in found]
            case _:
                return [frozenset((Atom(node, wanted),))]

    def all_of(self, parts: Iterable[tuple[Checked, bool]]) -> _Alternatives:
        found: _Alternatives = [frozenset()]
        for node, wanted in parts:
            each = self.read(node, wanted)
            if len(found) * len(each) > MAX_ALTERNATIVES:
                each = [frozenset((Atom(node, wanted),))]
            found = [one | other for one in found for other in each]
        return found

    def any_of(self, parts: Iterable[tuple[Checked, bool]]) -> _Alternatives:
        return self.any_of_all([part] for part in parts)

    def any_of_all(self, parts: Iterable[list[tuple[Checked, bool]]]) -> _Alternatives:
        return [each for part in parts for each in self.all_of(part)]


def normal(root: Checked) -> Checked:
    """A tree in which equal tests are written the same way."""

    def change(node: Any) -> Any:
        match node:
            case Select(operand, name, optional):
                return Index(operand, Literal(name), optional, span=node.span)
            case Call(function, is_member, (Literal() as left, right)) if (
                function in _MIRRORED and not isinstance(right, Literal)
            ):
                return Call(_MIRRORED[function], is_member, (right, left), span=node.span)
            case _:
                return node

    made: Checked = rewritten(root, change)
    return made


def rewritten(node: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with every node replaced by what ``change`` returns for it, from the leaves up."""
    if isinstance(node, tuple):
        parts = tuple(rewritten(each, change) for each in node)
        is_kept = all(one is other for one, other in zip(parts, node, strict=True))
        return node if is_kept else parts
    if not attrs.has(type(node)) or isinstance(node, Span):
        return node
    if isinstance(node, Literal):
        return change(node)
    members = {each.name: getattr(node, each.name) for each in attrs.fields(type(node))}
    made = {name: rewritten(value, change) for name, value in members.items()}
    is_same = all(made[name] is value for name, value in members.items())
    return change(node if is_same else attrs.evolve(node, **made))
