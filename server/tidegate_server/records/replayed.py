"""Explain a decision of a replay, by running its draft again over the preceding events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from tidegate.errors import EventError
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.explain import hide_keys
from tidegate_server.control.call import Answer, Call
from tidegate_server.engines.comparison import Outcomes, shown
from tidegate_server.engines.replay import (
    Draft,
    bounded,
    run_line,
    shown_proofs,
    spans,
    warm_up_ns,
)
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.records.decisions import find
from tidegate_server.records.explain import trace_of
from tidegate_server.records.kept import Kept
from tidegate_server.stores.decision_log import log, replay_jobs
from tidegate_server.wire import replay as wire_replay

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.explain.explain import Explanation
    from tidegate.policy.explain.shown import Later
    from tidegate_server.stores.decision_log.lines import LoggedDecision

MAX_RUN = 20_000
"""The most log entries that a draft runs over for one explanation: a second's work."""


def explain(call: Call) -> Answer:
    """Explain a decision of the period as the draft makes it."""
    kept = Kept.of(call)
    job_id, decision_id = call.ids["replay_job_id"], call.ids["decision_id"]
    with call.app.store.read() as connection:
        job = replay_jobs.find(connection, call.tenant_id, job_id)
        listed = replay_jobs.differences(
            connection, call.tenant_id, job_id, limit=1, decision_id=decision_id
        )
        found, logged = find(connection, call.tenant_id, decision_id)
        draft = Draft.of(connection, job)
        explanation, ran, because = None, 0, ["the draft of an older job is not kept: run it again"]
        if draft is not None:
            key = call.app.keys.redaction_of(call.tenant_id)
            explanation, ran, because = made_again(
                connection, draft, key, found.seq, logged, later=kept.later()
            )
    if explanation is not None:
        # A decision that isn't listed came out as recorded.
        wanted = listed[0].replayed if listed else shown(orjson.loads(logged.record))
        if shown(explanation.decision.to_record()) == wanted:
            because = []
        elif not listed:
            because = ["the job does not list this decision among those that differ"]
        elif not because:
            because = ["the replay had other entities in its state when it came to this decision"]
    return Answer(
        body=wire_replay.ReplayExplanation(
            decision_id=decision_id,
            tenant_id=call.tenant_id,
            replay_job_id=job_id,
            reproduced=not because,
            because=tuple(because),
            earlier_entries=ran,
            recorded=kept.record(logged.record, logged.event),
            decision=explanation.decision.to_record() if explanation else None,
            trace=trace_of(explanation) if explanation else None,
            text=str(explanation) if explanation else None,
        )
    )


def made_again(
    connection: Connection,
    draft: Draft,
    redaction_key: bytes | None,
    seq: int,
    logged: LoggedDecision,
    most: int = MAX_RUN,
    later: Later | None = None,
) -> tuple[Explanation | None, int, list[str]]:
    """Repeat a decision with a draft.

    Args:
        connection: a connection of the store.
        draft: the draft and the period of its job.
        redaction_key: the tenant's.
        seq: the decision's number in the log.
        logged: the decision as it was recorded.
        most: the most earlier log entries to run over.
        later: secrets by the active definitions, which the explanation hides.

    Returns:
        The explanation, None if the draft refuses the event; how many entries the draft ran over;
        and why the replay's decision may differ from the explained one.
    """
    document: dict[str, Any] = orjson.loads(draft.document)
    engine = TenantEngine(bounded(document), redaction_key=redaction_key, events="any")
    parts = spans(connection, draft, warm_up_ns(engine.definitions))
    begin = min((each.first_seq for each in parts), default=seq)
    first = max(begin, seq - most)
    ran = 0
    for line in log.scan(connection, after=first - 1, until=seq - 1, tenant_id=draft.tenant_id):
        if any(each.first_seq <= line.seq <= each.last_seq for each in parts):
            run_line(engine, line, draft, Outcomes(0))
            ran += 1
    try:
        explanation = engine.explain(
            logged.event, logged.received_at_ns, proofs=shown_proofs(logged.record), later=later
        )
        if later is not None:
            explanation = hide_keys(explanation, compile_definitions(engine.definitions), later)
    except EventError as error:
        return None, ran, [f"the event as it is kept is refused: {error.message}"]
    if first == begin:
        return explanation, ran, []
    because = f"the draft ran over {ran:,} entries before the decision; the replay began earlier"
    return explanation, ran, [because]
