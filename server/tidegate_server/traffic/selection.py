"""A tenant's expressions, compiled to run over recorded events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.errors import ExpressionError
from tidegate.functions.addresses import parse_range
from tidegate.language.tree.diagnostics import Source
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT
from tidegate.policy.definitions.expressions import Expressions, Use
from tidegate.policy.traffic.programs import compile_programs, named_actions
from tidegate.types import NamedList
from tidegate_server.engines.definition_set import load_set
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.wire.kinds import ACTION, LIST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.traffic.programs import Programs
    from tidegate_server.control.call import Call
    from tidegate_server.engines.definition_set import DefinitionSet


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
        named = named_actions(checked)
        actions = {
            each.slug: self.expressions.check(each.body["expression"], Use.ACTION)
            for each in self.known.objects[ACTION.section]
            if each.slug in named and each.body.get("enabled", True)
        }
        schema = self._schema([*checked.values(), *actions.values()])
        settings = self.known.tenant.settings
        proxies: Iterable[str] = settings.get("trusted_proxies", ())
        trusted = [found for each in proxies if (found := parse_range(each)) is not None]
        return compile_programs(checked, actions, schema, trusted)

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
