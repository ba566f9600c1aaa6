"""All static findings about a set of definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.policy.definitions.return_urls import may_not_return, no_return
from tidegate.policy.lint.clauses import PlacedClause, Surroundings
from tidegate.policy.lint.possible import possibility
from tidegate.policy.lint.recorded import unrecorded
from tidegate.policy.lint.relations import relations
from tidegate.policy.lint.unused import unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.findings import Finding
    from tidegate.policy.definitions.model import Definitions, Policy


def lint(compilation: Compilation, about: str = "") -> Iterator[Finding]:
    """Findings about compiled definitions, with pointers into the document.

    Args:
        compilation: definitions without errors.
        about: the JSON pointer of the object that is examined, ``/policies/3``; all by default.
    """
    source = compilation.compiled.source
    placed = placed_clauses(compilation)
    wanted = [at for at, each in enumerate(placed) if _is_about(each.pointer, about)]
    for each in possibility([placed[at] for at in wanted], compilation):
        yield each
    yield from relations(placed, wanted)
    for each in (*_without_return(source), *unrecorded(compilation), *unused(compilation)):
        if _is_about(each.pointer, about):
            yield each


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


def _without_return(source: Definitions) -> Iterator[Finding]:
    """Challenges whose visitors may not be sent back, once for each policy."""
    origins = source.settings.return_url_origins
    lost = {
        each.slug
        for each in source.mitigations
        if each.enabled and each.mode == "Challenge" and may_not_return(each.challenge, origins)
    }
    for at, policy in enumerate(source.policies):
        named = dict.fromkeys(each.mitigation for each in policy.clauses if each.mitigation in lost)
        if named and _is_considered(policy):
            yield no_return(named, f"/policies/{at}")
