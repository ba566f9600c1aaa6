"""A decision as a line of the decision log, and as its index entry.

This module knows no database: a daemon keeps the same lines in its spool.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
import orjson

from tidegate_server.stores.base import DamagedLogError

if TYPE_CHECKING:
    from tidegate_server.stores.objects.audit import AuditEntry
    from tidegate_server.stores.objects.daemons import Forwarded

LIFT = "lift"
"""The endpoint and action of an entry for a mitigation or pass that an operator ended; see
lifts.py."""
MAX_ROW_ENTRIES = 256
"""Lines in a row: reading one decision unpacks its row, so a row stays below about 0.5 MB."""


@attrs.frozen
class LogBlock:
    """Decisions of one tenant to append to the log, in order.

    Args:
        tenant_id: the tenant of the decisions.
        count: how many, 1 to :data:`MAX_ROW_ENTRIES`.
        received_at_ns: when their newest event arrived.
        first_id: 16 bytes, the smallest of their ids, usually the first decision's.
        last_id: 16 bytes, the greatest of their ids, usually the last decision's.
        lines: the decisions as JSON lines from :func:`encode_line`, separated by line feeds.
        index: their index entries from :func:`encode_index`, separated by commas.
        audit: an audit entry written with them.
        forwarded: the last number of a daemon's spool among them, recorded with them.
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
        """A block with a single decision."""
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
    trace_id: str | None = None,
) -> bytes:
    """Encode a decision as its line of the log.

    Args:
        decision_id: UUID of version 7, as text.
        received_at_ns: nanoseconds since 1970.
        api_key_id: the key the event came with.
        source: label of the origin, as JSON (``b"null"`` if there isn't one).
        endpoint: the call it came by, one plain word.
        idempotency: hash of the key and fingerprint of the body, 16 bytes each.
        revision: revision of the definitions that decided.
        duration_us: microseconds the decision took.
        answer: the response to the caller, as JSON.
        record: the decision in full, as JSON.
        effects: the effects that repeat it on the state, as JSON.
        event: the event, redacted, as JSON without line feeds.
        sealed: the parts of the exact event that a challenge needs; None for other decisions.
        daemon: id of the daemon that decided and forwarded it, and its number there.
        trace_id: of the call, in 32 hexadecimal digits.
    """
    trace = b"" if trace_id is None else b'"trace_id":"%b",' % trace_id.encode()
    origin = b"" if daemon is None else b',"daemon":["%b",%d]' % (daemon[0].encode(), daemon[1])
    key = b"null" if api_key_id is None else b'"%b"' % api_key_id.encode()
    pair = b"null"
    if idempotency is not None:
        pair = b'["%b","%b"]' % (idempotency[0].hex().encode(), idempotency[1].hex().encode())
    kept = b"" if sealed is None else b'"sealed":"%b",' % urlsafe_b64encode(sealed).rstrip(b"=")
    return (
        b'{"decision_id":"%b","received_at":%d,"api_key_id":%b,"source":%b,"endpoint":"%b",'
        b'"idempotency":%b,"revision":%d%b,"duration_us":%d,%b%b"answer":%b,"record":%b,"effects":%b,'
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
        trace,
        kept,
        answer,
        record,
        effects,
        event,
    )


class IndexEntry(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The index entry of a decision or a lift, in the order in which it is written.

    Attributes:
        tenant_id: UUID as text, like all ids here.
        decision_id: of the line.
        received_at_ns: nanoseconds since 1970.
        api_key_id: the key the event came with.
        key_hash: hash of the idempotency key, in hexadecimal.
        fingerprint: hash of the body that came with it, in hexadecimal.
        observed_at_ns: the time the event counts at.
        action: ``allow``, ``challenge``, ``block``, or :data:`LIFT`.
        reason: the reason.
        policy_id: the policy that answered.
        path: ``request.path`` without the query.
        entities: ids of the event's entities, one after the other.
        fired: ids of the policies with a clause that fired, with their strongest mode.
        errors: ids of the policies with an expression that failed; ``""`` is for the expressions of
            actions and entities.
    """

    tenant_id: str
    decision_id: str
    received_at_ns: int
    api_key_id: str | None
    key_hash: str | None
    fingerprint: str | None
    observed_at_ns: int
    action: str
    reason: str
    policy_id: str | None
    path: str | None
    entities: str
    fired: Sequence[tuple[str, str]]
    errors: Sequence[str]

    @property
    def entity_ids(self) -> list[str]:
        """The ids of the event's entities."""
        return [self.entities[start : start + 36] for start in range(0, len(self.entities), 36)]


def read_index(index: bytes) -> list[IndexEntry]:
    """The index entries of several decisions, separated by commas.

    Raises:
        ValueError: they aren't index entries.
    """
    return _INDEX.decode(b"[%b]" % index)


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
    """The index entry of a decision, for searches and counts, as one JSON array.

    Args, where they aren't those of :class:`IndexEntry`:
        idempotency: as for :func:`encode_line`.
        entity_ids: ids of the event's entities.
    """
    key_hash, fingerprint = idempotency or (None, None)
    return msgspec.json.encode(
        IndexEntry(
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
        )
    )


@attrs.frozen
class LoggedDecision:
    """A decision read back; bytes are JSON as it was written."""

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
    """The sealed context for a challenge; None for other decisions and those of earlier versions.
    """
    daemon: tuple[UUID, int] | None = None
    """The daemon that decided and forwarded it, and its number there."""
    trace_id: str | None = None
    """The trace of the call, by its ``traceparent``."""


class LogLine(msgspec.Struct, frozen=True):
    """One line of the log, with number and tenant; a start creates hundreds of thousands."""

    seq: int
    tenant_id: UUID
    line: bytes

    def decision(self) -> LoggedDecision:
        """The decision in the line.

        Raises:
            DamagedLogError: the line is not a decision.
        """
        try:
            return read_line(self.line)
        except ValueError as error:
            raise DamagedLogError(self.seq, f"is not a decision: {error}") from None

    @property
    def is_decision(self) -> bool:
        """Whether the line is a decision, not a mitigation ended by an operator.

        Raises:
            DamagedLogError: the line is neither.
        """
        try:
            return _ENDPOINTS.decode(self.line).endpoint != LIFT
        except ValueError as error:
            raise DamagedLogError(self.seq, f"is not a decision: {error}") from None

    def effects(self) -> bytes:
        """The effects that repeat the decision on the state: a start needs nothing else of it.

        Raises:
            DamagedLogError: the line has no effects.
        """
        try:
            return effects_in(self.line)
        except ValueError:
            raise DamagedLogError(self.seq, "has no effects") from None


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
        trace_id=read.trace_id,
    )


def trace_id_in(lines: bytes) -> str | None:
    """The trace of the last of several lines."""
    return _TRACES.decode(lines[lines.rfind(b"\n") + 1 :]).trace_id


def effects_in(line: bytes) -> bytes:
    """The effects in a line."""
    # Found without parsing: a start needs hundreds of thousands.  Quotes within strings are
    # escaped, no earlier member has an array of this name, and neither has an event.
    start = line.index(_EFFECTS_START) + len(_EFFECTS_START) - 1
    return line[start : line.index(_EFFECTS_END, start)]


def event_in(line: bytes) -> bytes:
    """The event in a line, found in the same way; it is the last member."""
    start = line.index(_EFFECTS_END, line.index(_EFFECTS_START))
    return line[start + len(_EFFECTS_END) : -1]


def read_event(event: bytes) -> dict[str, Any]:
    """The members of a recorded event.

    A number is kept as its text: an event may have numbers that Python's can't represent.

    Args:
        event: a recorded event.

    Raises:
        ValueError: it isn't a JSON object.
    """
    read = json.loads(event, parse_int=str, parse_float=str)
    if not isinstance(read, dict):
        raise ValueError("the event is not an object")
    return read


def join_effects(effects: Sequence[bytes]) -> bytes:
    """The effects of several entries, joined into one text."""
    return orjson.dumps([orjson.Fragment(each[1:-1]) for each in effects if each != b"[]"])


class _Endpoint(msgspec.Struct):
    endpoint: str


class _Trace(msgspec.Struct):
    trace_id: str | None = None


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
    trace_id: str | None = None


_LINES = msgspec.json.Decoder(_Line)
_INDEX = msgspec.json.Decoder(list[IndexEntry])
_TRACES = msgspec.json.Decoder(_Trace)
_ENDPOINTS = msgspec.json.Decoder(_Endpoint)
_EFFECTS_START, _EFFECTS_END = b',"effects":[', b',"event":'
