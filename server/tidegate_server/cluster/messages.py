"""Messages between gateways, owners, followers and the log.

Times are seconds of the receiver's monotonic clock unless stated otherwise; no message carries one,
because the monotonic clocks of two machines are unrelated.
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
"""Why a call was rejected.

``not-owner`` and ``given-up`` are between an owner and a gateway: the gateway asks the next owner
under the same id.  All others end the call: ``full``, ``no-owner`` and ``unanswered`` are a 503,
``limit`` a 429, ``event`` a 400 and ``key-reused`` a 422.
"""
ASK_AGAIN: frozenset[Reason] = frozenset({"not-owner", "given-up"})
"""Reasons after which a gateway retries."""


# --- between gateway and owner ----------------------------------------------------------------


@attrs.frozen
class Call:
    """A call for a decision.

    Attributes:
        decision_id: assigned by the gateway that accepted it; the same in every retry.
        tenant: the call's tenant.
        key: the caller's idempotency key, unique for the tenant; None if there is none.
        body: the input of the decision, opaque here.
    """

    decision_id: str
    tenant: str
    key: str | None
    body: bytes


@attrs.frozen
class Batch:
    """Calls for one partition, passed to its owner together.

    Attributes:
        gateway: the destination of the answers.
        number: the batch's number at its gateway, from 1; answers repeat it.
        partition: the partition of all the calls.
        calls: the calls, in order of arrival.
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
    """The recorded, durable answer to a call.

    Attributes:
        decision_id: id of the answered call.  If its idempotency key was known, ``body`` is the
            first call's and contains that call's id.
        body: the answer, opaque here.
    """

    decision_id: str
    body: bytes


@attrs.frozen
class Refusal:
    """A rejected call.

    Attributes:
        decision_id: id of the call.
        reason: the reason.
        retry_after: seconds after which another attempt makes sense; 0 if none does.
        detail: the decider's explanation, opaque here.
    """

    decision_id: str
    reason: Reason
    retry_after: float = 0.0
    detail: bytes = b""


Outcome: TypeAlias = Answer | Refusal


@attrs.frozen
class Answers:
    """Outcomes for the calls of one batch; a batch may be answered in several messages.

    Attributes:
        gateway: the gateway that sent the batch.
        number: the batch's number.
        partition: the batch's partition.
        outcomes: for some of its calls.
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
        decision_id: id of the call it answered.
        tenant: from the call.
        key: from the call.
        body: from the call.
        received_at: the time the call was decided at, in nanoseconds since 1970 by the owner's wall
            clock.  It doesn't define an order; windows are evaluated at it, and a replay uses it
            again.
        answer: the answer to the caller.
        record: record of the decision, with the values of its windows (docs/decision.md).
        effects: the decision's changes to the state.
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
    """Entries that become durable together.

    Attributes:
        epoch: the epoch of the claim they were appended under.
        after: the number of the entry before the first; a partition's numbers begin at 1.
        entries: entries with the numbers ``after + 1`` and so on.
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
        partition: the partition.
        after: the number of the last known entry.
    """

    partition: int
    after: int


@attrs.frozen
class ReadResult:
    """Durable blocks, in order and without gaps.

    Durable blocks never change, so a result is valid for any state that has reached its ``after``.

    Attributes:
        partition: the partition.
        after: from the :class:`ReadRequest`.
        blocks: as many as one read returns; empty only at the end of the log.
        end: the number of the log's last entry when it was read.
    """

    partition: int
    after: int
    blocks: tuple[Block, ...]
    end: int
