"""What the simulated owners decide with: the native engine, and limits that keep a record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from tests.simulation.model.deciding import CallRefusedError

from tidegate.definitions import load_compiled
from tidegate.errors import EventError
from tidegate.evaluation.native import NativeEngine
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.served import Served
from tidegate_server.cluster.messages import Call, Entry
from tidegate_server.hot.rate_limit import RateLimits

if TYPE_CHECKING:
    from tidegate.policy.definitions.compiled import CompiledDefinitions

EVENTS_A_MINUTE = 150
"""Of each tenant: a burst of 15, then one in 0.4 s."""
SECOND = 1_000_000_000


@cache
def compiled() -> CompiledDefinitions:
    """The definitions that all simulated tenants have."""
    return load_compiled(Path(__file__).with_name("definitions.yaml")).compiled


@cache
def _bundle() -> bytes:
    return bundle(compiled())


class EngineDecider:
    """A native engine for each tenant of a partition."""

    def __init__(self) -> None:
        self._engines: dict[str, NativeEngine] = {}

    def decide(self, call: Call, received_at: int) -> Entry:
        """Decide on a call, and change the state by it."""
        try:
            engine = self._engine(call.tenant)
            served = Served(*engine.serve(call.body, received_at, call.decision_id))
        except EventError as error:
            raise CallRefusedError("event", str(error).encode()) from None
        return Entry(
            call.decision_id,
            call.tenant,
            call.key,
            call.body,
            received_at,
            served.answer,
            served.record,
            served.effects,
        )

    def apply(self, entries: Sequence[Entry]) -> None:
        """Change the state as the decisions of the entries did."""
        for entry in entries:
            self._engine(entry.tenant).apply_effects([entry.effects])

    def _engine(self, tenant: str) -> NativeEngine:
        engine = self._engines.get(tenant)
        if engine is None:
            engine = NativeEngine(_bundle(), [], [], None, "any", None)
            self._engines[tenant] = engine
        return engine


@attrs.define(eq=False)
class KeptLimits:
    """The product's limits; every call that was counted, or refused, is kept for the oracle."""

    limits: RateLimits = attrs.field(factory=RateLimits)
    taken: list[tuple[str, str, int, bool]] = attrs.field(factory=list)
    """Tenant, decision id, nanoseconds of the monotonic clock, and whether there was room."""

    def take(self, call: Call, now: float) -> float:
        """As ``Limits.take``."""
        at = round(now * SECOND)
        has_room = self.limits.take(call.tenant, EVENTS_A_MINUTE, at) == 1
        self.taken.append((call.tenant, call.decision_id, at, has_room))
        if has_room:
            return 0.0
        return float(self.limits.verdict(call.tenant, EVENTS_A_MINUTE, at, False).retry_after)
