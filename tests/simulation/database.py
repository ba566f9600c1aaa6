"""The model of the database: the logs of partitions, fenced by epoch, and the rows.

Each request is one transaction, at the moment it arrives.  What arrives late, twice or never, and
what becomes of the results, is the world's business.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs
from tests.simulation.model.requests import AppendRequest, Claim, ClaimRefused, ClaimRequest

from tidegate.cluster.messages import Block, ReadRequest, ReadResult
from tidegate.cluster.rows import Change, Placement, Rows, apply

BLOCKS_A_READ = 4
Taken: TypeAlias = Literal["done", "fenced"]


@attrs.define(eq=False)
class Log:
    """The log of one partition."""

    epoch: int = 0
    term: int = 0
    blocks: list[Block] = attrs.field(factory=list)
    claims: list[tuple[int, int]] = attrs.field(factory=list)
    """Each epoch with the end of the log at its claim, for the oracle."""
    checks_epoch: bool = True
    checks_number: bool = True

    @property
    def end(self) -> int:
        """The number of the last entry."""
        return self.blocks[-1].end if self.blocks else 0

    def claim(self, request: ClaimRequest) -> Claim | ClaimRefused:
        """Begin a new epoch, unless there is one of a later term."""
        if request.term < self.term:
            return ClaimRefused(request.partition, request.request)
        self.term = request.term
        self.begin()
        return Claim(request.partition, request.request, self.epoch, self.end)

    def begin(self) -> None:
        """A new epoch of nobody: after a promotion every claim is void."""
        self.epoch += 1
        self.claims.append((self.epoch, self.end))

    def append(self, request: AppendRequest) -> Taken:
        """Take a block, under the newest epoch and behind the last number."""
        block = request.block
        if self.checks_epoch and block.epoch != self.epoch:
            return "fenced"
        if self.checks_number and block.after != self.end:
            return "fenced"
        self.blocks.append(block)
        return "done"

    def read(self, request: ReadRequest) -> ReadResult:
        """Some blocks after a number."""
        first = len(self.blocks)
        while first > 0 and self.blocks[first - 1].after >= request.after:
            first -= 1
        blocks = tuple(self.blocks[first : first + BLOCKS_A_READ])
        return ReadResult(request.partition, request.after, blocks, self.end)


class Database:
    """Logs and rows.

    Args:
        partitions: how many.
        tenants: the partition of each.
        make_log: gives an empty log.
    """

    def __init__(self, partitions: int, tenants: dict[str, int], make_log: type[Log] = Log) -> None:
        self.logs = {number: make_log() for number in range(partitions)}
        self.rows = Rows(
            placements={number: Placement(number) for number in range(partitions)}, tenants=tenants
        )

    def change(self, change: Change) -> bool:
        """Apply a change to the rows; whether it was taken."""
        rows = apply(self.rows, change)
        if rows is None:
            return False
        self.rows = rows
        return True

    def promote(self) -> None:
        """The standby becomes the primary: no claim from before is good."""
        for log in self.logs.values():
            log.begin()

    def disconnect(self, member: str, run: int) -> None:
        """The session of a dead process ended, unless it has joined again."""
        known = self.rows.members.get(member)
        if known is not None and known.run == run:
            gone = attrs.evolve(known, is_connected=False)
            self.rows = attrs.evolve(self.rows, members={**self.rows.members, member: gone})
