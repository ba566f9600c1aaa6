"""``/authz``: proxies ask whether to let a request through.

The question is decided like a call of ``runtime/mitigation``, with the same log and limits.
``edge/forward_auth.py`` defines the requests that proxies send and the answers they understand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from tidegate.client.answer import Answer as Received
from tidegate.client.results import read_decision
from tidegate.edge.conventions import Boundary
from tidegate.edge.forward_auth import PATH, UnclearInquiryError, read_inquiry, refused
from tidegate.errors import EventError
from tidegate_server.challenge.return_url import OF_VISITOR
from tidegate_server.hot.given_id import given_id
from tidegate_server.hot.hot_path import problem_answer
from tidegate_server.http.answer import Answer
from tidegate_server.http.headers import REQUEST_ID_HEADER, request_id_of
from tidegate_server.http.problems import Problem, problem_of
from tidegate_server.telemetry.decision_in import decision_in
from tidegate_server.telemetry.trace_context import DECISION, given_traceparent, trace_id_of
from tidegate_server.turns.call import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request

    from tidegate.edge.forward_auth import Inquiry
    from tidegate.edge.reply import Reply
    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.answer import Header
    from tidegate_server.operators.key_ring import ApiKey

AUTHZ = Endpoint("authz", PATH, needs_content=True)
_CLOSED = Boundary(fail_open=False)
"""The proxy decides how to handle a request without an answer."""
_OF_THE_REQUEST = frozenset(
    {"invalid-event", "invalid-json", "empty-payload", "body-too-large", "malformed-request"}
)
"""Errors that a visitor can cause."""


def is_for_proxies(path: str) -> bool:
    """Tell whether a path is a proxy's question: Envoy appends the visitor's path to the prefix."""
    return path == PATH or path.startswith(PATH + "/")


async def authorize(hot: HotPath, request: Request) -> Answer:
    """Return the answer to a proxy.

    Args:
        hot: decides.
        request: of the proxy; its path may go on after the prefix.
    """
    scope = request.scope
    request_id = request_id_of(scope["headers"])
    trace_id = trace_id_of(given_traceparent(scope["headers"]))
    try:
        key = hot.admission.credential(scope["headers"])
    except Problem as problem:
        hot.failed(problem, problem, AUTHZ, request_id, trace_id, problem.detail)
        return problem_answer(problem, PATH, request_id)
    reply, answer = await _reply(hot, key, scope, request_id)
    more = [(REQUEST_ID_HEADER, request_id.encode())]
    found = None if trace_id is None or answer is None else decision_in(answer.body)
    if found is not None:
        more.append((DECISION, " ".join(found).encode()))
    return _sent(reply, more)


async def _reply(
    hot: HotPath, key: ApiKey, scope: Mapping[str, Any], request_id: str
) -> tuple[Reply, Answer | None]:
    """Return the reply to a proxy, and the answer of the decision that it carries out, if any."""
    traceparent = given_traceparent(scope["headers"])
    trace_id = trace_id_of(traceparent)
    try:
        inquiry = _inquiry(scope)
    except UnclearInquiryError as error:
        reason = str(error)
        problem = Problem("malformed-request", reason)
        hot.failed(problem, error, AUTHZ, request_id, trace_id, reason)
        return refused(), None
    given = given_id(scope)
    try:
        if given is not None and given.is_repeated:
            known = await hot.recorded(key, [given.value])
            if known:
                return _decided(inquiry, known[given.value]), known[given.value]
        hot.admission.count(key)
        early = inquiry.early()
        if early is not None:
            return early, None
        name = None if given is None else given.value
        event = inquiry.event()
        event["return_url"] += OF_VISITOR
        body = orjson.dumps(event)
        answer = await hot.decide(AUTHZ, key, body, name, traceparent)
        return _decided(inquiry, answer), answer
    except Exception as error:
        problem = problem_of(error)
        hot.failed(problem, error, AUTHZ, request_id, trace_id)
        is_of_the_request = problem.code in _OF_THE_REQUEST
        cause = EventError(str(problem)) if is_of_the_request else problem
        return inquiry.failed(_CLOSED, cause), None


def _inquiry(scope: Mapping[str, Any]) -> Inquiry:
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    query = scope["query_string"].decode("latin-1")
    return read_inquiry(scope["method"], scope["path"], query, headers)


def _decided(inquiry: Inquiry, answer: Answer) -> Reply:
    return inquiry.decided(_CLOSED, read_decision(Received(200, {}, answer.body), ""))


def _sent(reply: Reply, more: Sequence[Header]) -> Answer:
    """Return a reply in the form that the server sends."""
    kind = reply.header("content-type")
    headers = tuple(
        (name.encode(), value.encode()) for name, value in reply.headers if name != "content-type"
    )
    return Answer(
        reply.body,
        reply.status,
        (*headers, *more),
        b"text/plain; charset=utf-8" if kind is None else kind.encode(),
    )
