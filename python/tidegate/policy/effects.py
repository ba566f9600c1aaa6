"""A decision's changes to the state, as JSON that repeats them without the event.

See docs/decision.md, "Effects"; the same from both evaluators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from tidegate.errors import EffectsError
from tidegate.limits import CLOCK_TOLERANCE
from tidegate.policy.definitions.secrets import PLAIN, kept_text
from tidegate.policy.state.passes import Move, Revoke
from tidegate.policy.state.places import (
    LATEST,
    bound_clause,
    has_place,
    kept_key,
    read_network,
    read_pass_id,
    read_text,
    read_time,
)
from tidegate.policy.state.state import Change, Changed, Count, Lift, Mitigate
from tidegate.policy.state.windows import added
from tidegate.values import INT_MIN, UINT_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.keys import Part
    from tidegate.policy.definitions.secrets import Redacts
    from tidegate.policy.state.state import ClauseKey, State


def save(changes: Iterable[Changed]) -> bytes:
    """The changes by one decision, or by an operator, as JSON."""
    return orjson.dumps([_entry(change) for change in changes])


def _entry(change: Changed) -> list[Any]:
    if isinstance(change, Revoke | Move):
        ids = [str(change.pass_id), str(change.time), str(change.expires_at)]
        return ["move", *ids, change.network] if isinstance(change, Move) else ["revoke", *ids]
    about = [change.key.definition, orjson.Fragment(change.key.text), str(change.time)]
    if isinstance(change, Lift):
        return ["lift", *about, [list(clause) for clause in change.clauses]]
    counts = [[*count.clause, count.value] for count in change.counts]
    kind = "late" if change.is_late else "event"
    return [kind, *about, counts, [[*e.clause, str(e.expires_at)] for e in change.mitigations]]


def read(
    compiled: CompiledDefinitions,
    effects: bytes,
    position: int = 0,
    redactor: Redacts | None = None,
) -> tuple[Changed, ...]:
    """The changes again, as far as they fit these definitions.

    If an entry names a clause twice, the first counts; of its mitigations the one that ends last
    wins.

    Args:
        compiled: the definitions.
        effects: the result of :func:`save`.
        position: its index among several, for the error.
        redactor: hashes secrets that were written in clear.

    Raises:
        EffectsError: they are malformed.
    """
    return _placed(compiled, _read(compiled, effects, position, redactor))


def read_late(
    compiled: CompiledDefinitions, effects: bytes, redactor: Redacts | None = None
) -> tuple[Change, ...]:
    """The changes by a decision made elsewhere: one event, for each of its entities.

    Args:
        compiled: the definitions here.
        effects: the decision's effects.
        redactor: as for :func:`read`.

    Raises:
        EffectsError: they are malformed, or contain an entity twice: an event counts once.
    """
    changes = _read(compiled, effects, 0, redactor)
    events = [each for each in changes if isinstance(each, Change) and not each.is_late]
    if len(events) < len(changes):
        raise EffectsError("the effects are malformed: one is not of an event", 0)
    placed = [each for each in events if has_place(compiled, each.key.definition, each.key)]
    if len({each.key for each in placed}) < len(placed):
        raise EffectsError("the effects are malformed: an entity comes twice", 0)
    return tuple(placed)


def _read(
    compiled: CompiledDefinitions, effects: bytes, position: int, redactor: Redacts | None
) -> list[Changed]:
    try:
        entries = _list(orjson.loads(effects))
        return [_change(compiled, redactor, *_list(entry)) for entry in entries]
    except (ValueError, TypeError) as error:
        raise EffectsError(f"the effects are malformed: {error}", position) from None


def read_passes(effects: bytes) -> tuple[Revoke | Move, ...]:
    """Changes of passes only, which don't depend on definitions.

    Args:
        effects: entries of a decision's effects.

    Raises:
        EffectsError: one is malformed, or belongs to an entity.
    """
    try:
        return tuple(_change_of_pass(*_list(entry)) for entry in _list(orjson.loads(effects)))
    except (ValueError, TypeError) as error:
        raise EffectsError(f"the effects are malformed: {error}", 0) from None


def _change_of_pass(kind: object, *about: object) -> Revoke | Move:
    match kind, about:
        case "revoke", (pass_id, time, expires_at):
            return Revoke(read_pass_id(pass_id), read_time(time), read_time(expires_at))
        case "move", (pass_id, time, expires_at, network):
            moved = read_pass_id(pass_id), read_time(time), read_time(expires_at)
            return Move(*moved, read_network(network))
    raise ValueError("an effect is of an unknown kind or length")


def _placed(compiled: CompiledDefinitions, changes: Iterable[Changed]) -> tuple[Changed, ...]:
    return tuple(
        change
        for change in changes
        if isinstance(change, Revoke | Move)
        or has_place(compiled, change.key.definition, change.key)
    )


def _change(
    compiled: CompiledDefinitions,
    redactor: Redacts | None,
    kind: object,
    *about: object,
) -> Changed:
    match kind, about:
        case (("revoke" | "move"), _):
            return _change_of_pass(kind, *about)
        case _, (definition, parts, time, *does):
            return _of_entity(compiled, redactor, kind, definition, parts, time, *does)
    raise ValueError("an effect is of an unknown kind or length")


def _of_entity(
    compiled: CompiledDefinitions,
    redactor: Redacts | None,
    kind: object,
    definition: object,
    parts: object,
    time: object,
    *does: object,
) -> Change | Lift:
    slug = read_text(definition)
    key = kept_key(compiled, slug, tuple(map(_part, _list(parts))), redactor)
    moment = read_time(time)
    match kind, does:
        case (("event" | "late"), (counts, mitigations)):
            return Change(
                key,
                moment,
                _counts(compiled, redactor, slug, counts),
                _mitigations(compiled, slug, mitigations),
                is_late=kind == "late",
            )
        case "mitigate", (mitigations,):
            active = _mitigations(compiled, slug, mitigations)
            return Change(key, moment, (), active, is_late=True, events=0)
        case "lift", (clauses,):
            return Lift(key, moment, tuple(_clause(*_list(entry)) for entry in _list(clauses)))
    raise ValueError("an effect is of an unknown kind or length")


def judged(
    compiled: CompiledDefinitions, state: State, effects: tuple[Change, ...], now: int
) -> tuple[Change, ...]:
    """The changes that a decision made elsewhere causes here.

    A window counts the event at its time, unless the window no longer reaches back that far; if the
    event brings it to its threshold, it mitigates from that time on.

    Args:
        compiled: the definitions here.
        state: the current state; all changes are computed before one is applied, since one event
            has one change per entity.
        effects: the decision's effects, from :func:`read_late`.
        now: nanoseconds since 1970.
    """
    return tuple(_judged(compiled, state, each, now) for each in effects)


def _judged(compiled: CompiledDefinitions, state: State, change: Change, now: int) -> Change:
    time = min(change.time, now + CLOCK_TOLERANCE)
    counts = tuple(each for each in change.counts if time > now - each.rule.duration)
    block = state.get(change.key)
    ends = {each.clause: each.expires_at for each in change.mitigations}
    for each in counts:
        before = None if block is None else block.windows.get(each.clause)
        held = added(before, each.rule, time, each.value, is_late=True)
        mitigation = compiled.clauses[each.clause].mitigation
        if len(held) >= each.rule.threshold and mitigation is not None and mitigation.ttl_seconds:
            until = min(time + mitigation.ttl_seconds * 1_000_000_000, LATEST)
            ends[each.clause] = max(until, ends.get(each.clause, 0))
    order = {clause: place for place, clause in enumerate(compiled.clauses)}
    mitigations = [
        Mitigate(clause, ends[clause])
        for clause in sorted(ends, key=order.__getitem__)
        if now < ends[clause]
    ]
    return Change(change.key, time, counts, tuple(mitigations), is_late=True)


def _clause(policy: object, name: object) -> ClauseKey:
    return read_text(policy), read_text(name)


def _count(
    compiled: CompiledDefinitions,
    redactor: Redacts | None,
    slug: str,
    policy: object,
    name: object,
    value: object,
) -> Count | None:
    place = read_text(policy), read_text(name)
    counted = None if value is None else read_text(value)
    clause = bound_clause(compiled, slug, *place)
    rule = clause.window if clause else None
    if rule is None or rule.measure != ("count" if counted is None else "distinct"):
        return None
    if counted is not None:
        counted = kept_text(redactor, rule.field_reading or PLAIN, counted)
    return Count(place, rule, counted)


def _counts(
    compiled: CompiledDefinitions, redactor: Redacts | None, slug: str, entries: object
) -> tuple[Count, ...]:
    """The windows' counts; if a clause appears twice, the first counts."""
    counted: dict[ClauseKey, Count] = {}
    for entry in _list(entries):
        count = _count(compiled, redactor, slug, *_list(entry))
        if count is not None:
            counted.setdefault(count.clause, count)
    return tuple(counted.values())


def _mitigations(compiled: CompiledDefinitions, slug: str, entries: object) -> tuple[Mitigate, ...]:
    """The mitigations of an entry; if a clause appears twice, the one that ends last."""
    mitigated: dict[ClauseKey, Mitigate] = {}
    for entry in _list(entries):
        each = _mitigate(compiled, slug, *_list(entry))
        if each is not None:
            known = mitigated.setdefault(each.clause, each)
            mitigated[each.clause] = max(known, each, key=lambda one: one.expires_at)
    return tuple(mitigated.values())


def _mitigate(
    compiled: CompiledDefinitions, slug: str, policy: object, name: object, expires_at: object
) -> Mitigate | None:
    place, ends = (read_text(policy), read_text(name)), read_time(expires_at)
    clause = bound_clause(compiled, slug, *place)
    return Mitigate(place, ends) if clause is not None and clause.mitigation is not None else None


def _part(part: object) -> Part:
    if isinstance(part, bool | str) or (isinstance(part, int) and INT_MIN <= part <= UINT_MAX):
        return part
    raise ValueError("a key part has an unknown kind")


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return value
