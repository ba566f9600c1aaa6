"""The index step: everything that is derived from the log, brought up to it.

A batch of log rows becomes rows of ``decisions``, ``idempotency``, ``result_counts``
and ``field_catalog``, and ``indexed_seq`` moves with them in one transaction: a crash
leaves all of it or nothing, and the next step goes on from there.  Each table gets one
statement a batch, whatever it holds, for two reasons: the interpreter lock is let go
for as long as the database works, and a row costs a few microseconds.

These statements are SQLite's; PostgreSQL has ``json_to_recordset``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import xxhash
from sqlalchemy import select, text

from tidegate.stores import catalog
from tidegate.stores.base import DamagedLogError
from tidegate.stores.counters import INDEXED_SEQ, counter, set_counter
from tidegate.stores.log import LIFT, LogLine, unpack
from tidegate.stores.tables import decision_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, RowMapping

BATCH_ENTRIES = 500
"""Decisions indexed at once: some 8 ms, which appends have to wait for."""
SAMPLED_ROWS = 4
SAMPLED_ENTRIES = 32
"""Decisions of a batch whose events the field catalog learns from, of at most 4 rows: a tenth of
the work of a full batch, and all there are of a small one."""
MAX_PATH = 1_024
"""Characters of a path that searches see."""
HOUR_NS = 3_600_000_000_000
MINUTE_NS = 60_000_000_000

# The array that `log.encode_index` makes, and what `lifts.entry` adds to it, is taken apart once;
# the statements after it read columns, which costs a fifth of reading JSON.
_MAKE_BATCH = text("""
    CREATE TEMP TABLE IF NOT EXISTS batch (
        position INTEGER PRIMARY KEY, tenant_id, decision_id, received_at_ns, api_key_id, key_hash,
        fingerprint, observed_at_ns, action, reason, policy_id, path, entity_ids, fired, errors,
        audit)
""")
_FILL_BATCH = text(f"""
    INSERT INTO batch
    SELECT key, unhex(value ->> 0, '-'), unhex(value ->> 1, '-'), value ->> 2,
           unhex(value ->> 3, '-'), unhex(value ->> 4), unhex(value ->> 5), value ->> 6,
           value ->> 7, value ->> 8, unhex(value ->> 9, '-'), substr(value ->> 10, 1, {MAX_PATH}),
           unhex(value ->> 11, '-'), value ->> 12, value ->> 13, value ->> 14
    FROM jsonb_each(:rows)
""")
_EMPTY_BATCH = text("DELETE FROM batch")

_DECISIONS = text("""
    INSERT INTO decisions (tenant_id, decision_id, seq, received_at_ns, observed_at_ns, action,
                           reason, policy_id, path, api_key_id, entity_ids, fired)
    SELECT tenant_id, decision_id, :first + position, received_at_ns, observed_at_ns, action,
           reason, policy_id, path, api_key_id, entity_ids, fired
    FROM batch
    WHERE true
    ON CONFLICT DO NOTHING
""")

_IDEMPOTENCY = text(f"""
    INSERT INTO idempotency (hour, key_hash, fingerprint, seq)
    SELECT received_at_ns / {HOUR_NS}, key_hash, fingerprint, :first + position
    FROM batch
    WHERE key_hash IS NOT NULL
    ON CONFLICT DO NOTHING
""")

# Three kinds of row: every decision (policy id 0), every policy that fired, every policy
# that failed.
_RESULT_COUNTS = text(f"""
    INSERT INTO result_counts (tenant_id, policy_id, minute, total, monitor, challenge, block,
                               errors, last_match_ns, last_received_ns)
    SELECT tenant_id, policy, observed_at_ns / {MINUTE_NS}, sum(matched),
           sum(matched AND mode = 'Monitor'), sum(matched AND mode = 'Challenge'),
           sum(matched AND mode = 'Block'), sum(failed),
           max(iif(matched, observed_at_ns, NULL)), max(received_at_ns)
    FROM (
        SELECT tenant_id, zeroblob(16) AS policy, observed_at_ns, received_at_ns, 1 AS matched,
               errors <> '[]' AS failed,
               CASE action WHEN 'block' THEN 'Block' WHEN 'challenge' THEN 'Challenge'
                    ELSE iif(fired <> '[]', 'Monitor', '') END AS mode
        FROM batch
        WHERE action <> '{LIFT}'
        UNION ALL
        SELECT tenant_id, unhex(each.value ->> 0, '-'), observed_at_ns, received_at_ns, 1, 0,
               each.value ->> 1
        FROM batch, json_each(batch.fired) AS each
        WHERE batch.fired <> '[]'
        UNION ALL
        SELECT tenant_id, unhex(each.value, '-'), observed_at_ns, received_at_ns, 0, 1, ''
        FROM batch, json_each(batch.errors) AS each
        WHERE batch.errors <> '[]' AND each.value <> ''
    )
    GROUP BY 1, 2, 3
    ON CONFLICT DO UPDATE SET
        total = total + excluded.total, monitor = monitor + excluded.monitor,
        challenge = challenge + excluded.challenge, block = block + excluded.block,
        errors = errors + excluded.errors,
        last_match_ns = max(coalesce(last_match_ns, excluded.last_match_ns),
                            coalesce(excluded.last_match_ns, last_match_ns)),
        last_received_ns = max(last_received_ns, excluded.last_received_ns)
""")

_LIFTS = text(f"""
    INSERT INTO audit (audit_id, tenant_id, at_ns, actor, action, kind, object_id, before,
                       request_id)
    SELECT decision_id, tenant_id, received_at_ns, audit ->> 0, '{LIFT}', audit ->> 1,
           audit ->> 2, audit -> 3, audit ->> 4
    FROM batch
    WHERE action = '{LIFT}'
    ON CONFLICT DO NOTHING
""")


def index_batch(connection: Connection, until: int) -> int:
    """Index about ``BATCH_ENTRIES`` decisions.

    Args:
        connection: the writing connection, in a transaction.
        until: number of the last decision there is.

    Returns:
        The number of the last decision that is indexed now.

    Raises:
        DamagedLogError: a row is damaged or missing.
    """
    # Read here, under the lock: another process may have indexed since this one looked.
    indexed = counter(connection, INDEXED_SEQ)
    if indexed >= until:
        return indexed
    rows = _next_rows(connection, indexed)
    index = b",".join(unpack(row["first_seq"], row["index_body"]) for row in rows)
    connection.execute(_MAKE_BATCH)
    connection.execute(_FILL_BATCH, {"rows": f"[{index.decode()}]"})
    first = {"first": indexed + 1}
    connection.execute(_DECISIONS, first)
    connection.execute(_IDEMPOTENCY, first)
    connection.execute(_RESULT_COUNTS)
    connection.execute(_LIFTS)
    connection.execute(_EMPTY_BATCH)
    catalog.learn(connection, _sample(connection, rows))
    last: int = rows[-1]["first_seq"] + rows[-1]["count"] - 1
    set_counter(connection, INDEXED_SEQ, last)
    return last


def _sample(connection: Connection, rows: Sequence[RowMapping]) -> Iterator[LogLine]:
    """A few decisions of some log rows, from all over them."""
    is_small = sum(row["count"] for row in rows) <= SAMPLED_ENTRIES
    every = 1 if is_small else -(-len(rows) // SAMPLED_ROWS)
    seqs = [row["first_seq"] for row in rows[::every]]
    bodies = select(decision_log.c.first_seq, decision_log.c.tenant_id, decision_log.c.body).where(
        decision_log.c.first_seq.in_(seqs)
    )
    for first_seq, tenant_id, body in connection.execute(bodies):
        lines = unpack(first_seq, body).split(b"\n")
        step = -(-len(lines) * len(seqs) // SAMPLED_ENTRIES)
        for start in range(0, len(lines), step):
            # Traffic has rhythms: always the same place of each stretch would see one beat only.
            mixed = xxhash.xxh3_64_intdigest(b"%d" % (first_seq + start))
            position = min(start + mixed % step, len(lines) - 1)
            yield LogLine(first_seq + position, tenant_id, lines[position])


def _next_rows(connection: Connection, indexed: int) -> Sequence[RowMapping]:
    """The log rows of a batch.  Numbers have no gap: what is missing was lost."""
    rows = (
        connection.execute(
            select(decision_log.c.first_seq, decision_log.c.count, decision_log.c.index_body)
            .where(decision_log.c.first_seq.between(indexed + 1, indexed + BATCH_ENTRIES))
            .order_by(decision_log.c.first_seq)
        )
        .mappings()
        .all()
    )
    expected = indexed + 1
    for row in rows:
        if row["first_seq"] != expected:
            break
        expected += row["count"]
    else:
        if rows:
            return rows
    raise DamagedLogError(expected, "is missing")
