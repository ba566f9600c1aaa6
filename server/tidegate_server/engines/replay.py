"""Run a draft of definitions over recorded events, alongside live traffic.

One worker process runs one job at a time and rests half of the time: decisions go first. The
draft's engine starts empty and is warmed by the events before the period, as far back as its
windows reach (a day at most); events count at the time they were observed. Log entries are decided
in log order, so a late event finds the state that it found when it arrived. Reads use short
transactions, so that a long job doesn't hold back the database's vacuum.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson

from tidegate.engine import left_out
from tidegate.errors import EventError, TidegateError
from tidegate.policy.decision import EngineDecision
from tidegate_server.engines.comparison import Outcomes
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.logging import log
from tidegate_server.stores.base import (
    ConflictError,
    NotFoundError,
    StoreError,
    StoreUnavailableError,
)
from tidegate_server.stores.decision_log import decisions, replay_jobs
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.index import results

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.definitions.model import Definitions
    from tidegate.policy.shown_proof import ShownProof
    from tidegate_server.engines.app import App
    from tidegate_server.stores.decision_log.lines import LogLine
    from tidegate_server.stores.decision_log.replay_jobs import ReplayJob
    from tidegate_server.stores.port import Records

MAX_WAITING = 16
"""The most waiting drafts, for all tenants: each is held in memory."""
MAX_KEYS = 250_000
"""The most entities that a replay remembers; more are evicted, and the result says so."""
MAX_DIFFERENCES = 10_000
"""How many differing decisions are listed; the others are only counted."""
BATCH = 500
"""How many events run between two checks of the job, some 20 ms."""
SECOND_NS = 1_000_000_000
LONGEST_WARM_UP_NS = 86_400 * SECOND_NS


@attrs.frozen(kw_only=True)
class Draft:
    """The draft and the period of a job."""

    tenant_id: UUID
    document: bytes = attrs.field(repr=False)
    """A checked definitions document, as JSON."""
    from_ns: int
    to_ns: int
    clock: decisions.Clock
    """The clock that the period refers to."""

    @classmethod
    def of(cls, connection: Connection, job: ReplayJob) -> Draft | None:
        """Return the draft of a job; None if an earlier version didn't keep it."""
        kept = replay_jobs.draft_of(connection, job.tenant_id, job.job_id)
        if kept is None:
            return None
        request = job.request
        return cls(
            tenant_id=job.tenant_id,
            document=zlib.decompress(kept),
            from_ns=request["since_ns"],
            to_ns=request["until_ns"],
            clock=request["time"],
        )

    def period(self) -> dict[str, Any]:
        """Return the members of a job's request that :meth:`of` reads."""
        return {"since_ns": self.from_ns, "until_ns": self.to_ns, "time": self.clock}

    def packed(self) -> bytes:
        """Return the document as a job stores it."""
        return zlib.compress(self.document)

    def counts(self, at_ns: int) -> bool:
        """Tell whether the period, by its clock, includes a decision of this time."""
        return self.from_ns <= at_ns < self.to_ns


class NoReplays:
    """The replays of an application that runs no jobs."""

    def has_room(self) -> bool:
        """See :class:`Replays`."""
        return False

    def submit(self, job_id: UUID, draft: Draft) -> None:
        """See :class:`Replays`."""


class Replays:
    """The jobs of this process.

    Args:
        store: stores events and jobs.
        run: runs a job in a worker process, blocking the calling thread.
        clock: nanoseconds since 1970.
    """

    def __init__(
        self,
        store: Records,
        run: Callable[[Callable[[App], None]], Any],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._run_job = run
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[tuple[UUID, Draft]] = deque()
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()

    def has_room(self) -> bool:
        """Whether another job may wait."""
        return len(self._waiting) < MAX_WAITING

    def submit(self, job_id: UUID, draft: Draft) -> None:
        """Queue a job that is in the store."""
        with self._changed:
            self._waiting.append((job_id, draft))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="tidegate-replay", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """Start no other job, and leave the running one as it is.

        The next start reports that it was stopped.
        """
        self._is_closing.set()
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Wait for the end of the running job."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            self._run(*taken)

    def _take(self) -> tuple[UUID, Draft] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closing.is_set())
            return None if self._is_closing.is_set() else self._waiting.popleft()

    def _run(self, job_id: UUID, draft: Draft) -> None:
        try:
            self._run_job(partial(run, job_id, draft))
        except (ConflictError, NotFoundError):
            return  # It was cancelled, or its tenant was deleted.
        except StoreUnavailableError as error:
            # The next start of the service ends it, as interrupted.
            log.warning("a replay job cannot go on", job=str(job_id), error=str(error))
        except Exception as error:
            if self._is_closing.is_set():
                return
            log.exception("a replay job failed", job=str(job_id))
            reason = str(error) if isinstance(error, TidegateError) else "the service failed"
            with suppress(StoreError):
                _note(self._store, replay_jobs.fail, job_id, draft, self._clock(), error=reason)


def run(job_id: UUID, draft: Draft, application: App) -> None:
    """Run a job from start to result.

    Raises:
        ConflictError: it was cancelled.
        NotFoundError: its tenant was deleted.
        StoreUnavailableError: nothing can be written now.
    """
    note = partial(_note, application.store, job_id=job_id, draft=draft)
    note(replay_jobs.start, now_ns=application.clock())
    definitions = bounded(orjson.loads(draft.document))
    key = application.keys.redaction_of(draft.tenant_id)
    engine = TenantEngine(definitions, redaction_key=key, events="any")
    outcomes = Outcomes(MAX_DIFFERENCES, left_out(engine))
    progress = 0
    for batch in _batches(application.store, draft, warm_up_ns(engine.definitions)):
        started = time.monotonic()
        for line in batch:
            run_line(engine, line, draft, outcomes)
        progress += len(batch)
        note(
            replay_jobs.advance,
            now_ns=application.clock(),
            progress=progress,
            differences=outcomes.take_differences(),
        )
        time.sleep(time.monotonic() - started)
    result = outcomes.result(engine.stats()["evictions_total"])
    note(replay_jobs.finish, now_ns=application.clock(), result=result)


def _note(
    store: Records,
    change: Callable[..., ReplayJob],
    job_id: UUID,
    draft: Draft,
    now_ns: int,
    **values: Any,
) -> None:
    work = partial(change, tenant_id=draft.tenant_id, job_id=job_id, now_ns=now_ns, **values)
    store.write(work).result()


def spans(connection: Connection, draft: Draft, before_ns: int) -> list[decisions.Span]:
    """Return the parts of the log that a draft runs over, in order.

    Decisions observed in a period may have been received at any time: the counts tell in which
    minutes, and these are read completely.

    Args:
        connection: a connection of the store.
        draft: the draft.
        before_ns: how long before the period events still matter.
    """
    begin_ns = max(0, draft.from_ns - before_ns)
    received = [(begin_ns, draft.to_ns)]
    if draft.clock == "observed":
        period = results.Period(from_ns=begin_ns, to_ns=draft.to_ns, clock=draft.clock)
        received = _joined(results.received(connection, draft.tenant_id, period))
    found = [decisions.span(connection, draft.tenant_id, *each) for each in received]
    return sorted((each for each in found if each), key=lambda each: each.first_seq)


def _joined(times: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping times."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(times):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _batches(store: Records, draft: Draft, before_ns: int) -> Iterator[Sequence[LogLine]]:
    with store.read() as connection:
        found = spans(connection, draft, before_ns)
    after = 0
    for span in found:
        # Spans may overlap if clocks were set back; each entry is read once.
        after = max(after, span.first_seq - 1)
        while True:
            with store.read() as connection:
                lines = decision_log.scan(
                    connection, after=after, until=span.last_seq, tenant_id=draft.tenant_id
                )
                batch = list(islice(lines, BATCH))
            if not batch:
                break
            after = batch[-1].seq
            yield batch


def run_line(engine: TenantEngine, line: LogLine, draft: Draft, outcomes: Outcomes) -> None:
    """Run an entry of the log: a decision, or what an operator ended."""
    if line.is_decision:
        decide(engine, line, draft, outcomes)
    else:
        engine.apply_effects([revocations(line.effects())])


def shown_proofs(record: bytes) -> list[ShownProof]:
    """Return the proofs of a recorded decision.

    The draft's state tells whether a pass is revoked.
    """
    return [proof.as_read() for proof in EngineDecision.from_record(record).proofs]


def decide(engine: TenantEngine, line: LogLine, draft: Draft, outcomes: Outcomes) -> None:
    """Decide on a recorded event again, and compare if it is in the period.

    A refused event has only the time it was received.
    """
    logged = line.decision()
    proofs = shown_proofs(logged.record)
    try:
        served = engine.serve(
            logged.event, logged.received_at_ns, str(logged.decision_id), proofs=proofs
        )
    except EventError:
        if draft.counts(logged.received_at_ns):
            outcomes.skip()
        return
    is_observed = draft.clock == "observed"
    if draft.counts(served.observed_at if is_observed else logged.received_at_ns):
        recorded, replayed = orjson.loads(logged.record), orjson.loads(served.record)
        outcomes.add(logged.decision_id, recorded, replayed, logged.event)


def revocations(effects: bytes) -> bytes:
    """Return passes that an operator revoked, which hold for a draft too.

    Lifts belong to the definitions that decided.
    """
    return orjson.dumps([each for each in orjson.loads(effects) if each[0] == "revoke"])


def bounded(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document with a limit on the entities that are remembered."""
    settings = document.get("settings", {})
    keys = min(settings.get("max_keys", MAX_KEYS), MAX_KEYS)
    return {**document, "settings": {**settings, "max_keys": keys}}


def warm_up_ns(definitions: Definitions) -> int:
    """Return how long before a period events still matter, a day at most."""
    spans = [
        each.window.duration_seconds
        for policy in definitions.policies
        for each in policy.clauses
        if each.window is not None
    ]
    spans += [each.ttl_seconds for each in definitions.mitigations]
    return min(round(max(spans, default=0) * SECOND_NS), LONGEST_WARM_UP_NS)
