"""The model of the database: the logs of partitions, fenced by epoch, and members' sessions.

Each request is one transaction, at the moment it arrives.  What arrives late, twice or never, and
what becomes of the results, is the world's business.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs
from tests.simulation.model.requests import (
    AppendRequest,
    Beat,
    Claim,
    ClaimRefused,
    ClaimRequest,
    End,
    Join,
    Release,
    SessionRequest,
    Take,
)

from tidegate_server.cluster.messages import Block, ReadRequest, ReadResult
from tidegate_server.cluster.ownership import Member, Partition, View

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


class SessionEndedError(Exception):
    """The session that was asked is not alive."""


class Database:
    """Logs, and the locks that sessions hold.

    Args:
        partitions: how many.
        tenants: the partition of each.
        make_log: gives an empty log.
    """

    def __init__(self, partitions: int, tenants: dict[str, int], make_log: type[Log] = Log) -> None:
        self.logs = {number: make_log() for number in range(partitions)}
        self.tenants = tenants
        self.members: dict[str, Member] = {}
        self.sessions: dict[int, str] = {}
        """The member of each session that is alive."""
        self._partitions = {number: Partition(number) for number in range(partitions)}
        self._owners: dict[int, int] = {}
        self._level: dict[int, frozenset[int]] = {}
        self._last_session = 0

    def view(self) -> View:
        """The members and partitions as they are."""
        alive = {name: session for session, name in self.sessions.items()}
        members = {
            name: attrs.evolve(each, session=alive.get(name)) for name, each in self.members.items()
        }
        partitions = {
            number: attrs.evolve(
                each,
                owner=self.sessions.get(self._owners.get(number, 0)),
                level=frozenset(
                    self.sessions[session]
                    for session, level in self._level.items()
                    if number in level
                ),
            )
            for number, each in self._partitions.items()
        }
        return View(members, partitions)

    def ask(self, request: SessionRequest) -> int | View | None:
        """The result of a request.

        Raises:
            SessionEndedError: its session is not alive.
        """
        if isinstance(request, Join):
            return self._join(request.member)
        if request.session not in self.sessions:
            raise SessionEndedError
        member = self.members[self.sessions[request.session]]
        match request:
            case Beat(session, level):
                self._level[session] = level
                self.members[member.name] = attrs.evolve(member, beat=member.beat + 1)
                return self.view()
            case Take(session, number):
                if self._owners.setdefault(number, session) != session:
                    return None
                partition = self._partitions[number]
                preferred = partition.preferred if partition.preferred == member.name else None
                partition = attrs.evolve(partition, term=partition.term + 1, preferred=preferred)
                self._partitions[number] = partition
                return partition.term
            case Release(session, number):
                if self._owners.get(number) == session:
                    del self._owners[number]
            case End(_, silent):
                self.end(silent)
        return None

    def _join(self, name: str) -> int | None:
        if name in self.sessions.values():
            return None
        known = self.members.get(name, Member(name, name, run=0))
        self.members[name] = attrs.evolve(known, run=known.run + 1)
        self._last_session += 1
        self.sessions[self._last_session] = name
        return self._last_session

    def end(self, session: int) -> None:
        """A session ends, with all its locks."""
        self.sessions.pop(session, None)
        self._level.pop(session, None)
        self._owners = {n: owner for n, owner in self._owners.items() if owner != session}

    def promote(self) -> None:
        """The standby becomes the primary: no claim from before is good, and no session."""
        for session in list(self.sessions):
            self.end(session)
        for log in self.logs.values():
            log.begin()

    def drain(self, name: str, *, is_draining: bool) -> None:
        """An operator drains a member, or no longer does."""
        if name in self.members:
            self.members[name] = attrs.evolve(self.members[name], is_draining=is_draining)

    def move(self, partition: int, name: str) -> None:
        """An operator moves a partition to a member."""
        self._partitions[partition] = attrs.evolve(self._partitions[partition], preferred=name)
