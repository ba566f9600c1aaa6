"""Planted faults: one line of the shipped code is changed, and a seed has to find it.

``python -m tests.simulation --planted`` names the first seed that finds each.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
from tests.simulation.world.partition_log import MemoryLog

from tidegate_server.hot.idempotency import IdempotencyKeys
from tidegate_server.hot.recorder import Recorder
from tidegate_server.hot.seen_keys import KeyFilter
from tidegate_server.nodes.following import Following
from tidegate_server.nodes.partition import NodePartition
from tidegate_server.nodes.term import Term
from tidegate_server.owners.forwarding import Forwarding
from tidegate_server.owners.inbox import Inbox


@attrs.frozen
class Fault:
    """A changed line.

    Attributes:
        where: the class or module of the function.
        name: of the function.
        line: a part of its source, which occurs once.
        instead: in its place.
    """

    where: Any
    name: str
    line: str
    instead: str

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Plant the fault for the block."""
        present = getattr(self.where, self.name)
        setattr(self.where, self.name, self._changed(present))
        try:
            yield
        finally:
            setattr(self.where, self.name, present)

    def _changed(self, present: Callable[..., Any]) -> Callable[..., Any]:
        source = textwrap.dedent(inspect.getsource(present))
        assert source.count(self.line) == 1, f"{self.name} has another source by now"
        changed = source.replace(self.line, self.instead)
        made: dict[str, Any] = {}
        # Its globals are the module's, where the world's clocks are.
        exec(
            f"from __future__ import annotations\n{changed}", vars(inspect.getmodule(present)), made
        )
        found: Callable[..., Any] = made[self.name]
        return found


FAULTS = {
    "the log takes appends of any epoch": Fault(
        MemoryLog, "append", "if table.epoch != self.epoch:", "if False:"
    ),
    "the log takes a number twice": Fault(
        MemoryLog, "append", "if table.end > after:", "if False:"
    ),
    "calls are answered before the append is done": Fault(
        Recorder, "_submit", "    self.sent()", "    self.sent(); settle(self._committing, None)"
    ),
    "the states are not rebuilt after a failed append": Fault(
        Recorder, "_recover", "await self._rebuild()", "pass"
    ),
    "seen keys are forgotten": Fault(KeyFilter, "add", "generation.keys.update(keys)", "pass"),
    "keys are dropped before they are indexed": Fault(
        IdempotencyKeys, "forget", "generations[0].last_seq <= indexed_seq", "indexed_seq"
    ),
    "a key that is being decided is taken again": Fault(
        IdempotencyKeys, "take_again", " or self.is_running(key)", ""
    ),
    "a repeated call is decided again": Fault(
        Inbox, "_take_calls", "if message.is_repeated:", "if False:"
    ),
    "a gateway does not say that it repeats a call": Fault(
        Forwarding,
        "_send",
        "is_repeated, held.is_handed_on, held.link = held.is_handed_on, True, link",
        "is_repeated, held.link = False, link",
    ),
    "a call in progress is begun again": Fault(
        Inbox, "_take_calls", "flight = flights.get(call_id)", "flight = None"
    ),
    "reads are answered without a session": Fault(
        Inbox, "_run", "confirmed is None or await confirmed", "True"
    ),
    "the end of the log is not read before the first decision": Fault(
        Following,
        "take",
        "level = await self._read_to(end)",
        "level = self._follower.decider.level()",
    ),
    "a limit counts a repeated call twice": Fault(
        Inbox,
        "_look_up",
        'call.key = hot.admission.key_of(call.credential or b"")',
        'call.key = hot.admission.key_of(call.credential or b""); hot.admission.count(call.key)',
    ),
    "an owner goes on after its log was fenced": Fault(
        Term, "_end", "self._loop.call_soon_threadsafe(self.over.set)", "pass"
    ),
    "a lock is not released": Fault(
        Term, "close", "await asyncio.to_thread(self._claim.release)", "pass"
    ),
    "a node that stops begins a term": Fault(
        NodePartition, "_own", "elif not self._is_closed:", "else:"
    ),
}
"""Each by what is wrong."""
