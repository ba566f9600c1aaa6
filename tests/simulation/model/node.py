"""A node: the gateway, the owners and the followers of one process, and its view of the directory.

A driver hands in what arrives and what time it is, and carries out what comes back.  It calls
:meth:`Node.turn` in each turn of its loop and :meth:`Node.tick` when :meth:`Node.next_at` has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import attrs
from tests.simulation.model.deciding import DecidingFollower, Limits
from tests.simulation.model.owner import Owner
from tests.simulation.model.requests import (
    AppendResult,
    Claim,
    ClaimRefused,
    GivenUp,
    LogRequest,
    OwnerOutput,
    Released,
)

from tidegate.cluster.directory import Directory
from tidegate.cluster.gateway import Gateway
from tidegate.cluster.messages import Answer, Answers, Batch, ReadResult, Refusal, Send
from tidegate.cluster.rows import Change, Join, Renew, Rows


@attrs.frozen
class ReadRows:
    """Read the rows of the directory now; :meth:`Node.read` takes them."""


Output: TypeAlias = Send | Answers | LogRequest | Change | ReadRows | Refusal | Answer
"""A ``Send`` goes to its member and ``Answers`` to their gateway, which may both be this process; a
``Change`` and ``ReadRows`` go to the store of the directory; ``Answer`` and ``Refusal`` to the
caller of their decision id."""
NewOwner: TypeAlias = Callable[
    [int, str, Callable[[], DecidingFollower], Callable[[], Limits]],
    Owner,
]


@attrs.frozen
class Parts:
    """What a node is made of.

    Attributes:
        gateway: of the process.
        directory: the process's view.
        new_follower: the newest state of a partition that this process can have at once, from a
            snapshot or empty.
        new_limits: limits of which nothing is used.
        new_owner: of partition, member, and the two makers.
    """

    gateway: Gateway
    directory: Directory
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
        self.directory = parts.directory
        self.owners: dict[int, Owner] = {}
        self.followers: dict[int, DecidingFollower] = {}
        self._parts = parts

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

    def renewed(self, change: Join | Renew, sent_at: float, rows: Rows, now: float) -> list[Output]:
        """The store took a join or renewal; see :meth:`Directory.renewed`."""
        return [*self.directory.renewed(change, sent_at, rows, now), *self._do_duties(now)]

    def read(self, rows: Rows, now: float) -> list[Output]:
        """The rows of the directory, as one transaction read them."""
        return [*self.directory.read(rows, now), *self._do_duties(now)]

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
        change = self.directory.tick(now)
        if change is not None:
            outputs.append(change)
        for owner in self.owners.values():
            outputs += self._out(owner.tick(now))
        for partition, follower in self.followers.items():
            request = follower.tick(now)
            if request is not None:
                outputs.append(request)
            level = self.directory.level(partition) if follower.is_level else None
            if level is not None:
                outputs.append(level)
        return outputs

    def next_at(self) -> float:
        """When :meth:`tick` has something to do, in monotonic seconds."""
        due = self.directory.next_at()
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
        """Own and follow what the rows say."""
        duties = self.directory.duties()
        self.gateway.place(self.directory.rows)
        outputs: list[Output] = []
        for partition, owner in self.owners.items():
            if partition not in duties.owns:
                outputs += self._out(owner.disown())
        for partition, term in duties.owns.items():
            follower = self.followers.pop(partition, None)
            hands_over = partition in duties.hands_over
            owner = self._owner(partition)
            outputs += self._out(
                owner.own(term, duties.lease_ends, now, hands_over=hands_over, follower=follower)
            )
        for partition in [each for each in self.followers if each not in duties.follows]:
            del self.followers[partition]
        for partition in duties.follows:
            if partition not in self.followers:
                self.followers[partition] = self._parts.new_follower(partition)
        return outputs

    def _owner(self, partition: int) -> Owner:
        owner = self.owners.get(partition)
        if owner is None:
            parts = self._parts
            owner = parts.new_owner(
                partition,
                self.directory.name,
                lambda: parts.new_follower(partition),
                parts.new_limits,
            )
            self.owners[partition] = owner
        return owner

    def _out(self, outputs: Iterable[OwnerOutput]) -> list[Output]:
        """What an owner gives, for the driver: a release becomes a change of the rows."""
        found: list[Output] = []
        for output in outputs:
            if isinstance(output, GivenUp):
                found.append(ReadRows())
            elif isinstance(output, Released):
                place = self.directory.released(output.partition, output.term)
                found += [] if place is None else [place]
            else:
                found.append(output)
        return found
