"""Definitions to what an engine runs: expressions checked, references resolved, order fixed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import attrs

from tidegate.errors import ExpressionError
from tidegate.evaluation.addresses import parse_range
from tidegate.language.checker import CheckedExpression, check
from tidegate.language.diagnostics import Source
from tidegate.language.lint import key_warnings
from tidegate.language.schema import NamedList, Schema
from tidegate.language.types import BOOL, CIDR, INT, IP, STRING, UINT, Type
from tidegate.limits import DEFAULT, Limits
from tidegate.policy.compiled import (
    CompiledAction,
    CompiledClause,
    CompiledDefinitions,
    CompiledEntity,
    CompiledMitigation,
    CompiledPolicy,
    CompiledWindow,
)
from tidegate.policy.findings import MAX_FINDINGS, Finding
from tidegate.policy.model import Block, Challenge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.language.diagnostics import Diagnostic
    from tidegate.policy.model import (
        Action,
        Clause,
        Definitions,
        EntityDefinition,
        Mitigation,
        Policy,
        Window,
    )

KEY_TYPES: tuple[Type, ...] = (STRING, INT, UINT, BOOL, IP, CIDR)
"""What a key field, or the field of a distinct window, may be."""
NANOSECONDS = 1_000_000_000
_Made = TypeVar("_Made")


@attrs.frozen
class Compilation:
    """The compiled definitions and every finding; with an error among these, not for use."""

    compiled: CompiledDefinitions
    findings: tuple[Finding, ...]


def compile_all(definitions: Definitions, limits: Limits = DEFAULT) -> Compilation:
    """Check every expression and put together what is live.

    Expressions of disabled objects are checked too: they must be fit to be enabled.
    References are taken as checked; one that leads nowhere counts as disabled.
    """
    return _Compiler(definitions, limits).run()


class _Compiler:
    def __init__(self, definitions: Definitions, limits: Limits) -> None:
        self._source = definitions
        self._limits = limits
        self._findings: list[Finding] = []
        self._errors = 0
        self._actions = {each.slug for each in definitions.actions if each.enabled}
        self._entities = {each.slug for each in definitions.entities if each.enabled}
        self._mitigations = {
            each.slug: _mitigation(each) for each in definitions.mitigations if each.enabled
        }
        self._lists = {each.slug: NamedList(each.kind, each.entries) for each in definitions.lists}
        basic = Schema.default().with_lists(self._lists)
        # All actions are known names, also disabled ones: to disable an action must
        # not make the policies that name it unfit to be saved.
        all_actions = basic.with_actions([each.slug for each in definitions.actions])
        self._before_actions = basic
        self._after_actions = all_actions
        self._of_entity = all_actions.with_entity_state()

    def run(self) -> Compilation:
        source = self._source
        actions = [self._action(each, at) for at, each in enumerate(source.actions)]
        entities = [self._entity(each, at) for at, each in enumerate(source.entities)]
        policies = [self._policy(each, at) for at, each in enumerate(source.policies)]
        mitigations = [self._mitigations[each.slug] for each in source.mitigations if each.enabled]
        compiled = CompiledDefinitions(
            source=source,
            tenant=UUID(source.tenant.tenant_id),
            revision=source.revision,
            limits=self._limits,
            fields=self._of_entity.fields,
            lists=self._lists,
            trusted_proxies=tuple(filter(None, map(parse_range, source.settings.trusted_proxies))),
            max_keys=source.settings.max_keys,
            actions=tuple(
                made for made, each in zip(actions, source.actions, strict=True) if each.enabled
            ),
            entities=_in_order(
                (each.priority, made)
                for made, each in zip(entities, source.entities, strict=True)
                if each.enabled
            ),
            mitigations=tuple(mitigations),
            policies=_in_order(
                (each.priority, made)
                for made, each in zip(policies, source.policies, strict=True)
                if each.enabled and each.status == "active"
            ),
        )
        return Compilation(compiled, tuple(self._findings))

    def _action(self, action: Action, at: int) -> CompiledAction:
        pointer = f"/actions/{at}/expression"
        return CompiledAction(
            action.slug, self._check(action.expression, pointer, self._before_actions, (BOOL,))
        )

    def _entity(self, entity: EntityDefinition, at: int) -> CompiledEntity:
        pointer, schema = f"/entities/{at}", self._after_actions
        key_fields = self._key_fields(entity.key_fields, f"{pointer}/key_fields")
        return CompiledEntity(
            slug=entity.slug,
            id=entity.entity_definition_id,
            priority=entity.priority,
            on_missing_key=entity.on_missing_key,
            match=self._optional(entity.match_expression, f"{pointer}/match_expression", schema),
            key_fields=key_fields,
        )

    def _key_fields(self, texts: tuple[str, ...], pointer: str) -> tuple[CheckedExpression, ...]:
        errors = self._errors
        parts = tuple(
            self._check(text, f"{pointer}/{number}", self._after_actions, KEY_TYPES)
            for number, text in enumerate(texts)
        )
        if self._errors == errors:
            warnings = key_warnings([(part.root, part.type) for part in parts])
            for number, found in enumerate(warnings):
                self._report(found, f"{pointer}/{number}", texts[number])
        return parts

    def _policy(self, policy: Policy, at: int) -> CompiledPolicy:
        pointer = f"/policies/{at}"
        return CompiledPolicy(
            slug=policy.slug,
            id=policy.policy_id,
            expression=self._optional(
                policy.expression, f"{pointer}/expression", self._after_actions
            ),
            clauses=tuple(
                self._clause(clause, f"{pointer}/clauses/{number}")
                for number, clause in enumerate(policy.clauses)
            ),
        )

    def _clause(self, clause: Clause, pointer: str) -> CompiledClause:
        schema = self._after_actions if clause.entity is None else self._of_entity
        enabled = self._actions.issuperset(clause.actions) and (
            clause.entity is None or clause.entity in self._entities
        )
        return CompiledClause(
            name=clause.name,
            enabled=enabled,
            expression=self._optional(clause.expression, f"{pointer}/expression", schema),
            actions=clause.actions,
            entity=clause.entity,
            mitigation=self._mitigations.get(clause.mitigation or ""),
            window=self._window(clause.window, f"{pointer}/window") if clause.window else None,
            final=clause.final,
        )

    def _window(self, window: Window, pointer: str) -> CompiledWindow:
        field = None
        if window.field is not None:
            field = self._check(window.field, f"{pointer}/field", self._after_actions, KEY_TYPES)
        return CompiledWindow(
            duration_seconds=window.duration_seconds,
            duration=round(window.duration_seconds * NANOSECONDS),
            threshold=window.threshold,
            measure=window.measure,
            field=field,
        )

    def _optional(self, text: str | None, pointer: str, schema: Schema) -> CheckedExpression | None:
        return None if text is None else self._check(text, pointer, schema, (BOOL,))

    def _check(
        self, text: str, pointer: str, schema: Schema, expect: tuple[Type, ...]
    ) -> CheckedExpression:
        if self._errors >= MAX_FINDINGS:
            return _never()
        try:
            checked = check(text, schema, expect=expect, limits=self._limits)
        except ExpressionError as error:
            self._errors += len(error.diagnostics)
            self._report(error.diagnostics, pointer, text)
            return _never()
        self._report(checked.warnings, pointer, text)
        return checked

    def _report(self, diagnostics: Iterable[Diagnostic], pointer: str, text: str) -> None:
        source = Source(text)
        self._findings.extend(
            Finding(
                each.code,
                each.message,
                pointer,
                severity=each.severity,
                hint=each.hint,
                excerpt=source.excerpt(each.span),
                span=each.span,
            )
            for each in diagnostics
        )


def _mitigation(mitigation: Mitigation) -> CompiledMitigation:
    mode = mitigation.mode
    return CompiledMitigation(
        slug=mitigation.slug,
        mode=mode,
        ttl_seconds=mitigation.ttl_seconds,
        challenge=(mitigation.challenge or Challenge()) if mode == "Challenge" else None,
        block=(mitigation.block or Block()) if mode == "Block" else None,
    )


def _in_order(ranked: Iterable[tuple[int, _Made]]) -> tuple[_Made, ...]:
    """By priority; sorting is stable, so ties stay in the order of the document."""
    return tuple(made for _, made in sorted(ranked, key=lambda pair: pair[0]))


@cache
def _never() -> CheckedExpression:
    """Stands in for an expression that was refused."""
    return check("false", Schema.empty(), expect=BOOL)
