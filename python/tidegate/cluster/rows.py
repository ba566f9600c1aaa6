"""The rows of the directory, and the changes that members make to them.

A store keeps the rows; each change is one transaction there.  :func:`apply` is what every store
has to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs


@attrs.frozen
class Member:
    """A process that can own partitions.

    Attributes:
        name: unique, the same after a restart.
        address: where batches are sent to.
        run: grows with each start of the process; what an earlier run does is not taken.
        renewals: grows with each renewal of its lease.
        is_draining: it shall own nothing.
        is_connected: its session with the store lives.  False only where the process is known to
            be dead: what it owned is then placed at once.
        loads: decisions a second of each partition that it owns.
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
    """Where a partition is.

    Attributes:
        partition: which.
        owner: the member that claims and decides; None before the first.
        follower: the member that applies its log, to take it over.
        is_moving: the follower is to be the next owner, as soon as it is level.
        is_level: the follower has caught up.
        term: grows whenever the owner changes; an owner of another term claims anew.
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
    """All rows as one transaction read them.

    Attributes:
        members: by name.
        placements: by partition.
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
    """Renew a lease; the same transaction gives the rows back, read after it.

    Attributes:
        member: whose lease.
        run: what :class:`Join` made of it; another run's renewal is refused.
        loads: decisions a second of each partition that it owns.
    """

    member: str
    run: int
    loads: Mapping[int, float] = attrs.field(factory=dict)


@attrs.frozen
class Place:
    """Put a placement in place of the one of the version before.

    Attributes:
        placement: the new row.
        silent: the owner that is replaced because its lease ran out, with the renewals and the run
            it was seen with: when it has renewed since, nothing is changed.
    """

    placement: Placement
    silent: Member | None = None


@attrs.frozen
class Drain:
    """Whether a member shall own nothing."""

    member: str
    is_draining: bool


Change: TypeAlias = Join | Renew | Place | Drain


def apply(rows: Rows, change: Change) -> Rows | None:
    """The rows after a change; None when the change is refused, which changes nothing.

    Args:
        rows: as they are, locked against other changes of the same rows.
        change: by any member.
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
