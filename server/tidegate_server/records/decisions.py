"""Recorded decisions: search, read, and the lookup for explanations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from tidegate.policy.decision import EngineDecision
from tidegate.policy.shown_proof import ShownProof
from tidegate_server.challenges.opening import returns
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after
from tidegate_server.engines.history import Names, names_of
from tidegate_server.logging import log as logger
from tidegate_server.records.kept import Kept
from tidegate_server.records.rows import read_rows
from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import decisions, log
from tidegate_server.stores.decision_log.lines import read_event
from tidegate_server.stores.decision_log.recorded import read_record
from tidegate_server.stores.index import results
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import decisions as wire_decisions

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.decision_log.decisions import FoundDecision
    from tidegate_server.stores.decision_log.lines import LoggedDecision
    from tidegate_server.stores.decision_log.rows import Unreadable

PASSED_OVER = "damaged-records"
"""The header of a search with the log entries that it could not read, as ``first-last``."""
MAX_TOLD = 50
"""The most ranges in it."""


def search(call: Call) -> Answer:
    """Return the decisions of a query, newest first.

    A page may be short, or empty, and still have a next one: a search for rare decisions is long.
    """
    query: wire_decisions.DecisionsQuery = call.query
    after = page_after(call)
    wanted = decisions.DecisionQuery(
        from_ns=query.from_ns,
        to_ns=query.to_ns,
        clock=query.time,
        action=query.action,
        reason=query.reason,
        policy_id=query.policy_id,
        answered_by=query.answered_by,
        entity_id=query.entity_id,
        path=query.path,
        api_key_id=query.api_key_id,
    )
    before = UUID(str(after[0])) if after else None
    with call.app.store.read() as connection:
        page = search_period(connection, call.tenant_id, wanted, query.limit, before)
        rows = read_rows(connection, call.tenant_id, page.decisions, Kept.of(call))
    following = None if page.next_before is None else [str(page.next_before)]
    return Answer(
        body=rows,
        next=following,
        headers=passed_over(page.passed_over),
    )


def search_period(
    connection: Connection,
    tenant_id: UUID,
    wanted: decisions.DecisionQuery,
    limit: int,
    before: UUID | None = None,
) -> decisions.DecisionPage:
    """Return a page of decisions.

    The derived tables tell when decisions observed in a period were received.
    """
    period = results.Period(from_ns=wanted.from_ns, to_ns=wanted.to_ns, clock=wanted.clock)
    is_bound = period.from_ns is not None or period.to_ns is not None
    spans = None
    if is_bound and period.clock == "observed":
        spans = results.received(connection, tenant_id, period)
    return decisions.search(connection, tenant_id, wanted, limit, before, spans)


def passed_over(unreadable: Sequence[Unreadable]) -> dict[str, str]:
    """Return the header that names the log entries that a search could not read."""
    if not unreadable:
        return {}
    ranges = ", ".join(f"{each.first_seq}-{each.last_seq}" for each in unreadable[:MAX_TOLD])
    logger.error("a search passed over damaged records", entries=ranges)
    return {PASSED_OVER: ranges}


def read(call: Call) -> Answer:
    """Return one decision with its event.

    Raises:
        DamagedLogError: its record can't be read.
    """
    with call.app.store.read() as connection:
        found, logged = find(connection, call.tenant_id, call.ids["decision_id"])
        names = names_of(connection, call.tenant_id, logged.revision)
        is_returned = returns(call, connection, call.tenant_id, logged)
    return Answer(body=_answer(found, logged, names, Kept.of(call), is_returned))


def find(
    connection: Connection, tenant_id: UUID, decision_id: UUID
) -> tuple[FoundDecision, LoggedDecision]:
    """Find a decision in the index and in the log.

    Raises:
        NotFoundError: the tenant doesn't have this decision, or no longer.
        DamagedLogError: its record can't be read.
    """
    found = decisions.find(connection, tenant_id, decision_id)
    logged = log.read(connection, found.seq, tenant_id).decision()
    require_sound(logged, found.seq)
    return found, logged


def _answer(
    found: FoundDecision,
    logged: LoggedDecision,
    names: Names,
    kept: Kept,
    is_returned: bool | None,
) -> wire_decisions.Decision:
    record, event = kept.record(logged.record, logged.event), kept.event(logged.event)
    return wire_decisions.Decision(
        decision_id=found.decision_id,
        tenant_id=found.tenant_id,
        api_key_id=logged.api_key_id,
        source=logged.source,
        endpoint=logged.endpoint,
        observed_at=wire_common.time_text(found.observed_at_ns),
        received_at=wire_common.time_text(logged.received_at_ns),
        action=record["action"],
        challenge_returns=is_returned,
        reason=record["reason"],
        policy_id=found.policy_id,
        policy=record["policy"],
        clause=record["clause"],
        mitigation_id=names.mitigation(record["mitigation"]),
        mitigation=record["mitigation"],
        revision=logged.revision,
        entities=tuple(
            wire_decisions.DecidedEntity(
                entity_id=UUID(each["entity_id"]),
                entity_definition_id=names.entity(each["definition"]),
                definition=each["definition"],
                key=tuple(each["key"]),
            )
            for each in record["entities"]
        ),
        matched_actions=tuple(record["matched_actions"]),
        fired_clauses=tuple(_fired(each, names) for each in record["fired"]),
        errors=tuple(
            wire_decisions.ExpressionError(place=place, code=code)
            for place, code in record["errors"].items()
        ),
        budget_ended_at=tuple(record.get("budget_ended_at", ())),
        client_ip=kept.client_ip(
            record.get("client_ip"), record.get("client_ip_problem"), _request(event)
        ),
        client_ip_problem=record.get("client_ip_problem"),
        proof=_proof(record.get("proof")),
        override_id=None if record.get("override") is None else UUID(record["override"]),
        duration_us=logged.duration_us,
        trace_id=logged.trace_id,
        daemon=None if logged.daemon is None else wire_decisions.DecidedBy(*logged.daemon),
        answer=msgspec.Raw(logged.answer),
        event=msgspec.Raw(event),
    )


def _request(event: bytes) -> dict[str, Any]:
    request = read_event(event).get("request")
    return request if isinstance(request, dict) else {}


def _proof(record: dict[str, Any] | None) -> wire_decisions.ShownProof | None:
    if record is None:
        return None
    proof = ShownProof.of(record)
    claim = proof.claim
    return wire_decisions.ShownProof(
        status=proof.status,
        pass_id=claim.pass_id if claim else None,
        expires_at=wire_common.time_text(claim.expires_at) if claim else None,
        network=claim.network if claim else None,
        differs=claim.differs if claim else (),
    )


def _fired(fired: dict[str, Any], names: Names) -> wire_decisions.FiredClause:
    window = fired["window"]
    return wire_decisions.FiredClause(
        policy_id=names.policy(fired["policy"]),
        policy=fired["policy"],
        clause=fired["clause"],
        mitigation_id=names.mitigation(fired["mitigation"]),
        mode=fired["mode"],
        entity_id=None if fired["entity_id"] is None else UUID(fired["entity_id"]),
        window=None if window is None else wire_decisions.WindowValue(**window),
        active=fired["active"],
    )


def require_sound(logged: LoggedDecision, seq: int) -> None:
    """Check that the record and the event of a decision can be read.

    Args:
        logged: the decision.
        seq: its number, for the error.

    Raises:
        DamagedLogError: one of them can't.
    """
    try:
        read_record(logged.record)
        EngineDecision.from_record(logged.record).to_record()
        read_event(logged.event)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedLogError(seq, f"is not a decision: {error!r}") from None
