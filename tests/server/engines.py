"""Engines for a control plane that is tested by itself: they decide when a test says so."""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import UUID

import attrs
import orjson

from tidegate.engine import Engine
from tidegate.evaluation.native import Redactor
from tidegate.policy.standing import ActiveMitigation
from tidegate.server.api_keys import ApiKey
from tidegate.server.definition_set import load_set
from tidegate.server.entries import log_entry
from tidegate.server.identifiers import new_id
from tidegate.server.live import NoRuntime
from tidegate.server.runtime import Tenant, keep_definitions
from tidegate.stores import Store

EVENT = {
    "request": {"path": "/", "client_ip": "192.0.2.7", "user_agent": "Mozilla/5.0"},
}


@attrs.define
class Engines(NoRuntime):
    """A runtime without an event loop."""

    store: Store
    engines: dict[UUID, Engine] = attrs.field(factory=dict)

    def engine(self, tenant_id: UUID) -> Engine | None:
        """The engine of a tenant in which something was decided."""
        return self.engines.get(tenant_id)

    def lift(
        self, tenant_id: UUID, wanted: Sequence[ActiveMitigation], actor: str, request_id: str
    ) -> bool:
        """End mitigations, in the engine alone."""
        del actor, request_id
        engine, now = self.engines[tenant_id], time.time_ns()
        lifted = [
            engine.lift(each.definition, each.key, each.policy, each.clause, now) for each in wanted
        ]
        return any(lifted)

    def decide(self, tenant_id: UUID) -> tuple[str, str]:
        """Decide and record an event; the ids of decision and entity."""
        with self.store.read() as connection:
            document = load_set(connection, tenant_id).document()
        keep_definitions(self.store, tenant_id, document)
        engine = self.engines.setdefault(tenant_id, Engine(document))
        decision_id, now, body = str(new_id()), time.time_ns(), orjson.dumps(EVENT)
        served = engine.serve(body, now, decision_id)
        tenant = Tenant(
            tenant_id,
            document["revision"],
            (0, 0),
            engine,
            Redactor([], b"k" * 32),
            {each.slug: str(each.policy_id) for each in engine.definitions.policies},
        )
        key = ApiKey(new_id(), tenant_id, "prefix", 60, (), None)
        entry = log_entry(
            tenant, key, "runtime", None, decision_id, now, 0, served, served.answer, body, None
        )
        self.store.append([entry]).result()
        assert served.entity_id is not None
        return decision_id, served.entity_id
