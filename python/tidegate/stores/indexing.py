"""The index step: everything that is derived from the log, brought up to it.

A batch of log rows becomes rows of ``idempotency``, ``result_counts`` and ``field_catalog``, and
``indexed_seq`` moves with them in one transaction: a crash leaves all of it or nothing, and the
next step goes on from there.  Each table gets one statement a batch, whatever it holds, for two
reasons: the interpreter lock is let go for as long as the database works, and a row costs a
microsecond.

These statements are SQLite's; PostgreSQL has ``json_to_recordset``.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import attrs
import xxhash
from sqlalchemy import select, text

from tidegate.stores import catalog, derived
from tidegate.stores.base import DamagedLogError
from tidegate.stores.counters import PRUNED_SEQ, counter
from tidegate.stores.idempotency import BUCKET_BITS, HOUR_NS
from tidegate.stores.log import LIFT, LogLine, unpack
from tidegate.stores.tables import decision_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

BATCH_ENTRIES = 4_096
"""Decisions indexed at once, some 20 ms: the more, the more keys share a page."""
SAMPLED_ROWS = 4
SAMPLED_ENTRIES = 32
"""Decisions of a batch whose events the field catalog learns from, of at most 4 rows: all there
are of a small batch."""
MINUTE_NS = 60_000_000_000

# The array that `log.encode_index` makes is taken apart once; the statements after it read columns.
_MAKE_BATCH = text("""
    CREATE TEMP TABLE IF NOT EXISTS batch (
        position INTEGER PRIMARY KEY, tenant_id, received_at_ns, key_hash, fingerprint,
        observed_at_ns, action, fired, errors)
""")
_FILL_BATCH = text("""
    INSERT INTO batch
    SELECT key, value ->> 0, value ->> 2, unhex(value ->> 4), unhex(value ->> 5), value ->> 6,
           value ->> 7, value ->> 12, value ->> 13
    FROM jsonb_each(:rows)
""")
_EMPTY_BATCH = text("DELETE FROM batch")

_IDEMPOTENCY = text(f"""
    INSERT INTO derived.idempotency (bucket, key_hash, fingerprint, seq)
    SELECT (received_at_ns / {HOUR_NS} << {BUCKET_BITS})
               | ((:first + position) >> {BUCKET_BITS} & {(1 << BUCKET_BITS) - 1}) AS bucket,
           key_hash, fingerprint, :first + position
    FROM batch
    WHERE key_hash IS NOT NULL
    ORDER BY bucket, key_hash, position
    ON CONFLICT DO NOTHING
""")

# Of thousands of decisions a hundred or so differ in what they count as.
_MAKE_KINDS = text("""
    CREATE TEMP TABLE IF NOT EXISTS kinds (
        tenant_id, minute, action, fired, errors, total, last_observed_ns, last_received_ns)
""")
_FILL_KINDS = text(f"""
    INSERT INTO kinds
    SELECT tenant_id, observed_at_ns / {MINUTE_NS} AS minute, action, fired, errors, count(*),
           max(observed_at_ns), max(received_at_ns)
    FROM batch
    WHERE action <> '{LIFT}'
    GROUP BY fired, minute, action, errors, tenant_id
""")
_EMPTY_KINDS = text("DELETE FROM kinds")

# Three kinds of row: every decision (policy id 0), every policy that fired, every policy
# that failed.
_RESULT_COUNTS = text("""
    INSERT INTO derived.result_counts (tenant_id, policy_id, minute, total, monitor, challenge,
                                       block, errors, last_match_ns, last_received_ns)
    SELECT unhex(tenant_id, '-'), iif(policy = '', zeroblob(16), unhex(policy, '-')), minute,
           sum(total * matched), sum(total * (mode = 'Monitor')), sum(total * (mode = 'Challenge')),
           sum(total * (mode = 'Block')), sum(total * failed),
           max(iif(matched, last_observed_ns, NULL)), max(last_received_ns)
    FROM (
        SELECT tenant_id, '' AS policy, minute, total, last_observed_ns, last_received_ns,
               1 AS matched, errors <> '[]' AS failed,
               CASE action WHEN 'block' THEN 'Block' WHEN 'challenge' THEN 'Challenge'
                    ELSE iif(fired <> '[]', 'Monitor', '') END AS mode
        FROM kinds
        UNION ALL
        SELECT tenant_id, each.value ->> 0, minute, total, last_observed_ns, last_received_ns, 1, 0,
               each.value ->> 1
        FROM kinds, json_each(kinds.fired) AS each
        WHERE kinds.fired <> '[]'
        UNION ALL
        SELECT tenant_id, each.value, minute, total, last_observed_ns, last_received_ns, 0, 1, ''
        FROM kinds, json_each(kinds.errors) AS each
        WHERE kinds.errors <> '[]' AND each.value <> ''
    )
    GROUP BY tenant_id, policy, minute
    ON CONFLICT DO UPDATE SET
        total = total + excluded.total, monitor = monitor + excluded.monitor,
        challenge = challenge + excluded.challenge, block = block + excluded.block,
        errors = errors + excluded.errors,
        last_match_ns = max(coalesce(last_match_ns, excluded.last_match_ns),
                            coalesce(excluded.last_match_ns, last_match_ns)),
        last_received_ns = max(last_received_ns, excluded.last_received_ns)
""")

_COUNT = decision_log.c.count.label("entries")


@attrs.frozen
class Batch:
    """A part of the log, read to be indexed.

    Args:
        after: number of the last decision before it.
        first: number of its first decision; more than one on where retention deleted some.
        last: number of its last decision.
        index: of its decisions, as JSON arrays joined by commas; empty when all were deleted.
        sample: decisions that the field catalog learns from.
    """

    after: int
    first: int
    last: int
    index: bytes
    sample: Sequence[LogLine]


def read_batch(
    connection: Connection, after: int, until: int, *, is_sampled: bool = True
) -> Batch | None:
    """About ``BATCH_ENTRIES`` decisions to be indexed; None when there are none.

    Args:
        connection: one that reads the log.
        after: number of the last decision that is indexed.
        until: number of the last decision there is.
        is_sampled: whether the field catalog learns from a large batch too.

    Raises:
        DamagedLogError: a row is damaged or missing.
    """
    if after >= until:
        return None
    rows = _next_rows(connection, after)
    first = rows[0].first_seq if rows else until + 1
    # Numbers have no gap but for what retention deleted: what else is missing was lost.
    if first > after + 1 and first - 1 > counter(connection, PRUNED_SEQ):
        raise DamagedLogError(after + 1, "is missing")
    if not rows:
        return Batch(after, first, until, b"", ())
    count = sum(row.entries for row in rows)
    return Batch(
        after,
        first,
        first + count - 1,
        b",".join(unpack(row.first_seq, row.index_body) for row in rows),
        _sample(connection, rows, count) if is_sampled or count <= SAMPLED_ENTRIES else (),
    )


def index_batch(connection: Connection, batch: Batch) -> int:
    """Index a batch, unless another process did so since it was read.

    Args:
        connection: the deriving connection, in a transaction.
        batch: what :func:`read_batch` gave.

    Returns:
        The number of the last decision that is indexed now.
    """
    indexed = derived.take(connection)
    if indexed != batch.after:
        return indexed
    if batch.index:
        connection.execute(_MAKE_BATCH)
        connection.execute(_FILL_BATCH, {"rows": f"[{batch.index.decode()}]"})
        connection.execute(_IDEMPOTENCY, {"first": batch.first})
        connection.execute(_MAKE_KINDS)
        connection.execute(_FILL_KINDS)
        connection.execute(_RESULT_COUNTS)
        connection.execute(_EMPTY_KINDS)
        connection.execute(_EMPTY_BATCH)
        catalog.learn(connection, batch.sample)
    derived.set_indexed_seq(connection, batch.last)
    return batch.last


def _sample(
    connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]], count: int
) -> list[LogLine]:
    """A few decisions of some log rows, from all over them."""
    every = 1 if count <= SAMPLED_ENTRIES else -(-len(rows) // SAMPLED_ROWS)
    seqs = [row.first_seq for row in rows[::every]]
    bodies = select(decision_log.c.first_seq, decision_log.c.tenant_id, decision_log.c.body).where(
        decision_log.c.first_seq.in_(seqs)
    )
    sample = []
    for first_seq, tenant_id, body in connection.execute(bodies):
        lines = unpack(first_seq, body).split(b"\n")
        step = -(-len(lines) * len(seqs) // SAMPLED_ENTRIES)
        for start in range(0, len(lines), step):
            # Traffic has rhythms: always the same place of each stretch would see one beat only.
            mixed = xxhash.xxh3_64_intdigest(b"%d" % (first_seq + start))
            position = min(start + mixed % step, len(lines) - 1)
            sample.append(LogLine(first_seq + position, tenant_id, lines[position]))
    return sample


def _next_rows(connection: Connection, after: int) -> list[Row[*tuple[Any, ...]]]:
    """The log rows of a batch, without a gap between them."""
    query = (
        select(decision_log.c.first_seq, _COUNT, decision_log.c.index_body)
        .where(decision_log.c.first_seq > after)
        .order_by(decision_log.c.first_seq)
    )
    rows: list[Row[*tuple[Any, ...]]] = []
    expected = count = 0
    with closing(connection.execute(query)) as found:
        for row in found:
            if rows and row.first_seq != expected:
                break
            rows.append(row)
            expected = row.first_seq + row.entries
            count += row.entries
            if count >= BATCH_ENTRIES:
                break
    return rows
