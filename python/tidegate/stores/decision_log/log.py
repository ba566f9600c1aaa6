"""The decision log: the one record from which everything about decisions is derived.

A row holds the decisions of one tenant in one commit, as zstd of NDJSON with a
checksum.  Decisions are numbered from 1 without a gap across all tenants; a row knows
its first number, so a line need not carry its own.  Beside the lines stands their index, small
enough to be read by the database itself.
"""

from __future__ import annotations

import struct
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
import orjson
import xxhash
import zstandard
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from tidegate.stores.base import DamagedLogError, NotFoundError
from tidegate.stores.decision_log import gaps
from tidegate.stores.decision_log.rows import Unreadable, rows
from tidegate.stores.rows.connections import is_corrupt
from tidegate.stores.rows.counters import PRUNED_SEQ, counter
from tidegate.stores.rows.tables import decision_log

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tidegate.stores.objects.audit import AuditEntry
    from tidegate.stores.objects.daemons import Forwarded

LIFT = "lift"
"""Stands in place of the endpoint and of the action when the entry is what an operator ended, a
mitigation or a pass: see lifts.py."""
MAX_ROW_ENTRIES = 256
"""Lines in a row: reading one decision unpacks its row, so a row stays below about 0.5 MB."""
PACKED_BYTES = 64 * 1024
"""Packed bytes that are unpacked at once where the size is not known before."""
MAX_ROW_BYTES = 256 * 1024 * 1024
"""The most that a row may unpack to; a damaged length cannot ask for more."""


@attrs.frozen
class LogBlock:
    """Decisions of one tenant on their way into the log, in order.

    Args:
        tenant_id: whose decisions they are.
        count: how many, 1 to :data:`MAX_ROW_ENTRIES`.
        received_at_ns: when the newest of their events arrived.
        first_id: 16 bytes, the least of their ids, as a rule the first decision's.
        last_id: 16 bytes, the greatest of their ids, as a rule the last decision's.
        lines: the decisions as lines of JSON, as :func:`encode_line` makes them, with a line
            feed between two.
        index: their index entries, as :func:`encode_index` makes them, with a comma between two.
        audit: an entry that is written with them.
        forwarded: how far the decisions of a daemon's spool come with them, which is noted with
            them.
    """

    tenant_id: UUID
    count: int
    received_at_ns: int
    first_id: bytes
    last_id: bytes
    lines: bytes
    index: bytes
    audit: AuditEntry | None = None
    forwarded: Forwarded | None = None

    @property
    def has_rows(self) -> bool:
        """Whether rows of other tables are written with it."""
        return self.audit is not None or self.forwarded is not None

    @classmethod
    def of_one(
        cls,
        tenant_id: UUID,
        decision_id: UUID,
        received_at_ns: int,
        line: bytes,
        index: bytes,
        audit: AuditEntry | None = None,
    ) -> LogBlock:
        """A single decision."""
        name = decision_id.bytes
        return cls(tenant_id, 1, received_at_ns, name, name, line, index, audit)


def encode_line(
    decision_id: str,
    received_at_ns: int,
    api_key_id: str | None,
    source: bytes,
    endpoint: str,
    idempotency: tuple[bytes, bytes] | None,
    revision: int,
    duration_us: int,
    answer: bytes,
    record: bytes,
    effects: bytes,
    event: bytes,
    sealed: bytes | None = None,
    daemon: tuple[str, int] | None = None,
) -> bytes:
    """A decision as its line of the log.

    Args:
        decision_id: UUID of version 7, as text.
        received_at_ns: nanoseconds since 1970.
        api_key_id: the key the event came with.
        source: label of the origin, as JSON (``b"null"`` without one).
        endpoint: which call it came by, one plain word.
        idempotency: hash of the key and fingerprint of the body, 16 bytes each.
        revision: of the definitions that decided.
        duration_us: microseconds it took.
        answer: what the caller was sent, as JSON.
        record: the decision in full, as JSON.
        effects: what repeats it on the state, as JSON.
        event: the event, redacted, as JSON without line feeds.
        sealed: what a challenge needs of the exact event; None for other decisions.
        daemon: id of the daemon that decided and forwarded it, and its number there.
    """
    origin = b"" if daemon is None else b',"daemon":["%b",%d]' % (daemon[0].encode(), daemon[1])
    key = b"null" if api_key_id is None else b'"%b"' % api_key_id.encode()
    pair = b"null"
    if idempotency is not None:
        pair = b'["%b","%b"]' % (idempotency[0].hex().encode(), idempotency[1].hex().encode())
    kept = b"" if sealed is None else b'"sealed":"%b",' % urlsafe_b64encode(sealed).rstrip(b"=")
    return (
        b'{"decision_id":"%b","received_at":%d,"api_key_id":%b,"source":%b,"endpoint":"%b",'
        b'"idempotency":%b,"revision":%d%b,"duration_us":%d,%b"answer":%b,"record":%b,"effects":%b,'
        b'"event":%b}'
    ) % (
        decision_id.encode(),
        received_at_ns,
        key,
        source,
        endpoint.encode(),
        pair,
        revision,
        origin,
        duration_us,
        kept,
        answer,
        record,
        effects,
        event,
    )


def encode_index(
    tenant_id: str,
    decision_id: str,
    received_at_ns: int,
    api_key_id: str | None,
    idempotency: tuple[bytes, bytes] | None,
    observed_at_ns: int,
    action: str,
    reason: str,
    policy_id: str | None,
    path: str | None,
    entity_ids: Iterable[str],
    fired: Sequence[tuple[str, str]],
    errors: Sequence[str],
) -> bytes:
    """The index entry of a decision, by which it is found and counted, as one JSON array.

    Args:
        tenant_id: UUID as text, as all ids here.
        decision_id: as for :func:`encode_line`.
        received_at_ns: as for :func:`encode_line`.
        api_key_id: as for :func:`encode_line`.
        idempotency: as for :func:`encode_line`.
        observed_at_ns: the time the event counts at.
        action: ``allow``, ``challenge`` or ``block``.
        reason: why.
        policy_id: the policy that answered.
        path: ``request.path`` without a query.
        entity_ids: of the event's entities.
        fired: ids of the policies of which a clause fired, with their strongest mode.
        errors: ids of the policies an expression of which failed; ``""`` stands for the
            expressions of actions and entities.
    """
    key_hash, fingerprint = idempotency or (None, None)
    return orjson.dumps(
        [
            tenant_id,
            decision_id,
            received_at_ns,
            api_key_id,
            None if key_hash is None else key_hash.hex(),
            None if fingerprint is None else fingerprint.hex(),
            observed_at_ns,
            action,
            reason,
            policy_id,
            path,
            "".join(entity_ids),
            fired,
            errors,
        ]
    )


@attrs.frozen
class LoggedDecision:
    """A decision read back; parts in bytes are JSON, as they were written."""

    decision_id: UUID
    received_at_ns: int
    api_key_id: UUID | None
    source: str | None
    endpoint: str
    idempotency: tuple[bytes, bytes] | None
    """Hash of the key, fingerprint of the body."""
    revision: int
    duration_us: int
    answer: bytes
    record: bytes
    effects: bytes
    event: bytes
    sealed: bytes | None = None
    """What a challenge needs of the exact event; None for other decisions, and those of earlier
    versions."""
    daemon: tuple[UUID, int] | None = None
    """The daemon that decided and forwarded it, and its number there."""


@attrs.frozen
class LogLine:
    """One line of the log, its number and whose it is."""

    seq: int
    tenant_id: UUID
    line: bytes

    def decision(self) -> LoggedDecision:
        """The decision in the line."""
        return read_line(self.line)

    @property
    def is_decision(self) -> bool:
        """Whether it is one, and not what an operator ended."""
        return _ENDPOINTS.decode(self.line).endpoint != LIFT

    def effects(self) -> bytes:
        """The effects that repeat the decision on the state: all that a start needs of it."""
        return effects_in(self.line)


def read_line(line: bytes) -> LoggedDecision:
    """The decision in a line."""
    read = _LINES.decode(line)
    key = read.idempotency
    return LoggedDecision(
        decision_id=read.decision_id,
        received_at_ns=read.received_at,
        api_key_id=read.api_key_id,
        source=read.source,
        endpoint=read.endpoint,
        idempotency=None if key is None else (bytes.fromhex(key[0]), bytes.fromhex(key[1])),
        revision=read.revision,
        duration_us=read.duration_us,
        answer=bytes(read.answer),
        record=bytes(read.record),
        effects=bytes(read.effects),
        event=bytes(read.event),
        sealed=None if read.sealed is None else urlsafe_b64decode(read.sealed + "=="),
        daemon=read.daemon,
    )


def effects_in(line: bytes) -> bytes:
    """The effects in a line."""
    # Found, not parsed: starts need hundreds of thousands.  Within strings quotes are escaped,
    # and nothing before the effects has an array of their name, nor they an event's.
    start = line.index(_EFFECTS_START) + len(_EFFECTS_START) - 1
    return line[start : line.index(_EFFECTS_END, start)]


def event_in(line: bytes) -> bytes:
    """The event in a line, found in the same way; it is the last member."""
    start = line.index(_EFFECTS_END, line.index(_EFFECTS_START))
    return line[start + len(_EFFECTS_END) : -1]


class _Endpoint(msgspec.Struct):
    endpoint: str


class _Line(_Endpoint):
    effects: msgspec.Raw
    decision_id: UUID
    received_at: int
    api_key_id: UUID | None
    source: str | None
    idempotency: tuple[str, str] | None
    revision: int
    duration_us: int
    answer: msgspec.Raw
    record: msgspec.Raw
    event: msgspec.Raw
    sealed: str | None = None
    daemon: tuple[UUID, int] | None = None


_LINES = msgspec.json.Decoder(_Line)
_ENDPOINTS = msgspec.json.Decoder(_Endpoint)
_EFFECTS_START, _EFFECTS_END = b',"effects":[', b',"event":'
_ROW = (
    decision_log.c.first_seq,
    decision_log.c.tenant_id,
    decision_log.c.count.label("entries"),
    decision_log.c.body,
)


class _Zstd(threading.local):
    """Compressors may not be shared by threads."""

    def __init__(self) -> None:
        # Level -1 packs a decision to a tenth in 2 µs; higher ones take longer for little.
        self.pack = zstandard.ZstdCompressor(level=-1, write_checksum=True, write_content_size=True)
        self.unpack = zstandard.ZstdDecompressor()


_ZSTD = _Zstd()


def pack(lines: Sequence[bytes], separator: bytes) -> bytes:
    """Lines joined and compressed, with a checksum."""
    return _ZSTD.pack.compress(separator.join(lines))


def unpack(seq: int, packed: bytes, most: int | None = None) -> bytes:
    """The text that :func:`pack` compressed; a row that claims more than ``most`` bytes is refused.

    Raises:
        DamagedLogError: it is not what was packed.
    """
    try:
        size = zstandard.frame_content_size(packed)
        if not 0 <= size <= (MAX_ROW_BYTES if most is None else most):
            raise DamagedLogError(seq, "has no believable size")
        return _ZSTD.unpack.decompress(packed)
    except zstandard.ZstdError:
        raise DamagedLogError(seq, "does not match its checksum") from None


class Packing:
    """:func:`pack` for content that arrives in pieces and is too large to hold whole."""

    def __init__(self) -> None:
        self._packing = _ZSTD.pack.compressobj()
        self._packed: list[bytes] = []

    def add(self, piece: bytes) -> None:
        """Pack one more piece."""
        self._packed.append(self._packing.compress(piece))

    def finish(self) -> bytes:
        """All of it."""
        return b"".join([*self._packed, self._packing.flush()])


def unpack_pieces(seq: int, packed: bytes, most: int) -> bytes:
    """The packed content, in pieces or whole; at most ``most`` bytes of it.

    Raises:
        DamagedLogError: it is not what was packed.
    """
    unpacking = _ZSTD.unpack.decompressobj()
    pieces: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(packed), PACKED_BYTES):
            pieces.append(unpacking.decompress(packed[start : start + PACKED_BYTES]))
            size += len(pieces[-1])
            if size > most:
                raise DamagedLogError(seq, "has no believable size")
    except zstandard.ZstdError:
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
    """The checksum of a row and of its place: a column of 64 bits with a sign."""
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
    """Number of the last decision, even if it was deleted or lost; 0 when there never was one."""
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
        tenant_id: whose it must be, if that matters.

    Raises:
        NotFoundError: there is none (any more), or it is another tenant's.
        DamagedLogError: its row is damaged.
    """
    row = _fetch(connection, seq)
    if row is None or seq >= row.first_seq + row.entries:
        raise NotFoundError("decision")
    if tenant_id is not None and row.tenant_id != tenant_id:
        raise NotFoundError("decision")
    return LogLine(seq, row.tenant_id, _lines(row)[seq - row.first_seq])


def _fetch(connection: Connection, seq: int) -> Row[*tuple[Any, ...]] | None:
    """The row that an entry is in, if it is there; else one before it, or None."""
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
        connection: a connection of the store, for as long as the scan goes on.
        after: number of the last decision that is not wanted.
        until: number of the last that is.
        tenant_id: of one tenant only.
        passed: called with each damaged row that is skipped; without it the first one ends the
        scan.

    Raises:
        DamagedLogError: a row is damaged; the decisions before it have been yielded.
    """
    end = last_seq(connection) if until is None else until
    # The row that holds `after` may hold decisions past it.
    for row in rows(connection, _ROW, max(after - MAX_ROW_ENTRIES, -1), end, tenant_id):
        try:
            if isinstance(row, Unreadable):
                if row.last_seq > after:
                    raise DamagedLogError(row.first_seq, "cannot be read", row.last_seq)
            elif row.first_seq + row.entries - 1 > after:
                for seq, line in enumerate(_lines(row), row.first_seq):
                    if after < seq <= end:
                        yield LogLine(seq, row.tenant_id, line)
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
    """Decisions of a tenant by number, in the order of ``seqs``, which is ascending.

    Deleted ones are left out.

    Args:
        connection: a connection of the store.
        seqs: their numbers.
        tenant_id: whose.
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
