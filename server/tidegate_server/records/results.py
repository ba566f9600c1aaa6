"""Results of policies: counts per policy and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after, page_of
from tidegate_server.engines.derived_reads import indexed
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.records.decisions import search_period
from tidegate_server.records.kept import Kept
from tidegate_server.records.rows import read_rows
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.decision_log import decisions, traffic
from tidegate_server.stores.index import results
from tidegate_server.stores.objects import definitions
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import period as wire_period
from tidegate_server.wire import results as wire_results
from tidegate_server.wire.kinds import POLICY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

RECENT = 10
DAY_NS = 86_400_000_000_000
SECOND_NS = 1_000_000_000
MAX_SPLIT = 500_000
"""The most decisions to split by facts that only the log's index has: about a second's work."""
MAX_STEPS = 1_500
"""The most steps of a timeline: more than the columns of a screen."""
STEPS = (60, 300, 900, 3_600, 21_600, 86_400)
PREFERRED_STEPS = 150
_NUMBERS = ("total", "allow", "challenge", "block", "by_others", "monitor", "errors")


def list_policies(call: Call) -> Answer:
    """Return every policy with its counts, including deleted policies that still have counts."""
    query: wire_results.ResultsQuery = call.query
    after = page_after(call)
    last = UUID(str(after[0])) if after else UUID(int=0)
    with indexed(call.app.store) as connection:
        counted = results.by_policy(connection, call.tenant_id, _period(query))
        known = _policies(connection, call.tenant_id)
    wanted = sorted(each for each in {*known, *counted} - {results.ALL} if each > last)
    page = wanted[: query.limit + 1]
    return page_of(
        call,
        page,
        lambda each: _policy(
            call.tenant_id, each, known.get(each), counted.get(each, results.Counts())
        ),
        lambda each: [str(each)],
    )


def read_policy(call: Call) -> Answer:
    """Return the counts of one policy, and its newest decisions."""
    query: wire_period.Period = call.query
    policy_id = call.ids["policy_id"]
    with indexed(call.app.store) as connection:
        known = _policies(connection, call.tenant_id).get(policy_id)
        counts = results.of_policy(connection, call.tenant_id, policy_id, _period(query))
        if known is None and counts == results.Counts():
            raise NotFoundError("policy")
        wanted = decisions.DecisionQuery(
            from_ns=query.from_ns, to_ns=query.to_ns, clock=query.time, policy_id=policy_id
        )
        recent = search_period(connection, call.tenant_id, wanted, RECENT).decisions
        rows = read_rows(connection, call.tenant_id, recent, Kept.of(call))
    shown = attrs.asdict(_policy(call.tenant_id, policy_id, known, counts), recurse=False)
    return Answer(body=wire_results.PolicyResult(**shown, recent_decisions=rows))


def timeline(call: Call) -> Answer:
    """Return counts by steps of time, including empty steps."""
    query: wire_results.TimelineQuery = call.query
    to_ns = call.now if query.to_ns is None else query.to_ns
    from_ns = to_ns - DAY_NS if query.from_ns is None else query.from_ns
    step = query.step or _step(to_ns - from_ns)
    step_ns = step * SECOND_NS
    first, end = from_ns // step_ns, -(-to_ns // step_ns)
    if end - first > MAX_STEPS:
        detail = f"the period has {end - first} steps of {step} s, at most {MAX_STEPS} are answered"
        errors = [ErrorDetail(detail=detail, parameter="step", hint="take a longer step")]
        raise Problem("invalid-request", detail, errors=errors)
    policy_id = query.policy_id or results.ALL
    period = results.Period(from_ns=from_ns, to_ns=to_ns, clock=query.time)
    with indexed(call.app.store) as connection:
        found = results.timeline(connection, call.tenant_id, policy_id, period, step)
        split = _split(connection, call, period, step)
    counts = {each.start_ns: each.counts for each in found}
    starts = (number * step_ns for number in range(first, end))
    return Answer(
        body=[
            wire_results.TimelineStep(
                start=wire_common.time_text(start),
                series=_series(query.by, counts.get(start, results.Counts()), split.get(start, {})),
                **_counts(counts.get(start, results.Counts())),
            )
            for start in starts
        ]
    )


def _split(
    connection: Connection, call: Call, period: results.Period, step: int
) -> Mapping[int, Mapping[Any, int]]:
    """Return the series of each step, split by facts that the counts don't contain.

    Raises:
        Problem: ``invalid-request``; the period has too many decisions.
    """
    query: wire_results.TimelineQuery = call.query
    if query.by == "policy":
        return results.totals_by_policy(connection, call.tenant_id, period, step)
    if query.by not in ("reason", "api_key"):
        return {}
    total = results.of_policy(connection, call.tenant_id, period=period).total
    if total > MAX_SPLIT:
        detail = f"the period has {total} decisions, at most {MAX_SPLIT} are split by {query.by}"
        errors = [ErrorDetail(detail=detail, parameter="by", hint="take a shorter period")]
        raise Problem("invalid-request", detail, errors=errors)
    # Counts cover whole minutes, and so do these.
    from_ns, to_ns = (
        each // results.MINUTE_NS * results.MINUTE_NS
        for each in (period.from_ns or 0, (period.to_ns or 0) + results.MINUTE_NS - 1)
    )
    wanted = decisions.DecisionQuery(
        from_ns=from_ns, to_ns=to_ns, clock=query.time, policy_id=query.policy_id
    )
    received = (
        [(from_ns, to_ns)]
        if query.time == "received"
        else results.received(connection, call.tenant_id, period)
    )
    return traffic.totals(connection, call.tenant_id, wanted, received, query.by, step * SECOND_NS)


def _series(
    by: str | None, counts: results.Counts, split: Mapping[Any, int]
) -> dict[str, int] | None:
    if by is None:
        return None
    if by == "action":
        return {name: getattr(counts, name) for name in ("allow", "challenge", "block")}
    return {str(name): total for name, total in split.items()}


def _period(query: wire_period.Period) -> results.Period:
    return results.Period(from_ns=query.from_ns, to_ns=query.to_ns, clock=query.time)


def _step(duration_ns: int) -> int:
    """Return the shortest step that divides a period into few enough steps."""
    enough = (each for each in STEPS if duration_ns <= each * SECOND_NS * PREFERRED_STEPS)
    return next(enough, STEPS[-1])


def _policies(connection: Connection, tenant_id: UUID) -> dict[UUID, definitions.Definition]:
    found = definitions.of_tenant(connection, tenant_id)
    return {each.object_id: each for each in found if each.kind == POLICY.name}


def _policy(
    tenant_id: UUID,
    policy_id: UUID,
    known: definitions.Definition | None,
    counts: results.Counts,
) -> wire_results.PolicyResults:
    return wire_results.PolicyResults(
        tenant_id=tenant_id,
        policy_id=policy_id,
        name=known.name if known else None,
        slug=known.slug if known else None,
        enabled=known.body.get("enabled", True) if known else None,
        status=known.body.get("status", "active") if known else None,
        **_counts(counts),
    )


def _counts(counts: results.Counts) -> dict[str, Any]:
    last = counts.last_match_ns
    return {
        **{name: getattr(counts, name) for name in _NUMBERS},
        "last_match_at": None if last is None else wire_common.time_text(last),
    }
