"""Idempotency keys of the last 24 hours, and the decision each stands for.

Derived from the log: what was appended but not yet indexed is not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
from sqlalchemy import delete, select, tuple_

from tidegate.stores.tables import idempotency as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

HOUR_NS = 3_600_000_000_000
KEPT_HOURS = 24
_FETCH = 10_000


@attrs.frozen
class UsedKey:
    """An idempotency key that was used.

    Args:
        fingerprint: of the body it came with.
        seq: of its decision; :func:`tidegate.stores.log.read` has the answer.
    """

    fingerprint: bytes
    seq: int


def find(connection: Connection, key_hash: bytes, now_ns: int) -> UsedKey | None:
    """What a key was used for, if it was within 24 hours (25 at most)."""
    row = connection.execute(
        select(table.c.fingerprint, table.c.seq)
        # One look for each hour; the one to come is for clocks that were put back.
        .where(table.c.hour.in_(_hours(now_ns)), table.c.key_hash == key_hash)
        .order_by(table.c.hour.desc())
        .limit(1)
    ).first()
    return None if row is None else UsedKey(row.fingerprint, row.seq)


def used(connection: Connection, now_ns: int) -> Iterator[tuple[bytes, int]]:
    """The hash of each key of the last 24 hours, and a time it was surely not used after.

    The connection is needed for as long as the iteration goes on.
    """
    place = (table.c.hour, table.c.key_hash)
    position = (_hours(now_ns)[0], b"")
    while True:
        rows = connection.execute(
            select(*place).where(tuple_(*place) > position).order_by(*place).limit(_FETCH)
        ).all()
        for hour, key_hash in rows:
            yield key_hash, (hour + 1) * HOUR_NS
        if len(rows) < _FETCH:
            return
        position = (rows[-1].hour, rows[-1].key_hash)


def prune(connection: Connection, now_ns: int, limit: int = 2_000) -> int:
    """Forget keys older than 24 hours, ``limit`` at most; how many."""
    place = (table.c.hour, table.c.key_hash)
    old = select(*place).where(table.c.hour < _hours(now_ns)[0]).order_by(*place).limit(limit)
    return connection.execute(delete(table).where(tuple_(*place).in_(old))).rowcount


def _hours(now_ns: int) -> range:
    hour = now_ns // HOUR_NS
    return range(hour - KEPT_HOURS, hour + 2)
