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
from tidegate_server.turns.call import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from tidegate.edge.forward_auth import Inquiry
    from tidegate.edge.reply import Reply
    from tidegate_server.hot.hot_path import HotPath
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
    try:
        key = hot.admission.credential(scope["headers"])
    except Problem as problem:
        hot.failed(problem, problem, AUTHZ, request_id, problem.detail)
        return problem_answer(problem, PATH, request_id)
    return _sent(await _reply(hot, key, scope, request_id), request_id)


async def _reply(hot: HotPath, key: ApiKey, scope: Mapping[str, Any], request_id: str) -> Reply:
    try:
        inquiry = _inquiry(scope)
    except UnclearInquiryError as error:
        reason = str(error)
        hot.failed(Problem("malformed-request", reason), error, AUTHZ, request_id, reason)
        return refused()
    given = given_id(scope)
    try:
        if given is not None and given.is_repeated:
            known = await hot.recorded(key, [given.value])
            if known:
                return _decided(inquiry, known[given.value])
        hot.admission.count(key)
        early = inquiry.early()
        if early is not None:
            return early
        name = None if given is None else given.value
        event = inquiry.event()
        event["return_url"] += OF_VISITOR
        return _decided(inquiry, await hot.decide(AUTHZ, key, orjson.dumps(event), name))
    except Exception as error:
        problem = problem_of(error)
        hot.failed(problem, error, AUTHZ, request_id)
        is_of_the_request = problem.code in _OF_THE_REQUEST
        return inquiry.failed(_CLOSED, EventError(str(problem)) if is_of_the_request else problem)


def _inquiry(scope: Mapping[str, Any]) -> Inquiry:
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    query = scope["query_string"].decode("latin-1")
    return read_inquiry(scope["method"], scope["path"], query, headers)


def _decided(inquiry: Inquiry, answer: Answer) -> Reply:
    return inquiry.decided(_CLOSED, read_decision(Received(200, {}, answer.body), ""))


def _sent(reply: Reply, request_id: str) -> Answer:
    """Return a reply in the form that the server sends."""
    kind = reply.header("content-type")
    headers = tuple(
        (name.encode(), value.encode()) for name, value in reply.headers if name != "content-type"
    )
    return Answer(
        reply.body,
        reply.status,
        (*headers, (REQUEST_ID_HEADER, request_id.encode())),
        b"text/plain; charset=utf-8" if kind is None else kind.encode(),
    )
