"""A tenant's expressions, compiled to run over recorded events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import orjson

from tidegate.errors import EventError, ExpressionError
from tidegate.evaluation.rules import bundle, read_rules
from tidegate.language.tree.diagnostics import Source
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT
from tidegate.policy.definitions.expressions import Expressions, Use
from tidegate.types import BOOL, NamedList
from tidegate_server.engines.definition_set import load_set
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.wire.kinds import ACTION, LIST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from tidegate.evaluation.matches import Matches
    from tidegate.evaluation.rules import Rules
    from tidegate.language.check.checker import CheckedExpression
    from tidegate_server.control.call import Call
    from tidegate_server.engines.definition_set import DefinitionSet

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


@attrs.frozen
class TenantExpressions:
    """The names that a tenant's expressions can use, and their meaning.

    Attributes:
        known: the definitions of the tenant.
        expressions: checks expressions against them.
    """

    known: DefinitionSet
    expressions: Expressions

    @classmethod
    def of(cls, call: Call, connection: Connection) -> TenantExpressions:
        """Return the expressions of the call's tenant, by its saved definitions."""
        known = load_set(connection, call.tenant_id, call.app.known.newest(call.tenant_id))
        actions = (each.slug for each in known.objects[ACTION.section])
        # No type depends on the entries.
        lists = {
            each.slug: NamedList(each.body["kind"], ()) for each in known.objects[LIST.section]
        }
        return cls(known, Expressions(actions, lists, DEFAULT))

    def check(self, text: str, use: Use, pointer: str) -> CheckedExpression:
        """Check an expression in the body of a request.

        Raises:
            Problem: ``invalid-request``, with the position of each finding in the text.
        """
        try:
            return self.expressions.check(text, use)
        except ExpressionError as error:
            source = Source(text)
            places = [(each, source.position(each.span.start)) for each in error.diagnostics]
            errors = [
                ErrorDetail(
                    detail=each.message,
                    code=each.code,
                    pointer=pointer,
                    line=place.line,
                    column=place.column,
                )
                for each, place in places
            ]
            raise Problem("invalid-request", "the expression is not valid", errors=errors) from None

    def compile(self, checked: Mapping[str, CheckedExpression]) -> Programs:
        """Compile checked expressions, with the actions and lists that they refer to."""
        named = {
            field.removeprefix(_ACTION)
            for each in checked.values()
            for field in each.references.fields
            if field.startswith(_ACTION)
        }
        actions = {
            each.slug: self.expressions.check(each.body["expression"], Use.ACTION)
            for each in self.known.objects[ACTION.section]
            if each.slug in named and each.body.get("enabled", True)
        }
        schema = self._schema([*checked.values(), *actions.values()])
        schema = schema.with_variables(
            dict.fromkeys((f"{_RECOGNISED}{each}" for each in named), BOOL)
        )
        return Programs(
            _compiled(checked, schema), tuple(sorted(named)), _compiled(actions, schema)
        )

    def _schema(self, checked: Sequence[CheckedExpression]) -> Schema:
        """Return the tenant's fields, and the lists in the expressions with their entries."""
        named = {each for one in checked for each in one.references.lists}
        lists = {
            each.slug: NamedList(each.body["kind"], tuple(each.body.get("entries", ())))
            for each in self.known.objects[LIST.section]
            if each.slug in named
        }
        fields = self.expressions.schemas[Use.CONDITION].fields
        return Schema(fields).with_lists(lists)


def _compiled(checked: Mapping[str, CheckedExpression], schema: Schema) -> Rules:
    # Quotes within a text are escaped, so this only occurs in nodes that read a field.
    named, read = (f'"name":"{each}'.encode() for each in (_ACTION, _RECOGNISED))
    return read_rules(bundle(checked, schema).replace(named, read), "native")


def _matched(found: Matches | EventError) -> list[str]:
    return [] if isinstance(found, EventError) else found.matched


def _with_members(event: bytes, members: Mapping[str, bool]) -> bytes:
    """Add members to an event, an object in compact JSON; an unreadable one stays empty."""
    if not event:
        return event
    added = orjson.dumps(members)
    return added if event == b"{}" else added[:-1] + b"," + event[1:]
