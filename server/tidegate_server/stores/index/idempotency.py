"""Idempotency keys of the last 24 hours, and the decision for each.

Derived from the log, so a decision that is not indexed yet is missing here.

Hashes are random, so in one large tree each would change a different page.  The keys of an hour are
therefore in buckets, one per 65,536 decisions: new keys go to a part of the tree that stays in
memory.  A lookup checks each bucket of the last day.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
from sqlalchemy import delete, select, text, tuple_

from tidegate_server.stores.rows.tables import idempotency as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

HOUR_NS = 3_600_000_000_000
KEPT_HOURS = 24
BUCKET_BITS = 16
"""A bucket is numbered by the hour and, within it, by the decision divided by 65,536."""
_FETCH = 10_000

# One seek for each bucket, and one in each bucket for the key.
_FIND = text("""
    WITH RECURSIVE buckets (bucket) AS (
        SELECT min(bucket) FROM idempotency WHERE bucket >= :first
        UNION ALL
        SELECT (SELECT min(later.bucket) FROM idempotency AS later
                WHERE later.bucket > buckets.bucket AND later.bucket < :end)
        FROM buckets WHERE buckets.bucket IS NOT NULL
    )
    SELECT keys.fingerprint, keys.seq
    FROM buckets CROSS JOIN idempotency AS keys
    WHERE keys.bucket = buckets.bucket AND keys.key_hash = :key_hash AND buckets.bucket < :end
    ORDER BY keys.bucket / 65536 DESC, keys.bucket
    LIMIT 1
""")


@attrs.frozen
class UsedKey:
    """An idempotency key that was used.

    Args:
        fingerprint: the request body's fingerprint.
        seq: number of its decision; ``decision_log.log.read`` returns the answer.
    """

    fingerprint: bytes
    seq: int


def find(connection: Connection, key_hash: bytes, now_ns: int) -> UsedKey | None:
    """Find the use of a key within the last 24 hours (25 at most)."""
    first, end = _buckets(now_ns)
    row = connection.execute(_FIND, {"first": first, "end": end, "key_hash": key_hash}).first()
    return None if row is None else UsedKey(row.fingerprint, row.seq)


def used(connection: Connection, now_ns: int) -> Iterator[tuple[bytes, int]]:
    """The hash of each key of the last 24 hours, with an upper bound of the time of its use.

    The connection must stay open during the iteration.
    """
    place = (table.c.bucket, table.c.key_hash)
    position = (_buckets(now_ns)[0], b"")
    while True:
        rows = connection.execute(
            select(*place).where(tuple_(*place) > position).order_by(*place).limit(_FETCH)
        ).all()
        for bucket, key_hash in rows:
            yield key_hash, ((bucket >> BUCKET_BITS) + 1) * HOUR_NS
        if len(rows) < _FETCH:
            return
        position = (rows[-1].bucket, rows[-1].key_hash)


def prune(connection: Connection, now_ns: int, limit: int = 10_000) -> int:
    """Delete keys older than 24 hours, at most ``limit``; return how many."""
    place = (table.c.bucket, table.c.key_hash)
    old = select(*place).where(table.c.bucket < _buckets(now_ns)[0]).order_by(*place).limit(limit)
    return connection.execute(delete(table).where(tuple_(*place).in_(old))).rowcount


def _buckets(now_ns: int) -> tuple[int, int]:
    """The first bucket that counts, and the first that no longer does."""
    hour = now_ns // HOUR_NS
    # The next hour is for clocks that were set back.
    return (hour - KEPT_HOURS) << BUCKET_BITS, (hour + 2) << BUCKET_BITS
