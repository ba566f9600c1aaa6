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
    from tidegate.policy.backend import Frozen

_NAME = "state.json"


@attrs.frozen
class Saved:
    """The content of a saved state.

    Args:
        spool_id: of the spool that its number belongs to.
        number: of the last decision in it.
        cursor: of the last change of the service in it; None before the first.
    """

    spool_id: str
    number: int
    cursor: Cursor | None


def write(cache: Cache, saved: Saved, state: Frozen) -> None:
    """Save a state.

    Raises:
        OSError: it cannot be written.
    """
    cursor = None if saved.cursor is None else attrs.astuple(saved.cursor)
    with cache.writing(_NAME) as take:
        take(orjson.dumps([saved.spool_id, saved.number, cursor]) + b"\n")
        state.write(take)


def read(cache: Cache, local: LocalTenant) -> Saved | None:
    """Have a tenant take the saved state, and say what it holds; None when there is none that can
    be read."""
    with cache.reading(_NAME) as file:
        if file is None:
            return None
        spool_id, number, cursor = orjson.loads(file.readline())
        if not local.restore(file.read()):
            return None
        return Saved(spool_id, number, None if cursor is None else Cursor(*cursor))


def restore(cache: Cache, spool: Spool, local: LocalTenant) -> Cursor | None:
    """Restore the state: the saved one, then later decisions and changes, in order.

    Returns:
        How far the changes of the service are known; None where nothing is.
    """
    saved = read(cache, local)
    cursor, number = None, 0
    if saved is not None:
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
