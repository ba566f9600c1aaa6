"""A member's part in the directory: its lease, the members it takes for alive, and ownership.

Every member runs the same logic on the same rows.  The live member with the smallest name places
partitions; if two believe they are it, the row versions keep them apart.

Leases are judged by monotonic clocks alone.  The holder counts from when it *sent* a renewal; the
others count from when they *saw* the number of renewals grow, which is later, and add a margin. So
a holder notices the end of its lease before anybody replaces it.  Leases serve to find a successor;
only the log's epochs guarantee that two owners never both have decisions acknowledged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from tidegate.cluster.rows import Change, Join, Member, Place, Placement, Renew, Rows

UNBALANCED = 0.25
"""The share of the mean by which two members' loads must differ before a partition moves."""
SETTLED_SECONDS = 60.0
"""How long a moved partition stays if moving another would balance the loads too: after a manual
move, another partition moves the other way."""


@attrs.frozen
class Times:
    """Timing of a directory, in seconds.

    Attributes:
        lease: how long a renewal is valid.
        renew: interval between two renewals.
        margin: added to a lease by observers, because clocks run at different speeds.
    """

    lease: float = 3.0
    renew: float = 1.0
    margin: float = 0.3


@attrs.frozen
class Duties:
    """A member's tasks, by the rows it read last.

    Attributes:
        owns: its partitions, with their terms.
        hands_over: those of them to drain and release, since the next owner has caught up.
        follows: the partitions it follows.
        lease_ends: the end of its lease, in monotonic seconds.
    """

    owns: Mapping[int, int] = attrs.field(factory=dict)
    hands_over: frozenset[int] = frozenset()
    follows: frozenset[int] = frozenset()
    lease_ends: float = 0.0


class Directory:
    """One member's view of the directory.

    A driver sends each change to the store, reads the rows with each renewal and whenever it hears
    of a change, and passes them to :meth:`renewed` or :meth:`read`.

    Args:
        name: the member's name.
        address: its address for the others.
        times: the timing of leases.
    """

    def __init__(self, name: str, address: str, times: Times | None = None) -> None:
        self.name = name
        self._address = address
        self._times = times or Times()
        self._rows = Rows()
        self._run: int | None = None
        self._seen: dict[str, tuple[int, int, float]] = {}
        """The last run and renewals seen of each member, and when they were first seen."""
        self._moved: dict[int, float] = {}
        """When changes of partitions' owners were seen."""
        self._lease_ends = 0.0
        self._renew_at = 0.0

    @property
    def rows(self) -> Rows:
        """The rows that were read last."""
        return self._rows

    def tick(self, now: float, loads: Mapping[int, float] | None = None) -> Join | Renew | None:
        """The change that is due now.

        Args:
            now: monotonic seconds.
            loads: decisions per second of each partition that the member owns.

        Returns:
            A change for the store; its result goes to :meth:`renewed`.  None if none is due.
        """
        if now < self._renew_at:
            return None
        self._renew_at = now + self._times.renew
        if self._run is None:
            return Join(self.name, self._address)
        return Renew(self.name, self._run, loads or {})

    def next_at(self) -> float:
        """When :meth:`tick` is due next, in monotonic seconds."""
        return self._renew_at

    def renewed(self, change: Join | Renew, sent_at: float, rows: Rows, now: float) -> list[Change]:
        """Handle an accepted join or renewal.

        Args:
            change: the change.
            sent_at: when it was sent, in monotonic seconds; the lease counts from then.
            rows: as read in the change's transaction.
            now: monotonic seconds.

        Returns:
            Further changes for the store.
        """
        if isinstance(change, Join):
            self._run = rows.members[self.name].run
        self._lease_ends = max(self._lease_ends, sent_at + self._times.lease)
        return self.read(rows, now)

    def refused(self) -> None:
        """Handle a rejected renewal: another process has joined under this name.

        The lease is over; the member joins again.
        """
        self._run = None
        self._lease_ends = 0.0

    def read(self, rows: Rows, now: float) -> list[Change]:
        """Update the rows.

        Args:
            rows: as read in one transaction; rows older than the known ones are dropped.
            now: monotonic seconds.

        Returns:
            Changes for the store, if this member places partitions.
        """
        if self._is_older(rows):
            return []
        for partition, placement in self._rows.placements.items():
            if placement.owner not in (None, rows.placements[partition].owner):
                self._moved[partition] = now
        self._rows = rows
        for member in rows.members.values():
            known = self._seen.get(member.name)
            if known is None or known[:2] != (member.run, member.renewals):
                self._seen[member.name] = (member.run, member.renewals, now)
        live = [member for member in rows.members.values() if self._is_live(member, now)]
        if not live or min(member.name for member in live) != self.name:
            return []
        settling = {each: at for each, at in self._moved.items() if now < at + SETTLED_SECONDS}
        return list(_plan(rows, {member.name: member for member in live}, settling))

    def duties(self) -> Duties:
        """The member's tasks, by the rows it read last."""
        placements = self._rows.placements.values()
        owned = [each for each in placements if each.owner == self.name]
        return Duties(
            {each.partition: each.term for each in owned},
            frozenset(each.partition for each in owned if each.is_moving and each.is_level),
            frozenset(each.partition for each in placements if each.follower == self.name),
            self._lease_ends,
        )

    def level(self, partition: int) -> Place | None:
        """The change to record that the member's follower of a partition has caught up."""
        placement = self._rows.placements[partition]
        if placement.follower != self.name or placement.is_level:
            return None
        return Place(_changed(placement, is_level=True))

    def released(self, partition: int, term: int) -> Place | None:
        """The change that makes the follower owner, since this member's owner has stopped.

        None if the rows no longer say that the member hands it over; it then continues.
        """
        placement = self._rows.placements[partition]
        is_due = placement.is_moving and placement.is_level and placement.follower is not None
        if (placement.owner, placement.term) != (self.name, term) or not is_due:
            return None
        return Place(_owned_by(placement, placement.follower))

    def _is_older(self, rows: Rows) -> bool:
        """Whether rows are older than the known ones, but arrived later."""
        known = self._rows
        return any(
            rows.placements[partition].version < placement.version
            for partition, placement in known.placements.items()
        ) or any(
            (now.run, now.renewals) < (before.run, before.renewals)
            for name, now in rows.members.items()
            for before in [known.members.get(name, now)]
        )

    def _is_live(self, member: Member, now: float) -> bool:
        if member.name == self.name:
            return self._run == member.run
        since = self._seen[member.name][2]
        return member.is_connected and now < since + self._times.lease + self._times.margin


def move(rows: Rows, partition: int, member: str) -> Place | None:
    """The change that moves a partition to a member; None if it already owns it.

    Raises:
        KeyError: there is no such partition or member.
    """
    placement = rows.placements[partition]
    target = rows.members[member].name
    if placement.owner == target:
        return None
    is_level = placement.is_level and placement.follower == target
    return Place(_changed(placement, follower=target, is_moving=True, is_level=is_level))


def partition_for_next(rows: Rows) -> int:
    """The partition for a new tenant: the one with the fewest tenants.

    Raises:
        ValueError: there is no partition.
    """
    counts = dict.fromkeys(sorted(rows.placements), 0)
    for partition in rows.tenants.values():
        counts[partition] = counts.get(partition, 0) + 1
    return min(counts, key=counts.__getitem__)


# --- placing ------------------------------------------------------------------------------------


def _plan(
    rows: Rows, live: Mapping[str, Member], settling: Mapping[int, float]
) -> Iterator[Change]:
    """At most one change per placement, the most urgent one."""
    weights = _Weights(rows, live)
    may_balance = True
    for placement in rows.placements.values():
        change = _next(rows, placement, live, weights)
        may_balance = may_balance and change is None and not placement.is_moving
        if change is not None:
            yield change
    if may_balance:
        yield from weights.balance(settling)


def _next(
    rows: Rows, placement: Placement, live: Mapping[str, Member], weights: _Weights
) -> Place | None:
    """The change that a placement needs; None if it needs none."""
    owner, follower = live.get(placement.owner or ""), live.get(placement.follower or "")
    if owner is None:
        if follower is not None and not follower.is_draining:
            successor: str | None = follower.name
        else:
            successor = weights.lightest(placement.partition, None)
        if successor is None:
            return None
        gone = rows.members.get(placement.owner or "")
        return Place(_owned_by(placement, successor), gone)
    if follower is None or (follower.is_draining and not placement.is_moving):
        next_follower = weights.lightest(placement.partition, owner.name)
        if next_follower == placement.follower:
            return None
        return Place(_changed(placement, follower=next_follower, is_moving=False, is_level=False))
    if owner.is_draining and not placement.is_moving and not follower.is_draining:
        return Place(_changed(placement, is_moving=True))
    return None


class _Weights:
    """The load of each live member as placement proceeds."""

    def __init__(self, rows: Rows, live: Mapping[str, Member]) -> None:
        self._rows = rows
        self._loads: dict[int, float] = {}
        for member in live.values():
            self._loads.update(member.loads)
        self._members = {name: 0.0 for name in sorted(live) if not live[name].is_draining}
        self._followed = dict.fromkeys(self._members, 0)
        for placement in rows.placements.values():
            if placement.owner in self._members:
                self._members[placement.owner] += self._weight(placement.partition)
            if placement.follower in self._followed:
                self._followed[placement.follower] += 1

    def _weight(self, partition: int) -> float:
        """A partition without load counts a little, so that idle ones are spread too."""
        return self._loads.get(partition, 0.0) + 1.0

    def lightest(self, partition: int, owner: str | None) -> str | None:
        """The member with the least load, to own a partition or to follow its owner."""
        names = [name for name in self._members if name != owner]
        if not names:
            return None
        if owner is None:
            name = min(names, key=self._members.__getitem__)
            self._members[name] += self._weight(partition)
        else:
            name = min(names, key=lambda each: (self._followed[each], self._members[each]))
            self._followed[name] += 1
        return name

    def balance(self, settling: Mapping[int, float]) -> Iterator[Place]:
        """Move one partition from the member with the most load to the one with the least.

        Args:
            settling: recently moved partitions, with times; they move after all others, least
                recently moved first.
        """
        if len(self._members) < 2:
            return
        most = max(self._members, key=self._members.__getitem__)
        least = min(self._members, key=self._members.__getitem__)
        gap = self._members[most] - self._members[least]
        mean = sum(self._members.values()) / len(self._members)
        if gap <= UNBALANCED * mean:
            return
        owned = [each for each in self._rows.placements.values() if each.owner == most]
        # A move of more than half the gap would only reverse it.
        fitting = [each for each in owned if self._weight(each.partition) <= gap / 2]
        if fitting:
            chosen = max(
                fitting,
                key=lambda each: (
                    -settling.get(each.partition, -math.inf),
                    self._weight(each.partition),
                ),
            )
            change = move(self._rows, chosen.partition, least)
            if change is not None:
                yield change


def _changed(placement: Placement, **changes: Any) -> Placement:
    return attrs.evolve(placement, version=placement.version + 1, **changes)


def _owned_by(placement: Placement, owner: str | None) -> Placement:
    """The placement with another owner and no follower."""
    return Placement(
        placement.partition, owner, term=placement.term + 1, version=placement.version + 1
    )
