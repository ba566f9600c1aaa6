"""Messages between gateways, owners, followers and the log.

Times are seconds of the receiver's monotonic clock unless stated otherwise; no message carries one,
because the monotonic clocks of two machines are unrelated.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

Reason: TypeAlias = Literal["not-owner", "given-up", "full", "no-owner", "unanswered"]
"""Why a call was rejected.

``not-owner`` and ``given-up`` are between an owner and a gateway: the gateway asks the next owner
under the same id.  All others end the call with a 503.
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
    """

    decision_id: str
    reason: Reason


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


# --- between follower and log ----------------------------------------------------------------


@attrs.frozen
class Entry:
    """One decision in the log, as far as a state needs it.

    Attributes:
        tenant: of the call it answered.
        effects: the decision's changes to the state.
    """

    tenant: str
    effects: bytes


@attrs.frozen
class Block:
    """Entries of the log that follow each other.

    Attributes:
        after: the number of the entry before the first; a partition's numbers begin at 1.
        entries: entries with the numbers ``after + 1`` and so on.
    """

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
