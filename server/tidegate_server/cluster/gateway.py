"""A gateway: accepts any call and has the owner of its tenant's partition decide it.

A driver passes calls in, calls :meth:`Gateway.turn` once in each turn of its loop, sends the
result, and calls :meth:`Gateway.tick` often.  Each call gets exactly one outcome, within
``Bounds.time``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

import attrs

from tidegate_server.cluster.messages import (
    ASK_AGAIN,
    Answer,
    Answers,
    Batch,
    Call,
    Outcome,
    Reason,
    Refusal,
    Send,
)


@attrs.frozen
class Bounds:
    """Limits of a gateway; times are in seconds.

    Attributes:
        time: when a call is rejected, whatever its state.
        hold: how long a call waits while there is no owner to ask.
        ask_again: how long an owner may leave a batch without an outcome.
        backoff: wait between two attempts at an owner that rejects calls.
        calls: most calls held at once; further ones are rejected.
        size: most bytes of bodies held at once.
        batch: most calls in one batch.
    """

    time: float = 5.0
    hold: float = 2.0
    ask_again: float = 1.0
    backoff: float = 0.05
    calls: int = 65_536
    size: int = 64 * 1024 * 1024
    batch: int = 256


@attrs.define(eq=False)
class _Held:
    """A call without an outcome so far."""

    call: Call
    ends: float
    """When it is rejected at the latest."""
    homeless_since: float | None = None
    """When there was first no owner to ask."""
    not_before: float = 0.0
    """When it may be sent again."""
    flight: int = 0
    """Its batch; 0 while it waits here."""


@attrs.define(eq=False)
class _Flight:
    """A batch in flight."""

    member: str
    sent_at: float
    ids: dict[str, None]
    """Its calls without an outcome, in order."""


class Gateway:
    """A process's calls without an outcome, and the members they were sent to.

    Args:
        name: name of the process, unique among running ones; it is in each batch.
        new_id: returns a new, unique decision id.
        bounds: limits of times and sizes.
    """

    def __init__(self, name: str, new_id: Callable[[], str], bounds: Bounds | None = None) -> None:
        self.name = name
        self._new_id = new_id
        self._bounds = bounds or Bounds()
        self._owners: Mapping[int, str] = {}
        self._partitions: Mapping[str, int] = {}
        self._held: dict[str, _Held] = {}  # in order of their ends
        self._ready: list[_Held] = []
        self._waiting: dict[str, _Held] = {}
        self._flights: dict[int, _Flight] = {}  # in order of sending
        self._size = 0
        self._number = 0

    def __len__(self) -> int:
        """Number of calls without an outcome."""
        return len(self._held)

    def call(self, tenant: str, key: str | None, body: bytes, now: float) -> Call | Refusal:
        """Accept a call.

        Args:
            tenant: the call's tenant.
            key: the caller's idempotency key.
            body: the input of the decision.
            now: monotonic seconds.

        Returns:
            The call with its decision id, under which its outcome will arrive; or the rejection if
            the gateway is full.
        """
        call = Call(self._new_id(), tenant, key, body)
        bounds = self._bounds
        if len(self._held) >= bounds.calls or self._size + len(body) > bounds.size:
            return Refusal(call.decision_id, "full")
        held = _Held(call, now + bounds.time)
        self._held[call.decision_id] = held
        self._ready.append(held)
        self._size += len(body)
        return call

    def place(self, owners: Mapping[int, str], partitions: Mapping[str, int]) -> None:
        """Set who owns what; if that has changed, the next turn sends the calls that wait.

        Args:
            owners: the member that owns each partition, as far as there is one.
            partitions: the partition of each tenant.
        """
        if (owners, partitions) != (self._owners, self._partitions):
            for held in self._waiting.values():
                held.not_before = 0.0
            self._ready += self._waiting.values()
            self._waiting.clear()
        self._owners, self._partitions = owners, partitions

    def turn(self, now: float) -> list[Send]:
        """The batches to send now, with the calls since the last turn.

        Args:
            now: monotonic seconds.

        Returns:
            One batch per partition, or more if one would be too large.
        """
        ready, self._ready = self._ready, []
        if not ready:
            return []
        groups: defaultdict[tuple[str, int], list[_Held]] = defaultdict(list)
        for held in ready:
            if held.call.decision_id not in self._held:
                continue
            partition = self._partitions.get(held.call.tenant)
            owner = None if partition is None else self._owners.get(partition)
            if partition is None or owner is None:
                self._wait(held, now)
            else:
                groups[owner, partition].append(held)
        size = self._bounds.batch
        return [
            self._batch(member, partition, group[first : first + size], now)
            for (member, partition), group in groups.items()
            for first in range(0, len(group), size)
        ]

    def receive(self, answers: Answers, now: float) -> list[Outcome]:
        """Accept outcomes of a batch.

        Args:
            answers: from the member that got the batch.
            now: monotonic seconds.

        Returns:
            Those that end a call, for its caller.  An answer counts from any member, since it is
            durable; a rejection counts only from the last owner asked.
        """
        ended: list[Outcome] = []
        flight = self._flights.get(answers.number)
        for outcome in answers.outcomes:
            held = self._held.get(outcome.decision_id)
            if held is None:
                continue
            if isinstance(outcome, Answer):
                ended.append(outcome)
                self._end(held)
            elif held.flight == answers.number:
                if outcome.reason in ASK_AGAIN:
                    self._wait(held, now)
                else:
                    ended.append(outcome)
                    self._end(held)
            if flight is not None:
                flight.ids.pop(outcome.decision_id, None)
        if flight is not None and not flight.ids:
            self._flights.pop(answers.number, None)
        return ended

    def answered(self, decision_id: str) -> None:
        """End a call if the caller already has the answer."""
        held = self._held.get(decision_id)
        if held is not None:
            self._end(held)

    def lost(self, member: str, now: float) -> None:
        """Handle a lost connection to a member: everything it was asked is asked again."""
        for number in [n for n, flight in self._flights.items() if flight.member == member]:
            for held in self._returned(number):
                self._wait(held, now)

    def tick(self, now: float) -> list[Refusal]:
        """Reject calls past their time, and resend those that waited long enough.

        Args:
            now: monotonic seconds.
        """
        refused = [self._refuse(held, "unanswered") for held in self._past(now)]
        for number in self._unanswered(now):
            self._ready += self._returned(number)
        for held in list(self._waiting.values()):
            if held.homeless_since is not None and self._homeless_end(held) <= now:
                refused.append(self._refuse(held, "no-owner"))
            elif held.not_before <= now:
                del self._waiting[held.call.decision_id]
                self._ready.append(held)
        return refused

    @property
    def has_ready(self) -> bool:
        """Whether the next turn has something to send."""
        return bool(self._ready)

    # --- one call -------------------------------------------------------------------------

    def _wait(self, held: _Held, now: float) -> None:
        """Hold a call until there is an owner to ask."""
        held.flight = 0
        held.not_before = now + self._bounds.backoff
        if held.homeless_since is None:
            held.homeless_since = now
        self._waiting[held.call.decision_id] = held

    def _end(self, held: _Held) -> None:
        identity = held.call.decision_id
        del self._held[identity]
        self._waiting.pop(identity, None)
        self._size -= len(held.call.body)
        flight = self._flights.get(held.flight)
        if flight is not None:
            flight.ids.pop(identity, None)
            if not flight.ids:
                del self._flights[held.flight]

    def _refuse(self, held: _Held, reason: Reason) -> Refusal:
        self._end(held)
        return Refusal(held.call.decision_id, reason)

    def _homeless_end(self, held: _Held) -> float:
        since = held.homeless_since
        return held.ends if since is None else since + self._bounds.hold

    # --- batches --------------------------------------------------------------------------

    def _batch(self, member: str, partition: int, group: list[_Held], now: float) -> Send:
        self._number += 1
        for held in group:
            held.flight = self._number
        calls = tuple([held.call for held in group])
        ids = dict.fromkeys([call.decision_id for call in calls])
        self._flights[self._number] = _Flight(member, now, ids)
        return Send(member, Batch(self.name, self._number, partition, calls))

    def _returned(self, number: int) -> list[_Held]:
        """The calls of a batch that is given up, except those already sent elsewhere."""
        found = [self._held.get(identity) for identity in self._flights.pop(number).ids]
        returned = [held for held in found if held is not None and held.flight == number]
        for held in returned:
            held.flight = 0
        return returned

    def _past(self, now: float) -> list[_Held]:
        past = []
        for held in self._held.values():
            if held.ends > now:
                break
            past.append(held)
        return past

    def _unanswered(self, now: float) -> list[int]:
        """Batches that their owner has not answered in time."""
        numbers = []
        for number, flight in self._flights.items():
            if flight.sent_at + self._bounds.ask_again > now:
                break
            numbers.append(number)
        return numbers
