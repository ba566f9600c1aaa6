"""Callers: they ask any process, come again after a 503 with the same key, and sometimes anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate_server.cluster.messages import Answer, Refusal

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

TRIES = 3
AGAIN = frozenset({"no-owner", "unanswered", "full"})


@attrs.define(eq=False)
class Attempt:
    """A call as its caller makes it."""

    tenant: str
    key: str | None
    body: bytes
    tries: int = TRIES
    decision_id: str = ""
    process: Process | None = None
    run: int = 0
    made_at: float = 0.0
    is_last: bool = False
    """It was made after all faults were healed."""
    outcome: Answer | Refusal | None = None


class Callers:
    """All callers of a schedule.

    Args:
        world: whose processes they ask.
        accounts: how many different ones there are; so are addresses.
    """

    def __init__(self, world: World, accounts: int = 3) -> None:
        self._world = world
        self._accounts = accounts
        self._keys = 0
        self._open: dict[tuple[str, int], dict[str, Attempt]] = {}
        self.attempts: list[Attempt] = []
        self.is_closed = False
        """Nobody comes again."""
        world.answered = self._outcome

    def call(self, *, keyed: float, is_last: bool = False, tenant: str | None = None) -> None:
        """A caller makes a call.

        Args:
            keyed: the probability that it has an idempotency key.
            is_last: it is made after all faults were healed.
            tenant: whose call it is; of any tenant when left out.
        """
        chosen = self._world.random
        body = self._body()
        key = None
        if chosen.random() < keyed:
            self._keys += 1
            key = f"k{self._keys}"
        if tenant is None:
            tenant = chosen.choice(tuple(self._world.database.tenants))
        self._make(Attempt(tenant, key, body, is_last=is_last))
        if key is not None and chosen.random() < 0.2:
            # An impatient caller, or a proxy, asks twice.
            again = Attempt(tenant, key, body if chosen.random() < 0.9 else self._body())
            self._world.at(chosen.random() * 0.5, self._make, again)

    def _body(self) -> bytes:
        """An event; a few are none."""
        chosen = self._world.random
        if chosen.random() < 0.01:
            return b'{"request":'
        address = chosen.randrange(self._accounts)
        account = chosen.randrange(self._accounts)
        return b'{"request":{"client_ip":"192.0.2.%d"},"fields":{"account":"u%d"}}' % (
            address,
            account,
        )

    def lost(self, process: Process) -> None:
        """The connections of all who wait for an outcome of a process have ended."""
        for attempt in self._open.pop((process.name, process.run), {}).values():
            self._again(attempt)

    def unanswered(self) -> list[Attempt]:
        """Attempts that have no outcome from a process that still runs."""
        return [
            attempt
            for waiting in self._open.values()
            for attempt in waiting.values()
            if attempt.process is not None and attempt.process.run == attempt.run
        ]

    def _make(self, attempt: Attempt) -> None:
        world = self._world
        if self.is_closed and not attempt.is_last:
            return
        running = [
            each
            for each in world.processes.values()
            if each.is_alive and each.name not in world.islands
        ]
        if not running:
            self._again(attempt)
            return
        process = world.random.choice(running)
        world.later(0.0, process, lambda: self._arrive(attempt, process))  # type: ignore[arg-type]

    def _arrive(self, attempt: Attempt, process: Process) -> list[object]:
        taken = process.node.gateway.call(attempt.tenant, attempt.key, attempt.body, process.mono)
        attempt.decision_id = taken.decision_id
        attempt.process, attempt.run = process, process.run
        attempt.made_at = self._world.now
        self.attempts.append(attempt)
        self._open.setdefault((process.name, process.run), {})[taken.decision_id] = attempt
        return [taken] if isinstance(taken, Refusal) else []

    def _outcome(self, process: Process, outcome: Answer | Refusal) -> None:
        attempt = self._open[process.name, process.run].pop(outcome.decision_id)
        attempt.outcome = outcome
        self._world.oracle.outcome(attempt, outcome)
        chosen = self._world.random
        if isinstance(outcome, Refusal):
            if outcome.reason in AGAIN:
                self._again(attempt)
        elif attempt.key is not None and chosen.random() < 0.2:
            # The answer was lost on its way to the caller.
            self._again(attempt, chosen.random() * 6.0)

    def _again(self, attempt: Attempt, delay: float | None = None) -> None:
        """A caller that has a key comes again with it."""
        if attempt.key is None or attempt.tries == 0:
            return
        again = Attempt(attempt.tenant, attempt.key, attempt.body, attempt.tries - 1)
        self._world.at(self._world.random.random() if delay is None else delay, self._make, again)
