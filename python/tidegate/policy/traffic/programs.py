"""Expressions compiled to run over recorded events, in which they see actions, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import orjson

from tidegate.errors import EventError
from tidegate.evaluation.rules import bundle, read_rules
from tidegate.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.evaluation.matches import Matches
    from tidegate.evaluation.rules import Rules
    from tidegate.language.check.checker import CheckedExpression
    from tidegate.language.tree.schema import Schema
    from tidegate.values import Network

_ACTION = "actions."
_RECOGNISED = "recognised."
"""The prefix of recognised fields in programs: fields of an action are decided, not read."""


@attrs.frozen
class Programs:
    """Expressions to run over events.

    Attributes:
        rules: their programs, by given name.
        named: the actions they refer to.
        actions: the programs of these actions; a disabled action has none.
    """

    rules: Rules
    named: tuple[str, ...]
    actions: Rules

    def with_actions(self, events: Sequence[bytes]) -> list[bytes]:
        """Add the fields to events that say which of the actions they are."""
        if not self.named:
            return list(events)
        found = self.actions.match_batch(events, False)
        return [
            _with_members(
                event, {f"{_RECOGNISED}{name}": name in _matched(each) for name in self.named}
            )
            for event, each in zip(events, found, strict=True)
        ]

    def match(self, events: Sequence[bytes]) -> list[Matches | EventError]:
        """Return the expressions that match each event from :meth:`with_actions`."""
        return self.rules.match_batch(events, True)


def named_actions(checked: Mapping[str, CheckedExpression]) -> frozenset[str]:
    """The slugs of the actions that expressions refer to."""
    fields = {field for each in checked.values() for field in each.references.fields}
    return frozenset(each.removeprefix(_ACTION) for each in fields if each.startswith(_ACTION))


def compile_programs(
    checked: Mapping[str, CheckedExpression],
    actions: Mapping[str, CheckedExpression],
    schema: Schema,
    trusted_proxies: Sequence[Network],
) -> Programs:
    """Compile checked expressions.

    Args:
        checked: the expressions, by name.
        actions: the enabled actions that they refer to, by slug.
        schema: the fields, and the lists with their entries, that they read.
        trusted_proxies: of the tenant, so that they see the addresses that its rules see.
    """
    named = named_actions(checked)
    schema = schema.with_variables(dict.fromkeys((f"{_RECOGNISED}{each}" for each in named), BOOL))
    rules, of_actions = (_compiled(each, schema, trusted_proxies) for each in (checked, actions))
    return Programs(rules, tuple(sorted(named)), of_actions)


def _compiled(
    checked: Mapping[str, CheckedExpression], schema: Schema, trusted_proxies: Sequence[Network]
) -> Rules:
    # Quotes within a text are escaped, so this only occurs in nodes that read a field.
    named, read = (f'"name":"{each}'.encode() for each in (_ACTION, _RECOGNISED))
    text = bundle(checked, schema, trusted_proxies=trusted_proxies)
    return read_rules(text.replace(named, read), "native")


def _matched(found: Matches | EventError) -> list[str]:
    return [] if isinstance(found, EventError) else found.matched


def _with_members(event: bytes, members: Mapping[str, bool]) -> bytes:
    """Add members to an event, an object in compact JSON; an unreadable one stays empty."""
    if not event:
        return event
    added = orjson.dumps(members)
    return added if event == b"{}" else added[:-1] + b"," + event[1:]
