"""The index step brings the derived tables up to date with the log.

A batch of log rows becomes rows of ``idempotency`` and ``result_counts``, and ``indexed_seq`` moves
in the same transaction: a crash leaves all of it or nothing, and the next step continues from
there.  The extension counts the batch, and each table gets one statement per batch or bucket, for
two reasons: the interpreter lock is released meanwhile, and a decision costs only a few
microseconds.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import text

from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import gaps
from tidegate_server.stores.decision_log.log import unpack
from tidegate_server.stores.decision_log.rows import Unreadable, rows
from tidegate_server.stores.index import derived
from tidegate_server.stores.index.counting import count_log
from tidegate_server.stores.rows.counters import PRUNED_SEQ, counter
from tidegate_server.stores.rows.dialects import Forms
from tidegate_server.stores.rows.tables import decision_log

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tidegate_server.stores.decision_log.gaps import LogGap

BATCH_ENTRIES = 16_384
"""Decisions indexed in one step, some 0.1 s: with more, more keys share a page."""

_INSERT_KEYS = "INSERT INTO idempotency (bucket, key_hash, fingerprint, seq)"
_IDEMPOTENCY = Forms(
    sqlite=text(f"""{_INSERT_KEYS}
        SELECT :bucket, substr(:keys, 1 + 32 * key, 16), substr(:keys, 17 + 32 * key, 16), value
        FROM jsonb_each(:seqs)
        WHERE true
        ON CONFLICT DO NOTHING
    """),
    postgresql=text(f"""{_INSERT_KEYS}
        SELECT CAST(:bucket AS bigint), substr(:keys, CAST(32 * place - 31 AS integer), 16),
               substr(:keys, CAST(32 * place - 15 AS integer), 16), CAST(value AS bigint)
        FROM json_array_elements_text(CAST(:seqs AS json)) WITH ORDINALITY AS each (value, place)
        ON CONFLICT DO NOTHING
    """),
)

_INSERT_COUNTS = """
    INSERT INTO result_counts AS known
        (tenant_id, policy_id, observed_minute, received_minute, total, allow, challenge, block,
         by_others, monitor, errors, last_observed_ns, last_received_ns)
"""


def _add_counts(greatest: str) -> str:
    sums = ("total", "allow", "challenge", "block", "by_others", "monitor", "errors")
    times = ("last_observed_ns", "last_received_ns")
    changes = [f"{name} = known.{name} + excluded.{name}" for name in sums] + [
        f"{name} = {greatest}(coalesce(known.{name}, excluded.{name}),"
        f" coalesce(excluded.{name}, known.{name}))"
        for name in times
    ]
    return (
        "ON CONFLICT (tenant_id, policy_id, observed_minute, received_minute) DO UPDATE SET "
        + ", ".join(changes)
    )


_RESULT_COUNTS = Forms(
    sqlite=text(f"""{_INSERT_COUNTS}
        SELECT unhex(value ->> '$[0][0]', '-'),
               iif(value ->> '$[0][1]' = '', zeroblob(16), unhex(value ->> '$[0][1]', '-')),
               value ->> '$[0][2]', value ->> '$[0][3]',
               value ->> '$[1][0]', value ->> '$[1][1]', value ->> '$[1][2]', value ->> '$[1][3]',
               value ->> '$[2][0]', value ->> '$[2][1]', value ->> '$[2][2]',
               value ->> '$[3][0]', value ->> '$[3][1]'
        FROM jsonb_each(:rows)
        WHERE true
        {_add_counts("max")}
    """),
    postgresql=text(f"""{_INSERT_COUNTS}
        SELECT decode(replace(value #>> '{{0,0}}', '-', ''), 'hex'),
               decode(coalesce(nullif(replace(value #>> '{{0,1}}', '-', ''), ''), repeat('0', 32)),
                      'hex'),
               CAST(value #>> '{{0,2}}' AS bigint), CAST(value #>> '{{0,3}}' AS bigint),
               CAST(value #>> '{{1,0}}' AS bigint), CAST(value #>> '{{1,1}}' AS bigint),
               CAST(value #>> '{{1,2}}' AS bigint), CAST(value #>> '{{1,3}}' AS bigint),
               CAST(value #>> '{{2,0}}' AS bigint), CAST(value #>> '{{2,1}}' AS bigint),
               CAST(value #>> '{{2,2}}' AS bigint),
               CAST(value #>> '{{3,0}}' AS bigint), CAST(value #>> '{{3,1}}' AS bigint)
        FROM json_array_elements(CAST(:rows AS json)) AS each (value)
        {_add_counts("greatest")}
    """),
)

_COUNT = decision_log.c.count.label("entries")


@attrs.frozen
class Batch:
    """A part of the log to be indexed.

    Args:
        after: number of the last decision before it.
        first: number of its first decision; not the next one if retention deleted some.
        last: number of its last decision.
        index: index of its decisions, as JSON arrays joined by commas; empty if all were deleted.
    """

    after: int
    first: int
    last: int
    index: bytes


def read_batch(connection: Connection, after: int, until: int) -> Batch | None:
    """About ``BATCH_ENTRIES`` decisions to index; None if there aren't any.

    Args:
        connection: a connection that reads the log.
        after: number of the last indexed decision.
        until: number of the last decision in the log.

    Raises:
        DamagedLogError: a row is damaged or missing.
    """
    if after >= until:
        return None
    lost = gaps.known(connection)
    batch = _next_rows(connection, after, until, lost)
    first = batch[0].first_seq if batch else until + 1
    # Only retention leaves gaps in the numbers: anything else that is missing was lost.
    missing = max(after, counter(connection, PRUNED_SEQ)) + 1
    if first > missing and not gaps.covers(lost, missing, first - 1):
        raise DamagedLogError(after + 1, "is missing")
    if not batch:
        return Batch(after, first, until, b"")
    count = sum(row.entries for row in batch)
    return Batch(
        after,
        first,
        first + count - 1,
        b",".join(unpack(row.first_seq, row.index_body) for row in batch),
    )


def index_batch(connection: Connection, batch: Batch) -> int:
    """Index a batch, unless another process has since it was read.

    Args:
        connection: the deriving connection, in a transaction.
        batch: the result of :func:`read_batch`.

    Returns:
        The number of the last decision that is indexed now.

    Raises:
        DamagedLogError: the batch's content isn't an index.
    """
    indexed = derived.take(connection)
    if indexed != batch.after:
        return indexed
    if batch.index:
        try:
            buckets, counts = count_log(batch.index, batch.first)
        except ValueError as error:
            raise DamagedLogError(batch.first, f"has an index that is none: {error}") from None
        for number, keys, seqs in buckets:
            statement = _IDEMPOTENCY.of(connection)
            connection.execute(statement, {"bucket": number, "keys": keys, "seqs": seqs})
        connection.execute(_RESULT_COUNTS.of(connection), {"rows": counts})
    derived.set_indexed_seq(connection, batch.last)
    return batch.last


def _next_rows(
    connection: Connection, after: int, until: int, lost: list[LogGap]
) -> list[Row[*tuple[Any, ...]]]:
    """The log rows of a batch, without gaps; known losses have no rows."""
    found_rows: list[Row[*tuple[Any, ...]]] = []
    expected = count = 0
    columns = (decision_log.c.first_seq, _COUNT, decision_log.c.index_body)
    with closing(rows(connection, columns, after, until)) as found:
        for row in found:
            if isinstance(row, Unreadable):
                if found_rows:
                    break
                if gaps.covers(lost, row.first_seq, row.last_seq):
                    continue
                raise DamagedLogError(row.first_seq, "cannot be read", row.last_seq)
            if gaps.covers(lost, row.first_seq, row.first_seq):
                if found_rows:
                    break
                continue
            if found_rows and row.first_seq != expected:
                break
            found_rows.append(row)
            expected = row.first_seq + row.entries
            count += row.entries
            if count >= BATCH_ENTRIES:
                break
    return found_rows
