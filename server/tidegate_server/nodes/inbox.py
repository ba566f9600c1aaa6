"""The owner's inbox: it runs forwarded requests once each, however often they are sent.

A hot call in the plain form is handed to the hot path, and its answer goes back with all that are
ready in the same turn. The application answers every other request, and a repeated call, as if it
had arrived here.

A call that is sent again while it is in progress waits for the same outcome. If its answer was
lost, the hot path looks it up, which is why it is told that a call is repeated. For that to be
enough, no copy of a call may arrive after its repetition. So a gateway repeats on the same link, or
on a new one, after which nothing more is taken from the old one; and an owner ignores calls that
were sent to the owner of another term.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote
from uuid import UUID

import attrs

from tidegate_server.hot.given_id import GivenId, with_id
from tidegate_server.hot.handed_on import HandedOnCall
from tidegate_server.http.exchange import headers_of
from tidegate_server.http.problems import OUTCOME_NOT_KNOWN
from tidegate_server.logging import log
from tidegate_server.nodes.messages import (
    Answered,
    Hello,
    Outcome,
    Outcomes,
    Standing,
    decode_asked,
    encode,
)
from tidegate_server.nodes.plain import read_plain, unanswered
from tidegate_server.routing import retry_policy

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.answer import Answer
    from tidegate_server.http.exchange import Message, Scope
    from tidegate_server.nodes.links import Link
    from tidegate_server.nodes.messages import Asked, Batch, HandedOn
    from tidegate_server.nodes.messages import Message as LinkMessage
    from tidegate_server.nodes.plain import Plain

Reply: TypeAlias = Callable[[Outcomes], None]

_UNAVAILABLE = 503
_GRACE_SECONDS = 0.1
"""How long a close waits for reads before the next owner is asked for them."""
_FINISH_SECONDS = 5.0


def is_hot(asked: Asked) -> bool:
    """Tell whether a request is decided under its gateway's id."""
    return retry_policy.is_hot(asked.method, _path(asked))


def is_repeatable(asked: Asked) -> bool:
    """Tell whether a request may be forwarded again when nobody knows whether it ran."""
    return retry_policy.is_repeatable(asked.method, _path(asked), asked.headers)


def _path(asked: Asked) -> str:
    return asked.target.partition(b"?")[0].decode("latin-1")


@attrs.define(eq=False)
class _Flight:
    """A request in progress."""

    asked: Asked
    task: asyncio.Task[None] | None = None
    """Answers it; None if the hot path does."""
    waiting: list[tuple[Batch, Reply]] = attrs.field(factory=list)
    """The batches that wait for its outcome, and how to reply to each."""


class _DecidedCall(HandedOnCall):
    """A hot call that the hot path is deciding."""

    __slots__ = ("_flight", "_id", "_inbox")

    def __init__(
        self, inbox: Inbox, hot: HotPath, call: HandedOn, flight: _Flight, plain: Plain
    ) -> None:
        given = bytes.fromhex(call.id.replace("-", ""))
        super().__init__(hot, *plain, flight.asked.body, given)
        self._inbox = inbox
        self._id = call.id
        self._flight = flight

    def give(self, made: Answer) -> None:
        answer = Answered(made.status, headers_of(made), made.body)
        self._inbox.answered(self._id, self._flight, answer)


class Inbox:
    """Requests from gateways on this node and others; use it only on the event loop's thread."""

    def __init__(self) -> None:
        self._application: ASGIApp | None = None
        self._hot: HotPath | None = None
        self._has_ended: Callable[[], bool] = lambda: False
        self._confirm: Callable[[], Awaitable[bool]]
        self._flights: dict[str, _Flight] = {}
        self._are_over = asyncio.Event()
        """Set when the last request has ended."""
        self._outcomes: dict[tuple[Reply, str, int], tuple[Batch, list[Outcome]]] = {}
        self._links: dict[str, tuple[tuple[int, int], Link]] = {}
        self._term = 0
        self._termless: set[Link] = set()
        """Links of gateways that don't name the term of the owner they ask."""

    @property
    def is_open(self) -> bool:
        """Whether requests are taken."""
        return self._application is not None and not self._has_ended()

    def open(
        self,
        application: ASGIApp,
        hot: HotPath,
        term: int,
        has_ended: Callable[[], bool],
        confirm: Callable[[], Awaitable[bool]],
    ) -> None:
        """Take requests.

        Args:
            application: answers them.
            hot: decides on hot calls.
            term: this ownership's number.
            has_ended: tells whether this node is no longer the owner, although the inbox wasn't
                closed.
            confirm: asks whether this node was still the owner when it was called.
        """
        self._application, self._hot, self._has_ended = application, hot, has_ended
        self._confirm = confirm
        self._term = term
        self._tell()

    async def close(self) -> None:
        """Stop taking requests, and return when those in progress have an outcome."""
        self._application = self._hot = None
        self._tell()
        await self._wait(_GRACE_SECONDS)
        for flight in list(self._flights.values()):
            if retry_policy.is_safe(flight.asked.method) and flight.task is not None:
                flight.task.cancel()
        await self._wait(_FINISH_SECONDS)
        for identity, flight in list(self._flights.items()):
            if flight.task is not None:
                flight.task.cancel()
            else:
                self._end(identity, flight, Outcome(identity, "given-up", b""))
        await self._wait(_FINISH_SECONDS)
        # Calls waiting in these links were meant for this node's previous ownership.
        for link in list(self._termless):
            self.link_lost(link)
            link.abort()

    # Links

    def link_lost(self, link: Link) -> None:
        """Note that a gateway is gone; its requests are finished anyway."""
        if self._links.get(link.peer, (None, None))[1] is link:
            del self._links[link.peer]
        self._termless.discard(link)

    def receive(self, link: Link, message: LinkMessage) -> None:
        """Take a gateway's message."""
        if isinstance(message, Hello):
            self._greet(link, message)
        elif link.peer and self._links.get(link.peer, (None, None))[1] is link:
            assert not isinstance(message, Outcomes | Standing)
            if not message.term:
                self._termless.add(link)
            self.take(message, link.send)
        else:
            link.abort()

    def _greet(self, link: Link, hello: Hello) -> None:
        link.peer = hello.name
        number = (hello.run, hello.link)
        known = self._links.get(hello.name)
        if known is not None and known[0] >= number:
            link.abort()
            return
        if known is not None:
            known[1].abort()
        self._links[hello.name] = (number, link)
        link.send(Standing(self.is_open))

    def _tell(self) -> None:
        for _, link in self._links.values():
            link.send(Standing(self.is_open))

    # Requests

    def take(self, batch: Batch, reply: Reply) -> None:
        """Run the requests of a batch.

        Args:
            batch: a gateway's batch.
            reply: called with the outcomes, in one or several parts.
        """
        for call in batch.calls:
            flight = self._flights.get(call.id)
            if flight is not None:
                flight.waiting.append((batch, reply))
            elif (
                self._application is None
                or self._hot is None
                or not self.is_open
                or batch.term not in (0, self._term)
            ):
                self._put(batch, reply, Outcome(call.id, "not-owner", b""))
            else:
                flight = self._flights[call.id] = _Flight(decode_asked(call.request))
                flight.waiting.append((batch, reply))
                self._begin(self._application, self._hot, call, flight)

    def _begin(self, application: ASGIApp, hot: HotPath, call: HandedOn, flight: _Flight) -> None:
        # Repeated calls are looked up before they are decided.
        plain = None if call.is_repeated else read_plain(flight.asked)
        if plain is None:
            flight.task = asyncio.create_task(self._run(application, call, flight))
            return
        hot.metrics.handed_on += 1
        hot.queue.add(_DecidedCall(self, hot, call, flight, plain))

    async def _run(self, application: ASGIApp, call: HandedOn, flight: _Flight) -> None:
        asked = flight.asked
        outcome = Outcome(call.id, "given-up", b"")
        if not is_repeatable(asked):
            outcome = Outcome(call.id, "", encode(unanswered(OUTCOME_NOT_KNOWN, asked)))
        # Only an append proves that nobody else decided before the request came.
        confirmed = (
            self._confirm() if retry_policy.is_safe(asked.method) and not is_hot(asked) else None
        )
        try:
            answer = await _answer(
                application, asked, GivenId(UUID(call.id).bytes, call.is_repeated)
            )
            if confirmed is None or await confirmed:
                outcome = self._outcome(call.id, asked, answer)
        except Exception:
            log.exception("a request of a node failed", path=asked.target.decode("latin-1"))
            outcome = Outcome(call.id, "", encode(unanswered("internal-error", asked)))
        finally:
            self._end(call.id, flight, outcome)

    def answered(self, identity: str, flight: _Flight, answer: Answered) -> None:
        """Take the answer of the hot path, which may come after the call was given up."""
        self._end(identity, flight, self._outcome(identity, flight.asked, answer))

    def _outcome(self, identity: str, asked: Asked, answer: Answered) -> Outcome:
        # This node may no longer be the owner: the next one knows.
        if answer.status == _UNAVAILABLE and not self.is_open and is_repeatable(asked):
            return Outcome(identity, "given-up", b"")
        return Outcome(identity, "", encode(answer))

    def _end(self, identity: str, flight: _Flight, outcome: Outcome) -> None:
        """Send a request's outcome to all that wait for it, unless it already has one."""
        if self._flights.get(identity) is not flight:
            return
        del self._flights[identity]
        for batch, reply in flight.waiting:
            self._put(batch, reply, outcome)
        if not self._flights:
            self._are_over.set()

    def _put(self, batch: Batch, reply: Reply, outcome: Outcome) -> None:
        """Send an outcome, with the others of this turn of the loop."""
        if not self._outcomes:
            asyncio.get_running_loop().call_soon(self._flush)
        key = (reply, batch.gateway, batch.number)
        self._outcomes.setdefault(key, (batch, []))[1].append(outcome)

    def _flush(self) -> None:
        ready, self._outcomes = self._outcomes, {}
        for (reply, _, _), (batch, outcomes) in ready.items():
            reply(Outcomes(batch.gateway, batch.number, batch.partition, outcomes))

    async def _wait(self, seconds: float) -> None:
        """Return when no request is in progress, or the time is over."""
        if self._flights:
            self._are_over.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._are_over.wait()


async def _answer(application: ASGIApp, asked: Asked, given: GivenId) -> Answered:
    """Run a request as if it had arrived here."""
    start: Message = {}
    parts: list[bytes] = []
    has_body = False

    async def receive() -> Message:
        nonlocal has_body
        if has_body:
            # The gateway waits as long as its caller may.
            await asyncio.get_running_loop().create_future()
        has_body = True
        return {"type": "http.request", "body": asked.body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await application(_scope(asked, given), receive, send)
    return Answered(start["status"], [*start.get("headers", ())], b"".join(parts))


def _scope(asked: Asked, given: GivenId) -> Scope:
    path, _, query = asked.target.partition(b"?")
    made: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": asked.scheme,
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": asked.headers,
        "client": asked.client,
        "server": None,
        "state": {},
    }
    return with_id(made, given)
