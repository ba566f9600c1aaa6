"""The application: hot calls in front of the control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.server.authz.authorize import authorize, is_for_proxies
from tidegate.server.connection.batches import BatchRoom
from tidegate.server.hot import batch
from tidegate.server.hot.admission import JSON
from tidegate.server.hot.given_id import given_id
from tidegate.server.hot.hot_path import (
    BEACON,
    ENDPOINTS,
    HotPath,
    finished,
    problem_answer,
    refusal,
)
from tidegate.server.http.answer import Answer, Outcome
from tidegate.server.http.exchange import declared_length, read_body, respond
from tidegate.server.http.headers import request_id_of
from tidegate.server.http.limits import MAX_BATCH_BYTES
from tidegate.server.http.problems import Problem, problem_of
from tidegate.server.http.request import path_as_written, require_media_type

if TYPE_CHECKING:
    from tidegate.server.http.exchange import Receive, Scope, Send
    from tidegate.server.turns.call import Endpoint

_PATHS = frozenset({*ENDPOINTS, batch.PATH})


class HotApplication:
    """Answers hot calls, and passes every other request on.

    Args:
        hot: the hot path.
        control_plane: the ASGI application that answers every other path.
    """

    def __init__(self, hot: HotPath, control_plane: Any) -> None:
        self._hot = hot
        self._control_plane = control_plane
        self._batches = BatchRoom()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = path_as_written(scope) if scope["type"] == "http" else ""
        if is_for_proxies(path):
            await respond(send, await authorize(self._hot, scope, path))
            return
        if path not in _PATHS:
            await self._control_plane(scope, receive, send)
            return
        if scope["method"] != "POST":
            problem = Problem("method-not-allowed", "allowed is POST", headers={"allow": "POST"})
            await respond(send, refusal(problem, path, scope["headers"]))
            return
        if path == batch.PATH:
            await respond(send, await self._batch(scope, receive))
            return
        endpoint = ENDPOINTS[path]
        headers = scope["headers"]
        outcome: Outcome
        try:
            outcome = await self._one(endpoint, scope, receive)
        except Exception as error:
            outcome = error
        await respond(send, finished(self._hot, endpoint, headers, outcome))

    async def _one(self, endpoint: Endpoint, scope: Scope, receive: Receive) -> Answer:
        hot, given = self._hot, given_id(scope)
        if given is not None:
            hot.metrics.handed_on += 1
        if given is not None and given.is_repeated:
            # Calls that were decided before have already counted against the limit.
            key = hot.admission.credential(scope["headers"])
            known = await hot.recorded(key, [given.value])
            if known:
                return hot.with_limit(key, known[given.value])
        key = hot.admission.admit(scope["headers"])
        body = await read_body(scope, receive)
        return await hot.decide(endpoint, key, body, None if given is None else given.value)

    async def _batch(self, scope: Scope, receive: Receive) -> Answer:
        try:
            key = self._hot.admission.credential(scope["headers"])
            given = given_id(scope)
            if given is None or not given.is_repeated:
                self._hot.admission.require_room(key)
            kind = require_media_type(scope["headers"], (JSON, batch.NDJSON))
            size = declared_length(scope, MAX_BATCH_BYTES)
            with self._batches.taken(key.tenant_text, size):
                body = await read_body(scope, receive, MAX_BATCH_BYTES)
                return await batch.decide_batch(self._hot, key, body, kind == batch.NDJSON, given)
        except Exception as error:
            problem = problem_of(error)
            request_id = request_id_of(scope["headers"])
            self._hot.failed(problem, error, BEACON, request_id)
            return problem_answer(problem, batch.PATH, request_id)
