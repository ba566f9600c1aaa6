"""Explains a decision by repeating it under observation.

Nothing is changed.  The reference evaluator runs the definitions on the engine's state of the
event's entities, and every node's value is recorded.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

import tidegate.notebook as notebook
from tidegate.evaluation.trace import Step, Trace, trace
from tidegate.language.tree import checked
from tidegate.language.tree.diagnostics import Source
from tidegate.language.tree.walk import children
from tidegate.policy.decide import decide
from tidegate.policy.definitions.secrets import Reading, reading
from tidegate.policy.explain.explain_text import render
from tidegate.policy.explain.parts import (
    ActionExplanation,
    ClauseExplanation,
    EntityExplanation,
    ExpressionExplanation,
    OverrideExplanation,
    PolicyExplanation,
    StepExplanation,
    WindowExplanation,
)
from tidegate.policy.explain.shown import Shown, clipped, show, show_time
from tidegate.policy.key_forms import KeyForms
from tidegate.values import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tidegate.evaluation.encoder import AddressLookup
    from tidegate.evaluation.outcome import Outcome
    from tidegate.evaluation.secrets.names import Names
    from tidegate.language.check.checker import CheckedExpression
    from tidegate.language.tree.ast import Span
    from tidegate.policy.decide import Decided, TriedClause
    from tidegate.policy.decision import EngineDecision
    from tidegate.policy.definitions.compiled import (
        CompiledClause,
        CompiledDefinitions,
        CompiledPolicy,
    )
    from tidegate.policy.definitions.secrets import Redacts
    from tidegate.policy.explain.shown import Later
    from tidegate.policy.shown_proof import ShownProof
    from tidegate.policy.state.state import State

PAST_BUDGET = "not tried: the budget of the decision ended before it"
MAX_STEPS = 500
"""Most steps kept per expression: a macro over a long list has one per element."""


@attrs.frozen
class Explanation:
    """A decision and everything that led to it; ``str()`` puts it in words."""

    decision: EngineDecision
    time: str
    actions: tuple[ActionExplanation, ...]
    entities: tuple[EntityExplanation, ...]
    policies: tuple[PolicyExplanation, ...]
    headers: tuple[ExpressionExplanation, ...]
    """The expressions of the answer's headers."""
    override: OverrideExplanation | None

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON data."""
        members = ("time", "actions", "entities", "policies", "headers", "override")
        parts = {name: _plain(getattr(self, name)) for name in members}
        return {"decision": self.decision.to_record(), **parts}

    def __str__(self) -> str:
        head = (self.decision, self.time, self.override)
        return render(head, self.actions, self.entities, self.policies, self.headers)

    def _repr_html_(self) -> str:
        return notebook.text(str(self))


def explain(
    compiled: CompiledDefinitions,
    state: State,
    event: Mapping[str, Any] | bytes,
    received_at: int,
    *,
    addresses: AddressLookup | None = None,
    ended_at: Sequence[str] = (),
    redactor: Redacts | None = None,
    names: Names | None = None,
    proof: ShownProof | None = None,
    later: Later | None = None,
) -> Explanation:
    """Decide on an event under observation; the state is read, not changed.

    Args:
        compiled: the definitions.
        state: the state of the event's entities.
        event: a dict, or JSON bytes.
        received_at: when the event arrived, in nanoseconds since 1970.
        addresses: the address databases.
        ended_at: where the decision's budget ended.
        redactor: removes secrets from keys and shown values, together with ``names``.
        names: names of secrets.
        proof: the finding about the challenge proof in the event.
        later: secrets by later definitions, whose values are hidden too. Keys stay as they were in
            the decision (:func:`hide_keys`).

    Raises:
        EventError: the event is rejected.
        ValueError: the definitions have no such place for the budget's end.
    """
    observed: dict[str, ExpressionExplanation] = {}
    shown = Shown(redactor, names, later)

    def observe(place: str, expression: CheckedExpression, record: Mapping[str, Any]) -> Outcome:
        traced = trace(expression.root, record, lists=compiled.lists, limits=compiled.limits)
        observed[place] = _expression(place, expression, traced, shown)
        return traced.outcome

    decided = decide(
        compiled,
        state,
        event,
        received_at,
        addresses=addresses,
        evaluate_at=observe,
        ended_at=ended_at,
        redactor=redactor,
        proofs=[] if proof is None else [proof],
    )
    return _Explainer(compiled, decided, observed).explanation()


def hide_keys(explanation: Explanation, compiled: CompiledDefinitions, later: Later) -> Explanation:
    """An explanation with keys in the form of later definitions.

    Args:
        explanation: the explanation.
        compiled: the definitions it was made with.
        later: secrets by current definitions.
    """
    forms = KeyForms.of(compiled)
    by_slug = {
        each.slug: attrs.evolve(
            forms.by_slug[each.slug],
            readings=tuple(_hidden_reading(field, later) for field in each.key_fields),
        )
        for each in compiled.entities
    }
    forms = attrs.evolve(forms, redaction=later.redaction, by_slug=by_slug)
    entities = []
    for each in explanation.entities:
        named = each.key and forms.named(each.slug, each.key, later.redactor)
        if named and named[1] != each.key:
            each = attrs.evolve(each, key=named[1], entity_id=named[0])
        entities.append(each)
    decision = forms.decision(explanation.decision, later.redactor)
    return attrs.evolve(explanation, decision=decision, entities=tuple(entities))


def _hidden_reading(field: CheckedExpression, later: Later) -> Reading:
    """How a redactor now sees a part of a key."""
    secret = later.secret(field.root)
    if secret is None:
        return reading(field.root, later.names)
    return Reading(secret, is_secret=True)


class _Explainer:
    def __init__(
        self,
        compiled: CompiledDefinitions,
        decided: Decided,
        observed: Mapping[str, ExpressionExplanation],
    ) -> None:
        self._compiled = compiled
        self._decided = decided
        self._observed = observed
        self._tried = {each.place: each for each in decided.tried}
        # The first clause tried decides for its policy.
        first = {each.policy.slug: each for each in reversed(decided.tried)}
        self._in_scope = {
            slug: each.in_scope
            for slug, each in first.items()
            if f"policies.{slug}.expression" in observed or not each.past_budget
        }
        self._applied = {each.definition.slug: each for each in decided.entities}

    def explanation(self) -> Explanation:
        matched = self._decided.decision.matched_actions
        return Explanation(
            decision=self._decided.decision,
            time=show_time(self._decided.time),
            actions=tuple(
                ActionExplanation(
                    each.slug,
                    each.slug in matched,
                    self._observed.get(f"actions.{each.slug}.expression"),
                )
                for each in self._compiled.actions
            ),
            entities=tuple(self._entity(each.slug) for each in self._compiled.entities),
            policies=tuple(self._policy(each) for each in self._compiled.policies),
            headers=tuple(
                each for place, each in self._observed.items() if place.startswith("mitigations.")
            ),
            override=self._override(),
        )

    def _override(self) -> OverrideExplanation | None:
        override_id = self._decided.decision.override
        overrides = self._compiled.source.overrides
        found = next((each for each in overrides if each.override_id == override_id), None)
        if found is None:
            return None
        return OverrideExplanation(
            **{each.name: getattr(found, each.name) for each in attrs.fields(OverrideExplanation)}
        )

    def _entity(self, slug: str) -> EntityExplanation:
        prefix = f"entities.{slug}."
        seen = tuple(each for place, each in self._observed.items() if place.startswith(prefix))
        entity = self._applied.get(slug)
        block = entity.block if entity else None
        return EntityExplanation(
            slug=slug,
            applies=entity is not None,
            because=None if entity else _why_no_entity(seen),
            key=entity.key.parts if entity else None,
            entity_id=entity.id if entity else None,
            event_count=(block.event_count if block else 0) if entity else None,
            first_seen_at=show_time(block.first_seen) if block else None,
            last_seen_at=show_time(block.last_seen) if block else None,
            expressions=seen,
        )

    def _policy(self, policy: CompiledPolicy) -> PolicyExplanation:
        place = f"policies.{policy.slug}"
        return PolicyExplanation(
            slug=policy.slug,
            in_scope=self._in_scope.get(policy.slug),
            scope=self._observed.get(f"{place}.expression"),
            clauses=tuple(
                self._clause(f"{place}.clauses[{number}]", clause)
                for number, clause in enumerate(policy.clauses)
            ),
        )

    def _clause(self, place: str, clause: CompiledClause) -> ClauseExplanation:
        tried = self._tried.get(place)
        condition = self._observed.get(f"{place}.expression")
        field = self._observed.get(f"{place}.window.field")
        mitigation = clause.mitigation
        return ClauseExplanation(
            name=clause.name,
            fired=tried.fired if tried else False,
            active=tried.active if tried else False,
            because=_why(clause, tried, condition, field),
            mitigation=mitigation.slug if mitigation else None,
            mode=mitigation.mode if mitigation else "Monitor",
            active_until=show_time(tried.active_until) if tried and tried.active_until else None,
            condition=condition,
            window=_window(clause, tried, field),
            final=clause.final,
        )


def _window(
    clause: CompiledClause, tried: TriedClause | None, field: ExpressionExplanation | None
) -> WindowExplanation | None:
    rule = clause.window
    if rule is None:
        return None
    return WindowExplanation(
        value=tried.window if tried else None,
        threshold=rule.threshold,
        duration_seconds=rule.duration_seconds,
        measure=rule.measure,
        field=field,
    )


def _why(
    clause: CompiledClause,
    tried: TriedClause | None,
    condition: ExpressionExplanation | None,
    field: ExpressionExplanation | None,
) -> str:
    if not clause.enabled:
        return "it names a disabled action or entity"
    if tried is None:
        return "not tried: a final clause before it fired"
    if tried.active:
        by_itself = _why_not(tried, condition, field)
        return f"its mitigation of an earlier event is active; by itself: {by_itself}"
    if not tried.fired:
        return _why_not(tried, condition, field)
    if clause.window is not None:
        return f"everything it asks for holds, and its window is reached: {_filled(tried)}"
    return "everything it asks for holds"


def _why_not(
    tried: TriedClause,
    condition: ExpressionExplanation | None,
    field: ExpressionExplanation | None,
) -> str:
    """The first requirement of a clause that does not hold."""
    if tried.past_budget:
        return PAST_BUDGET
    if not tried.in_scope:
        return "the policy is not in scope"
    if tried.missing_actions:
        return "not matched: " + ", ".join(f"action `{each}`" for each in tried.missing_actions)
    if tried.clause.entity is not None and tried.entity is None:
        return f"entity `{tried.clause.entity}` does not apply"
    if not tried.condition:
        error = condition.error if condition else None
        return f"the condition is an error: {error}" if error else "the condition is false"
    if tried.window is None and field is None:
        return PAST_BUDGET
    if tried.window is None:
        return "the event is not counted: the field of the window has no value"
    return f"the window is not reached: {_filled(tried)}"


def _filled(tried: TriedClause) -> str:
    rule = tried.clause.window
    if rule is None:
        return ""
    what = "events" if rule.measure == "count" else "values"
    return f"{tried.window} of {rule.threshold} {what} in {rule.duration_seconds:g} s"


def _why_no_entity(seen: tuple[ExpressionExplanation, ...]) -> str:
    if not seen:
        return PAST_BUDGET
    last = seen[-1]
    if last.error is not None:
        return f"`{clipped(last.text)}` is an error: {last.error}"
    if last.value == show(False) and last.place.endswith(".match_expression"):
        return "the match expression is false"
    return f"`{clipped(last.text)}` is empty" if last.value == show("") else PAST_BUDGET


def _expression(
    place: str, expression: CheckedExpression, traced: Trace, shown: Shown
) -> ExpressionExplanation:
    text = expression.text
    outcome, failure = traced.outcome, traced.outcome.failure
    blamed = _blamed(traced)
    steps = traced.steps[:MAX_STEPS]
    secrets = shown.secrets(steps)
    return ExpressionExplanation(
        place=place,
        text=text,
        value=None if failure else shown.value(outcome.value, secrets[0] if secrets else None),
        error=failure.code if failure else None,
        message=shown.message(failure.message, secrets) if failure else None,
        excerpt=Source(text).excerpt(blamed) if blamed else None,
        cost=outcome.cost,
        steps=(
            *(
                _step(text, each, None if each.failure else shown.value(each.value, secret))
                for each, secret in zip(steps, secrets, strict=True)
            ),
            *islice(_unreached(text, expression.root, traced), MAX_STEPS - len(steps)),
        ),
        steps_left_out=max(0, len(traced.steps) - MAX_STEPS),
    )


def _step(text: str, step: Step, value: str | None) -> StepExplanation:
    span = step.node.span
    return StepExplanation(
        text=clipped(text[span.start : span.end]),
        depth=step.depth,
        value=value,
        error=step.failure.code if step.failure else None,
        start=span.start,
        end=span.end,
        type=None if step.failure else kind_of(step.value),
        reached=True,
    )


def _unreached(text: str, root: checked.Checked, traced: Trace) -> Iterator[StepExplanation]:
    """The outermost unevaluated nodes, and everything inside them."""
    reached = {each.node.span for each in traced.steps}
    ahead: list[tuple[checked.Checked, int]] = [(root, 0)]
    while ahead:
        node, depth = ahead.pop()
        ahead += [(each, depth + 1) for each in reversed(children(node))]
        span = node.span
        if span not in reached:
            yield StepExplanation(
                text=clipped(text[span.start : span.end]),
                depth=depth,
                value=None,
                error=None,
                start=span.start,
                end=span.end,
                type=None,
                reached=False,
            )


def _blamed(traced: Trace) -> Span | None:
    """The smallest part that made the result false or an error."""
    if traced.outcome.failure is not None:
        return traced.outcome.failure.span
    if traced.outcome.value is not False:
        return None
    at = 0
    while isinstance(traced.steps[at].node, checked.And):
        false = [child for child in _children(traced.steps, at) if _is_false(traced.steps[child])]
        if not false:
            break
        at = false[0]
    return traced.steps[at].node.span


def _children(steps: tuple[Step, ...], at: int) -> list[int]:
    depth = steps[at].depth
    children = []
    for number in range(at + 1, len(steps)):
        if steps[number].depth <= depth:
            break
        if steps[number].depth == depth + 1:
            children.append(number)
    return children


def _is_false(step: Step) -> bool:
    return step.failure is None and step.value is False


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return attrs.asdict(value) if attrs.has(type(value)) else value
