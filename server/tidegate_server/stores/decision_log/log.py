"""The decision log: the only record, from which everything about decisions is derived.

A row holds the decisions of one tenant in one commit, as zstd-compressed NDJSON with a checksum.
Decisions are numbered from 1 without a gap across all tenants; a row knows its first number, so its
lines need none.  The lines' index is stored next to them, small enough for the database itself to
read.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import xxhash
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from tidegate_server.stores.base import DamagedLogError, NotFoundError
from tidegate_server.stores.decision_log import gaps
from tidegate_server.stores.decision_log.lines import MAX_ROW_ENTRIES, LogLine
from tidegate_server.stores.decision_log.rows import Unreadable, rows
from tidegate_server.stores.rows.compression import (
    ZstdDecompressor,
    ZstdError,
    compressed,
    compressor,
    decompressed,
)
from tidegate_server.stores.rows.counters import PRUNED_SEQ, counter
from tidegate_server.stores.rows.errors import is_corrupt
from tidegate_server.stores.rows.tables import decision_log

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


PACKED_BYTES = 64 * 1024
"""Packed bytes unpacked in one step if the size is not known."""
MAX_ROW_BYTES = 256 * 1024 * 1024
"""The most that a row may unpack to, so that a damaged length can't ask for more."""


_ROW = (
    decision_log.c.first_seq,
    decision_log.c.tenant_id,
    decision_log.c.count.label("entries"),
    decision_log.c.body,
)


LEVEL = -1
"""Packs a decision to a tenth in 2 µs; higher levels take longer for little."""


class _Zstd(threading.local):
    """Per-thread compressors, since threads may not share them."""

    def __init__(self) -> None:
        self.pack = compressor(LEVEL)


_ZSTD = _Zstd()


def pack(lines: Sequence[bytes], separator: bytes) -> bytes:
    """Join and compress lines, with a checksum."""
    return compressed(separator.join(lines), _ZSTD.pack)


def unpack(seq: int, packed: bytes, most: int | None = None) -> bytes:
    """The text that :func:`pack` compressed; a row that claims more than ``most`` bytes is
    rejected.

    Raises:
        DamagedLogError: it fails its checksum.
    """
    try:
        return decompressed(packed, MAX_ROW_BYTES if most is None else most)
    except ZstdError:
        reason = "does not match its checksum, or has no believable size"
        raise DamagedLogError(seq, reason) from None


class Packing:
    """:func:`pack` for content that arrives in pieces and is too large for memory."""

    def __init__(self) -> None:
        self._packing = compressor(LEVEL)
        self._packed: list[bytes] = []

    def add(self, piece: bytes) -> None:
        """Pack one more piece."""
        self._packed.append(self._packing.compress(piece))

    def finish(self) -> bytes:
        """The packed result."""
        return b"".join([*self._packed, self._packing.flush()])


def unpack_pieces(seq: int, packed: bytes, most: int) -> bytes:
    """Unpack content, in pieces or whole; at most ``most`` bytes of it.

    Raises:
        DamagedLogError: it fails its checksum.
    """
    unpacking = ZstdDecompressor()
    pieces: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(packed), PACKED_BYTES):
            pieces.append(unpacking.decompress(packed[start : start + PACKED_BYTES]))
            size += len(pieces[-1])
            if size > most:
                raise DamagedLogError(seq, "has no believable size")
    except (ZstdError, EOFError):
        raise DamagedLogError(seq, "does not match its checksum") from None
    if not unpacking.eof:
        raise DamagedLogError(seq, "has no end")
    return b"".join(pieces)


_HEAD = struct.Struct("<q16sqq16s16sqq")


def row_checksum(
    first_seq: int,
    tenant_id: bytes,
    count: int,
    received_at_ns: int,
    first_id: bytes,
    last_id: bytes,
    index_body: bytes,
    body: bytes,
    previous_seq: int | None,
) -> int:
    """The checksum of a row and its position: a signed 64-bit column."""
    packed = _HEAD.pack(
        first_seq,
        tenant_id,
        count,
        received_at_ns,
        first_id,
        last_id,
        -1 if previous_seq is None else previous_seq,
        len(index_body),
    )
    whole = xxhash.xxh3_64(packed)
    whole.update(index_body)
    whole.update(body)
    return whole.intdigest() - (1 << 63)


def last_seq(connection: Connection) -> int:
    """Number of the last decision, even if it was deleted or lost; 0 if there never was one."""
    newest = (
        select(decision_log.c.first_seq + decision_log.c.count - 1)
        .order_by(decision_log.c.first_seq.desc())
        .limit(1)
    )
    return max(
        connection.execute(newest).scalar() or 0,
        counter(connection, PRUNED_SEQ),
        gaps.last_seq(connection),
    )


def read(connection: Connection, seq: int, tenant_id: UUID | None = None) -> LogLine:
    """One decision.

    Args:
        connection: a connection of the store.
        seq: its number.
        tenant_id: the tenant it must belong to, if that matters.

    Raises:
        NotFoundError: it doesn't exist, or no longer, or belongs to another tenant.
        DamagedLogError: its row is damaged.
    """
    row = _fetch(connection, seq)
    if row is None or seq >= row.first_seq + row.entries:
        raise NotFoundError("decision")
    if tenant_id is not None and row.tenant_id != tenant_id:
        raise NotFoundError("decision")
    return LogLine(seq, row.tenant_id, _lines(row)[seq - row.first_seq])


def _fetch(connection: Connection, seq: int) -> Row[*tuple[Any, ...]] | None:
    """The row with an entry, if it exists; else an earlier row, or None."""
    query = (
        select(*_ROW)
        .where(decision_log.c.first_seq <= seq)
        .order_by(decision_log.c.first_seq.desc())
        .limit(1)
    )
    try:
        return connection.execute(query).first()
    except DBAPIError as error:
        if is_corrupt(error):
            raise DamagedLogError(seq, "cannot be read") from error
        raise


def scan(
    connection: Connection,
    *,
    after: int = 0,
    until: int | None = None,
    tenant_id: UUID | None = None,
    passed: Callable[[DamagedLogError], None] | None = None,
) -> Iterator[LogLine]:
    """Decisions in order, a few rows in memory at a time.

    Args:
        connection: a connection of the store, for as long as the scan lasts.
        after: number of the last decision to skip.
        until: number of the last decision to return.
        tenant_id: only this tenant's decisions.
        passed: called with each damaged row that is skipped; without it, the first one ends the
            scan.

    Raises:
        DamagedLogError: a row is damaged; the decisions before it have been yielded.
    """
    end = last_seq(connection) if until is None else until
    # The row with `after` may contain later decisions.
    for row in rows(connection, _ROW, max(after - MAX_ROW_ENTRIES, -1), end, tenant_id):
        try:
            if isinstance(row, Unreadable):
                if row.last_seq > after:
                    raise DamagedLogError(row.first_seq, "cannot be read", row.last_seq)
            elif row.first_seq + row.entries - 1 > after:
                first, tenant = max(row.first_seq, after + 1), row.tenant_id
                wanted = _lines(row)[first - row.first_seq : end + 1 - row.first_seq]
                for seq, line in enumerate(wanted, first):
                    yield LogLine(seq, tenant, line)
        except DamagedLogError as error:
            if passed is None:
                raise
            passed(error)


def read_many(
    connection: Connection,
    seqs: Sequence[int],
    tenant_id: UUID,
    passed: Callable[[DamagedLogError], None] | None = None,
) -> Iterator[LogLine]:
    """A tenant's decisions by number, in the order of ``seqs``, which is ascending.

    Deleted ones are left out.

    Args:
        connection: a connection of the store.
        seqs: their numbers.
        tenant_id: the tenant.
        passed: as for :func:`scan`.

    Raises:
        DamagedLogError: a row is damaged.
    """
    first = 0
    lines: list[bytes] = []
    for seq in seqs:
        if seq >= first + len(lines):
            try:
                row = _fetch(connection, seq)
                if row is None or row.tenant_id != tenant_id:
                    continue
                first, lines = row.first_seq, _lines(row)
            except DamagedLogError as error:
                if passed is None:
                    raise
                passed(error)
                continue
        if seq < first + len(lines):
            yield LogLine(seq, tenant_id, lines[seq - first])


def _lines(row: Row[*tuple[Any, ...]]) -> list[bytes]:
    end = row.first_seq + row.entries - 1
    try:
        lines = unpack(row.first_seq, row.body).split(b"\n")
    except DamagedLogError as error:
        raise DamagedLogError(row.first_seq, error.what, end) from None
    if len(lines) != row.entries:
        what = f"holds {len(lines)} decisions, not {row.entries}"
        raise DamagedLogError(row.first_seq, what, end)
    return lines
