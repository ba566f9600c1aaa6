"""A hot call that another process received and this one decides."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING

from tidegate_server.hot.hot_path import finished
from tidegate_server.http.answer import Answer
from tidegate_server.http.headers import REQUEST_ID_HEADER
from tidegate_server.turns.call import HotCall

if TYPE_CHECKING:
    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.answer import Outcome
    from tidegate_server.turns.call import Endpoint


class HandedOnCall(HotCall):
    """A hot call that returns its answer, with all headers, to the process that forwarded it.

    Args:
        hot: decides.
        endpoint: the endpoint it came through.
        credential: as it was sent.
        request_id: the caller's, safe to send back.
        body: the event.
        decision_id: 16 bytes that the gateway gave.
    """

    __slots__ = ("_hot",)

    def __init__(
        self,
        hot: HotPath,
        endpoint: Endpoint,
        credential: bytes,
        request_id: bytes | None,
        body: bytes,
        decision_id: bytes,
    ) -> None:
        self.endpoint = endpoint
        self.credential = credential
        self.request_id = request_id
        self.body = body
        self.decision_id = decision_id
        self.started = time.perf_counter_ns()
        self._hot = hot

    @abstractmethod
    def give(self, made: Answer) -> None:
        """Send a complete answer."""

    def answer(self, outcome: Outcome) -> None:
        request_id = self.request_id
        given = () if request_id is None else ((REQUEST_ID_HEADER, request_id),)
        if isinstance(outcome, Answer):
            outcome = self._hot.with_limit(self.key, outcome)
        self.give(finished(self._hot, self.endpoint, given, outcome))
