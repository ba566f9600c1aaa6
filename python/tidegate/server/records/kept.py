"""Recorded decisions as they would be recorded now.

The log was redacted when it was written, perhaps by an earlier version of Tidegate, by fewer names
than the tenant has now, or by definitions that read more. So it is redacted once more before it is
shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.evaluation.native import Redactor
from tidegate.policy.decision import EngineDecision

if TYPE_CHECKING:
    from tidegate.policy.key_forms import KeyForms
    from tidegate.server.control.call import Call


@attrs.frozen
class Kept:
    """Shows entries of the log by the active definitions.

    Attributes:
        forms: of those definitions; None where nothing decides.
        redactor: by their names; None likewise.
    """

    forms: KeyForms | None
    redactor: Redactor | None

    @classmethod
    def of(cls, call: Call) -> Kept:
        """The key forms and the redactor of the tenant of a call."""
        forms = call.app.runtime.key_forms(call.tenant_id)
        if forms is None:
            return cls(None, None)
        key = call.app.keys.redaction_of(call.tenant_id)
        return cls(forms, forms.redaction.redactor(Redactor, key))

    def record(self, record: bytes) -> dict[str, Any]:
        """A record, with keys and return URL as they are kept now."""
        if self.forms is None:
            read: dict[str, Any] = orjson.loads(record)
            return read
        return self.forms.decision(EngineDecision.from_record(record), self.redactor).to_record()

    def event(self, event: bytes) -> bytes:
        """An event without what are secrets now, as JSON.

        Raises:
            EventError: it is not an event.
        """
        return event if self.redactor is None else self.redactor.redact(event)
