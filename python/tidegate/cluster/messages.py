"""What gateways, owners, followers and the log say to each other.

Times are seconds of the receiver's monotonic clock where nothing else is said; no message carries
one, because monotonic clocks of two machines have nothing in common.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

Reason: TypeAlias = Literal[
    "not-owner",
    "given-up",
    "full",
    "limit",
    "event",
    "key-reused",
    "no-owner",
    "unanswered",
]
"""Why a call was refused.

``not-owner`` and ``given-up`` are between an owner and a gateway: the gateway asks the next owner
under the same id.  All others end the call: ``full``, ``no-owner`` and ``unanswered`` are a 503,
``limit`` a 429, ``event`` a 400 and ``key-reused`` a 422.
"""
ASK_AGAIN: frozenset[Reason] = frozenset({"not-owner", "given-up"})
"""Reasons after which a gateway asks again."""


# --- between gateway and owner ----------------------------------------------------------------


@attrs.frozen
class Call:
    """A call for a decision.

    Attributes:
        decision_id: given by the gateway that accepted it, and the same however often it asks.
        tenant: whose call it is.
        key: the caller's idempotency key, unique for the tenant; None without one.
        body: what is decided on, opaque here.
    """

    decision_id: str
    tenant: str
    key: str | None
    body: bytes


@attrs.frozen
class Batch:
    """Calls for one partition, handed to its owner together.

    Attributes:
        gateway: where the answers go.
        number: of the batch at its gateway, from 1; answers repeat it.
        partition: of all the calls.
        calls: in the order of their arrival.
    """

    gateway: str
    number: int
    partition: int
    calls: tuple[Call, ...]


@attrs.frozen
class Send:
    """A batch and the member it goes to."""

    member: str
    batch: Batch


@attrs.frozen
class Answer:
    """The recorded answer of a call: it is durable.

    Attributes:
        decision_id: of the call that is answered.  Where its idempotency key was known, ``body``
            is the first call's and names that call's id.
        body: the answer, opaque here.
    """

    decision_id: str
    body: bytes


@attrs.frozen
class Refusal:
    """A call that is not answered.

    Attributes:
        decision_id: of the call.
        reason: why.
        retry_after: seconds after which another attempt makes sense; 0 where none does.
        detail: what the decider says about it, opaque here.
    """

    decision_id: str
    reason: Reason
    retry_after: float = 0.0
    detail: bytes = b""


Outcome: TypeAlias = Answer | Refusal


@attrs.frozen
class Answers:
    """Outcomes of calls of one batch; a batch may be answered in several messages.

    Attributes:
        gateway: who handed the batch over.
        number: of the batch.
        partition: of the batch.
        outcomes: of some of its calls.
    """

    gateway: str
    number: int
    partition: int
    outcomes: tuple[Outcome, ...]


# --- between owner, follower and log ----------------------------------------------------------


@attrs.frozen
class Entry:
    """One decision in the log.

    Attributes:
        decision_id: of the call it answered.
        tenant: of the call.
        key: of the call.
        body: of the call.
        received_at: what the call was decided at, in nanoseconds since 1970 by the owner's wall
            clock.  It orders nothing; windows are judged by it, and a fold repeats it.
        answer: to the caller.
        record: of the decision, with the values of its windows (docs/decision.md).
        effects: what the decision changed in the state.
    """

    decision_id: str
    tenant: str
    key: str | None
    body: bytes
    received_at: int
    answer: bytes
    record: bytes
    effects: bytes


@attrs.frozen
class Block:
    """Entries that are durable together.

    Attributes:
        epoch: of the claim they were appended under.
        after: the number of the entry before the first; numbers of a partition begin at 1.
        entries: with the numbers ``after + 1`` and so on.
    """

    epoch: int
    after: int
    entries: tuple[Entry, ...]

    @property
    def end(self) -> int:
        """The number of the last entry."""
        return self.after + len(self.entries)


@attrs.frozen
class ReadRequest:
    """Read the durable blocks of a partition.

    Attributes:
        partition: which.
        after: the number of the last entry that is known already.
    """

    partition: int
    after: int


@attrs.frozen
class ReadResult:
    """Durable blocks, in order and without a gap.

    Durable blocks never change, so a result is good for whoever has come to its ``after``.

    Attributes:
        partition: which.
        after: of the :class:`ReadRequest`.
        blocks: as many as one read gives; none only where the log has no more.
        end: the number of the log's last entry when it was read.
    """

    partition: int
    after: int
    blocks: tuple[Block, ...]
    end: int
