"""The gateway's side: it forwards calls to the owner of a partition, and returns the answers.

``cluster/gateway.py`` decides which calls are sent or repeated, and when; this drives it with a
link to the owner, or with this process's inbox. The hot calls of one turn are a block, which counts
as one call there, so that they share its cost; each has its own id and gets its answer when it
arrives. Gateways cache no definitions and keys, so nothing in them can be out of date.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs
import msgspec
from uuid_utils import uuid7

from tidegate_server.cluster.gateway import Bounds, Gateway
from tidegate_server.http.problems import OUTCOME_NOT_KNOWN
from tidegate_server.logging import log
from tidegate_server.owners.answers import not_decided, read_answer, unanswered
from tidegate_server.owners.inbox import is_hot, is_repeatable
from tidegate_server.owners.links import Link
from tidegate_server.owners.messages import (
    Batch,
    Calls,
    Decided,
    HandedOn,
    Hello,
    Look,
    Outcomes,
    Standing,
)
from tidegate_server.sync.application import without_waiting
from tidegate_server.turns.call import deliver, pass_on

if TYPE_CHECKING:
    from tidegate_server.cluster.gateway import Send
    from tidegate_server.owners.inbox import Inbox
    from tidegate_server.owners.messages import Answered, Asked, Message
    from tidegate_server.owners.transports import Connect
    from tidegate_server.turns.call import HotCall

HOT = Bounds(time=10.0, hold=2.0, ask_again=1.0)
OTHERS = Bounds(time=120.0, hold=2.0, ask_again=120.0, calls=4_096, size=128 * 1024 * 1024)
"""Bounds for other than hot calls, which may take long and are repeated only after a link ends."""
BLOCK_CALLS = 256
"""With the largest bodies these take a quarter of the largest frame."""
TICK_SECONDS = 0.01
SILENT_SECONDS = 5.0
"""A link on which an owner stays silent this long while calls wait is given up."""
_LOOK_SECONDS = 1.0
"""After this silence the owner is asked whether it is there."""
_CONNECT_SECONDS = 2.0
_RETRY_SECONDS = 0.05
_FORMER_SECONDS = 1.0
"""How long to wait for answers of a replaced owner: after a hand-over they are on their way."""


@attrs.define(eq=False)
class _Request:
    """A request whose caller waits."""

    asked: Asked
    give: Callable[[Answered], None]
    """Gives the answer to the caller, unless that already has one."""
    is_handed_on: bool = False
    link: Link | None = None
    """The link it was forwarded on; None for this node's inbox, and after the owner refused it."""


@attrs.define(eq=False)
class _Block:
    """Hot calls that are forwarded together."""

    id: bytes
    calls: dict[bytes, HotCall]
    """Those without an outcome, by id, in order."""
    is_handed_on: bool = False
    link: Link | None = None

    def message(self, number: int, term: int, *, is_repeated: bool) -> Calls:
        """Return the calls that wait, as they are sent."""
        calls = self.calls.values()
        traceparents = [call.traceparent for call in calls]
        return Calls(
            number,
            term,
            is_repeated,
            list(self.calls),
            [call.endpoint.path for call in calls],
            [call.credential or b"" for call in calls],
            [call.request_id for call in calls],
            [call.body for call in calls],
            traceparents if any(traceparents) else [],
        )


_Held: TypeAlias = _Request | _Block


class Forwarding:
    """This process's unanswered calls for one partition; use it only on the event loop's thread.

    Args:
        name: of this process as a gateway.
        partition: the partition of the owner.
        inbox: the inbox that answers while this process is the owner.
        connect: connects to an owner.
        hot: bounds for hot calls, of which each in a block counts.
        others: bounds for every other request.
        refused: counts hot calls that no owner answers, by their reason.
    """

    def __init__(
        self,
        name: str,
        partition: int,
        inbox: Inbox,
        connect: Connect,
        hot: Bounds = HOT,
        others: Bounds = OTHERS,
        refused: Callable[[str, int], None] = lambda _reason, _count: None,
    ) -> None:
        self.name = name
        self.partition = partition
        self._inbox = inbox
        self._connect_to = connect
        self._count_refused = refused
        self._most_calls = hot.calls
        self._hot, self._others = Gateway(hot), Gateway(others)
        self._gateways = {"hot": self._hot, "others": self._others}
        self._held: dict[bytes, _Held] = {}
        self._blocks: dict[bytes, _Block] = {}
        """The block of each hot call."""
        self._arrived: list[HotCall] = []
        self._is_scheduled = False
        self._owner = ""
        self._address = ""
        self._run = 0
        self._links = 0
        self._link: Link | None = None
        self._new_link: Link | None = None
        """The link that is being made."""
        self._greeting: asyncio.Future[OSError | None] | None = None
        """None once the owner has reported its standing on that link, or why it won't."""
        self._former: Link | None = None
        """The link to the previous owner, which may still send answers."""
        self._former_until = 0.0
        self._heard_at = 0.0
        self._looked_at: float | None = None
        """When a silent owner was asked whether it is there."""
        self._term = 0
        self._is_owner_open = False
        self._unreachable: tuple[str, str] | None = None
        """The owner that can't be reached, and the reason, as the log has them."""
        self._connecting: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_here(self) -> bool:
        """Whether this process is the owner, as far as is known."""
        return self._owner == self.name

    @property
    def can_reach_owner(self) -> bool:
        """Whether an owner takes calls, as far as is known."""
        if self.is_here:
            return self._inbox.is_open
        return self._link is not None and self._link.is_open and self._is_owner_open

    def place(self, owner: str, address: str, term: int, run: int) -> None:
        """Set the owner. While nobody owns the partition the last one stays: it may still answer.

        Args:
            owner: its name; empty while there wasn't one.
            address: as the transport takes it; empty if it isn't known.
            term: of the owner.
            run: of this process, which grows whenever it joins.
        """
        self._term, self._run = term, run
        if (owner, address) != (self._owner, self._address):
            self._retire(owner)
            self._owner, self._address = owner, address
            log.info(
                "calls go to another owner",
                partition=self.partition,
                owner=owner or None,
                address=address or None,
            )
        for gateway in self._gateways.values():
            gateway.place(owner or None)
        self._schedule()

    async def ask(self, asked: Asked) -> Answered:
        """Return the owner's answer to a request, or a refusal if there isn't one in time."""
        if self._is_stopping:
            asked = _at_once(asked) or asked
        gateway = self._hot if is_hot(asked) else self._others
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()

        def give(made: Answered) -> None:
            if not answer.done():
                answer.set_result(made)

        request_id = uuid7().bytes
        if gateway.hold(request_id, len(asked.body), time.monotonic()):
            self._held[request_id] = _Request(asked, give)
            self._schedule()
        else:
            give(unanswered("full", asked))
        # The decision is made whether or not its caller waits.
        return await asyncio.shield(answer)

    def hand_on(self, call: HotCall) -> None:
        """Have the owner decide a hot call, with all others of this turn."""
        self._arrived.append(call)
        self._schedule()

    def answer_now(self) -> None:
        """Answer every call that waits for a change, and let none wait: the server stops.

        The owner is asked once more, without waiting; its answer goes to the caller.
        """
        self._is_stopping = True
        for held in list(self._held.values()):
            asked = _at_once(held.asked) if isinstance(held, _Request) else None
            if asked is not None and isinstance(held, _Request):
                self._tasks.add(task := asyncio.create_task(self._answer_as(held, asked)))
                task.add_done_callback(self._tasks.discard)

    async def _answer_as(self, request: _Request, asked: Asked) -> None:
        request.give(await self.ask(asked))

    def tick(self, now: float) -> None:
        """Do the due work; called each ``TICK_SECONDS``.

        Args:
            now: monotonic seconds.
        """
        for gateway in self._gateways.values():
            if len(gateway):
                for held_id, reason in gateway.tick(now):
                    self._refuse(self._held.pop(held_id), reason)
                if gateway.has_ready:
                    self._schedule()
        if self._former is not None and now >= self._former_until:
            self._end_link(self._former)
        self._look(now)
        self._connect()

    def close(self) -> None:
        """End the links, and refuse the calls without an outcome."""
        self._address = ""
        self._cancel_connecting()
        for link in (self._former, self._link):
            if link is not None:
                self._end_link(link)
        arrived, self._arrived = self._arrived, []
        for call in arrived:
            pass_on(call, not_decided("no-owner", call))
        for held_id, held in list(self._held.items()):
            del self._held[held_id]
            self._end(held_id)
            self._refuse(held, "no-owner")

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        now = time.monotonic()
        arrived, self._arrived = self._arrived, []
        for first in range(0, len(arrived), BLOCK_CALLS):
            self._hold_block(arrived[first : first + BLOCK_CALLS], now)
        for name, gateway in self._gateways.items():
            for send in gateway.turn(now):
                self._send(name, gateway, send, now)

    def _hold_block(self, calls: Sequence[HotCall], now: float) -> None:
        size = sum([len(call.body) for call in calls])
        block = _Block(uuid7().bytes, {uuid7().bytes: call for call in calls})
        if len(self._blocks) + len(calls) > self._most_calls or not self._hot.hold(
            block.id, size, now
        ):
            self._refuse(block, "full")
            return
        self._held[block.id] = block
        self._blocks.update(dict.fromkeys(block.calls, block))

    def _send(self, name: str, gateway: Gateway, send: Send, now: float) -> None:
        link = None
        if send.member != self.name:
            link = self._link
            if link is None or not link.is_open:
                self._connect()
                gateway.lost(send.member, now)
                return
        requests: list[HandedOn] = []
        term = 0 if link is None else self._term
        for held_id in send.ids:
            held = self._held[held_id]
            is_repeated, held.is_handed_on, held.link = held.is_handed_on, True, link
            if isinstance(held, _Request):
                requests.append(HandedOn(held_id, is_repeated, held.asked))
            else:
                self._pass(held.message(send.number, term, is_repeated=is_repeated), link)
        if requests:
            self._pass(Batch(name, send.number, requests, term), link)

    def _pass(self, message: Batch | Calls, link: Link | None) -> None:
        """Send a message to the owner, here or elsewhere."""
        if link is None:
            self._inbox.take(message, self._take)
        else:
            link.send(message)

    # Outcomes

    def _take(self, message: Message, link: Link | None = None) -> None:
        """Take outcomes from an owner, here or elsewhere."""
        if isinstance(message, Decided):
            calls = [self._pop_call(each) for each in message.ids]
            made = zip(calls, message.bodies, strict=True)
            deliver([(call, body) for call, body in made if call is not None])
        elif isinstance(message, Outcomes):
            self._take_outcomes(message, link)

    def _take_outcomes(self, message: Outcomes, link: Link | None) -> None:
        gateway, now = self._gateways[message.gateway], time.monotonic()
        for outcome in message.outcomes:
            if outcome.answer is not None:
                self._answered(outcome.id, outcome.answer)
                continue
            # A block is asked again for all of its calls that have no outcome.
            block = self._blocks.get(outcome.id)
            held_id = outcome.id if block is None else block.id
            held = self._held.get(held_id)
            if held is not None and held.link is link:
                held.link = None  # it didn't run there
            if gateway.refused(held_id, outcome.refusal, message.number, now):
                self._refuse(self._held.pop(held_id), outcome.refusal)

    def _answered(self, call_id: bytes, answer: Answered) -> None:
        call = self._pop_call(call_id)
        if call is not None:
            pass_on(call, read_answer(answer))
            return
        held = self._held.pop(call_id, None)
        if isinstance(held, _Request):
            self._end(call_id)
            held.give(answer)

    def _pop_call(self, call_id: bytes) -> HotCall | None:
        """Take out a hot call that has an outcome now; return None if it already had one."""
        block = self._blocks.pop(call_id, None)
        if block is None:
            return None
        call = block.calls.pop(call_id)
        if not block.calls:
            del self._held[block.id]
            self._hot.answered(block.id)
        return call

    def _end(self, held_id: bytes) -> None:
        if not self._others.answered(held_id):
            self._hot.answered(held_id)

    def _refuse(self, held: _Held, reason: str) -> None:
        """Answer the callers of calls that no owner answered."""
        if isinstance(held, _Request):
            held.give(unanswered(reason, held.asked))
            return
        self._count_refused(reason, len(held.calls))
        for call_id, call in held.calls.items():
            self._blocks.pop(call_id, None)
            pass_on(call, not_decided(reason, call))

    # The link

    def _connect(self) -> None:
        """Start to connect to the owner, unless a link exists or is being made."""
        is_elsewhere = self._owner and self._address and not self.is_here
        if is_elsewhere and self._link is None and self._connecting is None:
            self._connecting = asyncio.create_task(self._make_link(self._owner, self._address))

    async def _make_link(self, owner: str, address: str) -> None:
        self._new_link = link = Link(self._receive, self._lost)
        self._greeting = greeting = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._connect_to(address, lambda: link)
                link.peer = owner
                self._links += 1
                link.send(Hello(self.name, self._run, self._links, self.partition))
                # Until the owner greets, it may be a dead one that the next will replace.
                if (error := await greeting) is not None:
                    raise error
        except (OSError, ValueError) as error:  # a timeout is an OSError
            self._say_unreachable(owner, str(error) or type(error).__name__)
            link.abort()
            await asyncio.sleep(_RETRY_SECONDS)
            return
        except asyncio.CancelledError:
            link.abort()
            raise
        finally:
            if self._connecting is asyncio.current_task():
                self._connecting = None
        self._link, self._heard_at, self._looked_at = link, time.monotonic(), None
        self._unreachable = None
        self._schedule()

    def _say_unreachable(self, owner: str, reason: str) -> None:
        """Write why an owner can't be reached, once: it is tried again many times a second."""
        if self._unreachable != (owner, reason):
            self._unreachable = (owner, reason)
            log.warning(
                "the owner of a partition can't be reached",
                partition=self.partition,
                owner=owner,
                reason=reason,
            )

    def _receive(self, link: Link, message: Message) -> None:
        if link is self._link:
            self._heard_at, self._looked_at = time.monotonic(), None
        if isinstance(message, Standing):
            if link is self._link or link is self._new_link:
                self._is_owner_open = message.is_owner
            self._greeted(link, None)
        elif isinstance(message, Outcomes | Decided):
            self._take(message, link)
        else:
            link.abort()

    def _greeted(self, link: Link, error: OSError | None) -> None:
        """Note the owner's greeting on the link that is being made, or the end of that link."""
        greeting = self._greeting
        if link is self._new_link and greeting is not None and not greeting.done():
            greeting.set_result(error)  # nobody awaits it once the link is given up

    def _look(self, now: float) -> None:
        """Ask a silent owner whether it is there while calls wait; give up its link at last."""
        link = self._link
        if link is None or now < self._heard_at + _LOOK_SECONDS:
            return
        if not self._held:
            self._heard_at, self._looked_at = now, None
        elif self._looked_at is None:
            self._looked_at = now
            link.send(Look())
        elif now >= self._looked_at + SILENT_SECONDS - _LOOK_SECONDS:
            log.warning("the owner of a partition does not answer", partition=self.partition)
            self._end_link(link)

    def _lost(self, link: Link) -> None:
        if link is self._link or link is self._former:
            self._give_up(link)
        else:
            self._greeted(link, ConnectionError("the owner ended the link"))

    def _retire(self, owner: str) -> None:
        """Stop asking an owner that was replaced, but take its last answers."""
        self._cancel_connecting()
        if self._former is not None:
            self._end_link(self._former)
        link, self._link, self._is_owner_open = self._link, None, False
        if link is None:
            return
        self._former, now = link, time.monotonic()
        if link.peer == owner:
            # A new process of the same name: nothing more comes from the previous one.
            self._end_link(link)
            return
        self._former_until = now + _FORMER_SECONDS
        self._hot.lost(link.peer, now)
        self._schedule()

    def _cancel_connecting(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None

    def _end_link(self, link: Link) -> None:
        self._give_up(link)
        link.abort()

    def _give_up(self, link: Link) -> None:
        if link is self._link:
            self._link, self._is_owner_open = None, False
        else:
            self._former = None
        now = time.monotonic()
        # Nobody knows whether these ran, and running them twice has a different effect.
        for held_id, held in list(self._held.items()):
            if isinstance(held, _Request) and held.link is link and not is_repeatable(held.asked):
                self._answered(held_id, unanswered(OUTCOME_NOT_KNOWN, held.asked))
        for gateway in self._gateways.values():
            gateway.lost(link.peer, now)
        self._schedule()


def _at_once(asked: Asked) -> Asked | None:
    """Return a request for changes as one that doesn't wait; None for any other request."""
    target = without_waiting(asked.target)
    return None if target is None else msgspec.structs.replace(asked, target=target)
