"""Convert an entry of the decision log to a message for other systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
import orjson

from tidegate_server.stores.decision_log.lines import LIFT

if TYPE_CHECKING:
    from tidegate_server.stores.decision_log.lines import LogLine


class _Record(msgspec.Struct, frozen=True):
    client_ip: str | None = None
    client_ip_problem: str | None = None


class _Event(msgspec.Struct, frozen=True):
    request: Any = None


_RECORDS, _EVENTS = msgspec.json.Decoder(_Record), msgspec.json.Decoder(_Event)


@attrs.frozen
class Message:
    """One decision, or one mitigation or pass that an operator ended.

    Attributes:
        seq: the entry's number in the log.
        message_id: identical each time the entry is sent; consumers drop ids that they have seen.
        tenant_id: the entry's tenant.
        body: JSON in one line, as docs/publishing.md describes it.
    """

    seq: int
    message_id: UUID
    tenant_id: UUID
    body: bytes


def message_of(line: LogLine) -> Message:
    """Return a line's message; it has the event as recorded, and no secret of the service.

    Args:
        line: an entry of the log.
    """
    read = line.decision()
    body: dict[str, Any] = {
        "id": str(read.decision_id),
        "type": "ended" if read.endpoint == LIFT else "decision",
        "seq": line.seq,
        "tenant_id": str(line.tenant_id),
        "received_at_ns": read.received_at_ns,
        "revision": read.revision,
    }
    if read.endpoint == LIFT:
        body["ended"] = orjson.Fragment(read.record)
    else:
        body |= {
            "source": read.source,
            "endpoint": read.endpoint,
            "trace_id": read.trace_id,
            "client_ip": _client_ip(read.record, read.event),
            "answer": orjson.Fragment(read.answer),
            "record": orjson.Fragment(read.record),
            "event": orjson.Fragment(read.event),
        }
    return Message(line.seq, read.decision_id, line.tenant_id, orjson.dumps(body))


def _client_ip(record: bytes, event: bytes) -> str | None:
    """Return the client's address that rules saw."""
    try:
        recorded, request = _RECORDS.decode(record), _EVENTS.decode(event).request
    except ValueError:  # a line that an older version wrote is sent as it is
        return None
    if recorded.client_ip is not None or recorded.client_ip_problem is not None:
        return recorded.client_ip
    member = request.get("client_ip") if isinstance(request, dict) else None
    return member if isinstance(member, str) and member else None
