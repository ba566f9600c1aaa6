"""The expressions in definitions, each checked for its use.

Checking takes nearly all the time of reading definitions. A check stays valid while the names that
the text could refer to stay the same, so a change of one object costs one object's check.
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

import attrs

from tidegate.language.check.checker import CheckedExpression, check
from tidegate.language.tree.checked import ASK_LISTS
from tidegate.language.tree.schema import Schema
from tidegate.types import BOOL, CIDR, INT, IP, STRING, UINT, Type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from tidegate.limits import Limits
    from tidegate.types import NamedList


class Use(Enum):
    """The place of an expression, which determines its names and types."""

    ACTION = auto()
    CONDITION = auto()
    CONDITION_ON_ENTITY = auto()
    KEY = auto()
    """A key field, or the field of a distinct window."""
    HEADER = auto()


_EXPECTED: Mapping[Use, tuple[Type, ...]] = {
    Use.ACTION: (BOOL,),
    Use.CONDITION: (BOOL,),
    Use.CONDITION_ON_ENTITY: (BOOL,),
    Use.KEY: (STRING, INT, UINT, BOOL, IP, CIDR),
    Use.HEADER: (STRING,),
}


@attrs.frozen
class Names:
    """The names that an expression may use besides an event's fields.

    Attributes:
        actions: every slug.
        lists: every slug; the check ignores entries.
        texts: the slugs of lists of texts.
    """

    actions: frozenset[str]
    lists: frozenset[str]
    texts: frozenset[str] = frozenset()


CheckedTexts: TypeAlias = "dict[tuple[Use, str], CheckedExpression]"
"""Expressions by use and text."""


class Expressions:
    """Checks expressions with the names of one set of definitions, and keeps those that passed.

    Args:
        actions: slugs, including disabled actions': disabling an action must not make the policies
            that name it invalid.
        lists: by slug.
        limits: limits on each expression.
        before: those of an earlier set, for reuse.
    """

    def __init__(
        self,
        actions: Iterable[str],
        lists: Mapping[str, NamedList],
        limits: Limits,
        before: Expressions | None = None,
    ) -> None:
        texts = (slug for slug, named in lists.items() if named.kind == "string")
        self.names = Names(frozenset(actions), frozenset(lists), frozenset(texts))
        self.limits = limits
        basic = Schema.default().with_lists(lists)
        all_actions = basic.with_actions(sorted(self.names.actions))
        self.schemas: Mapping[Use, Schema] = {
            Use.ACTION: basic,
            Use.CONDITION: all_actions,
            Use.CONDITION_ON_ENTITY: all_actions.with_entity_state(),
            Use.KEY: all_actions,
            Use.HEADER: all_actions,
        }
        self._checked: CheckedTexts = {}
        self._noted: CheckedTexts = {}
        is_alike = before is not None and before.limits == limits
        # Only the checks, not the set they belong to: otherwise sets would keep each other alive
        # forever.
        self._before = before._checked if before is not None and is_alike else {}
        self._names_before = before.names if before is not None else self.names

    def check(self, text: str, use: Use) -> CheckedExpression:
        """The checked expression.

        Raises:
            ExpressionError: the text does not parse or does not check.
        """
        known = self._checked.get((use, text)) or self._known_before(text, use)
        if known is None:
            known = check(text, self.schemas[use], expect=_EXPECTED[use], limits=self.limits)
        self._checked[use, text] = self._noted[use, text] = known
        return known

    @contextmanager
    def noted(self) -> Iterator[CheckedTexts]:
        """Record which expressions are checked in the block."""
        noted: CheckedTexts = {}
        self._noted = noted
        yield noted
        self._noted = {}

    def keep(self, checked: CheckedTexts) -> None:
        """Keep expressions that were checked before and are still valid."""
        self._checked.update(checked)

    def all(self) -> Collection[CheckedExpression]:
        """Every expression of the set, each once for each use."""
        return self._checked.values()

    def finish(self) -> None:
        """Drop earlier checks that are no longer used."""
        self._before = {}

    def _known_before(self, text: str, use: Use) -> CheckedExpression | None:
        # An action is named by `actions.SLUG`, a list in one of few functions; there isn't another
        # way.
        if "actions" in text and self.names.actions != self._names_before.actions:
            return None
        lists = (self.names.lists, self.names.texts)
        are_new = lists != (self._names_before.lists, self._names_before.texts)
        if are_new and any(function in text for function in ASK_LISTS):
            return None
        return self._before.get((use, text))
