"""The test of a recorded decision, as ``tidegate record`` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import msgspec

from tidegate.policy.definitions.model import Settings
from tidegate.policy.document import read_document
from tidegate_server.control.call import Answer, Call
from tidegate_server.engines.definition_set import load_set
from tidegate_server.http.problems import Problem
from tidegate_server.records import decisions
from tidegate_server.records.recording import DAY_NS, MAX_EVENTS, NotRecordedError, test_of
from tidegate_server.stores.decision_log.decisions import DecisionQuery
from tidegate_server.stores.objects import tenants
from tidegate_server.wire import decisions as wire_decisions
from tidegate_server.wire.common import time_text

DEFINITIONS = "definitions.yaml"
"""The file of the definitions that a test names, next to it."""


def read(call: Call) -> Answer:
    """Return a test of a decision, under the definitions of now.

    Raises:
        Problem: ``not-recorded``; no test means the same.
        DamagedLogError: its record, or one before it, can't be read.
    """
    decision_id = str(call.ids["decision_id"])
    log = _Log(call)
    decision = log.read(decision_id)
    with call.app.store.read() as connection:
        present = load_set(connection, call.tenant_id)
    source = read_document(present.document()).compiled.source
    file = Path(f"decision-{decision_id}.tidegate-test.yaml")
    try:
        text = test_of(log, decision, source, DEFINITIONS, file)
    except NotRecordedError as error:
        raise Problem("not-recorded", str(error)) from None
    return Answer(
        body=wire_decisions.DecisionTest(
            decision_id=call.ids["decision_id"],
            tenant_id=call.tenant_id,
            revision=present.revision,
            file=file.name,
            definitions=DEFINITIONS,
            text=text,
        )
    )


@attrs.frozen
class _Log:
    """The recorded decisions of the tenant of a call."""

    _call: Call

    def read(self, decision_id: str) -> dict[str, Any]:
        ids = {**self._call.ids, "decision_id": UUID(decision_id)}
        shown = decisions.read(attrs.evolve(self._call, ids=ids)).body
        # As a caller reads it, with numbers of any size.
        found: dict[str, Any] = json.loads(msgspec.json.encode(shown))
        return found

    def of_entity(self, entity_id: str, since: int, until: int) -> list[dict[str, Any]]:
        query = DecisionQuery(
            from_ns=since, to_ns=until, clock="received", entity_id=UUID(entity_id)
        )
        found: list[dict[str, Any]] = []
        before = None
        while len(found) <= MAX_EVENTS:
            with self._call.app.store.read() as connection:
                page = decisions.search_period(
                    connection, self._call.tenant_id, query, MAX_EVENTS + 1, before
                )
            if page.passed_over:
                damaged = decisions.passed_over(page.passed_over)[decisions.PASSED_OVER]
                raise NotRecordedError(
                    f"records {damaged} of the log are damaged: not all events before it are known"
                )
            found += [
                {
                    "decision_id": str(each.decision_id),
                    "received_at": time_text(each.received_at_ns),
                }
                for each in page.decisions
            ]
            before = page.next_before
            if before is None:
                break
        return found

    def kept_since(self) -> int:
        with self._call.app.store.read() as connection:
            settings = tenants.find(connection, self._call.tenant_id).settings
        days = int(settings.get("retention_days", Settings().retention_days))
        return self._call.now - days * DAY_NS
