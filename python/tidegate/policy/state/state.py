"""The state of a tenant's traffic: one block per entity key, up to a limit."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

import attrs

from tidegate.policy.state.passes import Move, Passes, Revoke
from tidegate.policy.state.windows import added

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tidegate.policy.definitions.compiled import CompiledWindow
    from tidegate.policy.definitions.keys import EntityKey
    from tidegate.policy.state.windows import Window

ClauseKey: TypeAlias = tuple[str, str]
"""Policy slug and clause name."""


@attrs.frozen
class Block:
    """The state of one actor; replaced, never changed."""

    event_count: int
    first_seen: int
    last_seen: int
    windows: Mapping[ClauseKey, Window] = attrs.field(factory=dict)
    mitigations: Mapping[ClauseKey, int] = attrs.field(factory=dict)
    """The end of each clause's mitigation."""

    def is_mitigated_at(self, time: int) -> bool:
        """Whether any mitigation is still active."""
        return any(time < expires_at for expires_at in self.mitigations.values())


@attrs.frozen
class Count:
    """A window counts the event, or a value."""

    clause: ClauseKey
    rule: CompiledWindow
    value: str | None = None


@attrs.frozen
class Mitigate:
    """A clause fired and mitigates the entity."""

    clause: ClauseKey
    expires_at: int


@attrs.frozen
class Change:
    """One event's changes to the state of one of its entities."""

    key: EntityKey
    time: int
    counts: tuple[Count, ...] = ()
    mitigations: tuple[Mitigate, ...] = ()
    is_late: bool = False
    """Whether it was decided elsewhere: then it counts at its own time, even after later events."""
    events: int = 1
    """How many events it counts as: 0 if only mitigations came from elsewhere."""


@attrs.frozen
class Lift:
    """Ends mitigations of an entity by some clauses."""

    key: EntityKey
    time: int
    clauses: tuple[ClauseKey, ...]


Changed: TypeAlias = Change | Lift | Revoke | Move
"""The change in one entry of effects."""


@attrs.frozen
class Evictions:
    """The number of evicted keys, and of those that lost a mitigation before its end."""

    total: int = 0
    mitigated: int = 0


class State:
    """The blocks by key, in order of their last update, and the two queues of eviction."""

    def __init__(self, max_keys: int, evictions: Evictions = Evictions()) -> None:
        self.max_keys = max_keys
        self.evictions = evictions
        self.passes = Passes(max_keys)
        self._blocks: OrderedDict[EntityKey, Block] = OrderedDict()
        self._plain: OrderedDict[EntityKey, None] = OrderedDict()
        self._mitigated: OrderedDict[EntityKey, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def get(self, key: EntityKey) -> Block | None:
        """The block for a key, if it has one."""
        return self._blocks.get(key)

    def items(self) -> Iterator[tuple[EntityKey, Block]]:
        """Keys and blocks in order of their last update, oldest first."""
        return iter(self._blocks.items())

    def apply(self, changes: Iterable[Changed]) -> None:
        """Turn the state before an event into the state after it."""
        for change in changes:
            if isinstance(change, Lift):
                self._lift(change)
                continue
            if isinstance(change, Revoke | Move):
                self.passes.apply(change)
                continue
            block = self._blocks.get(change.key)
            if block is None:
                self._make_room(change.time)
                block = Block(0, change.time, change.time)
            self.put(change.key, _updated(block, change))

    def _lift(self, lift: Lift) -> None:
        block = self._blocks.get(lift.key)
        if block is not None:
            kept = {
                clause: expires_at
                for clause, expires_at in block.mitigations.items()
                if clause not in lift.clauses and expires_at > lift.time
            }
            self.put(lift.key, attrs.evolve(block, mitigations=kept))

    def put(self, key: EntityKey, block: Block) -> None:
        """Set a key's block, as the most recently updated one."""
        for queue in (self._blocks, self._plain, self._mitigated):
            queue.pop(key, None)
        self._blocks[key] = block
        (self._mitigated if block.mitigations else self._plain)[key] = None

    def forget_oldest(self) -> None:
        """Drop the least recently updated key."""
        key = next(iter(self._blocks))
        for queue in (self._blocks, self._plain, self._mitigated):
            queue.pop(key, None)

    def _make_room(self, time: int) -> None:
        """If the state is full, evict the key whose loss hurts least."""
        if len(self._blocks) < self.max_keys:
            return
        oldest = next(iter(self._mitigated), None)
        if oldest is None or (self._plain and self._blocks[oldest].is_mitigated_at(time)):
            oldest = next(iter(self._plain))
        lost = self._blocks.pop(oldest)
        self._plain.pop(oldest, None)
        self._mitigated.pop(oldest, None)
        self.evictions = Evictions(
            self.evictions.total + 1, self.evictions.mitigated + lost.is_mitigated_at(time)
        )


def _updated(block: Block, change: Change) -> Block:
    windows = dict(block.windows)
    for count in change.counts:
        windows[count.clause] = added(
            windows.get(count.clause),
            count.rule,
            change.time,
            count.value,
            is_late=change.is_late,
        )
    mitigations = dict(block.mitigations)
    for each in change.mitigations:
        mitigations[each.clause] = max(each.expires_at, mitigations.get(each.clause, 0))
    return Block(
        event_count=block.event_count + change.events,
        first_seen=min(block.first_seen, change.time) if change.is_late else block.first_seen,
        last_seen=max(block.last_seen, change.time),
        windows=windows,
        mitigations={
            clause: expires_at
            for clause, expires_at in mitigations.items()
            if expires_at > change.time
        },
    )
