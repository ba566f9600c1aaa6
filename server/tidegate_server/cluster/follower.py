"""A follower: a partition's state, rebuilt from its log as far as the log is durable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from tidegate_server.cluster.messages import Block, Entry, ReadRequest, ReadResult

READ_AGAIN = 1.0
"""Seconds after which a read without a result is repeated."""


class Applying(Protocol):
    """The state of a partition's tenants, folded from its log."""

    def apply(self, entries: Sequence[Entry]) -> None:
        """Change the state as the entries' decisions did, in their order."""
        ...


State = TypeVar("State", bound=Applying)


class Follower(Generic[State]):
    """A partition's state up to a number in its log.

    Args:
        partition: the partition.
        decider: its state at ``position``; from then on only the follower changes it.
        position: the number of the last entry in that state; 0 if it is empty.
        read_every: seconds between two reads of the log after it had nothing more.
    """

    def __init__(
        self, partition: int, decider: State, position: int = 0, read_every: float = 0.1
    ) -> None:
        self.partition = partition
        self.decider = decider
        self.position = position
        self.is_level = False
        """The last read reached the end of the log."""
        self._read_every = read_every
        self._read_at = 0.0

    def tick(self, now: float) -> ReadRequest | None:
        """Read new entries from the log, when that is due.

        Args:
            now: monotonic seconds.
        """
        if now < self._read_at:
            return None
        return self.read(now)

    def next_at(self) -> float:
        """When :meth:`tick` is due next, in monotonic seconds."""
        return self._read_at

    def receive(self, result: ReadResult, now: float) -> ReadRequest | None:
        """Apply the result of a read; return the next read if there is more.

        Args:
            result: dropped if the state has advanced since the request.
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
        self.position = block.end

    def read(self, now: float) -> ReadRequest:
        """Read new entries from the log now.

        Args:
            now: monotonic seconds.
        """
        self._read_at = now + READ_AGAIN
        return ReadRequest(self.partition, self.position)
