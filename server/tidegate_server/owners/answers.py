"""Answers as gateways and owners exchange them, and those to calls that no owner answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.hot.hot_path import refusal
from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import headers_of
from tidegate_server.http.headers import REQUEST_ID_HEADER
from tidegate_server.http.problems import problem_of_reason
from tidegate_server.owners.messages import Answered, Asked

if TYPE_CHECKING:
    from tidegate_server.http.problems import Problem
    from tidegate_server.turns.call import HotCall

_TYPE, _LENGTH = b"content-type", b"content-length"


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
    made = refusal(problem, asked.path, asked.headers)
    return Answered(made.status, headers_of(made), made.body)


def unanswered(reason: str, asked: Asked) -> Answered:
    """Return the answer to a request that no owner answered.

    Args:
        reason: as of :func:`~tidegate_server.http.problems.problem_of_reason`.
    """
    return refused(problem_of_reason(reason), asked)


def not_decided(reason: str, call: HotCall) -> Answer:
    """Return the answer to a hot call that no owner answered; ``reason`` as above."""
    given = () if call.request_id is None else ((REQUEST_ID_HEADER, call.request_id),)
    return refusal(problem_of_reason(reason), call.endpoint.path, given)
