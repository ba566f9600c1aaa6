"""Compiles definitions for an engine: checked expressions, resolved references, fixed order."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import attrs

from tidegate.errors import ExpressionError
from tidegate.evaluation.secrets.names import Names
from tidegate.functions.addresses import parse_range
from tidegate.language.check.checker import CheckedExpression, check
from tidegate.language.check.lint import key_warnings
from tidegate.language.tree.diagnostics import Diagnostic, Source
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT, Limits
from tidegate.policy.definitions.budget_warnings import budget_warnings
from tidegate.policy.definitions.compiled import (
    CompiledAction,
    CompiledClause,
    CompiledDefinitions,
    CompiledEntity,
    CompiledMitigation,
    CompiledPolicy,
    CompiledWindow,
    ComputedHeader,
)
from tidegate.policy.definitions.expressions import CheckedTexts, Expressions, Use
from tidegate.policy.definitions.findings import MAX_FINDINGS, Finding, pointer_to
from tidegate.policy.definitions.model import Block, Challenge
from tidegate.policy.definitions.overrides import Overrides
from tidegate.policy.definitions.reads import reads
from tidegate.policy.definitions.secrets import Reading, reading
from tidegate.types import BOOL, NamedList

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from tidegate.policy.definitions.model import (
        Action,
        Clause,
        Definitions,
        EntityDefinition,
        Mitigation,
        Policy,
        Window,
    )

NANOSECONDS = 1_000_000_000
_Made = TypeVar("_Made")


@attrs.frozen
class Compilation:
    """The compiled definitions and every finding.

    They must not be used if there is an error among the findings.

    Attributes:
        compiled: the live objects.
        findings: errors and warnings.
        expressions: all of them, including those of disabled objects.
        checked: the policies, by the identity of their source objects, which they reference.
        kept: those unchanged since an earlier set.
    """

    compiled: CompiledDefinitions
    findings: tuple[Finding, ...]
    expressions: Expressions = attrs.field(eq=False, repr=False)
    checked: Mapping[int, CheckedPolicy] = attrs.field(eq=False, repr=False)
    kept: frozenset[int] = attrs.field(eq=False, repr=False)


@attrs.frozen(eq=False)
class CheckedPolicy:
    """A compiled policy: it stays valid while the objects it names do.

    Attributes:
        policy: the source object.
        compiled: the compiled form.
        findings: warnings, with pointers relative to the policy.
        expressions: its own expressions, as checked.
    """

    policy: Policy
    compiled: CompiledPolicy
    findings: tuple[Finding, ...]
    expressions: CheckedTexts


def compile_all(
    definitions: Definitions, limits: Limits = DEFAULT, before: Compilation | None = None
) -> Compilation:
    """Check every expression and assemble the live definitions.

    Expressions of disabled objects are checked too, since they must be ready to be enabled.
    References are assumed to be checked; one that leads nowhere counts as disabled.

    Args:
        definitions: the whole set.
        limits: limits on each expression.
        before: a set that is likely to share expressions with this one.
    """
    return _Compiler(definitions, limits, before).run()


class _Compiler:
    def __init__(
        self, definitions: Definitions, limits: Limits, before: Compilation | None
    ) -> None:
        self._source = definitions
        self._limits = limits
        self._names = Names(definitions.settings.redact)
        self._readings: dict[str, Reading] = {}
        self._findings: list[Finding] = []
        self._errors = 0
        self._actions = {each.slug for each in definitions.actions if each.enabled}
        self._entities = {each.slug for each in definitions.entities if each.enabled}
        self._mitigations: dict[str, CompiledMitigation] = {}
        self._lists = {each.slug: NamedList(each.kind, each.entries) for each in definitions.lists}
        self._expressions = Expressions(
            (each.slug for each in definitions.actions),
            self._lists,
            limits,
            None if before is None else before.expressions,
        )
        is_alike = before is not None and _surroundings_are_alike(before, definitions, limits)
        self._before = before.checked if before is not None and is_alike else {}
        self._checked: dict[int, CheckedPolicy] = {}

    def run(self) -> Compilation:
        source = self._source
        actions = [self._action(each, at) for at, each in enumerate(source.actions)]
        entities = [self._entity(each, at) for at, each in enumerate(source.entities)]
        made = [self._mitigation(each, at) for at, each in enumerate(source.mitigations)]
        mitigations = [
            each for each, of in zip(made, source.mitigations, strict=True) if of.enabled
        ]
        self._mitigations = {each.slug: each for each in mitigations}
        policies = [self._policy(each, at) for at, each in enumerate(source.policies)]
        compiled = CompiledDefinitions(
            source=source,
            tenant=UUID(source.tenant.tenant_id),
            revision=source.revision,
            limits=self._limits,
            fields=self._expressions.schemas[Use.CONDITION_ON_ENTITY].fields,
            lists=self._lists,
            trusted_proxies=tuple(filter(None, map(parse_range, source.settings.trusted_proxies))),
            max_keys=source.settings.max_keys,
            on_budget_exceeded=source.settings.on_budget_exceeded,
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
            overrides=Overrides.of(source.overrides),
        )
        self._expressions.finish()
        if not self._errors:
            self._findings.extend(budget_warnings(compiled))
        findings = tuple(self._findings)
        kept = frozenset(self._checked.keys() & self._before.keys())
        return Compilation(compiled, findings, self._expressions, self._checked, kept)

    def _action(self, action: Action, at: int) -> CompiledAction:
        pointer = f"/actions/{at}/expression"
        return CompiledAction(action.slug, self._check(action.expression, pointer, Use.ACTION))

    def _entity(self, entity: EntityDefinition, at: int) -> CompiledEntity:
        pointer = f"/entities/{at}"
        key_fields = self._key_fields(entity.key_fields, f"{pointer}/key_fields")
        return CompiledEntity(
            slug=entity.slug,
            id=entity.entity_definition_id,
            priority=entity.priority,
            on_missing_key=entity.on_missing_key,
            match=self._optional(
                entity.match_expression, f"{pointer}/match_expression", Use.CONDITION
            ),
            key_fields=key_fields,
            key_readings=tuple(map(self._reading, key_fields)),
        )

    def _key_fields(self, texts: tuple[str, ...], pointer: str) -> tuple[CheckedExpression, ...]:
        errors = self._errors
        parts = tuple(
            self._check(text, f"{pointer}/{number}", Use.KEY) for number, text in enumerate(texts)
        )
        if self._errors == errors:
            warnings = key_warnings([(part.root, part.type) for part in parts])
            for number, found in enumerate(warnings):
                self._report(found, f"{pointer}/{number}", texts[number])
        return parts

    def _mitigation(self, mitigation: Mitigation, at: int) -> CompiledMitigation:
        mode = mitigation.mode
        block = (mitigation.block or Block()) if mode == "Block" else None
        pointer = f"/mitigations/{at}/block/computed_headers"
        texts = block.computed_headers.items() if block is not None else ()
        return CompiledMitigation(
            slug=mitigation.slug,
            mode=mode,
            ttl_seconds=mitigation.ttl_seconds,
            challenge=(mitigation.challenge or Challenge()) if mode == "Challenge" else None,
            block=block,
            headers=tuple(
                self._header(mitigation.slug, name, text, pointer_to(pointer, name))
                for name, text in texts
            ),
        )

    def _header(self, slug: str, name: str, text: str, pointer: str) -> ComputedHeader:
        expression = self._check(text, pointer, Use.HEADER)
        read = self._reading(expression)
        if read.is_secret:
            message = f"the header has a keyed hash instead of a value that reads `{read.name}`"
            hint = "secrets aren't sent in answers, since answers are recorded"
            finding = Finding("secret-in-header", message, pointer, severity="warning", hint=hint)
            self._findings.append(finding)
        place = f"mitigations.{slug}.block.computed_headers.{name}"
        return ComputedHeader(name, place, expression, read)

    def _policy(self, policy: Policy, at: int) -> CompiledPolicy:
        pointer = f"/policies/{at}"
        known = self._before.get(id(policy))
        if known is None:
            known = self._check_policy(policy, pointer)
        else:
            self._expressions.keep(known.expressions)
            for each in known.findings:
                self._findings.append(attrs.evolve(each, pointer=pointer + each.pointer))
        self._checked[id(policy)] = known
        return known.compiled

    def _check_policy(self, policy: Policy, pointer: str) -> CheckedPolicy:
        start = len(self._findings)
        with self._expressions.noted() as noted:
            compiled = self._compiled(policy, pointer)
        found = tuple(
            attrs.evolve(each, pointer=each.pointer.removeprefix(pointer))
            for each in self._findings[start:]
        )
        return CheckedPolicy(policy, compiled, found, noted)

    def _compiled(self, policy: Policy, pointer: str) -> CompiledPolicy:
        return CompiledPolicy(
            slug=policy.slug,
            id=policy.policy_id,
            expression=self._optional(policy.expression, f"{pointer}/expression", Use.CONDITION),
            clauses=tuple(
                self._clause(clause, f"{pointer}/clauses/{number}")
                for number, clause in enumerate(policy.clauses)
            ),
        )

    def _clause(self, clause: Clause, pointer: str) -> CompiledClause:
        use = Use.CONDITION if clause.entity is None else Use.CONDITION_ON_ENTITY
        enabled = self._actions.issuperset(clause.actions) and (
            clause.entity is None or clause.entity in self._entities
        )
        return CompiledClause(
            name=clause.name,
            enabled=enabled,
            expression=self._optional(clause.expression, f"{pointer}/expression", use),
            actions=clause.actions,
            entity=clause.entity,
            mitigation=self._mitigations.get(clause.mitigation or ""),
            window=self._window(clause.window, f"{pointer}/window") if clause.window else None,
            final=clause.final,
        )

    def _window(self, window: Window, pointer: str) -> CompiledWindow:
        field = None
        if window.field is not None:
            field = self._check(window.field, f"{pointer}/field", Use.KEY)
        return CompiledWindow(
            duration_seconds=window.duration_seconds,
            duration=round(window.duration_seconds * NANOSECONDS),
            threshold=window.threshold,
            measure=window.measure,
            field=field,
            field_reading=None if field is None else self._reading(field),
        )

    def _reading(self, field: CheckedExpression) -> Reading:
        known = self._readings.get(field.text)
        if known is None:
            known = self._readings[field.text] = reading(field.root, self._names)
        return known

    def _optional(self, text: str | None, pointer: str, use: Use) -> CheckedExpression | None:
        return None if text is None else self._check(text, pointer, use)

    def _check(self, text: str, pointer: str, use: Use) -> CheckedExpression:
        if self._errors >= MAX_FINDINGS:
            return _never()
        try:
            checked = self._expressions.check(text, use)
        except ExpressionError as error:
            self._errors += len(error.diagnostics)
            self._report(error.diagnostics, pointer, text)
            return _never()
        self._report(checked.warnings, pointer, text)
        if self._source.settings.keep_only_read:
            self._report(list(self._whole_maps(checked, pointer)), pointer, text)
        return checked

    def _whole_maps(self, checked: CheckedExpression, pointer: str) -> Iterator[Diagnostic]:
        """A warning about each map whose members an expression may all read."""
        nodes = {each.node.name: each.node for each in reads(checked.root) if each.node is not None}
        for name, node in nodes.items():
            yield Diagnostic(
                "keeps-whole-map",
                f"`{self._place(pointer)}` may read every member of `{name}`, so all of them are "
                "kept while it is in force, in spite of `settings.keep_only_read`",
                node.span,
                severity="warning",
                hint='name the members that it reads, as in `request.headers["x-app"]`',
            )

    def _place(self, pointer: str) -> str:
        """A place in the document, by its object's slug."""
        _, section, at, *members = pointer.split("/")
        slug: str = getattr(self._source, section)[int(at)].slug
        steps = (f"[{each}]" if each.isdigit() else f".{each}" for each in members)
        return f"{section}.{slug}" + "".join(steps)

    def _report(self, diagnostics: Collection[Diagnostic], pointer: str, text: str) -> None:
        if not diagnostics:
            return
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


def _surroundings_are_alike(before: Compilation, after: Definitions, limits: Limits) -> bool:
    """Whether everything that a policy may name, and how it is checked, is unchanged."""
    known = before.compiled.source

    def lists(of: Definitions) -> list[tuple[str, str]]:
        return [(each.slug, each.kind) for each in of.lists]

    return (
        before.compiled.limits == limits
        and known.settings.redact == after.settings.redact
        and known.settings.keep_only_read == after.settings.keep_only_read
        and known.actions == after.actions
        and known.entities == after.entities
        and known.mitigations == after.mitigations
        and lists(known) == lists(after)
    )


def _in_order(ranked: Iterable[tuple[int, _Made]]) -> tuple[_Made, ...]:
    """Objects by priority; sorting is stable, so ties keep the order of the document."""
    return tuple(made for _, made in sorted(ranked, key=lambda pair: pair[0]))


@cache
def _never() -> CheckedExpression:
    """Replaces a rejected expression."""
    return check("false", Schema.empty(), expect=BOOL)
