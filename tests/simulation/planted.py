"""Ten planted faults: each is the product with one thing wrong, and a seed has to find it.

``python -m tests.simulation --planted`` names the first seed that finds each.
"""

from __future__ import annotations

from typing import Any

import attrs
from tests.simulation.database import Log
from tests.simulation.deciding import EngineDecider
from tests.simulation.model.deciding import DecidingFollower, RecentAnswers
from tests.simulation.model.node import Output
from tests.simulation.model.owner import Owner
from tests.simulation.model.requests import AppendRequest, AppendResult, OwnerOutput
from tests.simulation.process import OWNER, READ_EVERY, Model, Process
from tests.simulation.schedule import Kind

from tidegate_server.cluster.follower import Follower
from tidegate_server.cluster.messages import Answer, Block, Call, Entry


class NoEpoch(Log):
    """The log takes appends of any epoch."""

    def __init__(self) -> None:
        super().__init__(checks_epoch=False)


class NumberTwice(Log):
    """The log takes a number that it has already."""

    def __init__(self) -> None:
        super().__init__(checks_number=False)


# --- owners -------------------------------------------------------------------------------------


class AnswersFirst(Owner):
    """It answers what it decided when it sends the append, not when the append is done."""

    def _append(self, now: float) -> list[OwnerOutput]:
        outputs = super()._append(now)
        for output in list(outputs):
            if isinstance(output, AppendRequest):
                ids = {entry.decision_id for entry in output.block.entries}
                made = [each for each in self._made if each.entry.decision_id in ids]
                outputs += self._grouped(
                    (asker, _answer(asker.call, each.entry))
                    for each in made
                    for asker in each.askers
                )
        return outputs


class FailsUnknown(Owner):
    """It takes an unknown outcome for a failure, and appends the block once more at the end."""

    ends: Any

    def appended(self, result: AppendResult, now: float) -> list[OwnerOutput]:
        request = self._in_flight
        is_mine = request is not None and request.request == result.request
        if request is None or not is_mine or result.outcome != "unknown":
            return super().appended(result, now)
        self._request += 1
        block = Block(request.block.epoch, self.ends[self.partition].end, request.block.entries)
        self._in_flight = AppendRequest(self.partition, self._request, block)
        return [self._in_flight]


class TrustsUnknown(Owner):
    """It takes an unknown outcome for a success."""

    def appended(self, result: AppendResult, now: float) -> list[OwnerOutput]:
        if result.outcome == "unknown":
            result = attrs.evolve(result, outcome="done")
        return super().appended(result, now)


class CountsRetries(Owner):
    """It counts a call in the limit before it looks whether it has the call already."""

    def _decide(self, asker: Any, now: float, wall: int) -> Any:
        self._is_first = True
        self._wait = self._count(asker.call, now)
        self._is_first = False
        return super()._decide(asker, now, wall)

    _is_first = True
    _wait = 0.0

    def _count(self, call: Call, now: float) -> float:
        return super()._count(call, now) if self._is_first else self._wait


class ReadsUnconfirmed(Owner):
    """It answers reads without asking whether its session is alive."""

    confirms = False


class AnswersDrained(Owner):
    """After a release it goes on to answer reads, as long as its process has a session."""

    process: Process

    def disown(self) -> list[OwnerOutput]:
        return [] if self.phase == "released" else super().disown()

    def can_read(self, now: float) -> bool:
        if self.phase == "released":
            return now < self.process.node.ownership.alive_until
        return super().can_read(now)


# --- followers ----------------------------------------------------------------------------------


class ForgetfulFollower(Follower):
    """The answers of what it read are not carried to the next owner."""

    def apply(self, block: Block) -> None:
        self.decider.apply(block.entries)
        self.recorded.add([attrs.evolve(entry, key=None) for entry in block.entries])
        self.position = block.end


class EagerFollower(Model):
    """Followers apply a block when its owner appends it, not when it is durable."""

    def sent(self, process: Process, output: Output) -> None:
        if not isinstance(output, AppendRequest):
            return
        for other in self.world.processes.values():
            follower = other.node.followers.get(output.partition) if other.is_alive else None
            if follower is not None and follower.position == output.block.after:
                follower.apply(output.block)


def _owned(kind: type[Owner]) -> type[Model]:
    """A model with owners of a kind."""

    class Planted(Model):
        def owner(self, process: Process, *parts: Any) -> Owner:
            owner = kind(*parts, OWNER)
            if isinstance(owner, AnswersDrained):
                owner.process = process
            if isinstance(owner, FailsUnknown):
                owner.ends = self.world.database.logs
            return owner

    return Planted


class KeysNotCarried(Model):
    """Keys stay with the owner that saw them."""

    def follower(self, process: Process, partition: int) -> DecidingFollower:
        return ForgetfulFollower(partition, EngineDecider(), RecentAnswers(), 0, READ_EVERY)


def _answer(call: Call, entry: Entry) -> Answer:
    return Answer(call.decision_id, entry.answer)


FAULTS = {
    "no epoch": Kind(log=NoEpoch),
    "answer before append": Kind(_owned(AnswersFirst)),
    "reads without a session": Kind(_owned(ReadsUnconfirmed)),
    "unknown outcome taken as failure": Kind(_owned(FailsUnknown)),
    "unknown outcome taken as success": Kind(_owned(TrustsUnknown)),
    "keys not carried": Kind(KeysNotCarried),
    "follower ahead of the log": Kind(EagerFollower),
    "number given twice": Kind(log=NumberTwice),
    "limit doubled by a gateway's retry": Kind(_owned(CountsRetries)),
    "drained owner still answering": Kind(_owned(AnswersDrained)),
}
"""Each with the model and the log that have it."""
