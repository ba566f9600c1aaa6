"""Hot calls that the owners of other partitions decide.

``cluster/gateway.py`` decides which calls are sent or repeated, and when; this drives it with a
worker's links. It sees a block as one call: the calls of one turn for one partition. So all of them
share its cost, while each has its own id and gets its answer when it arrives.

A block is repeated only at the next owner, which has the partition's lock and so sees everything
the previous one wrote. A live owner may still decide the calls it was sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING

import attrs
import msgspec
from uuid_utils import uuid7

from tidegate_server.cluster.gateway import Bounds, Gateway
from tidegate_server.cluster.messages import Refusal
from tidegate_server.http.problems import Problem, problem_of_reason
from tidegate_server.logging import log
from tidegate_server.turns.call import refuse

if TYPE_CHECKING:
    from tidegate_server.cluster.messages import Send
    from tidegate_server.turns.call import HotCall

MOST_CALLS = 20_000
"""Calls without an outcome; further ones are refused."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of their blocks."""
BLOCK_CALLS = 256
"""With the largest bodies these take a quarter of the largest frame."""
HOLD_SECONDS = 5.0
"""How long a call waits while its partition has no owner."""
BOUNDS = Bounds(time=10.0, hold=HOLD_SECONDS, ask_again=10.0, size=MOST_BYTES)
_encode = msgspec.msgpack.Encoder().encode

SendBlock = Callable[[int, bool, msgspec.Raw], None]
"""Sends calls to a partition's owner: whether another was asked before, and the columns."""


def away() -> Problem:
    """Return the refusal of calls that no owner answers."""
    return problem_of_reason("away")


@attrs.define(eq=False)
class _Block:
    """Calls that were handed over together."""

    numbers: range
    missing: int
    """Calls without an outcome."""
    id: str = ""
    sent_to: str | None = None
    """The owner that was asked last."""


class Forwarding:
    """This worker's hot calls that others decide; use it only on the event loop's thread.

    Args:
        send: sends calls to an owner that :meth:`place` named.
    """

    def __init__(self, send: SendBlock) -> None:
        numbers = count(1)
        self._gateway = Gateway("hot", lambda: str(next(numbers)), BOUNDS)
        self._send_block = send
        self._owners: dict[int, str] = {}
        self._partitions: dict[str, int] = {}
        self._blocks: dict[str, _Block] = {}
        self._calls: dict[int, tuple[HotCall, _Block]] = {}
        self._number = 0

    def place(self, partition: int, owner: str | None) -> None:
        """Set the owner of a partition.

        Args:
            partition: the partition.
            owner: identifies its process; None while there is no owner.
        """
        before = self._owners.pop(partition, None)
        if owner is not None:
            self._owners[partition] = owner
        self._partitions[str(partition)] = partition
        self._gateway.place(dict(self._owners), dict(self._partitions))
        now = time.monotonic()
        if before is not None:
            self._gateway.lost(before, now)
        self._turn(now)

    def add(self, partition: int, calls: Sequence[HotCall]) -> None:
        """Have calls of one turn decided; each gets its answer.

        Args:
            partition: the partition of all of them.
            calls: in order.
        """
        now = time.monotonic()
        for first in range(0, len(calls), BLOCK_CALLS):
            self._hold(partition, calls[first : first + BLOCK_CALLS], now)
        self._turn(now)

    def _hold(self, partition: int, calls: Sequence[HotCall], now: float) -> None:
        if len(self._calls) + len(calls) > MOST_CALLS:
            refuse(calls, away())
            return
        first = self._number + 1
        columns = _encode(
            (
                first,
                [call.endpoint.path for call in calls],
                [call.credential for call in calls],
                [call.request_id for call in calls],
                [call.body for call in calls],
                [uuid7().bytes for _ in calls],
            )
        )
        held = self._gateway.call(str(partition), None, columns, now)
        if isinstance(held, Refusal):
            refuse(calls, away())
            return
        self._number += len(calls)
        block = _Block(range(first, self._number + 1), len(calls), held.decision_id)
        self._blocks[held.decision_id] = block
        self._calls.update(zip(block.numbers, zip(calls, repeat(block), strict=False), strict=True))

    def decided(self, numbers: Sequence[int], bodies: Sequence[bytes]) -> None:
        """Give calls the answers of their decisions."""
        for number, body in zip(numbers, bodies, strict=True):
            call = self.pop(number)
            if call is None:
                continue
            try:
                call.decided(body)
            except Exception:
                log.exception("an answer could not be given")

    def pop(self, number: int) -> HotCall | None:
        """Take out the call that has an outcome now; return None if it already had one."""
        found = self._calls.pop(number, None)
        if found is None:
            return None
        call, block = found
        block.missing -= 1
        if not block.missing:
            self._end(block)
        return call

    def tick(self) -> None:
        """Refuse calls that are past their time."""
        now = time.monotonic()
        for refusal in self._gateway.tick(now):
            self._refuse(self._blocks.pop(refusal.decision_id))
        self._turn(now)

    def close(self) -> None:
        """Refuse everything."""
        for block in list(self._blocks.values()):
            self._end(block)
            self._refuse(block)

    def _turn(self, now: float) -> None:
        for send in self._gateway.turn(now):
            self._send(send)

    def _send(self, send: Send) -> None:
        for call in send.batch.calls:
            block = self._blocks[call.decision_id]
            if block.sent_to == send.member:
                # The connection ended, but not the owner: nobody knows what it decides.
                self._end(block)
                self._refuse(block)
                continue
            is_repeated, block.sent_to = block.sent_to is not None, send.member
            self._send_block(send.batch.partition, is_repeated, msgspec.Raw(call.body))

    def _end(self, block: _Block) -> None:
        """End a block, as none of its calls waits."""
        del self._blocks[block.id]
        self._gateway.answered(block.id)

    def _refuse(self, block: _Block) -> None:
        found = [self._calls.pop(number, None) for number in block.numbers]
        refuse([each[0] for each in found if each is not None], away())
