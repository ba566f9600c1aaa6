"""The rows of the directory, and the changes that members make to them.

A store keeps the rows; each change is one transaction there.  Every store must implement
:func:`apply`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs


@attrs.frozen
class Member:
    """A process that can own partitions.

    Attributes:
        name: unique, and the same after a restart.
        address: the address for batches.
        run: grows with each start of the process; changes by an earlier run are rejected.
        renewals: grows with each renewal of its lease.
        is_draining: it should own nothing.
        is_connected: its session with the store is alive.  False only if the process is known to be
            dead: its partitions are then placed at once.
        loads: decisions per second of each partition that it owns.
    """

    name: str
    address: str
    run: int = 1
    renewals: int = 0
    is_draining: bool = False
    is_connected: bool = True
    loads: Mapping[int, float] = attrs.field(factory=dict)


@attrs.frozen
class Placement:
    """The location of a partition.

    Attributes:
        partition: the partition.
        owner: the member that claims it and decides; None before the first.
        follower: the member that applies its log, in order to take over.
        is_moving: the follower becomes the next owner as soon as it has caught up.
        is_level: the follower has caught up.
        term: grows whenever the owner changes; an owner under another term claims again.
        version: grows with each change of this row.
    """

    partition: int
    owner: str | None = None
    follower: str | None = None
    is_moving: bool = False
    is_level: bool = False
    term: int = 0
    version: int = 0


@attrs.frozen
class Rows:
    """All rows, as read in one transaction.

    Attributes:
        members: the members by name.
        placements: the placements by partition.
        tenants: the partition of each tenant.
    """

    members: Mapping[str, Member] = attrs.field(factory=dict)
    placements: Mapping[int, Placement] = attrs.field(factory=dict)
    tenants: Mapping[str, int] = attrs.field(factory=dict)


@attrs.frozen
class Join:
    """A process has started: ``run`` grows by one, or the row is new."""

    member: str
    address: str


@attrs.frozen
class Renew:
    """Renew a lease; the same transaction returns the rows, read after it.

    Attributes:
        member: the member.
        run: from its :class:`Join`; another run's renewal is rejected.
        loads: decisions per second of each partition that it owns.
    """

    member: str
    run: int
    loads: Mapping[int, float] = attrs.field(factory=dict)


@attrs.frozen
class Place:
    """Replace a placement of the previous version.

    Attributes:
        placement: the new row.
        silent: the owner that is replaced because its lease expired, with its last seen renewals
            and run: if it has renewed since, nothing is changed.
    """

    placement: Placement
    silent: Member | None = None


@attrs.frozen
class Drain:
    """Set whether a member should own nothing."""

    member: str
    is_draining: bool


Change: TypeAlias = Join | Renew | Place | Drain


def apply(rows: Rows, change: Change) -> Rows | None:
    """The rows after a change; None if the change is rejected, which changes nothing.

    Args:
        rows: locked against other changes.
        change: a change by any member.
    """
    match change:
        case Place(placement, silent):
            return _place(rows, placement, silent)
        case Join(name, address):
            known = rows.members.get(name)
            run = 1 if known is None else known.run + 1
            renewals = 0 if known is None else known.renewals + 1
            return _with_member(rows, Member(name, address, run, renewals))
    member = rows.members.get(change.member)
    if member is None:
        return None
    if isinstance(change, Drain):
        return _with_member(rows, attrs.evolve(member, is_draining=change.is_draining))
    if member.run != change.run:
        return None
    renewed = attrs.evolve(member, renewals=member.renewals + 1, loads=change.loads)
    return _with_member(rows, renewed)


def _place(rows: Rows, placement: Placement, silent: Member | None) -> Rows | None:
    known = rows.placements.get(placement.partition, Placement(placement.partition))
    if known.version + 1 != placement.version:
        return None
    if silent is not None:
        now = rows.members.get(silent.name)
        if now is not None and (now.run, now.renewals) != (silent.run, silent.renewals):
            return None
    return attrs.evolve(rows, placements={**rows.placements, placement.partition: placement})


def _with_member(rows: Rows, member: Member) -> Rows:
    return attrs.evolve(rows, members={**rows.members, member.name: member})
