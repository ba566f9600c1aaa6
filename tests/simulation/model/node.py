"""A node: the gateway, the owners and the followers of one process, and its view of the cluster.

A driver hands in what arrives and what time it is, and carries out what comes back.  It calls
:meth:`Node.turn` in each turn of its loop and :meth:`Node.tick` when :meth:`Node.next_at` has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

import attrs
from tests.simulation.model.deciding import DecidingFollower, Limits
from tests.simulation.model.owner import Owner
from tests.simulation.model.requests import (
    AppendResult,
    Beat,
    Claim,
    ClaimRefused,
    End,
    GivenUp,
    Join,
    LogRequest,
    OwnerOutput,
    Release,
    Released,
    SessionRequest,
    Take,
)

from tidegate_server.cluster.gateway import Gateway
from tidegate_server.cluster.messages import Answer, Answers, Batch, ReadResult, Refusal, Send
from tidegate_server.cluster.ownership import BEAT_SECONDS, Ownership, View

Output: TypeAlias = Send | Answers | LogRequest | SessionRequest | Refusal | Answer
"""A ``Send`` goes to its member and ``Answers`` to their gateway, which may both be this process; a
``SessionRequest`` goes to the process's session; ``Answer`` and ``Refusal`` to the caller of their
decision id."""
NewOwner: TypeAlias = Callable[
    [int, str, Callable[[], DecidingFollower], Callable[[], Limits]],
    Owner,
]


@attrs.frozen
class Parts:
    """What a node is made of.

    Attributes:
        gateway: of the process.
        ownership: what the process sees and owns.
        tenants: the partition of each tenant.
        new_follower: the newest state of a partition that this process can have at once, from a
            snapshot or empty.
        new_limits: limits of which nothing is used.
        new_owner: of partition, member, and the two makers.
    """

    gateway: Gateway
    ownership: Ownership
    tenants: Mapping[str, int]
    new_follower: Callable[[int], DecidingFollower]
    new_limits: Callable[[], Limits]
    new_owner: NewOwner = Owner


class _Timed(Protocol):
    def next_at(self) -> float | None: ...


class Node:
    """One process of a cluster.

    Args:
        parts: which it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        self.gateway = parts.gateway
        self.ownership = parts.ownership
        self.owners: dict[int, Owner] = {}
        self.followers: dict[int, DecidingFollower] = {}
        self._parts = parts
        self._beat_at = 0.0
        self._asked: set[int] = set()
        """Partitions that it has asked its session for."""
        self._last_owners: dict[int, str] = {}

    # --- what arrives -----------------------------------------------------------------------

    def batch(self, batch: Batch) -> list[Output]:
        """Calls that a gateway hands over."""
        return self._out(self._owner(batch.partition).hand(batch))

    def answers(self, answers: Answers, now: float) -> list[Output]:
        """What an owner says to this process's gateway."""
        return [*self.gateway.receive(answers, now)]

    def log(
        self, result: Claim | ClaimRefused | ReadResult | AppendResult, now: float
    ) -> list[Output]:
        """What the log says."""
        owner = self._owner(result.partition)
        if isinstance(result, Claim):
            return self._out(owner.claimed(result, now))
        if isinstance(result, ClaimRefused):
            return self._out(owner.claim_refused(result))
        if isinstance(result, AppendResult):
            return self._out(owner.appended(result, now))
        outputs = self._out(owner.read(result, now))
        follower = self.followers.get(result.partition)
        if follower is not None:
            request = follower.receive(result, now)
            outputs += [] if request is None else [request]
        return outputs

    def joined(self, session: int) -> list[Output]:
        """The process has a session."""
        self.ownership.joined(session)
        self._beat_at = 0.0
        return []

    def seen(self, view: View, sent_at: float, now: float) -> list[Output]:
        """A beat was taken; see :meth:`Ownership.seen`."""
        session = self.ownership.session
        ends: list[Output] = [
            End(session, each.session)
            for each in self.ownership.seen(view, sent_at, now)
            if session is not None and each.session is not None
        ]
        return [*ends, *self._do_duties(now)]

    def taken(self, take: Take, term: int | None, now: float) -> list[Output]:
        """The session holds a partition under a term; or it doesn't."""
        self._asked.discard(take.partition)
        if term is not None:
            self.ownership.taken(take.session, take.partition, term)
        return self._do_duties(now)

    def lost(self, now: float) -> list[Output]:
        """The session has ended."""
        self.ownership.lost()
        self._asked.clear()
        return self._do_duties(now)

    # --- time ---------------------------------------------------------------------------------

    def turn(self, now: float, wall: int) -> list[Output]:
        """Send and decide what came since the last turn.

        Args:
            now: monotonic seconds.
            wall: nanoseconds since 1970.
        """
        outputs: list[Output] = [*self.gateway.turn(now)]
        for owner in self.owners.values():
            if owner.has_queue:
                outputs += self._out(owner.turn(now, wall))
        return outputs

    def tick(self, now: float) -> list[Output]:
        """Do what is due.

        Args:
            now: monotonic seconds.
        """
        outputs: list[Output] = [*self.gateway.tick(now)]
        if now >= self._beat_at:
            self._beat_at = now + BEAT_SECONDS
            outputs.append(self._beat())
        for owner in self.owners.values():
            outputs += self._out(owner.tick(now))
        for follower in self.followers.values():
            request = follower.tick(now)
            if request is not None:
                outputs.append(request)
        return outputs

    def _beat(self) -> Join | Beat:
        session = self.ownership.session
        if session is None:
            return Join(self.ownership.name)
        return Beat(session, frozenset(n for n, each in self.followers.items() if each.is_level))

    def next_at(self) -> float:
        """When :meth:`tick` has something to do, in monotonic seconds."""
        due = self._beat_at
        parts: tuple[_Timed, ...] = (
            self.gateway,
            *self.owners.values(),
            *self.followers.values(),
        )
        for part in parts:
            at = part.next_at()
            if at is not None and at < due:
                due = at
        return due

    @property
    def has_turn(self) -> bool:
        """Whether a turn has something to do."""
        return self.gateway.has_ready or any(owner.has_queue for owner in self.owners.values())

    # --- duties -------------------------------------------------------------------------------

    def _do_duties(self, now: float) -> list[Output]:
        """Own and follow what the view says."""
        ownership = self.ownership
        duties = ownership.duties()
        for number, each in ownership.view.partitions.items():
            if each.owner is not None:
                self._last_owners[number] = each.owner
        self.gateway.place(dict(self._last_owners), self._parts.tenants)
        outputs: list[Output] = []
        for partition, owner in self.owners.items():
            if partition not in ownership.held:
                outputs += self._out(owner.disown())
        for partition, term in list(ownership.held.items()):
            follower = self.followers.pop(partition, None)
            hands_over = partition in duties.hands_over
            owner = self._owner(partition)
            alive_until = ownership.alive_until
            outputs += self._out(
                owner.own(term, alive_until, now, hands_over=hands_over, follower=follower)
            )
        for partition in [each for each in self.followers if each not in duties.follows]:
            if partition not in duties.takes:
                del self.followers[partition]
        for partition in duties.follows:
            if partition not in self.followers:
                self.followers[partition] = self._parts.new_follower(partition)
        for partition in duties.takes - self._asked:
            if ownership.session is not None:
                self._asked.add(partition)
                outputs.append(Take(ownership.session, partition))
        return outputs

    def _owner(self, partition: int) -> Owner:
        owner = self.owners.get(partition)
        if owner is None:
            parts = self._parts
            owner = parts.new_owner(
                partition,
                self.ownership.name,
                lambda: parts.new_follower(partition),
                parts.new_limits,
            )
            self.owners[partition] = owner
        return owner

    def _out(self, outputs: Iterable[OwnerOutput]) -> list[Output]:
        """What an owner gives, for the driver: one that has stopped releases its lock."""
        found: list[Output] = []
        for output in outputs:
            if not isinstance(output, GivenUp | Released):
                found.append(output)
            elif output.partition in self.ownership.held:
                self.ownership.released(output.partition)
                if self.ownership.session is not None:
                    found.append(Release(self.ownership.session, output.partition))
        return found
