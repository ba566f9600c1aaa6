"""A hot call, however it came: alone on a connection, in a batch, through ASGI."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from tidegate_server.http.answer import Answer
from tidegate_server.logging import log

if TYPE_CHECKING:
    from tidegate_server.http.answer import Done, Outcome
    from tidegate_server.operators.key_ring import ApiKey


@attrs.frozen
class Endpoint:
    """One of the hot calls."""

    name: str
    path: str
    needs_content: bool


class HotCall(ABC):
    """One hot call, from its body to its answer.

    A sender of one call after another may reuse the same object.
    """

    __slots__ = (
        "body", "credential", "decision_id", "endpoint", "key", "request_id", "started"
    )  # fmt: skip
    endpoint: Endpoint
    credential: bytes | None
    """The credential as it was sent; None if the call is already admitted."""
    key: ApiKey
    """Set once the call is admitted."""
    body: bytes
    request_id: bytes | None
    """The caller's, safe to send back."""
    started: int
    """When it started, by the performance counter."""
    decision_id: bytes | None
    """16 bytes that a gateway gave; None if the decision gets an id when it is made."""
    traceparent: bytes | None = None
    """The valid ``traceparent`` of its HTTP request, 55 bytes, if any."""

    @abstractmethod
    def answer(self, outcome: Outcome) -> None:
        """Take the outcome of the call."""

    def decided(self, body: bytes) -> None:
        """Take the answer of a durable decision, as nearly every call ends."""
        self.answer(Answer(body))

    def pass_on(self, made: Answer) -> None:
        """Take a complete answer that another process made."""
        self.answer(made)


class CallBack(HotCall):
    """An admitted call that hands its outcome to a callback."""

    __slots__ = ("_done", "traceparent")

    def __init__(
        self,
        endpoint: Endpoint,
        key: ApiKey,
        body: bytes,
        done: Done,
        started: int,
        decision_id: bytes | None = None,
        traceparent: bytes | None = None,
    ) -> None:
        self.decision_id = decision_id
        self.traceparent = traceparent
        self.endpoint = endpoint
        self.credential = self.request_id = None
        self.key = key
        self.body = body
        self.started = started
        self._done = done

    def answer(self, outcome: Outcome) -> None:
        self._done(outcome)


def answer(call: HotCall, outcome: Outcome) -> None:
    """Answer a call; an error in doing so must not affect the others."""
    try:
        call.answer(outcome)
    except Exception:
        log.exception("an answer could not be given")


def refuse(calls: Iterable[HotCall], error: Exception) -> None:
    """Give several calls the same refusal."""
    for call in calls:
        answer(call, error)


def deliver(decided: Iterable[tuple[HotCall, bytes]]) -> None:
    """Give each call the answer of its decision, like :func:`answer`."""
    for call, body in decided:
        try:
            call.decided(body)
        except Exception:
            log.exception("an answer could not be given")


def pass_on(call: HotCall, made: Answer) -> None:
    """Give a call a complete answer that another process made, like :func:`answer`."""
    try:
        call.pass_on(made)
    except Exception:
        log.exception("an answer could not be given")
