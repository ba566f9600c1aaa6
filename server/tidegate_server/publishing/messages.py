"""Convert an entry of the decision log to a message for other systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson

from tidegate_server.stores.decision_log.lines import LIFT

if TYPE_CHECKING:
    from tidegate_server.stores.decision_log.lines import LogLine


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
            "answer": orjson.Fragment(read.answer),
            "record": orjson.Fragment(read.record),
            "event": orjson.Fragment(read.event),
        }
    return Message(line.seq, read.decision_id, line.tenant_id, orjson.dumps(body))
