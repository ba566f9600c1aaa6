"""The state as JSON and back (docs/decision.md, "Snapshot"); the same from both evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from tidegate.errors import SnapshotError
from tidegate.policy.definitions.keys import EntityKey, part_of
from tidegate.policy.definitions.secrets import PLAIN, kept_text
from tidegate.policy.state.passes import Pass
from tidegate.policy.state.places import (
    bound_clause,
    has_place,
    kept_key,
    read_network,
    read_pass_id,
    read_text,
    read_time,
)
from tidegate.policy.state.state import Block, ClauseKey, Evictions, State
from tidegate.policy.state.windows import CountWindow, DistinctWindow, Window
from tidegate.values import INT_MAX, UInt
from tidegate.wire_values import from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.policy.definitions.compiled import CompiledDefinitions, CompiledWindow
    from tidegate.policy.definitions.secrets import Redacts

VERSION = 1
MAX_COUNT = 2**64 - 1


def save(compiled: CompiledDefinitions, state: State) -> bytes:
    """The whole state as JSON."""
    return save_keys(compiled, state.evictions, state.items(), state.passes.items())


def save_keys(
    compiled: CompiledDefinitions,
    evictions: Evictions,
    keys: Iterable[tuple[EntityKey, Block]],
    passes: Iterable[tuple[UUID, Pass]] = (),
) -> bytes:
    """The same format with these keys and passes only."""
    kept = [
        [str(pass_id), str(each.expires_at), each.is_revoked, each.moved_to]
        for pass_id, each in passes
    ]
    return orjson.dumps(
        {
            "version": VERSION,
            "tenant": str(compiled.tenant),
            "revision": compiled.revision,
            "evictions": {"total": evictions.total, "mitigated": evictions.mitigated},
            "keys": [_key(compiled, key, block) for key, block in keys],
            **({"passes": kept} if kept else {}),
        }
    )


def _key(compiled: CompiledDefinitions, key: EntityKey, block: Block) -> list[Any]:
    return [
        key.definition,
        [to_wire(UInt(part) if _is_large(part) else part) for part in key.parts],
        block.event_count,
        str(block.first_seen),
        str(block.last_seen),
        [
            [*clause, *_window(block.windows[clause])]
            for clause in compiled.clauses
            if clause in block.windows
        ],
        [
            [*clause, str(block.mitigations[clause])]
            for clause in compiled.clauses
            if clause in block.mitigations
        ],
    ]


def _is_large(part: str | int | bool) -> bool:
    return not isinstance(part, str) and part > INT_MAX


def _window(window: Window) -> tuple[str, list[Any]]:
    if isinstance(window, CountWindow):
        return "count", [str(time) for time in window.times]
    return "distinct", [[value, str(time)] for value, time in window.values]


def restore(
    compiled: CompiledDefinitions, snapshot: bytes, redactor: Redacts | None = None
) -> State:
    """The state in a snapshot, as far as it fits these definitions.

    Args:
        compiled: the definitions.
        snapshot: the result of :func:`save`.
        redactor: hashes secrets that were written in clear.

    Raises:
        SnapshotError: it has another version or tenant, or is malformed.
    """
    try:
        document = orjson.loads(snapshot)
    except orjson.JSONDecodeError as error:
        raise SnapshotError(f"the snapshot is no JSON: {error}") from None
    try:
        return _restore(compiled, document, redactor)
    except (ValueError, TypeError, KeyError) as error:
        raise SnapshotError(f"the snapshot is malformed: {error}") from None


def _restore(
    compiled: CompiledDefinitions, document: Mapping[str, Any], redactor: Redacts | None
) -> State:
    _require(isinstance(document, dict), "it is no object")
    version = document["version"]
    if version != VERSION or isinstance(version, bool):
        raise SnapshotError("the snapshot is of another version")
    if UUID(read_text(document["tenant"])) != compiled.tenant:
        raise SnapshotError("the snapshot is of another tenant")
    _count(document["revision"])
    evictions = document["evictions"]
    state = State(
        compiled.max_keys,
        Evictions(_count(evictions["total"]), _count(evictions["mitigated"])),
    )
    seen: set[EntityKey] = set()
    for entry in document["keys"]:
        slug, parts, event_count, first_seen, last_seen, windows, mitigations = entry
        key = kept_key(compiled, read_text(slug), tuple(_part(part) for part in parts), redactor)
        _require(key not in seen, "a key is there twice")
        seen.add(key)
        block = Block(
            _count(event_count),
            read_time(first_seen),
            read_time(last_seen),
            _windows(compiled, slug, windows, redactor),
            _mitigations(compiled, slug, mitigations),
        )
        _require(block.first_seen <= block.last_seen, "times are out of order")
        if has_place(compiled, slug, key):
            state.put(key, block)
            if len(state) > state.max_keys:
                state.forget_oldest()
    passes = document.get("passes", [])
    _require(isinstance(passes, list), "the passes are no list")
    for pass_id, *known in passes:
        state.passes.put(read_pass_id(pass_id), _pass(*known))
    state.passes.limit()
    return state


def _pass(expires_at: object, is_revoked: object, moved_to: object) -> Pass:
    _require(isinstance(is_revoked, bool), "a pass is neither revoked nor not")
    _require(isinstance(moved_to, list) and len(moved_to) <= 1, "a pass was moved twice")
    networks = moved_to if isinstance(moved_to, list) else []
    return Pass(read_time(expires_at), bool(is_revoked), tuple(map(read_network, networks)))


def _windows(
    compiled: CompiledDefinitions, slug: str, entries: list[Any], redactor: Redacts | None
) -> dict[ClauseKey, Window]:
    windows: dict[ClauseKey, Window] = {}
    for policy, name, measure, kept in entries:
        window = _read_window(measure, kept)
        clause = bound_clause(compiled, slug, read_text(policy), read_text(name))
        rule = clause.window if clause else None
        if rule is None or rule.measure != measure:
            continue
        windows[policy, name] = _kept(window, rule, redactor).within(rule)
    return windows


def _kept(window: Window, rule: CompiledWindow, redactor: Redacts | None) -> Window:
    if isinstance(window, CountWindow) or redactor is None:
        return window
    read = rule.field_reading or PLAIN
    # If two values are stored as one, the newest time counts.
    kept: dict[str, int] = {}
    for value, time in window.values:
        text = kept_text(redactor, read, value)
        kept.pop(text, None)
        kept[text] = time
    return DistinctWindow(tuple(kept.items()))


def _read_window(measure: object, kept: list[Any]) -> Window:
    if measure == "count":
        times = tuple(read_time(each) for each in kept)
        _require_order(times)
        return CountWindow(times)
    _require(measure == "distinct", "a window has an unknown measure")
    values = tuple((read_text(value), read_time(time)) for value, time in kept)
    _require_order(tuple(time for _, time in values))
    _require(len({value for value, _ in values}) == len(values), "a value is there twice")
    return DistinctWindow(values)


def _mitigations(
    compiled: CompiledDefinitions, slug: str, entries: list[Any]
) -> dict[ClauseKey, int]:
    mitigations: dict[ClauseKey, int] = {}
    for policy, name, expires_at in entries:
        ends = read_time(expires_at)
        clause = bound_clause(compiled, slug, read_text(policy), read_text(name))
        if clause is not None and clause.mitigation is not None:
            mitigations[policy, name] = ends
    return mitigations


def _part(wire: object) -> str | int | bool:
    part = part_of(from_wire(wire))
    if part is None:
        raise ValueError("a key part has an unknown kind")
    return part


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_COUNT:
        raise ValueError("a number is out of range")
    return value


def _require_order(times: tuple[int, ...]) -> None:
    _require(list(times) == sorted(times), "times are out of order")
    _require(bool(times), "a window holds nothing")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
