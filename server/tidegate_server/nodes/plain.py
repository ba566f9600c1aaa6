"""Hot calls in the plain form between nodes, without building a request on either side."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tidegate_server.hot.admission import JSON, KEY_HEADER
from tidegate_server.hot.hot_path import ENDPOINTS, refusal
from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import headers_of
from tidegate_server.http.headers import REQUEST_ID_HEADER, given_request_id
from tidegate_server.http.limits import MAX_BODY_BYTES
from tidegate_server.http.problems import problem_of_reason
from tidegate_server.nodes.messages import Answered, Asked
from tidegate_server.turns.call import Endpoint

if TYPE_CHECKING:
    from tidegate_server.http.problems import Problem
    from tidegate_server.turns.call import HotCall

Plain: TypeAlias = "tuple[Endpoint, bytes, bytes | None]"
"""Endpoint, credential and the caller's request id of a call."""

_ENDPOINTS = {path.encode(): endpoint for path, endpoint in ENDPOINTS.items()}
_TYPE, _ENCODING, _LENGTH = b"content-type", b"content-encoding", b"content-length"
_JSON = JSON.encode()


def read_plain(asked: Asked) -> Plain | None:
    """Return the parts of a request that the hot path needs, other than its body.

    Args:
        asked: any request.

    Returns:
        None for a request that needs more than the hot path sees; the application answers it.
    """
    endpoint = _ENDPOINTS.get(asked.target)
    if endpoint is None or asked.method != "POST" or len(asked.body) > MAX_BODY_BYTES:
        return None
    credential = request_id = None
    kinds = 0
    for name, value in asked.headers:
        if name == KEY_HEADER:
            if credential is not None:
                return None
            credential = value
        elif name == _TYPE:
            if value != _JSON:
                return None
            kinds += 1
        elif name == _ENCODING:
            return None
        elif name == REQUEST_ID_HEADER:
            found = given_request_id(asked.headers)
            request_id = None if found is None else found.encode()
    if credential is None or kinds != 1:
        return None
    return endpoint, credential, request_id


def written(call: HotCall) -> Asked:
    """Return a hot call as a request, which an owner of any version can answer.

    Args:
        call: with its credential.
    """
    assert call.credential is not None
    headers = [
        (KEY_HEADER, call.credential),
        (_TYPE, _JSON),
        (_LENGTH, b"%d" % len(call.body)),
    ]
    if call.request_id is not None:
        headers.append((REQUEST_ID_HEADER, call.request_id))
    return Asked("POST", call.endpoint.path.encode(), headers, call.body, None, "http")


def read_answer(made: Answered) -> Answer:
    """Return an owner's answer, for a connection that writes type and length itself."""
    kind, more = b"", []
    for header in made.headers:
        if header[0] == _TYPE:
            kind = header[1]
        elif header[0] != _LENGTH:
            more.append(header)
    return Answer(made.body, made.status, tuple(more), kind)


def refused(problem: Problem, asked: Asked) -> Answered:
    """Return a problem as the answer to a request."""
    path = asked.target.partition(b"?")[0].decode("latin-1")
    made = refusal(problem, path, asked.headers)
    return Answered(made.status, headers_of(made), made.body)


def unanswered(reason: str, asked: Asked) -> Answered:
    """Return the answer to a request that no owner answered.

    Args:
        reason: as of :func:`~tidegate_server.http.problems.problem_of_reason`.
    """
    return refused(problem_of_reason(reason), asked)
