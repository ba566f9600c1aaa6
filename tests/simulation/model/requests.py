"""What the modelled owner asks of the log, and what becomes of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from tidegate_server.cluster.messages import Answers, Block, ReadRequest

AppendOutcome: TypeAlias = Literal["done", "fenced", "unknown"]


@attrs.frozen
class ClaimRequest:
    """Begin a new epoch of a partition, unless one was begun under a later term.

    A claim that arrives late would otherwise fence the owner that came after, which may go on to
    answer reads until it appends.

    Attributes:
        partition: which.
        member: who claims.
        term: of its lock; the log keeps it with the epoch.
        request: a number that the result repeats; results of earlier requests are stale.
    """

    partition: int
    member: str
    term: int
    request: int


@attrs.frozen
class Claim:
    """A new epoch: nothing of an earlier one is taken any more.

    Attributes:
        partition: which.
        request: of the :class:`ClaimRequest`.
        epoch: larger than all before.
        end: the number of the last entry; everything that was ever acknowledged is up to it.
    """

    partition: int
    request: int
    epoch: int
    end: int


@attrs.frozen
class ClaimRefused:
    """The log has an epoch of a later term: another member owns the partition.

    Attributes:
        partition: which.
        request: of the :class:`ClaimRequest`.
    """

    partition: int
    request: int


@attrs.frozen
class AppendRequest:
    """Append a block, if the epoch is the newest and the log ends at ``block.after``.

    Attributes:
        partition: which.
        request: a number that the result repeats.
        block: what is appended.
    """

    partition: int
    request: int
    block: Block


@attrs.frozen
class AppendResult:
    """What became of an append.

    Attributes:
        partition: which.
        request: of the :class:`AppendRequest`.
        outcome: ``done``: durable.  ``fenced``: another epoch has begun, or the number was taken;
            nothing was taken of it.  ``unknown``: nobody can tell.
    """

    partition: int
    request: int
    outcome: AppendOutcome


@attrs.frozen
class Released:
    """The owner has stopped: what it answered is durable, and it appends no more.

    Attributes:
        partition: which.
        term: that it owned the partition under.
    """

    partition: int
    term: int


@attrs.frozen
class GivenUp:
    """The owner gave its claim up; the member releases the partition, and may take it again.

    Attributes:
        partition: which.
        outcome: of the append that ended the claim; ``fenced`` also where a claim was refused.
    """

    partition: int
    outcome: AppendOutcome


# --- what a member asks of its session ---------------------------------------------------------


@attrs.frozen
class Join:
    """Begin a session of a member, unless its name has one."""

    member: str


@attrs.frozen
class Beat:
    """Show that the member lives and which partitions' states it has, and see the others."""

    session: int
    level: frozenset[int]


@attrs.frozen
class Take:
    """Take the lock of a partition, unless another session holds it."""

    session: int
    partition: int


@attrs.frozen
class Release:
    """Release the lock of a partition."""

    session: int
    partition: int


@attrs.frozen
class End:
    """End the session of a silent member."""

    session: int
    silent: int


SessionRequest: TypeAlias = Join | Beat | Take | Release | End
LogRequest: TypeAlias = ClaimRequest | ReadRequest | AppendRequest
OwnerOutput: TypeAlias = LogRequest | Answers | Released | GivenUp
