"""A decider, limits and a log that a test reads at a glance."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from tests.simulation.model.deciding import CallRefusedError, DecidingFollower, RecentAnswers
from tests.simulation.model.requests import AppendRequest, Claim

from tidegate_server.cluster.follower import Follower
from tidegate_server.cluster.messages import Block, Call, Entry, ReadResult


class Counting:
    """Answers each call with how many came before it; refuses the body ``bad``."""

    def __init__(self) -> None:
        self.count = 0

    def decide(self, call: Call, received_at: int) -> Entry:
        """The number of the call."""
        if call.body == b"bad":
            raise CallRefusedError("event", b"why")
        self.count += 1
        answer = str(self.count).encode()
        return Entry(
            call.decision_id, call.tenant, call.key, call.body, received_at, answer, b"", b""
        )

    def apply(self, entries: Sequence[Entry]) -> None:
        """Count them."""
        self.count += len(entries)


@attrs.define
class Room:
    """Limits with room for some calls."""

    left: int = 100

    def take(self, call: Call, now: float) -> float:
        """Count a call while there is room."""
        if self.left == 0:
            return 2.0
        self.left -= 1
        return 0.0


@attrs.define
class Blocks:
    """A log of one partition."""

    epoch: int = 0
    blocks: list[Block] = attrs.field(factory=list)

    @property
    def end(self) -> int:
        """The number of the last entry."""
        return self.blocks[-1].end if self.blocks else 0

    def claim(self, request: int) -> Claim:
        """A new epoch."""
        self.epoch += 1
        return Claim(7, request, self.epoch, self.end)

    def take(self, request: AppendRequest) -> None:
        """A block is durable."""
        assert request.block.after == self.end
        self.blocks.append(request.block)

    def read(self, after: int) -> ReadResult:
        """The blocks after a number."""
        return ReadResult(7, after, tuple(b for b in self.blocks if b.after >= after), self.end)


def follower() -> DecidingFollower:
    """A follower of partition 7 that knows nothing."""
    return Follower(7, Counting(), RecentAnswers())


def entry(number: int, key: str | None = None) -> Entry:
    """An entry of the log."""
    answer = str(number).encode()
    return Entry(f"d{number}", "t", key, b"{}", number, answer, b"", b"")


def call(number: int, key: str | None = None, body: bytes = b"{}") -> Call:
    """A call of the same name as :func:`entry`."""
    return Call(f"d{number}", "t", key, body)
