"""Findings about one clause: whether it can fire, and what becomes of its answer."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from tidegate.language.tree.checked import Call, Conditional, Field, Literal
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.definitions.keys import counted_text, part_of
from tidegate.policy.lint.atoms import ACTION, Atom, alternatives, normal
from tidegate.policy.lint.facts import Facts
from tidegate.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tidegate.language.tree.checked import Checked
    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.compiled import CompiledEntity, CompiledWindow
    from tidegate.policy.lint.clauses import PlacedClause

_KNOWN = frozenset(("always-false", "never-true"))
"""Findings about one expression that already say that it can't hold."""
_NEW_EACH_TIME = frozenset(("per-request-key", "timestamp-key"))
_METHOD = Field("request.method")
_SAFE = tuple(Atom(Call("==", False, (_METHOD, Literal(each)))) for each in ("GET", "HEAD"))


def possibility(placed: Sequence[PlacedClause], compilation: Compilation) -> Iterator[Finding]:
    """Findings about each clause by itself.

    Args:
        placed: the clauses.
        compilation: their definitions.
    """
    known = {each.pointer for each in compilation.findings if each.code in _KNOWN}
    actions = {each.slug: each.expression.root for each in compilation.compiled.actions}
    entities = {each.slug: each for each in compilation.compiled.entities}
    fleeting = _fleeting(compilation)
    reported: set[str] = set()
    for each in placed:
        if not each.clause.enabled:
            continue
        entity = entities.get(each.clause.entity or "")
        if not each.cases:
            found = _contradiction(each, entity, actions)
            if found.pointer not in known | reported:
                reported.add(found.pointer)
                yield found
            continue
        yield from _window(each, entity, fleeting)
        yield from _mitigation(each)
        yield from _return(each)


def _fleeting(compilation: Compilation) -> frozenset[str]:
    """Slugs of entity definitions whose key is new with each request."""
    source = compilation.compiled.source.entities
    pointers = [each.pointer for each in compilation.findings if each.code in _NEW_EACH_TIME]
    numbers = {int(pointer.split("/")[2]) for pointer in pointers}
    return frozenset(source[at].slug for at in numbers)


def _contradiction(
    placed: PlacedClause, entity: CompiledEntity | None, actions: Mapping[str, Checked]
) -> Finding:
    """The finding about conditions that can't hold together, at the smallest set of them."""
    clause = placed.clause
    policy_pointer = placed.pointer.partition("/clauses/")[0]
    parts: list[tuple[str, Checked, str]] = []
    if placed.policy.expression is not None:
        root = placed.policy.expression.root
        parts.append(("the scope of the policy", root, f"{policy_pointer}/expression"))
    for at, slug in enumerate(clause.actions):
        node = Field(f"{ACTION}{slug}")
        parts.append((f"the action `{slug}`", node, f"{placed.pointer}/actions/{at}"))
    if entity is not None and entity.match is not None:
        name = f"the match expression of `{entity.slug}`"
        parts.append((name, entity.match.root, f"{placed.pointer}/entity"))
    if clause.expression is not None:
        root = clause.expression.root
        parts.append(("the condition", root, f"{placed.pointer}/expression"))
    for size in range(1, len(parts) + 1):
        for chosen in combinations(parts, size):
            if not _can_hold([node for _, node, _ in chosen], actions):
                return _never(chosen)
    return _never(parts)


def _can_hold(nodes: list[Checked], actions: Mapping[str, Checked]) -> bool:
    return any(Facts(each).is_possible for each in alternatives(nodes, actions))


def _never(parts: Sequence[tuple[str, Checked, str]]) -> Finding:
    names = [name for name, _, _ in parts]
    if len(names) == 1:
        message = f"{names[0]} holds for no event"
    else:
        message = f"{', '.join(names[:-1])} and {names[-1]} never hold for the same event"
    return Finding(
        "contradiction",
        message,
        parts[-1][2],
        severity="warning",
        hint="the clause never fires; change one of them, or remove it",
    )


def _window(
    placed: PlacedClause, entity: CompiledEntity | None, fleeting: frozenset[str]
) -> Iterator[Finding]:
    window = placed.window
    if window is None or entity is None or window.threshold == 1:
        return
    reason = None
    if entity.slug in fleeting:
        reason = f"the key of `{entity.slug}` is new with each request, so it counts one"
    elif window.field is not None:
        most = _most_distinct(placed, entity, window)
        if most is not None and most < window.threshold:
            values = "1 value" if most == 1 else f"{most} values"
            reason = f"its field has at most {values} for one `{entity.slug}`"
    if reason is not None:
        yield Finding(
            "window-out-of-reach",
            f"the window never reaches {window.threshold}: {reason}",
            f"{placed.pointer}/window",
            severity="warning",
            hint="count another field, by another entity, or lower the threshold",
        )


def _most_distinct(
    placed: PlacedClause, entity: CompiledEntity, window: CompiledWindow
) -> int | None:
    """The most values that a window's field can have within a key; None if unknown."""
    if window.field is None:
        return None
    root = normal(window.field.root)
    if any(normal(each.root) == root for each in entity.key_fields):
        return 1
    texts: set[str] = set()
    for case in placed.cases:
        values = _values(root, case, is_bool=window.field.type == BOOL)
        if values is None:
            return None
        texts |= {counted_text(part) for each in values if (part := part_of(each)) is not None}
    return len(texts)


def _values(node: Checked, case: Facts, *, is_bool: bool = False) -> list[Any] | None:
    """The values that an expression can have; None if they aren't known."""
    match node:
        case Literal(value):
            return [value]
        case Conditional(_, then, otherwise):
            one, other = _values(then, case), _values(otherwise, case)
            return None if one is None or other is None else [*one, *other]
        case _:
            known = case.values(node)
            return [True, False] if known is None and is_bool else known


def _mitigation(placed: PlacedClause) -> Iterator[Finding]:
    window, mitigation = placed.window, placed.mitigation
    if window is None or mitigation is None or mitigation.mode == "Monitor":
        return
    if 0 < mitigation.ttl_seconds < window.duration_seconds and window.threshold > 1:
        yield Finding(
            "mitigation-shorter-than-window",
            f"`{mitigation.slug}` ends after {mitigation.ttl_seconds} s, while the window still"
            f" counts the events of {window.duration_seconds:g} s: the next one may start it again",
            f"{placed.pointer}/mitigation",
            severity="warning",
            hint="make `ttl_seconds` at least as long as the window, or 0 to answer each event on"
            " its own",
        )


def _return(placed: PlacedClause) -> Iterator[Finding]:
    """A challenge that no request of a page can get."""
    mitigation = placed.mitigation
    if mitigation is None or mitigation.mode != "Challenge":
        return
    if placed.clause.entity is not None and mitigation.ttl_seconds > 0:
        return  # later requests of the entity are challenged, too, whatever their method
    cases = [Facts(case.atoms | {safe}) for case in placed.cases for safe in _SAFE]
    if not any(each.is_possible for each in cases):
        yield Finding(
            "challenge-cannot-return",
            "the clause challenges only requests that aren't GET or HEAD: a visitor who passes"
            " comes back with GET, and what the request had in it is lost",
            f"{placed.pointer}/mitigation",
            severity="warning",
            hint="challenge the page before it, or give the clause an entity and the mitigation a"
            " `ttl_seconds`, so that the next page shows the challenge",
        )
