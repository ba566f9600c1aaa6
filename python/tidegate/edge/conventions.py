"""The conventions of all integrations: how the edge carries out a decision.

A proof in the query comes first, then the cookie, then the decision.  One call does all three: the
service checks an event's proofs before it decides.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import attrs

from tidegate.client.errors import (
    AuthenticationError,
    BadRequestError,
    ForbiddenError,
    InvalidRequestError,
    PayloadTooLargeError,
)
from tidegate.decider import Allow, Block, Challenge
from tidegate.edge.reply import blocked, challenge, clean_address, problem
from tidegate.errors import EventError
from tidegate.policy.document.forms import url_problem

if TYPE_CHECKING:
    from tidegate.decider import Decision
    from tidegate.edge.reply import Reply
    from tidegate.edge.visit import Visit

log = logging.getLogger("tidegate.edge")

_FALLBACKS = ("fail-open", "fail-closed")
_OF_THE_REQUEST = (EventError, InvalidRequestError, PayloadTooLargeError, BadRequestError)
"""Failures that a visitor can cause, which must not bypass the decision."""
_OF_THE_KEY = (AuthenticationError, ForbiddenError)
"""The service is up and rejects the key. That isn't an outage, so nothing passes."""


class OddDecisionError(ValueError):
    """A decision that cannot be carried out."""


def carry_out(visit: Visit, decision: Decision) -> Reply | None:
    """The response to the visitor; None if the application responds.

    Args:
        visit: the visit; a proof in its query is one that could be valid.
        decision: the decision on its event.

    Raises:
        OddDecisionError: the decision cannot be carried out.
    """
    action = decision.action
    proof = visit.proof
    if proof is not None and isinstance(action, Allow) and decision.reason == "fail-open":
        # It was not checked.  As a cookie it will be, once there are decisions again.
        return clean_address(visit, proof)
    if proof is not None and decision.reason not in _FALLBACKS:
        is_valid = isinstance(action, Allow) and decision.reason == "challenge-proof"
        return clean_address(visit, proof) if is_valid else problem(visit, "invalid-proof")
    match action:
        case Allow():
            return None
        case Block():
            return blocked(visit, action, decision.decision_id)
        case Challenge(redirect_url=str(url)) if url_problem(url) is None:
            return challenge(visit, url)
    raise OddDecisionError("a challenge that leads nowhere")


def early(visit: Visit) -> Reply | None:
    """The response to a visitor if there is nothing to decide on their request."""
    if visit.has_proof and visit.proof is None:
        return problem(visit, "invalid-proof")
    return None


@attrs.define
class Boundary:
    """Carries out decisions, and the configured fail mode if one is missing.

    Args:
        fail_open: whether a visitor passes without a decision.
    """

    fail_open: bool
    _failures: int = attrs.field(default=0, init=False)
    _told: str | None = attrs.field(default=None, init=False)

    def decided(self, visit: Visit, decision: Decision) -> Reply | None:
        """The response to the visitor; None if the application responds."""
        try:
            reply = carry_out(visit, decision)
        except OddDecisionError as error:
            return self.failed(visit, error)
        if self._failures:
            log.warning("there are decisions again, after %d failures", self._failures)
            self._failures, self._told = 0, None
        return reply

    def failed(self, visit: Visit, error: Exception) -> Reply | None:
        """The response without a decision."""
        if isinstance(error, _OF_THE_REQUEST):
            return problem(visit, "request-refused")
        is_open = self.fail_open and not isinstance(error, _OF_THE_KEY)
        self._failures += 1
        way = "open" if is_open else "closed"
        if self._told != way:
            log.warning("no decision, failing %s: %s", way, error)
            self._told = way
        if not is_open:
            return problem(visit, "no-decision")
        return None if visit.proof is None else clean_address(visit, visit.proof)
