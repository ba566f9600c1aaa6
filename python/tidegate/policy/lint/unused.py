"""Objects that nothing refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.policy.definitions.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.definitions.compile import Compilation

NEVER_USED = "never-used"
_NOUNS = {
    "lists": "list",
    "actions": "action",
    "entities": "entity definition",
    "mitigations": "mitigation",
}


def unused(compilation: Compilation) -> Iterator[Finding]:
    """Findings about actions, entity definitions, mitigations and lists that nothing refers to.

    A reference of a disabled object, a draft or a retired policy counts, too.
    """
    source = compilation.compiled.source
    used: dict[str, set[str]] = {each: set() for each in _NOUNS}
    for checked in compilation.expressions.all():
        used["actions"] |= checked.references.actions
        used["lists"] |= checked.references.lists
    for policy in source.policies:
        for clause in policy.clauses:
            used["actions"].update(clause.actions)
            used["entities"].update(filter(None, [clause.entity]))
            used["mitigations"].update(filter(None, [clause.mitigation]))
    used["actions"] |= {each.slug for each in source.actions if each.fail_mode is not None}
    for section, noun in _NOUNS.items():
        for at, each in enumerate(getattr(source, section)):
            if each.slug not in used[section]:
                yield Finding(
                    NEVER_USED,
                    f"nothing refers to the {noun} `{each.slug}`",
                    f"/{section}/{at}",
                    severity="warning",
                    hint="remove it, or use it in a policy",
                )
