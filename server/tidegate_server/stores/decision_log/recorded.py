"""Read recorded decisions, and report any line that isn't a decision as damage.

Rows of the log have checksums, so damage here is a line that another version wrote, or that a
daemon forwarded.
"""

from __future__ import annotations

from uuid import UUID

import msgspec

from tidegate_server.stores.base import DamagedLogError


class RecordedEntity(msgspec.Struct, frozen=True):
    """An entity of a recorded decision, with its key as it was stored then."""

    definition: str
    entity_id: UUID
    key: tuple[str | int | bool, ...]


class RecordedClause(msgspec.Struct, frozen=True):
    """A clause that fired."""

    policy: str
    clause: str
    mitigation: str | None = None
    entity_id: UUID | None = None


class RecordedAction(msgspec.Struct, frozen=True):
    """The action, without its details."""

    type: str


class Record(msgspec.Struct, frozen=True):
    """The members of a record that lists, counts and drafts use."""

    action: RecordedAction | None = None
    clause: str | None = None
    entities: tuple[RecordedEntity, ...] = ()
    matched_actions: tuple[str, ...] = ()
    fired: tuple[RecordedClause, ...] = ()
    errors: dict[str, str] = {}
    client_ip: str | None = None
    client_ip_problem: str | None = None


class _Line(msgspec.Struct):
    record: Record


_LINES = msgspec.json.Decoder(_Line)
_RECORDS = msgspec.json.Decoder(Record)
read_record = _RECORDS.decode
"""Parses the record of a decision."""


def record_in(line: bytes, seq: int) -> Record:
    """Parse the record in a line of the log.

    Args:
        line: the line of a decision.
        seq: its number, for the error.

    Raises:
        DamagedLogError: the line isn't a decision.
    """
    try:
        return _LINES.decode(line).record
    except ValueError as error:
        raise DamagedLogError(seq, f"is not a decision: {error}") from None
