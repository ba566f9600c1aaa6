"""The owner's inbox: it runs forwarded calls once each, however often they are sent.

Hot calls in the plain form are handed to the hot path, and their answers go back with all that are
ready in the same turn. The application answers every other request, as if it had arrived here.

A call that is sent again while it is in progress waits for the same outcome. If its answer was
lost, it is in the log, where a repeated call is looked up. For that to be enough, no copy of a call
may arrive after its repetition. So a gateway repeats on the same link, or on a new one, after which
nothing more is taken from the old one; and an owner ignores calls that were sent to the owner of
another term.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate_server.hot.given_id import GivenId, with_id
from tidegate_server.hot.hot_path import ENDPOINTS, finished, given_headers
from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import headers_of
from tidegate_server.http.problems import OUTCOME_NOT_KNOWN, Problem
from tidegate_server.logging import log
from tidegate_server.owners.answers import unanswered
from tidegate_server.owners.messages import (
    Answered,
    Batch,
    Calls,
    Decided,
    Hello,
    Look,
    Outcome,
    Outcomes,
    Standing,
)
from tidegate_server.routing import retry_policy
from tidegate_server.turns.call import HotCall, answer, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.answer import Outcome as Made
    from tidegate_server.http.exchange import Message, Scope
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.owners.links import Link
    from tidegate_server.owners.messages import Asked, HandedOn
    from tidegate_server.owners.messages import Message as LinkMessage

Reply: TypeAlias = "Callable[[Outcomes | Decided], None]"
_UNAVAILABLE = 503
_GRACE_SECONDS = 0.1
"""How long a close waits for reads before the next owner is asked for them."""
_FINISH_SECONDS = 5.0


def is_hot(asked: Asked) -> bool:
    """Tell whether a request is decided under its gateway's id."""
    return retry_policy.is_hot(asked.method, asked.path)


def is_repeatable(asked: Asked) -> bool:
    """Tell whether a request may be forwarded again when nobody knows whether it ran."""
    return retry_policy.is_repeatable(asked.method, asked.path, asked.headers)


@attrs.define(eq=False)
class _Sending:
    """Calls that a gateway sent together, and their outcomes of this turn."""

    reply: Reply
    gateway: str
    number: int
    outcomes: list[Outcome] = attrs.field(factory=list)
    ids: list[bytes] = attrs.field(factory=list)
    bodies: list[bytes] = attrs.field(factory=list)

    def flush(self) -> None:
        """Send the outcomes."""
        if self.ids:
            self.reply(Decided(self.ids, self.bodies))
            self.ids, self.bodies = [], []
        if self.outcomes:
            self.reply(Outcomes(self.gateway, self.number, self.outcomes))
            self.outcomes = []


@attrs.define(eq=False)
class _Request:
    """A request that the application is answering."""

    asked: Asked
    sendings: Sequence[_Sending]
    """All that wait for its outcome."""
    task: asyncio.Task[None] | None = None


class _Call(HotCall):
    """A hot call that the hot path is deciding.

    The gateway adds the request id to usual answers; all others have every header.
    """

    __slots__ = ("_hot", "_inbox", "id", "sendings", "traceparent")

    def __init__(
        self,
        inbox: Inbox,
        hot: HotPath,
        sendings: Sequence[_Sending],
        call_id: bytes,
        path: str,
        credential: bytes,
        request_id: bytes | None,
        body: bytes,
        traceparent: bytes | None,
    ) -> None:
        self.endpoint = ENDPOINTS[path]
        self.credential = credential
        self.request_id = request_id
        self.body = body
        self.traceparent = traceparent
        self.id = self.decision_id = call_id
        self.started = time.perf_counter_ns()
        self._hot = hot
        self._inbox = inbox
        self.sendings = sendings

    def answer(self, outcome: Made) -> None:
        given = given_headers(self)
        if isinstance(outcome, Answer):
            outcome = self._hot.with_limit(self.key, outcome)
        self._inbox.answered(self, finished(self._hot, self.endpoint, given, outcome))

    def decided(self, body: bytes) -> None:
        if self._hot.tells_limits:
            self.answer(Answer(body))
        else:
            self._inbox.decided(self, body)


class Inbox:
    """Calls from gateways, here and elsewhere; use it only on the event loop's thread."""

    def __init__(self) -> None:
        self._application: ASGIApp | None = None
        self._hot: HotPath | None = None
        self._has_ended: Callable[[], bool] = lambda: False
        self._confirm: Callable[[], Awaitable[bool]]
        self._flights: dict[bytes, _Request | _Call] = {}
        """Calls in progress."""
        self._are_over = asyncio.Event()
        """Set when the last call has ended."""
        self._due: dict[_Sending, None] = {}
        """Those with outcomes of this turn."""
        self._lookups: set[asyncio.Task[None]] = set()
        self._links: dict[str, tuple[tuple[int, int], Link]] = {}
        self._term = 0

    @property
    def is_open(self) -> bool:
        """Whether calls are taken."""
        return self._application is not None and not self._has_ended()

    def open(
        self,
        application: ASGIApp,
        hot: HotPath,
        term: int,
        has_ended: Callable[[], bool],
        confirm: Callable[[], Awaitable[bool]],
    ) -> None:
        """Take calls.

        Args:
            application: answers requests.
            hot: decides on hot calls.
            term: this ownership's number.
            has_ended: tells whether this process is no longer the owner, although the inbox wasn't
                closed.
            confirm: asks whether this process was still the owner when it was called.
        """
        self._application, self._hot, self._has_ended = application, hot, has_ended
        self._confirm = confirm
        self._term = term
        self._tell()

    async def close(self) -> None:
        """Stop taking calls, and return when those in progress have an outcome."""
        self._application = self._hot = None
        self._tell()
        await self.wait(_GRACE_SECONDS)
        for _, request in self._requests():
            if retry_policy.is_safe(request.asked.method):
                _cancel(request)
        await self.wait(_FINISH_SECONDS)
        for identity, flight in list(self._flights.items()):
            if isinstance(flight, _Request):
                _cancel(flight)
            else:
                self._end(identity, flight, Outcome(identity, "given-up"))
        await self.wait(_FINISH_SECONDS)

    async def wait(self, seconds: float) -> None:
        """Return when no call is in progress, or the time is over."""
        if self._flights:
            self._are_over.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._are_over.wait()

    def _requests(self) -> Iterator[tuple[bytes, _Request]]:
        for identity, flight in list(self._flights.items()):
            if isinstance(flight, _Request):
                yield identity, flight

    # Links

    def link_lost(self, link: Link) -> None:
        """Note that a gateway is gone; its calls are finished anyway."""
        if self._links.get(link.peer, (None, None))[1] is link:
            del self._links[link.peer]

    def receive(self, link: Link, message: LinkMessage) -> None:
        """Take a gateway's message."""
        if isinstance(message, Hello):
            self._greet(link, message)
        elif not link.peer or self._links.get(link.peer, (None, None))[1] is not link:
            link.abort()
        elif isinstance(message, Look):
            link.send(Standing(self.is_open))
        elif isinstance(message, Batch | Calls):
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

    # Calls

    def take(self, message: Batch | Calls, reply: Reply) -> None:
        """Run calls.

        Args:
            message: a gateway's.
            reply: called with the outcomes, in one or several parts.
        """
        # 0: it comes from this process.
        application = self._application if message.term in (0, self._term) else None
        if not self.is_open:
            application = None
        if isinstance(message, Calls):
            is_owner = application is not None
            self._take_calls(message, _Sending(reply, "hot", message.number), is_owner)
            return
        sending = _Sending(reply, message.gateway, message.number)
        for each in message.calls:
            flight = self._flights.get(each.id)
            if flight is not None:
                flight.sendings = (*flight.sendings, sending)
            elif application is None:
                self._put(sending, Outcome(each.id, "not-owner"))
            else:
                request = self._flights[each.id] = _Request(each.asked, (sending,))
                request.task = asyncio.create_task(self._run(application, each, request))

    def _take_calls(self, message: Calls, sending: _Sending, is_owner: bool) -> None:
        hot, flights, sendings = self._hot, self._flights, (sending,)
        begun: list[_Call] = []
        traceparents = message.traceparents or repeat(None, len(message.ids))
        for call_id, path, credential, request_id, body, traceparent in zip(
            message.ids,
            message.paths,
            message.credentials,
            message.request_ids,
            message.bodies,
            traceparents,
            strict=True,
        ):
            flight = flights.get(call_id)
            if flight is not None:
                flight.sendings = (*flight.sendings, sending)
                continue
            if hot is None or not is_owner:
                self._put(sending, Outcome(call_id, "not-owner"))
                continue
            call = flights[call_id] = _Call(
                self, hot, sendings, call_id, path, credential, request_id, body, traceparent
            )
            begun.append(call)
        if hot is None or not begun:
            return
        hot.metrics.handed_on += len(begun)
        if message.is_repeated:
            self._lookups.add(task := asyncio.create_task(self._look_up(hot, begun)))
            task.add_done_callback(self._lookups.discard)
            return
        for call in begun:
            hot.queue.add(call)

    async def _look_up(self, hot: HotPath, calls: Sequence[_Call]) -> None:
        """Answer calls that were decided before, and have the others decided."""
        known: dict[bytes, Answer] = {}
        by_key: dict[ApiKey, list[_Call]] = {}
        for call in calls:
            # The queue refuses calls with a key that is no longer valid.
            with suppress(Problem):
                call.key = hot.admission.key_of(call.credential or b"")
                by_key.setdefault(call.key, []).append(call)
        try:
            for key, of_key in by_key.items():
                known.update(await hot.recorded(key, [call.id for call in of_key]))
        except Exception as error:
            refuse(calls, error)
            return
        log.info("calls that were asked before are taken", calls=len(calls), decided=len(known))
        for call in calls:
            found = known.get(call.id)
            if found is not None:
                answer(call, found)
            elif self._flights.get(call.id) is call:
                hot.queue.add(call)

    async def _run(self, application: ASGIApp, call: HandedOn, request: _Request) -> None:
        asked = request.asked
        outcome = Outcome(call.id, "given-up")
        if not is_repeatable(asked):
            outcome = Outcome(call.id, "", unanswered(OUTCOME_NOT_KNOWN, asked))
        # Only an append proves that nobody else decided before the request came.
        confirmed = (
            self._confirm() if retry_policy.is_safe(asked.method) and not is_hot(asked) else None
        )
        try:
            made = await _answer(application, asked, GivenId(call.id, call.is_repeated))
            if confirmed is None or await confirmed:
                is_left = self._is_left(made.status) and is_repeatable(asked)
                outcome = Outcome(call.id, "given-up") if is_left else Outcome(call.id, "", made)
        except Exception:
            log.exception("a forwarded request failed", path=asked.target.decode("latin-1"))
            outcome = Outcome(call.id, "", unanswered("internal-error", asked))
        finally:
            self._end(call.id, request, outcome)

    def _is_left(self, status: int) -> bool:
        """Tell whether the next owner may know what this one no longer does."""
        return status == _UNAVAILABLE and not self.is_open

    # Outcomes

    def decided(self, call: _Call, body: bytes) -> None:
        """Take the answer of a decision, which may come after the call was given up."""
        call_id, flights = call.id, self._flights
        if flights.get(call_id) is call:
            del flights[call_id]
            if not flights:
                self._are_over.set()
            for sending in call.sendings:
                if not sending.ids:
                    self._put(sending)
                sending.ids.append(call_id)
                sending.bodies.append(body)

    def answered(self, call: _Call, made: Answer) -> None:
        """Take any other answer of the hot path."""
        if self._is_left(made.status):
            outcome = Outcome(call.id, "given-up")
        else:
            outcome = Outcome(call.id, "", Answered(made.status, headers_of(made), made.body))
        self._end(call.id, call, outcome)

    def _end(self, identity: bytes, flight: _Request | _Call, outcome: Outcome) -> None:
        """Send a call's outcome to all that wait for it, unless it already has one."""
        if self._flights.get(identity) is flight:
            del self._flights[identity]
            if not self._flights:
                self._are_over.set()
            for sending in flight.sendings:
                self._put(sending, outcome)

    def _put(self, sending: _Sending, *outcomes: Outcome) -> None:
        """Send outcomes with the others of this turn of the loop."""
        if not self._due:
            asyncio.get_running_loop().call_soon(self._flush)
        self._due[sending] = None
        sending.outcomes += outcomes

    def _flush(self) -> None:
        due, self._due = self._due, {}
        for sending in due:
            sending.flush()


def _cancel(request: _Request) -> None:
    if request.task is not None:
        request.task.cancel()


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
    made: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": asked.scheme,
        "path": asked.path,
        "raw_path": asked.path.encode("latin-1"),
        "query_string": asked.query,
        "root_path": "",
        "headers": asked.headers,
        "client": asked.client,
        "server": None,
        "state": {},
    }
    return with_id(made, given)
