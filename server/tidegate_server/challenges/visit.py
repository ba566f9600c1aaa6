"""A visitor at a challenge: the page, and the solution submitted from it.

A solution is checked only against what was issued, and spent by one statement, so however often it
is submitted, it yields one pass.
"""

from __future__ import annotations

from http import HTTPStatus

import attrs
import msgspec
from starlette.responses import Response

from tidegate.edge.reply import is_fetched_ahead
from tidegate.policy.proofs import ChallengeContext
from tidegate_server.challenge.provider import WAIT, ProviderUnavailableError
from tidegate_server.challenge.return_url import destination, with_proof
from tidegate_server.challenges import browsers, view
from tidegate_server.challenges.opening import (
    ROUNDS_NS,
    context_of,
    require_challenge,
    session_of,
    settings_of,
)
from tidegate_server.control.call import Call
from tidegate_server.http.headers import DATA_HEADERS
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import Problem
from tidegate_server.stores.objects import challenges
from tidegate_server.stores.objects.challenges import ChallengeSession
from tidegate_server.stores.objects.passes import Pass
from tidegate_server.wire import challenges as wire_challenges

SECOND_NS = 1_000_000_000
MAX_FAILURES = 20
"""How many wrong solutions of one challenge are checked; further ones are ignored."""
_ALERTS = {
    "challenge-failed": "failed",
    "challenge-too-early": "too_early",
    "challenge-provider-unavailable": "busy_text",
}
"""The texts of refusals after which the visitor can retry on the same page."""


@attrs.frozen
class Visit:
    """A visitor at a challenge."""

    session: ChallengeSession
    context: ChallengeContext | None
    target: str | None
    """The visitor's destination, without a proof."""
    wait_seconds: int
    proof_ttl_seconds: int

    @classmethod
    def of(cls, call: Call, session: ChallengeSession) -> Visit:
        """Return the visit of a call.

        Raises:
            NotFoundError: the tenant was deleted.
        """
        with call.app.store.read() as connection:
            settings = settings_of(connection, session.tenant_id)
        context = context_of(call, session)
        return cls(
            session,
            context,
            destination(
                None if context is None else context.return_url,
                session.template,
                settings["return_url_origins"],
            ),
            settings["challenge_wait_seconds"],
            settings["proof_ttl_seconds"],
        )

    def why_over(self, now: int) -> Problem | None:
        """Return why nothing can be solved here now; None if it can."""
        if self.session.solved_at_ns is not None:
            return Problem("challenge-solved")
        if self.session.expires_at_ns <= now:
            return Problem("challenge-expired")
        return None


def show(call: Call) -> Response:
    """Return the page of a challenge.

    Nobody looks at a prefetched page, or at the answer to HEAD: these open no session, which would
    count as an unsolved challenge.
    """
    query: wire_challenges.ChallengeQuery = call.query
    if is_fetched_ahead(lambda name: call.headers.get(name, "")):
        raise Problem("challenge-not-opened")
    if call.method == "HEAD":
        require_challenge(call)
        return Response(headers=DATA_HEADERS, media_type="text/html")
    visit = Visit.of(call, session_of(call))
    problem = visit.why_over(call.now)
    if problem is not None:
        return _over(call, visit, problem)
    if visit.session.stage == "stopped" and not query.again:
        page = view.stopped(call, visit.session)
    else:
        page = _page(call, visit, is_manual=query.again)
    page.headers["set-cookie"] = browsers.set_cookie(
        browsers.mark_of(call.headers.get("cookie")),
        ROUNDS_NS // SECOND_NS,
        is_secure=call.app.base_url().startswith("https:"),
    )
    return page


def solve(call: Call) -> Response:
    """Exchange a solution for a pass, and send the visitor back with its proof."""
    body: wire_challenges.ChallengeSolution = call.body
    with call.app.store.read() as connection:
        session = challenges.find(connection, call.ids["challenge_id"])
    visit = Visit.of(call, session)
    problem = visit.why_over(call.now) or _why_wrong(call, visit, body)
    if problem is not None:
        return _refused(call, visit, problem)
    made = Pass(
        pass_id=new_id(),
        tenant_id=session.tenant_id,
        challenge_id=session.challenge_id,
        provider=WAIT if body.method == "wait" else session.provider,
        issued_at_ns=call.now,
        expires_at_ns=call.now + visit.proof_ttl_seconds * SECOND_NS,
    )
    mark = browsers.mark_of(call.headers.get("cookie"))
    actor = None if mark is None else browsers.actor_of(session.tenant_id, mark)
    if not call.write(lambda connection: challenges.burn(connection, made, actor)):
        return _over(call, visit, Problem("challenge-solved"))
    seconds = (made.issued_at_ns - session.opened_at_ns) / SECOND_NS
    call.app.challenges.figures.solved(made.provider, seconds)
    return _sent_back(call, visit, made)


def _why_wrong(call: Call, visit: Visit, body: wire_challenges.ChallengeSolution) -> Problem | None:
    """Return why a solution is invalid; None if it is right."""
    session = visit.session
    if visit.context is None:
        return Problem("challenge-expired", "the keys have changed since the decision")
    if body.method == "wait":
        over_at = session.opened_at_ns + visit.wait_seconds * SECOND_NS
        if not visit.wait_seconds:
            return Problem("challenge-failed", "the tenant does not let visitors wait instead")
        if call.now < over_at:
            seconds = view.seconds_left(over_at, call.now)
            detail = f"wait {seconds} s more"
            return Problem("challenge-too-early", detail, headers={"retry-after": str(seconds)})
        return None
    if session.failures >= MAX_FAILURES:
        return Problem("rate-limited", "too many solutions of this challenge were wrong")
    provider = call.app.challenges.providers[session.provider]
    try:
        is_right = provider.is_solution(
            session.parameters, session.challenge_id, body.solution, call.address
        )
    except ProviderUnavailableError as error:
        return Problem("challenge-provider-unavailable", str(error), headers={"retry-after": "5"})
    if is_right:
        return None
    call.write(lambda connection: challenges.failed(connection, session.challenge_id))
    call.app.challenges.figures.count(session.provider, "failed")
    return Problem("challenge-failed")


def _refused(call: Call, visit: Visit, problem: Problem) -> Response:
    """Return the answer to a refused solution; a visitor can try again."""
    alert = _ALERTS.get(problem.code)
    if not call.wants_page or alert is None:
        return _over(call, visit, problem)
    page = _page(
        call,
        visit,
        is_manual=True,
        alert=alert,
        alert_seconds=int(problem.headers.get("retry-after", 0)),
        status=problem.status,
    )
    page.headers.update(problem.headers)
    return page


def _over(call: Call, visit: Visit, problem: Problem) -> Response:
    if not call.wants_page or problem.code not in ("challenge-solved", "challenge-expired"):
        raise problem
    return view.over(call, visit.session, problem, visit.target)


def _page(
    call: Call,
    visit: Visit,
    *,
    is_manual: bool,
    alert: str | None = None,
    alert_seconds: int = 0,
    status: int = 200,
) -> Response:
    return view.challenge(
        call,
        visit.session,
        target=visit.target,
        wait_seconds=visit.wait_seconds,
        is_manual=is_manual,
        alert=alert,
        alert_seconds=alert_seconds,
        status=status,
    )


def _sent_back(call: Call, visit: Visit, made: Pass) -> Response:
    assert visit.context is not None
    proof = call.app.proof_keys(made.tenant_id).mint(
        made.pass_id, made.challenge_id, made.issued_at_ns, made.expires_at_ns, visit.context.client
    )
    if visit.target is None and call.wants_page:
        return view.passed(call, visit.session)
    url = None if visit.target is None else with_proof(visit.target, proof)
    headers = {**DATA_HEADERS, **({"location": url} if url is not None else {})}
    status = HTTPStatus.OK if url is None else HTTPStatus.SEE_OTHER
    if call.wants_page:
        return Response(status_code=status, headers=headers)
    content = msgspec.json.encode(wire_challenges.ChallengePassed(proof=proof, redirect_url=url))
    return Response(content, status, headers, media_type="application/json")
