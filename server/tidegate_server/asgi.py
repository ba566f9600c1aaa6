"""Handlers of hot calls that came other than in the plain form, and of questions of proxies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidegate.edge.forward_auth import PATH as AUTHZ_PATH
from tidegate_server.authz.authorize import authorize
from tidegate_server.connection.batches import BatchRoom
from tidegate_server.hot import batch
from tidegate_server.hot.admission import JSON
from tidegate_server.hot.given_id import given_id
from tidegate_server.hot.hot_path import (
    BEACON,
    ENDPOINTS,
    HotPath,
    finished,
    problem_answer,
    refusal,
)
from tidegate_server.http.exchange import declared_length, read_body
from tidegate_server.http.headers import request_id_of
from tidegate_server.http.limits import MAX_BATCH_BYTES
from tidegate_server.http.problems import Problem, problem_of
from tidegate_server.http.request import require_media_type
from tidegate_server.telemetry.trace_context import given_traceparent, trace_id_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from tidegate_server.http.answer import Answer, Outcome
    from tidegate_server.http.application import Handler
    from tidegate_server.turns.call import Endpoint


def hot_handlers(hot: HotPath) -> dict[str, Handler]:
    """Return the handlers of a hot path, by their paths.

    Args:
        hot: decides.
    """
    single = {path: partial(_answer, hot, endpoint) for path, endpoint in ENDPOINTS.items()}
    asked = partial(authorize, hot)
    return {
        **single,
        batch.PATH: partial(_answer_batch, hot, BatchRoom()),
        # Envoy appends the visitor's path to the prefix.
        AUTHZ_PATH: asked,
        f"{AUTHZ_PATH}/*": asked,
    }


async def _answer(hot: HotPath, endpoint: Endpoint, request: Request) -> Answer:
    if request.method != "POST":
        return _only_post(request)
    outcome: Outcome
    try:
        outcome = await _one(hot, endpoint, request)
    except Exception as error:
        outcome = error
    return finished(hot, endpoint, request.scope["headers"], outcome)


async def _one(hot: HotPath, endpoint: Endpoint, request: Request) -> Answer:
    given, headers = given_id(request.scope), request.scope["headers"]
    if given is not None:
        hot.metrics.handed_on += 1
    if given is not None and given.is_repeated:
        # Calls that were decided before have already counted against the limit.
        key = hot.admission.credential(headers)
        known = await hot.recorded(key, [given.value])
        if known:
            return hot.with_limit(key, known[given.value])
    key = hot.admission.admit(headers)
    body = await read_body(request.scope, request.receive)
    name = None if given is None else given.value
    return await hot.decide(endpoint, key, body, name, given_traceparent(headers))


async def _answer_batch(hot: HotPath, room: BatchRoom, request: Request) -> Answer:
    if request.method != "POST":
        return _only_post(request)
    headers = request.scope["headers"]
    traceparent = given_traceparent(headers)
    try:
        key = hot.admission.credential(headers)
        given = given_id(request.scope)
        if given is None or not given.is_repeated:
            hot.admission.require_room(key)
        kind = require_media_type(headers, (JSON, batch.NDJSON))
        size = declared_length(request.scope, MAX_BATCH_BYTES)
        with room.taken(key.tenant_text, size):
            body = await read_body(request.scope, request.receive, MAX_BATCH_BYTES)
            is_ndjson = kind == batch.NDJSON
            return await batch.decide_batch(hot, key, body, is_ndjson, given, traceparent)
    except Exception as error:
        problem = problem_of(error)
        request_id = request_id_of(headers)
        hot.failed(problem, error, BEACON, request_id, trace_id_of(traceparent))
        return problem_answer(problem, batch.PATH, request_id)


def _only_post(request: Request) -> Answer:
    problem = Problem("method-not-allowed", "allowed is POST", headers={"allow": "POST"})
    return refusal(problem, request.scope["path"], request.scope["headers"])
