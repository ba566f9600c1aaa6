"""Conditions of a database after a fault, given the acknowledged calls.

The log is compared with one engine that decided the same events and never stopped: every record
and every effect must be the same, so windows and mitigations went on exactly.
"""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import attrs
import orjson
from sqlalchemy import Connection, func, select, text
from tests.faults.load import Acknowledged

from tidegate.definitions import load_compiled
from tidegate.evaluation.native import Redactor
from tidegate.policy.decision import EngineDecision
from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.engines.engines import rebuilt
from tidegate_server.engines.serving import BundledEngine, TenantEngine
from tidegate_server.stores.decision_log import decisions, log
from tidegate_server.stores.index import derived, results
from tidegate_server.stores.rows.connections import reading_engine
from tidegate_server.stores.rows.tables import idempotency


@attrs.define
class Checker:
    """The comparison, from one fault to the next.

    Attributes:
        reference: the engine that never stops.
        seq: number of the last decision that it made too.
        partition: in which the tenant lives, alone.
        revoked: passes that a Block revoked.
        ended: numbers of the lines in which an operator revoked one.
        logged: by idempotency key, the id of the decision and the answer.
    """

    tenant_id: UUID
    document: dict[str, object]
    partition: int = 0
    reference: TenantEngine = attrs.field(init=False)
    seq: int = 0
    revoked: int = 0
    ended: list[int] = attrs.field(factory=list)
    logged: dict[str, tuple[str, bytes]] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.reference = TenantEngine(self.document, events="any")

    def check(self, database: Path, acknowledged: list[Acknowledged]) -> None:
        """Compare; the server must be at rest.

        Raises:
            AssertionError: something is lost, there twice, or wrong.
        """
        engine = reading_engine(database, self.partition)
        try:
            with engine.connect() as connection:
                assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
                self._repeat(connection)
                self._compare_state(connection)
                self._compare_index(connection)
        finally:
            engine.dispose()
        for made in acknowledged:
            found = self.logged.get(made.call.key)
            assert found is not None, f"{made.call.key} was acknowledged and is lost"
            assert found == (made.decision_id, made.answer), f"{made.call.key} has another answer"

    def _repeat(self, connection: Connection) -> None:
        """Decide what is new in the log once more, on the engine that never stopped."""
        for line in log.scan(connection, after=self.seq):
            assert line.seq == self.seq + 1, f"there is a gap after decision {self.seq}"
            self.seq = line.seq
            if not line.is_decision:
                self.ended.append(line.seq)
                self.reference.apply_effects([line.effects()])
                continue
            decision = line.decision()
            key = json.loads(decision.event)["idempotency_key"]
            assert key not in self.logged, f"{key} was decided twice"
            self.logged[key] = (str(decision.decision_id), decision.answer)
            found = EngineDecision.from_record(decision.record)
            self.revoked += any(each[0] == "revoke" for each in json.loads(decision.effects))
            repeated = self.reference.serve(
                decision.event,
                decision.received_at_ns,
                str(decision.decision_id),
                # Which passes are revoked, this engine knows too.
                proofs=[proof.as_read() for proof in found.proofs],
            )
            assert repeated.effects == decision.effects, f"{key} changed the state otherwise"
            assert repeated.record == decision.record, (
                f"{key}: {decision.record.decode()} and without a fault {repeated.record.decode()}"
            )

    def _compare_state(self, connection: Connection) -> None:
        """A start makes the state of the engine that never stopped from snapshot and log."""
        compiled = CompiledSet.of(load_compiled(self.document).compiled)
        made = rebuilt(connection, self.tenant_id, compiled, Redactor([], b"k"))
        assert _state(made) == _state(self.reference)

    def _compare_index(self, connection: Connection) -> None:
        """Derived data has every decision that it claims to have, once; searches have all."""
        indexed = derived.indexed_seq(connection)
        assert indexed <= self.seq
        decided = indexed - sum(seq <= indexed for seq in self.ended)
        assert results.of_policy(connection, self.tenant_id).total == decided
        keys = connection.execute(select(func.count(), func.count(idempotency.c.seq.distinct())))
        assert tuple(keys.one()) == (decided, decided)
        found = decisions.search(connection, self.tenant_id, decisions.DecisionQuery(), 1)
        # The newest has the greatest id, which is of the process that took the call.
        newest = max((decision_id for decision_id, _ in self.logged.values()), default=None)
        assert [str(each.decision_id) for each in found.decisions] == ([newest] if newest else [])


def _state(engine: TenantEngine | BundledEngine) -> dict[str, object]:
    state: dict[str, object] = orjson.loads(engine.snapshot())
    del state["revision"]  # a document that decides alike has another one
    return state
