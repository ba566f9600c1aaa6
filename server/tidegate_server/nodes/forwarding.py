"""The gateway's side: it forwards requests to the owner, on any node, and returns the answers.

``cluster/gateway.py`` decides which calls are sent or repeated, and when; this drives it with a
link to the owner, or with this node's inbox. Gateways cache no definitions and keys, so nothing in
them can be out of date.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import msgspec
from uuid_utils import uuid7

from tidegate_server.cluster.gateway import Bounds, Gateway
from tidegate_server.cluster.messages import Answer, Answers, Refusal
from tidegate_server.http.problems import OUTCOME_NOT_KNOWN
from tidegate_server.logging import log
from tidegate_server.nodes.inbox import is_hot, is_repeatable
from tidegate_server.nodes.links import Link
from tidegate_server.nodes.messages import (
    Answered,
    Batch,
    HandedOn,
    Hello,
    Outcomes,
    Standing,
    decode_answered,
    encode,
)
from tidegate_server.nodes.plain import read_answer, unanswered, written
from tidegate_server.settings.bounds import split_address
from tidegate_server.sync.application import without_waiting

if TYPE_CHECKING:
    import ssl

    from tidegate_server.cluster.messages import Call, Outcome, Send
    from tidegate_server.cluster.ownership import View
    from tidegate_server.nodes.inbox import Inbox
    from tidegate_server.nodes.messages import Asked, Message
    from tidegate_server.turns.call import HotCall

HOT = Bounds(time=10.0, hold=2.0, ask_again=1.0)
OTHERS = Bounds(time=120.0, hold=2.0, ask_again=120.0, calls=4_096, size=128 * 1024 * 1024)
"""Bounds for other than hot calls, which may take long and are repeated only after a link ends."""
TICK_SECONDS = 0.01
_CONNECT_SECONDS = 2.0
_RETRY_SECONDS = 0.05
_FORMER_SECONDS = 1.0
"""How long to wait for answers of a replaced owner: after a hand-over they are on their way."""


@attrs.define(eq=False)
class _Waiting:
    """A request whose caller waits."""

    asked: Asked
    give: Callable[[Answered], None]
    """Gives the answer to the caller, unless that already has one."""
    is_handed_on: bool = False
    link: Link | None = None
    """The link it was forwarded on; None for this node's inbox, and after the owner refused it."""


class Forwarding:
    """This node's unanswered requests for one partition; use it only on the event loop's thread.

    Args:
        name: of this node.
        partition: the partition of the owner.
        desk: the inbox that answers while this node is the owner.
        calling: the TLS context for links to other nodes.
    """

    def __init__(self, name: str, partition: int, inbox: Inbox, calling: ssl.SSLContext) -> None:
        self.name = name
        self.partition = partition
        self._inbox = inbox
        self._calling = calling
        self._gateways = {
            each.name: each
            for each in (
                Gateway("hot", lambda: str(uuid7()), HOT),
                Gateway("others", lambda: str(uuid7()), OTHERS),
            )
        }
        self._hot, self._others = self._gateways.values()
        self._waiting: dict[str, _Waiting] = {}
        self._is_scheduled = False
        self._owner = ""
        self._address = ""
        self._run = 0
        self._links = 0
        self._link: Link | None = None
        self._former: Link | None = None
        """The link to the previous owner, which may still send answers."""
        self._former_until = 0.0
        self._term = 0
        self._is_owner_open = False
        self._connecting: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def can_reach_owner(self) -> bool:
        """Whether an owner takes calls, as far as is known."""
        if self._owner == self.name:
            return self._inbox.is_open
        return self._link is not None and self._link.is_open and self._is_owner_open

    def place(self, view: View) -> None:
        """Take a view of the cluster, which names the owner and its address.

        While nobody owns the partition the last owner stays: its answers may be on their way.
        """
        me, partition = view.members.get(self.name), view.partitions.get(self.partition)
        if me is None or partition is None:
            return
        self._run = me.run
        owner = partition.owner or self._owner
        known = view.members.get(owner)
        address = "" if known is None else known.address
        self._term = partition.term
        if (owner, address) != (self._owner, self._address):
            self._retire(owner)
            self._owner, self._address = owner, address
            log.info(
                "calls go to another node",
                partition=self.partition,
                owner=owner or None,
                address=address or None,
            )
        for gateway in self._gateways.values():
            gateway.place(
                {self.partition: owner} if owner else {}, {str(self.partition): self.partition}
            )
        self._schedule()

    async def ask(self, asked: Asked) -> Answered:
        """Return the owner's answer to a request, or a refusal if there is none in time."""
        if self._is_stopping:
            asked = _at_once(asked) or asked
        gateway = self._hot if is_hot(asked) else self._others
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()

        def give(made: Answered) -> None:
            if not answer.done():
                answer.set_result(made)

        self._hold(gateway, _Waiting(asked, give))
        # The decision is made whether or not its caller waits.
        return await asyncio.shield(answer)

    def hand_on(self, call: HotCall) -> None:
        """Have the owner decide a hot call in the plain form; the call gets a complete answer."""
        self._hold(self._hot, _Waiting(written(call), lambda made: call.pass_on(read_answer(made))))

    def _hold(self, gateway: Gateway, waiting: _Waiting) -> None:
        """Have a request forwarded, with all others of this turn."""
        request = encode(waiting.asked)
        call = gateway.call(str(self.partition), None, request, time.monotonic())
        if isinstance(call, Refusal):
            waiting.give(unanswered(call.reason, waiting.asked))
            return
        self._waiting[call.decision_id] = waiting
        self._schedule()

    def answer_now(self) -> None:
        """Answer every call that waits for a change, and let none wait: the server stops.

        The owner is asked once more, without waiting; its answer goes to the caller.
        """
        self._is_stopping = True
        for waiting in list(self._waiting.values()):
            asked = _at_once(waiting.asked)
            if asked is not None:
                self._tasks.add(task := asyncio.create_task(self._answer_as(waiting, asked)))
                task.add_done_callback(self._tasks.discard)

    async def _answer_as(self, waiting: _Waiting, asked: Asked) -> None:
        waiting.give(await self.ask(asked))

    def tick(self, now: float) -> None:
        """Do the due work; called each ``TICK_SECONDS``.

        Args:
            now: monotonic seconds.
        """
        for gateway in self._gateways.values():
            if len(gateway):
                self._end(gateway.tick(now))
                if gateway.has_ready:
                    self._schedule()
        if self._former is not None and now >= self._former_until:
            self._end_link(self._former)
        self._connect()

    def close(self) -> None:
        """End the links."""
        self._cancel_connecting()
        for link in (self._former, self._link):
            if link is not None:
                self._end_link(link)

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        now = time.monotonic()
        for gateway in self._gateways.values():
            for send in gateway.turn(now):
                self._send(gateway, send, now)

    def _send(self, gateway: Gateway, send: Send, now: float) -> None:
        is_here = send.member == self.name
        if not is_here and not (self._link is not None and self._link.is_open):
            self._connect()
            gateway.lost(send.member, now)
            return
        link = None if is_here else self._link
        batch = Batch(
            gateway.name,
            send.batch.number,
            send.batch.partition,
            [self._handed_on(call, link) for call in send.batch.calls],
            0 if is_here else self._term,
        )
        if is_here:
            self._inbox.take(batch, self._take)
        elif link is not None:
            link.send(batch)

    def _handed_on(self, call: Call, link: Link | None) -> HandedOn:
        waiting = self._waiting[call.decision_id]
        is_repeated, waiting.is_handed_on = waiting.is_handed_on, True
        waiting.link = link
        return HandedOn(call.decision_id, is_repeated, call.body)

    def _take(self, outcomes: Outcomes, link: Link | None = None) -> None:
        """Take outcomes from an owner, here or elsewhere."""
        for each in outcomes.outcomes:
            waiting = self._waiting.get(each.id)
            if each.refusal and waiting is not None and waiting.link is link:
                waiting.link = None  # it didn't run there
        found: tuple[Outcome, ...] = tuple(
            Refusal(each.id, each.refusal) if each.refusal else Answer(each.id, each.answer)  # type: ignore[arg-type]
            for each in outcomes.outcomes
        )
        answers = Answers(outcomes.gateway, outcomes.number, outcomes.partition, found)
        self._end(self._gateways[outcomes.gateway].receive(answers, time.monotonic()))

    def _end(self, ended: list[Outcome] | list[Refusal]) -> None:
        """Answer the callers of calls that have an outcome."""
        for outcome in ended:
            waiting = self._waiting.pop(outcome.decision_id)
            if isinstance(outcome, Answer):
                answer = decode_answered(outcome.body)
            else:
                answer = unanswered(outcome.reason, waiting.asked)
            try:
                waiting.give(answer)
            except Exception:
                log.exception("an answer could not be given")

    # The link

    def _connect(self) -> None:
        """Start to connect to the owner, unless a link exists or is being made."""
        is_elsewhere = self._owner and self._address and self._owner != self.name
        if is_elsewhere and self._link is None and self._connecting is None:
            self._connecting = asyncio.create_task(self._make_link(self._owner, self._address))

    async def _make_link(self, owner: str, address: str) -> None:
        try:
            host, port = split_address(address)
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, link = await loop.create_connection(
                    lambda: Link(self._receive, self._lost), host, port, ssl=self._calling
                )
        except (OSError, ValueError) as error:  # a timeout is an OSError
            log.debug("the owner cannot be reached", owner=owner, reason=str(error))
            await asyncio.sleep(_RETRY_SECONDS)
            return
        finally:
            self._connecting = None
        if (owner, address) != (self._owner, self._address):
            link.abort()
            return
        link.peer = owner
        self._links += 1
        self._link = link
        link.send(Hello(self.name, self._run, self._links, self.partition))
        self._schedule()

    def _receive(self, link: Link, message: Message) -> None:
        if isinstance(message, Standing):
            if link is self._link or self._link is None:
                self._is_owner_open = message.is_owner
        elif isinstance(message, Outcomes):
            self._take(message, link)
        else:
            link.abort()

    def _lost(self, link: Link) -> None:
        if link is self._link or link is self._former:
            self._give_up(link)

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
        for name, waiting in list(self._waiting.items()):
            if waiting.link is link and not is_repeatable(waiting.asked):
                known = Answer(name, encode(unanswered(OUTCOME_NOT_KNOWN, waiting.asked)))
                answers = Answers("others", 0, self.partition, (known,))
                self._end(self._others.receive(answers, now))
        for gateway in self._gateways.values():
            gateway.lost(link.peer, now)
        self._schedule()


def _at_once(asked: Asked) -> Asked | None:
    """Return a request for changes as one that doesn't wait; None for any other request."""
    target = without_waiting(asked.target)
    return None if target is None else msgspec.structs.replace(asked, target=target)
