"""Saves the state to disk, and restores it at a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import orjson

from tidegate_server.daemon.following import Cursor

if TYPE_CHECKING:
    from tidegate.policy.backend import Frozen
    from tidegate_server.daemon.cache import Cache
    from tidegate_server.daemon.local import LocalTenant
    from tidegate_server.daemon.spool import Spool

_NAME = "state.json"


@attrs.frozen
class Saved:
    """The content of a saved state.

    Args:
        spool_id: the spool that its number refers to.
        number: number of the last decision in it.
        cursor: the last change from the service in it; None if a snapshot is needed.
        newest: the newest change ever known, even if a snapshot is needed.
    """

    spool_id: str
    number: int
    cursor: Cursor | None
    newest: Cursor | None


def write(cache: Cache, saved: Saved, state: Frozen) -> None:
    """Save a state.

    Raises:
        OSError: it cannot be written.
    """
    cursors = [
        None if each is None else attrs.astuple(each) for each in (saved.cursor, saved.newest)
    ]
    with cache.writing(_NAME) as take:
        take(orjson.dumps([saved.spool_id, saved.number, *cursors]) + b"\n")
        state.write(take)


def read(cache: Cache, local: LocalTenant) -> Saved | None:
    """Load the saved state into a tenant and describe it; None if there isn't a readable one."""
    with cache.reading(_NAME) as file:
        if file is None:
            return None
        spool_id, number, *found = orjson.loads(file.readline())
        if not local.restore(file.read()):
            return None
        cursors = [None if each is None else Cursor(*each) for each in found]
        # A file of an earlier version has only one.
        return Saved(spool_id, number, cursors[0], cursors[-1])


def restore(cache: Cache, spool: Spool, local: LocalTenant) -> tuple[Cursor | None, Cursor | None]:
    """Restore the state: the saved one, then later decisions and changes, in order.

    Returns:
        The last known change from the service, None if a snapshot is needed; and the newest ever
        known.
    """
    saved = read(cache, local)
    cursor = newest = None
    number = 0
    if saved is not None:
        cursor, newest = saved.cursor, saved.newest
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
    return cursor, newest if cursor is None else cursor
