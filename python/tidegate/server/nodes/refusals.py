"""Refusals from a node that isn't the owner, as answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uuid_utils import uuid7

from tidegate.server.hot.hot_path import problem_answer
from tidegate.server.http.exchange import headers_of
from tidegate.server.http.headers import given_request_id
from tidegate.server.http.problems import Problem
from tidegate.server.nodes.messages import Answered
from tidegate.server.routing import again

if TYPE_CHECKING:
    from tidegate.server.nodes.messages import Asked

NOT_KNOWN = "outcome-not-known"
_LATER = {"retry-after": "1"}
_DETAILS = {
    "full": ("overloaded", "too many calls wait at this node"),
    "no-owner": ("not-ready", "no node decides at the moment"),
    "unanswered": ("not-ready", "the node that decides does not answer"),
    "internal-error": ("internal-error", ""),
    NOT_KNOWN: ("not-ready", again.NOT_KNOWN),
}


def answered(reason: str, asked: Asked) -> Answered:
    """Return the answer to a request that no owner answered.

    Args:
        reason: of ``cluster/messages.py``, or one of this module.
        asked: the request.
    """
    # An owner of a newer version may send others.
    code, detail = _DETAILS.get(reason, _DETAILS["unanswered"])
    return refused(Problem(code, detail, headers=_LATER), asked)


def refused(problem: Problem, asked: Asked) -> Answered:
    """Return a problem as the answer to a request."""
    path = asked.target.partition(b"?")[0].decode("latin-1")
    request_id = given_request_id(asked.headers) or str(uuid7())
    made = problem_answer(problem, path, request_id)
    return Answered(made.status, headers_of(made), made.body)
