"""Findings about a clause and the clauses tried before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.policy.definitions.findings import Finding, SecondPlace
from tidegate.policy.lint.index import Index

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tidegate.policy.lint.clauses import PlacedClause

MAX_COMPARED = 300
"""The most clauses with which later ones are compared, besides those of their own policy."""


def relations(placed: Sequence[PlacedClause], about: Collection[int]) -> Iterator[Finding]:
    """Findings about clauses that an earlier one makes useless.

    Args:
        placed: the clauses in the order in which they are tried.
        about: the positions of those that are examined.
    """
    index, wanted = Index(), frozenset(about)
    last = max(wanted, default=-1)
    added = 0
    for at, clause in enumerate(placed[: last + 1]):
        if at in wanted and clause.clause.enabled and clause.cases:
            own = range(at - int(clause.pointer.rpartition("/")[2]), at)
            before = [placed[other] for other in sorted({*index.find(clause), *own})]
            yield from _of_clause(clause, [each for each in before if _decides(each, clause)])
        if clause.clause.enabled and added < MAX_COMPARED:
            index.add(at, clause)
            added += 1


def _of_clause(clause: PlacedClause, before: Sequence[PlacedClause]) -> Iterator[Finding]:
    finals = (each for each in before if each.clause.final and each.counts_every_event)
    final = next((each for each in finals if each.holds_with(clause)), None)
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
    twins = (each for each in before if _form(each) == _form(clause))
    twin = next((each for each in twins if _is_twin(each, clause)), None)
    if twin is not None:
        yield _finding(
            "duplicate-clause",
            f"the clause does the same as {_named(twin, clause)}",
            clause,
            twin,
            "remove one of the two",
        )
        return
    earlier = next((each for each in before if _shadows(each, clause)), None)
    if earlier is not None:
        yield _finding(
            "shadowed-clause",
            f"the clause never answers: whenever it fires, {_named(earlier, clause)} has answered"
            " before it",
            clause,
            earlier,
            "move it before the other, or make the other ask for more",
        )


def _decides(earlier: PlacedClause, clause: PlacedClause) -> bool:
    """Whether an earlier clause is tried whenever a clause is."""
    return earlier.clause.enabled and (earlier.is_live or earlier.policy is clause.policy)


def _shadows(earlier: PlacedClause, clause: PlacedClause) -> bool:
    mine, theirs = earlier.mitigation, clause.mitigation
    if mine is None or theirs is None or clause.clause.final:
        return False
    if "Monitor" in (mine.mode, theirs.mode):
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
    """The parts of a clause that are equal in clauses that do the same."""
    made, window = clause.clause, clause.window
    counted = window and (window.duration, window.threshold, window.measure)
    mitigation = made.mitigation.slug if made.mitigation else None
    return made.entity, mitigation, made.final, made.enabled, counted


def _named(other: PlacedClause, clause: PlacedClause) -> str:
    if other.policy is clause.policy:
        return f"the clause `{other.clause.name}`"
    return f"the clause `{other.clause.name}` of the policy `{other.policy.slug}`"


def _finding(
    code: str, message: str, clause: PlacedClause, other: PlacedClause, hint: str
) -> Finding:
    second = SecondPlace("the other clause", other.pointer)
    return Finding(code, message, clause.pointer, severity="warning", hint=hint, second=(second,))
