"""Messages between followers and the log, and the reasons of owners and gateways.

No message carries a time, because the monotonic clocks of two machines are unrelated.
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
