"""An explanation in words."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tidegate.evaluation.clients import PROBLEMS
from tidegate.policy.explain.shown import clipped, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tidegate.policy.decision import EngineDecision
    from tidegate.policy.explain.parts import (
        ActionExplanation,
        ClauseExplanation,
        EntityExplanation,
        ExpressionExplanation,
        OverrideExplanation,
        PolicyExplanation,
    )
    from tidegate.policy.shown_proof import ShownProof

MAX_STEPS = 40
"""Most steps of one expression that are shown; the JSON form has more."""


def render(
    head: tuple[EngineDecision, str, OverrideExplanation | None],
    actions: Sequence[ActionExplanation],
    entities: Sequence[EntityExplanation],
    policies: Sequence[PolicyExplanation],
    headers: Sequence[ExpressionExplanation],
) -> str:
    """The explanation as indented lines.

    Args:
        head: the decision, its time, and the override that answered, if one did.
        actions: the actions.
        entities: the entities.
        policies: the policies.
        headers: the expressions of the answer's headers.
    """
    decision, time, override = head
    lines: list[Iterable[str]] = [_decision(decision, time)]
    if override is not None:
        lines.append(_override(override))
    lines += [["", "actions"], *map(_action, actions)]
    lines += [["entities"], *map(_entity, entities), ["policies"], *map(_policy, policies)]
    if headers:
        lines += [["headers"], *(_expression(each, 6) for each in headers)]
    return "\n".join(chain.from_iterable(lines))


def _decision(decision: EngineDecision, time: str) -> Iterator[str]:
    yield f"{decision.action.type} ({decision.reason}) at {time}"
    if decision.policy is not None:
        yield f"  by policy {decision.policy}, clause {decision.clause!r}: {decision.mitigation}"
    if decision.budget_ended_at:
        yield f"  the budget of the decision ended at {' and '.join(decision.budget_ended_at)}"
    if decision.client_ip_problem is not None:
        why = PROBLEMS.get(decision.client_ip_problem, decision.client_ip_problem)
        yield f"  no address of the client: {why} ({decision.client_ip_problem})"
    if decision.proof is not None:
        yield f"  {_proof(decision.proof)}"


def _override(override: OverrideExplanation) -> Iterator[str]:
    does = "bans" if override.kind == "ban" else "lets through"
    target = override.network or f"entity {override.entity_id}"
    author = f" by {override.author}" if override.author else ""
    yield f"  override {override.override_id} {does} {target} until {override.ends_at}{author}"
    yield f"    {override.reason}"


def _proof(proof: ShownProof) -> str:
    pass_id = f" of pass {proof.claim.pass_id}" if proof.claim else ""
    return f"the event shows a proof of a challenge{pass_id}: {proof.status}"


def _action(action: ActionExplanation) -> Iterator[str]:
    if action.expression is None:
        yield f"  {action.slug}: not tried"
        return
    yield f"  {action.slug}: {'matched' if action.matched else _outcome(action.expression)}"
    yield from _expression(action.expression, 6)


def _entity(entity: EntityExplanation) -> Iterator[str]:
    if entity.key is None:
        yield f"  {entity.slug}: does not apply, {entity.because}"
    else:
        seen = f"{entity.event_count} events before" if entity.event_count else "never seen before"
        yield f"  {entity.slug}: {', '.join(map(show, entity.key))} ({seen}) {entity.entity_id}"
    for expression in entity.expressions:
        yield from _expression(expression, 6)


def _policy(policy: PolicyExplanation) -> Iterator[str]:
    in_scope = {True: "in scope", False: "not in scope", None: "not tried"}[policy.in_scope]
    yield f"  {policy.slug}: {in_scope}"
    if policy.scope is not None:
        yield from _expression(policy.scope, 6)
    for clause in policy.clauses:
        yield from _clause(clause)


def _clause(clause: ClauseExplanation) -> Iterator[str]:
    fired = ("active" if clause.active else "fired") if clause.fired else "did not fire"
    answer = f", {clause.mode} by {clause.mitigation}" if clause.mitigation else ", Monitor"
    ends = " and ends the walk" if clause.final else ""
    yield f"    {clause.name}: {fired}{answer + ends if clause.fired else ''}"
    yield f"      {clause.because}"
    if clause.active_until is not None:
        yield f"      mitigated until {clause.active_until}"
    if clause.condition is not None:
        yield from _expression(clause.condition, 8)
    if clause.window is not None and clause.window.field is not None:
        yield from _expression(clause.window.field, 8)


def _expression(expression: ExpressionExplanation, indent: int) -> Iterator[str]:
    blank = " " * indent
    if expression.excerpt is not None:
        yield from (f"{blank}{line}" for line in expression.excerpt.split("\n"))
        why = expression.error or "false"
        yield f"{blank}{why}{': ' + expression.message if expression.message else ''}"
    else:
        yield f"{blank}{clipped(expression.text)} = {expression.value}"
    # The root is printed above; a constant's value is its text.
    inner = [each for each in expression.steps[1:] if each.reached and each.text != each.value]
    for step in inner[:MAX_STEPS]:
        given = step.value if step.error is None else f"error {step.error}"
        yield f"{blank}{'  ' * step.depth}{step.text} = {given}"
    left_out = len(inner) - MAX_STEPS + expression.steps_left_out
    if left_out > 0:
        yield f"{blank}  … {left_out} more"


def _outcome(expression: ExpressionExplanation) -> str:
    return f"error {expression.error}" if expression.error else "no match"
