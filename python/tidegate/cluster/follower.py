"""A follower: a partition's state, made again from its log, as far as the log is durable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from tidegate.cluster.messages import Block, Entry, ReadRequest, ReadResult

READ_AGAIN = 1.0
"""Seconds after which a read without a result is repeated."""


class Applying(Protocol):
    """The state of a partition's tenants: a fold over its log."""

    def apply(self, entries: Sequence[Entry]) -> None:
        """Change the state as the decisions of the entries did, in their order."""
        ...


class Remembering(Protocol):
    """Learns of the entries that are durable."""

    def add(self, entries: Sequence[Entry]) -> None:
        """Remember entries of the log, in its order."""
        ...


State = TypeVar("State", bound=Applying)
Answers = TypeVar("Answers", bound=Remembering)


class Follower(Generic[State, Answers]):
    """The state of a partition up to a number of its log.

    Args:
        partition: which.
        decider: its state at ``position``; the follower changes it from then on.
        recorded: the answers of its entries.
        position: the number of the last entry in that state; 0 when it is empty.
        read_every: seconds between two reads of the log, where it had nothing more.
    """

    def __init__(
        self,
        partition: int,
        decider: State,
        recorded: Answers,
        position: int = 0,
        read_every: float = 0.1,
    ) -> None:
        self.partition = partition
        self.decider = decider
        self.recorded = recorded
        self.position = position
        self.is_level = False
        """The last read went to the log's end."""
        self._read_every = read_every
        self._read_at = 0.0

    def tick(self, now: float) -> ReadRequest | None:
        """Ask for what is new in the log, when that is due.

        Args:
            now: monotonic seconds.
        """
        if now < self._read_at:
            return None
        return self.read(now)

    def next_at(self) -> float:
        """When :meth:`tick` has something to do, in monotonic seconds."""
        return self._read_at

    def receive(self, result: ReadResult, now: float) -> ReadRequest | None:
        """Apply what a read found; the next read when there is more.

        Args:
            result: dropped when the state has gone on since it was asked for.
            now: monotonic seconds.

        Raises:
            ValueError: a block does not begin where the state ends.
        """
        if result.after != self.position:
            return None
        for block in result.blocks:
            self.apply(block)
        self.is_level = self.position >= result.end
        if not self.is_level:
            return self.read(now)
        self._read_at = now + self._read_every
        return None

    def apply(self, block: Block) -> None:
        """Apply a durable block.

        Raises:
            ValueError: it does not begin where the state ends.
        """
        if block.after != self.position:
            raise ValueError(
                f"a block after {block.after}, where the state ends at {self.position}"
            )
        self.decider.apply(block.entries)
        self.appended(block)

    def appended(self, block: Block) -> None:
        """A block that this state's own decider made is durable now: only its answers are new."""
        self.recorded.add(block.entries)
        self.position = block.end

    def read(self, now: float) -> ReadRequest:
        """Ask for what is new in the log, now.

        Args:
            now: monotonic seconds.
        """
        self._read_at = now + READ_AGAIN
        return ReadRequest(self.partition, self.position)
