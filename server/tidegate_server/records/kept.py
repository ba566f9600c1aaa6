"""Redact recorded decisions as they would be recorded now.

The log was redacted when it was written, perhaps by an earlier version of Tidegate, by fewer names
than the tenant has now, or by definitions that read more. So it is redacted again before it is
shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.errors import EventError
from tidegate.evaluation.native import Redactor
from tidegate.evaluation.secrets.names import Names
from tidegate.policy.decision import EngineDecision
from tidegate.policy.definitions.secrets import keeps_forwarded
from tidegate.policy.explain.shown import Later

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.policy.key_forms import KeyForms
    from tidegate_server.control.call import Call


@attrs.frozen
class Kept:
    """Redacts log entries by the active definitions.

    Attributes:
        forms: the key forms of those definitions; None in a process without decisions.
        redactor: redacts by their names; None likewise.
    """

    forms: KeyForms | None
    redactor: Redactor | None

    @classmethod
    def of(cls, call: Call) -> Kept:
        """Return the key forms and redactor for the tenant of a call."""
        forms = call.app.runtime.key_forms(call.tenant_id)
        if forms is None:
            return cls(None, None)
        key = call.app.keys.redaction_of(call.tenant_id)
        return cls(forms, forms.redaction.redactor(Redactor, key))

    def later(self) -> Later | None:
        """Return the further secrets that an explanation hides; None if nothing decides here."""
        if self.forms is None or self.redactor is None:
            return None
        redaction = self.forms.redaction
        return Later(self.redactor, redaction, Names(redaction.patterns))

    def record(self, record: bytes, event: bytes) -> dict[str, Any]:
        """Return a record with keys and return URL as they are stored now.

        A key may be that of an entity definition that was changed or deleted. So a part of it is
        also hidden if the event shows it in clear only where it is hidden now, or if that is
        unknown.

        Args:
            record: the decision's record.
            event: the decided event, as the log has it.
        """
        if self.forms is None or self.redactor is None:
            read: dict[str, Any] = orjson.loads(record)
            return read
        decision = EngineDecision.from_record(record)
        if decision.client_ip is not None and not self._keeps_forwarded():
            decision = attrs.evolve(decision, client_ip=None)
        shown = self.forms.decision(decision, self.redactor).to_record()
        try:
            kept = self.event(event)
        except EventError:  # an unreadable event reveals nothing
            kept = b""
        if kept != event:
            for entity in shown["entities"]:
                is_known = entity["definition"] in self.forms.by_slug
                entity["key"] = [
                    self._part(entity["definition"], part, event, kept, is_known=is_known)
                    for part in entity["key"]
                ]
        return shown

    def client_ip(
        self, recorded: str | None, problem: str | None, request: Mapping[str, Any]
    ) -> str | None:
        """Return the client's address that rules saw; None without one, or if it is hidden now.

        Args:
            recorded: ``client_ip`` of the record, which older records lack.
            problem: ``client_ip_problem`` of the record.
            request: ``request`` of the event.
        """
        if recorded is not None:
            return recorded if self._keeps_forwarded() else None
        member = request.get("client_ip")
        return member if isinstance(member, str) and member and problem is None else None

    def _keeps_forwarded(self) -> bool:
        return keeps_forwarded(self.redactor)

    def _part(self, name: str, part: Any, event: bytes, kept: bytes, *, is_known: bool) -> Any:
        """Return a part of a key of an event with values that are hidden now."""
        assert self.redactor is not None
        text = orjson.dumps(part)
        written = text[1:-1] if isinstance(part, str) else text
        is_shown = written in kept or (is_known and written not in event)
        if isinstance(part, bool) or is_shown:
            return part
        return self.redactor.secret(name, part if isinstance(part, str) else text.decode())

    def event(self, event: bytes) -> bytes:
        """Return an event as JSON, without values that are secrets now.

        Raises:
            EventError: it isn't an event.
        """
        return event if self.redactor is None else self.redactor.redact(event)
