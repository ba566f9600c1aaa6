"""Explain a recorded decision by repeating it with the definitions and state of its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.errors import EventError
from tidegate.policy.decision import EngineDecision
from tidegate.policy.definitions.model import Settings
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.explain import hide_keys
from tidegate_server.control.call import Answer, Call
from tidegate_server.engines.history import MAX_FOLDED, Past, before
from tidegate_server.logging import log
from tidegate_server.records.decisions import find
from tidegate_server.records.kept import Kept
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.decision_log.lines import read_event
from tidegate_server.stores.objects import tenants
from tidegate_server.wire import decisions as wire_decisions

if TYPE_CHECKING:
    from tidegate.policy.explain.explain import Explanation
    from tidegate_server.stores.decision_log.decisions import FoundDecision
    from tidegate_server.stores.decision_log.lines import LoggedDecision

DAY_NS = 86_400_000_000_000
MAX_NAMED = 20
"""The most redacted members that an answer names."""
_HASH = "hmac:"
"""The prefix of a redacted value (docs/fields.md)."""


def explain(call: Call) -> Answer:
    """Repeat a decision under observation, or say why that isn't possible.

    Raises:
        DamagedLogError: its record can't be read.
    """
    kept = Kept.of(call)
    later = kept.later()
    with call.app.store.read() as connection:
        found, logged = find(connection, call.tenant_id, call.ids["decision_id"])
        recorded = kept.record(logged.record, logged.event)
        tenant = tenants.find(connection, call.tenant_id)
        try:
            redaction_key = call.app.keys.redaction_of(call.tenant_id)
            past = before(connection, call.app.known, found, logged, redaction_key)
        except NotFoundError:
            gone = f"the definitions of revision {logged.revision} are no longer kept"
            return _answer(found, logged, recorded, because=[gone])
    try:
        known = EngineDecision.from_record(logged.record)
        explanation = past.engine.explain(
            logged.event,
            logged.received_at_ns,
            ended_at=known.budget_ended_at,
            proofs=known.proofs,
            later=later,
        )
    except EventError as error:
        refused = f"the event as it is kept is refused: {error.message}"
        return _answer(found, logged, recorded, past, because=[refused])
    is_same = explanation.decision == past.engine.kept(EngineDecision.from_record(logged.record))
    if later is not None:
        explanation = hide_keys(explanation, compile_definitions(past.engine.definitions), later)
    if is_same:
        return _answer(found, logged, recorded, past, explanation)
    retention_days = int(tenant.settings.get("retention_days", Settings().retention_days))
    because = list(_reasons(call, logged, past, retention_days))
    if not because:
        log.error("a decision cannot be repeated", decision=str(found.decision_id))
        because = ["no reason is known: please report it as a fault of Tidegate"]
    return _answer(found, logged, recorded, past, explanation, because)


def _answer(
    found: FoundDecision,
    logged: LoggedDecision,
    recorded: dict[str, Any],
    past: Past | None = None,
    explanation: Explanation | None = None,
    because: Sequence[str] = (),
) -> Answer:
    return Answer(
        body=wire_decisions.DecisionExplanation(
            decision_id=found.decision_id,
            tenant_id=found.tenant_id,
            revision=logged.revision,
            reproduced=not because,
            because=tuple(because),
            earlier_decisions=past.folded if past else 0,
            recorded=recorded,
            decision=explanation.decision.to_record() if explanation else None,
            trace=trace_of(explanation) if explanation else None,
            text=str(explanation) if explanation else None,
        )
    )


def trace_of(explanation: Explanation) -> wire_decisions.Trace:
    """Return an explanation in the form of the answer."""
    return wire_decisions.Trace(
        time=explanation.time,
        actions=explanation.actions,
        entities=explanation.entities,
        policies=explanation.policies,
        headers=explanation.headers,
        override=explanation.override,
    )


def _reasons(call: Call, logged: LoggedDecision, past: Past, retention_days: int) -> Iterator[str]:
    """Yield the known obstacles to repeating a decision."""
    redacted = list(_redacted(read_event(logged.event), ""))
    if redacted:
        named = ", ".join(f"`{each}`" for each in redacted[:MAX_NAMED])
        more = f" and {len(redacted) - MAX_NAMED} others" if len(redacted) > MAX_NAMED else ""
        yield f"secrets of the event are kept as hashes only: {named}{more}"
    if not past.is_whole:
        yield (
            f"its entities have more than {MAX_FOLDED} earlier decisions, or too many decisions of"
            " others lie between them: not all were looked at"
        )
    if past.damaged:
        yield f"{past.damaged} earlier records of the log are damaged and were passed over"
    if past.revisions - {logged.revision}:
        yield "the definitions were changed among the decisions that its state was made by"
    if call.app.runtime.evictions(call.tenant_id):
        yield "the engine was full and forgot entities, perhaps one of this decision's"
    if logged.received_at_ns < call.now - (retention_days - 1) * DAY_NS:
        yield "earlier decisions of its entities may have been deleted by retention"


def _redacted(value: Any, place: str) -> Iterator[str]:
    """Yield where an event contains hashes."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _redacted(member, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for member in value:
            yield from _redacted(member, place)
    elif isinstance(value, str) and _HASH in value:
        yield place
