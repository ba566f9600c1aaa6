"""Findings about a clause and the clauses tried before it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tidegate.policy.definitions.findings import Finding, SecondPlace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tidegate.policy.lint.clauses import PlacedClause

MAX_COMPARED = 20_000
"""The most pairs of clauses that are compared; a set of hundreds of policies has fewer."""


def relations(placed: Sequence[PlacedClause], about: Collection[int]) -> Iterator[Finding]:
    """Findings about clauses that an earlier one makes useless.

    Args:
        placed: the clauses in the order in which they are tried.
        about: the positions of those that are examined.
    """
    finals = [at for at, each in enumerate(placed) if each.clause.final and _is_certain(each)]
    answers = [at for at, each in enumerate(placed) if _answers(each)]
    alike = _alike(placed)
    compared = 0
    for at in sorted(about):
        clause = placed[at]
        if not clause.cases:
            continue
        before = [other for other in finals if other < at and _decides(placed[other], clause)]
        twins = [other for other in alike[_form(clause)] if other < at]
        twins = [other for other in twins if _decides(placed[other], clause)]
        earlier = [other for other in answers if other < at and _decides(placed[other], clause)]
        compared += len(before) + len(earlier)
        if compared > MAX_COMPARED:
            yield _incomplete()
            return
        yield from _of_clause(placed, clause, before, twins, earlier)


def _of_clause(
    placed: Sequence[PlacedClause],
    clause: PlacedClause,
    finals: list[int],
    twins: list[int],
    answers: list[int],
) -> Iterator[Finding]:
    final = next((placed[at] for at in finals if placed[at].holds_with(clause)), None)
    if final is not None:
        yield _finding(
            "unreachable-clause",
            f"the clause is never tried: whenever its tests pass, {_named(final, clause)} ends the"
            " decision before it",
            clause,
            final,
            "move it before the final clause, or make that one ask for more",
        )
        return
    twin = next((placed[at] for at in twins if _is_twin(placed[at], clause)), None)
    if twin is not None:
        yield _finding(
            "duplicate-clause",
            f"the clause does the same as {_named(twin, clause)}",
            clause,
            twin,
            "remove one of the two",
        )
        return
    earlier = next((placed[at] for at in answers if _shadows(placed[at], clause)), None)
    if earlier is not None:
        yield _finding(
            "shadowed-clause",
            f"the clause never answers: whenever it fires, {_named(earlier, clause)} has answered"
            " before it",
            clause,
            earlier,
            "move it before the other, or make the other ask for more",
        )


def _is_certain(clause: PlacedClause) -> bool:
    """Whether it fires on each event that passes its tests."""
    return clause.clause.enabled and clause.counts_every_event


def _answers(clause: PlacedClause) -> bool:
    mitigation = clause.mitigation
    return clause.clause.enabled and mitigation is not None and mitigation.mode != "Monitor"


def _decides(earlier: PlacedClause, clause: PlacedClause) -> bool:
    """Whether an earlier clause is tried whenever a clause is."""
    return earlier.is_live or earlier.policy is clause.policy


def _shadows(earlier: PlacedClause, clause: PlacedClause) -> bool:
    mine, theirs = earlier.mitigation, clause.mitigation
    if mine is None or theirs is None or theirs.mode == "Monitor" or clause.clause.final:
        return False
    if mine.mode == "Challenge" and theirs.mode == "Block":
        return False  # after a revoked pass, the Block answers first
    if clause.clause.entity is not None and theirs.ttl_seconds > 0:
        is_held = earlier.clause.entity == clause.clause.entity
        if not is_held or mine.ttl_seconds < theirs.ttl_seconds:
            return False  # it answers later events, on which the earlier one doesn't fire
    return earlier.fires_with(clause)


def _is_twin(earlier: PlacedClause, clause: PlacedClause) -> bool:
    return earlier.fires_with(clause) and clause.fires_with(earlier)


def _form(clause: PlacedClause) -> Any:
    """What two clauses have in common that do the same."""
    made, window = clause.clause, clause.window
    counted = window and (window.duration, window.threshold, window.measure)
    mitigation = made.mitigation.slug if made.mitigation else None
    return made.entity, mitigation, made.final, made.enabled, counted


def _alike(placed: Sequence[PlacedClause]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = defaultdict(list)
    for at, each in enumerate(placed):
        if each.clause.enabled:
            found[_form(each)].append(at)
    return found


def _named(other: PlacedClause, clause: PlacedClause) -> str:
    if other.policy is clause.policy:
        return f"the clause `{other.clause.name}`"
    return f"the clause `{other.clause.name}` of the policy `{other.policy.slug}`"


def _finding(
    code: str, message: str, clause: PlacedClause, other: PlacedClause, hint: str
) -> Finding:
    second = SecondPlace("the other clause", other.pointer)
    return Finding(code, message, clause.pointer, severity="warning", hint=hint, second=(second,))


def _incomplete() -> Finding:
    return Finding(
        "lint-incomplete",
        f"there are too many clauses: after {MAX_COMPARED:,} comparisons the rest was only"
        " examined one by one",
        "",
        severity="warning",
        hint="later clauses may be unreachable, shadowed or duplicates all the same",
    )
