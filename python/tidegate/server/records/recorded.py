"""Read recorded decisions, and report any line that isn't a decision as damage.

Rows of the log have checksums, so damage here is a line that another version wrote, or that a
daemon forwarded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

from tidegate.policy.decision import EngineDecision
from tidegate.stores.base import DamagedLogError
from tidegate.stores.decision_log.lines import read_event

if TYPE_CHECKING:
    from tidegate.stores.decision_log.lines import LoggedDecision


class RecordedEntity(msgspec.Struct, frozen=True):
    """An entity of a recorded decision, with its key as it was stored then."""

    definition: str
    entity_id: UUID
    key: tuple[str | int | bool, ...]


class RecordedClause(msgspec.Struct, frozen=True):
    """A clause that fired."""

    policy: str
    clause: str
    entity_id: UUID | None = None


class Record(msgspec.Struct, frozen=True):
    """The members of a record that lists and counts use."""

    clause: str | None = None
    entities: tuple[RecordedEntity, ...] = ()
    fired: tuple[RecordedClause, ...] = ()


class _Line(msgspec.Struct):
    record: Record


_LINES = msgspec.json.Decoder(_Line)
_RECORDS = msgspec.json.Decoder(Record)


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


def require_sound(logged: LoggedDecision, seq: int) -> None:
    """Check that the record and the event of a decision can be read.

    Args:
        logged: the decision.
        seq: its number, for the error.

    Raises:
        DamagedLogError: one of them can't.
    """
    try:
        _RECORDS.decode(logged.record)
        EngineDecision.from_record(logged.record).to_record()
        read_event(logged.event)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedLogError(seq, f"is not a decision: {error!r}") from None
