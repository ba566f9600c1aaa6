"""All static findings about a set of definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.policy.definitions.findings import Finding
from tidegate.policy.definitions.return_urls import may_not_return, no_return
from tidegate.policy.lint.clauses import PlacedClause, Surroundings
from tidegate.policy.lint.possible import possibility
from tidegate.policy.lint.recorded import unrecorded
from tidegate.policy.lint.relations import MAX_COMPARED, relations
from tidegate.policy.lint.unused import unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.model import Definitions, Policy

MAX_EXAMINED = 2_000
"""The most clauses that are examined; a save must not wait for more."""


def lint(compilation: Compilation, about: str = "") -> Iterator[Finding]:
    """Findings about compiled definitions, with pointers into the document.

    Args:
        compilation: definitions without errors.
        about: the JSON pointer of the object that is examined, ``/policies/3``; all by default.
    """
    source = compilation.compiled.source
    placed = placed_clauses(compilation)
    wanted = [at for at, each in enumerate(placed) if _is_about(each.pointer, about)]
    if len(wanted) > MAX_EXAMINED:
        yield _incomplete(
            f"only the first {MAX_EXAMINED:,} of {len(wanted):,} clauses are examined"
        )
        wanted = wanted[:MAX_EXAMINED]
    elif len(placed) > MAX_COMPARED:
        yield _incomplete(f"clauses are compared with the first {MAX_COMPARED:,} of the others")
    yield from possibility([placed[at] for at in wanted], compilation)
    yield from relations(placed, wanted)
    numbers = {policy.slug: at for at, policy in enumerate(source.policies)}
    returns = (
        attrs.evolve(each, pointer=f"/policies/{numbers[policy.slug]}{each.pointer}")
        for policy, each in without_return(source)
    )
    yield from unrecorded(compilation, lambda pointer: _is_about(pointer, about))
    yield from (each for each in (*returns, *unused(compilation)) if _is_about(each.pointer, about))


def _incomplete(message: str) -> Finding:
    hint = "later clauses may be unreachable, shadowed or duplicates all the same"
    return Finding("lint-incomplete", message, "", severity="warning", hint=hint)


def placed_clauses(compilation: Compilation) -> list[PlacedClause]:
    """The clauses of policies that decide or are drafts, in the order in which they are tried."""
    compiled = compilation.compiled
    around = Surroundings(
        {each.slug: each.expression.root for each in compiled.actions},
        {each.slug: each for each in compiled.entities},
    )
    policies = [
        (at, each) for at, each in enumerate(compiled.source.policies) if _is_considered(each)
    ]
    return [
        PlacedClause(
            f"/policies/{at}/clauses/{number}", policy.status == "active", made, clause, around
        )
        for at, policy in sorted(policies, key=lambda pair: pair[1].priority)
        for made in [compilation.checked[id(policy)].compiled]
        for number, clause in enumerate(made.clauses)
    ]


def _is_considered(policy: Policy) -> bool:
    return policy.enabled and policy.status != "retired"


def _is_about(pointer: str, about: str) -> bool:
    return f"{pointer}/".startswith(f"{about}/") if about else True


def without_return(source: Definitions) -> Iterator[tuple[Policy, Finding]]:
    """The policies with challenges whose visitors may not be sent back, with a pointer into each.

    Args:
        source: the whole set.
    """
    origins = source.settings.return_url_origins
    lost = {
        each.slug
        for each in source.mitigations
        if each.enabled and each.mode == "Challenge" and may_not_return(each.challenge, origins)
    }
    for policy in source.policies:
        named = dict.fromkeys(each.mitigation for each in policy.clauses if each.mitigation in lost)
        if named and _is_considered(policy):
            yield policy, no_return(named)
