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
from tidegate.stores.counters import INDEXED_SEQ, set_counter
from tidegate.stores.log import LIFT, LogLine, unpack
from tidegate.stores.tables import decision_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, RowMapping

BATCH_ENTRIES = 2_000
"""Decisions indexed at once: some 20 ms, which appends have to wait for."""
SAMPLED_ROWS = 8
SAMPLED_ENTRIES = 64
"""Decisions of a batch whose events the field catalog learns from, of at most 8 rows: 2 % of the
work of a full batch, and all there are of a small one."""
MAX_PATH = 1_024
"""Characters of a path that searches see."""
HOUR_NS = 3_600_000_000_000
MINUTE_NS = 60_000_000_000

# The array that `log.encode_index` makes, by position.
_TENANT, _DECISION, _RECEIVED, _API_KEY, _KEY_HASH, _FINGERPRINT = range(6)
_OBSERVED, _ACTION, _REASON, _POLICY, _PATH, _ENTITIES, _FIRED, _ERRORS = range(6, 14)
# What `lifts.entry` adds to it.
_AUDIT = 14

_DECISIONS = text(f"""
    INSERT INTO decisions (tenant_id, decision_id, seq, received_at_ns, observed_at_ns, action,
                           reason, policy_id, path, api_key_id, entity_ids, fired)
    SELECT unhex(value ->> {_TENANT}, '-'), unhex(value ->> {_DECISION}, '-'), :first + key,
           value ->> {_RECEIVED}, value ->> {_OBSERVED}, value ->> {_ACTION}, value ->> {_REASON},
           unhex(value ->> {_POLICY}, '-'), substr(value ->> {_PATH}, 1, {MAX_PATH}),
           unhex(value ->> {_API_KEY}, '-'), unhex(value ->> {_ENTITIES}, '-'),
           value ->> {_FIRED}
    FROM jsonb_each(:rows)
    WHERE true
    ON CONFLICT DO NOTHING
""")

_IDEMPOTENCY = text(f"""
    INSERT INTO idempotency (hour, key_hash, fingerprint, seq)
    SELECT value ->> {_RECEIVED} / {HOUR_NS}, unhex(value ->> {_KEY_HASH}),
           unhex(value ->> {_FINGERPRINT}), :first + key
    FROM jsonb_each(:rows)
    WHERE value ->> {_KEY_HASH} IS NOT NULL
    ON CONFLICT DO NOTHING
""")

# Three kinds of row: every decision (policy id 0), every policy that fired, every policy
# that failed.
_RESULT_COUNTS = text(f"""
    INSERT INTO result_counts (tenant_id, policy_id, minute, total, monitor, challenge, block,
                               errors, last_match_ns, last_received_ns)
    SELECT unhex(tenant, '-'), policy, observed / {MINUTE_NS}, sum(matched),
           sum(matched AND mode = 'Monitor'), sum(matched AND mode = 'Challenge'),
           sum(matched AND mode = 'Block'), sum(failed), max(iif(matched, observed, NULL)),
           max(received)
    FROM (
        SELECT value ->> {_TENANT} AS tenant, zeroblob(16) AS policy,
               value ->> {_OBSERVED} AS observed, value ->> {_RECEIVED} AS received,
               1 AS matched, value -> {_ERRORS} <> '[]' AS failed,
               CASE value ->> {_ACTION} WHEN 'block' THEN 'Block' WHEN 'challenge' THEN 'Challenge'
                    ELSE iif(value -> {_FIRED} <> '[]', 'Monitor', '') END AS mode
        FROM jsonb_each(:rows)
        WHERE value ->> {_ACTION} <> '{LIFT}'
        UNION ALL
        SELECT row.value ->> {_TENANT}, unhex(fired.value ->> 0, '-'), row.value ->> {_OBSERVED},
               row.value ->> {_RECEIVED}, 1, 0, fired.value ->> 1
        FROM jsonb_each(:rows) AS row, jsonb_each(row.value, '$[{_FIRED}]') AS fired
        UNION ALL
        SELECT row.value ->> {_TENANT}, unhex(failed.value, '-'), row.value ->> {_OBSERVED},
               row.value ->> {_RECEIVED}, 0, 1, ''
        FROM jsonb_each(:rows) AS row, jsonb_each(row.value, '$[{_ERRORS}]') AS failed
        WHERE failed.value <> ''
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
    SELECT unhex(value ->> {_DECISION}, '-'), unhex(value ->> {_TENANT}, '-'),
           value ->> {_RECEIVED}, value ->> '$[{_AUDIT}][0]', '{LIFT}',
           value ->> '$[{_AUDIT}][1]', value ->> '$[{_AUDIT}][2]', value -> '$[{_AUDIT}][3]',
           value ->> '$[{_AUDIT}][4]'
    FROM jsonb_each(:rows)
    WHERE value ->> {_ACTION} = '{LIFT}'
    ON CONFLICT DO NOTHING
""")


def index_batch(connection: Connection, indexed: int) -> int:
    """Index about ``BATCH_ENTRIES`` decisions.

    Args:
        connection: the writing connection, in a transaction.
        indexed: number of the last decision that is indexed; there are later ones.

    Returns:
        The number of the last decision that is indexed now.

    Raises:
        DamagedLogError: a row is damaged or missing.
    """
    rows = _next_rows(connection, indexed)
    index = b",".join(unpack(row["first_seq"], row["index_body"]) for row in rows)
    values = {"rows": f"[{index.decode()}]", "first": indexed + 1}
    has_lifts = f'"{LIFT}"'.encode() in index
    for statement in (_DECISIONS, _IDEMPOTENCY, _RESULT_COUNTS, *([_LIFTS] if has_lifts else [])):
        connection.execute(statement, values)
    catalog.learn(connection, _sample(connection, rows))
    last: int = rows[-1]["first_seq"] + rows[-1]["count"] - 1
    set_counter(connection, INDEXED_SEQ, last)
    return last


def _sample(connection: Connection, rows: Sequence[RowMapping]) -> Iterator[LogLine]:
    """A few decisions of some log rows, from all over them."""
    every = -(-len(rows) // SAMPLED_ROWS)
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
