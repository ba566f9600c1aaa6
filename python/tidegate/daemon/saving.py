"""The state on disk, and the state made again from it at a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import orjson

from tidegate.daemon.following import Cursor

if TYPE_CHECKING:
    from tidegate.daemon.cache import Cache
    from tidegate.daemon.local import LocalTenant
    from tidegate.daemon.spool import Spool

_NAME = "state.json"


@attrs.frozen
class Saved:
    """The content of a saved state.

    Args:
        spool_id: of the spool that its number belongs to.
        number: of the last decision in it.
        cursor: of the last change of the service in it; None before the first.
        state: the snapshot of the engine.
    """

    spool_id: str
    number: int
    cursor: Cursor | None
    state: bytes = attrs.field(repr=False)


def write(cache: Cache, saved: Saved) -> None:
    """Save a state.

    Raises:
        OSError: it cannot be written.
    """
    cursor = None if saved.cursor is None else attrs.astuple(saved.cursor)
    head = orjson.dumps([saved.spool_id, saved.number, cursor])
    cache.write(_NAME, b"%b\n%b" % (head, saved.state))


def read(cache: Cache) -> Saved | None:
    """The saved state; None when there is none that can be read."""
    found = cache.read(_NAME)
    if found is None:
        return None
    head, _, state = found.partition(b"\n")
    spool_id, number, cursor = orjson.loads(head)
    return Saved(spool_id, number, None if cursor is None else Cursor(*cursor), state)


def restore(cache: Cache, spool: Spool, local: LocalTenant) -> Cursor | None:
    """Restore the state: the saved one, then later decisions and changes, in order.

    Returns:
        How far the changes of the service are known; None where nothing is.
    """
    saved = read(cache)
    cursor, number = None, 0
    if saved is not None and local.restore(saved.state):
        cursor = saved.cursor
        if saved.spool_id == str(spool.spool_id):
            number = saved.number
    decided, changes = spool.effects(number), spool.changes()
    for change in changes:
        before = [effects for at, effects in decided if at <= change.after]
        decided = decided[len(before) :]
        local.apply([*before, change.effects])
        if cursor is not None and change.sequence >= cursor.sequence:
            cursor = attrs.evolve(
                cursor,
                sequence=change.sequence,
                chain=change.chain,
                revision=change.revision,
            )
    local.apply([effects for _, effects in decided])
    return cursor
