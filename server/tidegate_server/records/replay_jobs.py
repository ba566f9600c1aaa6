"""Replay jobs: run a draft over recorded events, and list the decisions that differ."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec
import orjson

from tidegate.policy.document import read_document
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after, page_by_id, page_of
from tidegate_server.definitions.changes import load_present
from tidegate_server.engines.comparison import Outcomes
from tidegate_server.engines.drafts import in_member, with_policy
from tidegate_server.engines.replay import Draft, spans, warm_up_ns
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import ErrorDetail, Problem, problem_of
from tidegate_server.records.decisions import search_period
from tidegate_server.stores.base import ConflictError
from tidegate_server.stores.decision_log import decisions, replay_jobs
from tidegate_server.stores.objects import kept_answers
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import period as wire_period
from tidegate_server.wire import replay as wire_replay

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.definitions.model import Definitions
    from tidegate_server.stores.objects.kept_answers import KeptAnswer

_KIND = "replay-job"


def create(call: Call) -> Answer:
    """Check a draft and run it; a tenant has one job at a time."""
    body: wire_replay.ReplayJobCreate = call.body
    from_ns, to_ns = wire_period.nanoseconds(body.since), wire_period.nanoseconds(body.until)
    if from_ns >= to_ns:
        raise _refusal("the period ends before it begins", "/until")
    document, definitions = _definitions(call, body)
    draft = Draft(
        tenant_id=call.tenant_id,
        document=orjson.dumps(document),
        from_ns=from_ns,
        to_ns=to_ns,
        clock=body.time,
    )
    if not call.app.replays.has_room():
        raise Problem("overloaded", "too many replay jobs wait", headers={"retry-after": "60"})
    wanted = decisions.DecisionQuery(from_ns=from_ns, to_ns=to_ns, clock=body.time)
    with call.app.store.read() as connection:
        page = search_period(connection, call.tenant_id, wanted, limit=1)
        is_empty = not page.decisions and page.next_before is None and not page.passed_over
        parts = [] if is_empty else spans(connection, draft, warm_up_ns(definitions))
    job = replay_jobs.ReplayJob(
        job_id=new_id(),
        tenant_id=call.tenant_id,
        status="done" if is_empty else "queued",
        result=Outcomes(0).result(evictions=0) if is_empty else None,
        finished_at_ns=call.now if is_empty else None,
        request={
            **draft.period(),
            "policy_id": None if body.policy_id is None else str(body.policy_id),
            "total": sum(each.count for each in parts),
        },
        actor=str(call.operator.operator_id),
        created_at_ns=call.now,
        updated_at_ns=call.now,
    )
    answer = Answer(body=_answer(job), location=f"{call.path}/{job.job_id}")
    call.write(partial(_create, call, job, draft.packed(), call.kept(answer)))
    if not is_empty:
        call.app.replays.submit(job.job_id, draft)
    return answer


def _create(
    call: Call,
    job: replay_jobs.ReplayJob,
    draft: bytes,
    kept: KeptAnswer | None,
    connection: Connection,
) -> None:
    if replay_jobs.is_busy(connection, job.tenant_id):
        raise ConflictError("the tenant has a replay job that waits or runs; cancel it first")
    replay_jobs.create(connection, job, draft)
    call.audit(connection, "create", _KIND, job.job_id, after=wire_audit.audited(_answer(job)))
    if kept is not None:
        kept_answers.keep(connection, kept)


def list_(call: Call) -> Answer:
    """List jobs, newest first."""

    def read(
        connection: Connection, limit: int, before: UUID | None
    ) -> list[replay_jobs.ReplayJob]:
        return replay_jobs.page(connection, call.tenant_id, limit, before)

    return page_by_id(call, read, _answer, lambda job: job.job_id)


def read(call: Call) -> Answer:
    """Return the progress of a job, or its result."""
    with call.app.store.read() as connection:
        found = replay_jobs.find(connection, call.tenant_id, call.ids["replay_job_id"])
    return Answer(body=_answer(found))


def cancel(call: Call) -> Answer:
    """Cancel a job that waits or runs; a finished job stays as it is."""
    job_id = call.ids["replay_job_id"]

    def work(connection: Connection) -> replay_jobs.ReplayJob:
        before = replay_jobs.find(connection, call.tenant_id, job_id)
        after = replay_jobs.cancel(connection, call.tenant_id, job_id, call.now)
        if after.status != before.status:
            call.audit(
                connection,
                "cancel",
                _KIND,
                job_id,
                before=wire_audit.audited(_answer(before)),
                after=wire_audit.audited(_answer(after)),
            )
        return after

    return Answer(body=_answer(call.write(work)))


def list_differences(call: Call) -> Answer:
    """List decisions that differ, in order of arrival, even while the job runs."""
    after = page_after(call)
    with call.app.store.read() as connection:
        found = replay_jobs.differences(
            connection,
            call.tenant_id,
            call.ids["replay_job_id"],
            call.query.limit + 1,
            int(after[0]) if after else -1,
            call.query.decision_id,
        )
    return page_of(call, found, partial(_difference, call.tenant_id), lambda each: [each.ordinal])


def _definitions(
    call: Call, body: wire_replay.ReplayJobCreate
) -> tuple[dict[str, Any], Definitions]:
    """Return the definitions to run, also as a document.

    Raises:
        NotFoundError: the policy doesn't exist.
        Problem: they are inconsistent, or ambiguous.
    """
    present = load_present(call)
    if body.definitions is None:
        if body.policy_id is not None:
            document = with_policy(present, body.policy_id, body.policy, call.given_back)
        elif body.policy is None:
            document = present.document()
        else:
            raise _refusal("`policy_id` says which policy is changed", "/policy_id")
        place = "policy"
    else:
        for name in ("policy_id", "policy"):
            if getattr(body, name) is not None:
                raise _refusal("give `definitions` or a policy, not both", f"/{name}")
        saved = present.document()
        document = {
            "settings": saved["settings"],
            **body.definitions,
            "tenant": saved["tenant"],
            "revision": present.revision,
        }
        place = "definitions"
    with in_member(place):
        try:
            read = read_document(document, present.compilation)
        except Exception as error:
            raise problem_of(error) from error
    return document, read.compiled.source


def _refusal(detail: str, pointer: str) -> Problem:
    return Problem("invalid-request", detail, errors=[ErrorDetail(detail=detail, pointer=pointer)])


def _answer(job: replay_jobs.ReplayJob) -> wire_replay.ReplayJob:
    request = job.request
    return wire_replay.ReplayJob(
        replay_job_id=job.job_id,
        tenant_id=job.tenant_id,
        status=job.status,
        since=wire_common.time_text(request["since_ns"]),
        until=wire_common.time_text(request["until_ns"]),
        time=request.get("time", "received"),  # the only value in earlier versions
        policy_id=request["policy_id"],
        progress=job.progress,
        total=request["total"],
        result=None
        if job.result is None
        else msgspec.convert(job.result, wire_replay.ReplayResult),
        error=job.error,
        created_by=job.actor,
        created_at=wire_common.time_text(job.created_at_ns),
        started_at=wire_common.optional_time(job.started_at_ns),
        finished_at=wire_common.optional_time(job.finished_at_ns),
    )


def _difference(tenant_id: UUID, found: replay_jobs.Difference) -> wire_replay.ReplayDifference:
    return wire_replay.ReplayDifference(
        tenant_id=tenant_id,
        decision_id=found.decision_id,
        recorded=wire_replay.ReplayedDecision(**found.recorded),
        replayed=wire_replay.ReplayedDecision(**found.replayed),
    )
