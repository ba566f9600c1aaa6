"""The routes of challenges: for visitors, for edges, for operators."""

from __future__ import annotations

from typing import Any

from tidegate.edge.reply import AHEAD_HEADERS
from tidegate_server.challenges import passes, self_test, view, visit
from tidegate_server.http.forms import FORM
from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.pages.page import FILE_TYPES, file
from tidegate_server.routing.route import Credential, Route
from tidegate_server.wire import challenges as wire_challenges
from tidegate_server.wire import period as wire_period

_CHALLENGE = "/challenge/{challenge_id}"
_TENANT = "/tenants/{tenant_id}"
_SOLUTION_BYTES = 16 * 1024
"""The size limit for a body that anybody can send."""

_VISITORS: dict[str, Any] = {
    "tag": "challenges",
    "credential": Credential.NONE,
    "work": Work.VISIT,
    "headers": ("accept", "accept-language", "cookie"),
    "problem_page": view.problem_page,
    "answer_type": "text/html",
}

CHALLENGE_ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path=_CHALLENGE,
        name="show-challenge",
        summary="Show the page of a challenge to a visitor",
        description=(
            "Available for 30 minutes after the decision with this id. Callers that accept"
            " `text/html` get refusals as pages too. HEAD doesn't open a challenge, and a prefetch"
            " by a browser (`Sec-Purpose: prefetch`) is refused."
        ),
        handler=visit.show,
        cookie="by which challenges of one browser are counted",
        query=wire_challenges.ChallengeQuery,
        refusals=(
            "challenge-expired",
            "challenge-not-opened",
            "challenge-solved",
            "damaged-records",
            "overloaded",
        ),
        **{**_VISITORS, "headers": (*_VISITORS["headers"], *AHEAD_HEADERS)},
    ),
    Route(
        method="POST",
        path=f"{_CHALLENGE}/solution",
        name="solve-challenge",
        summary="Solve a challenge",
        description=(
            "Redirects to the return URL, with the proof of the pass in `service_challenge_proof`."
            " Answers 200 if the tenant has no return URL."
        ),
        handler=visit.solve,
        body=wire_challenges.ChallengeSolution,
        media_types=("application/json", FORM),
        max_bytes=_SOLUTION_BYTES,
        answer=wire_challenges.ChallengePassed,
        status=303,
        also={200: "Solved, and the tenant names nowhere to go."},
        refusals=(
            "challenge-expired",
            "challenge-failed",
            "challenge-provider-unavailable",
            "challenge-solved",
            "challenge-too-early",
            "overloaded",
            "rate-limited",
        ),
        **{**_VISITORS, "answer_type": "application/json"},
    ),
    *(
        Route(
            method="GET",
            path=f"/challenge/files/{name}",
            name=f"read-page-file-{name.replace('.', '-')}",
            summary=f"A file of the pages: {name}",
            tag="challenges",
            credential=Credential.NONE,
            work=Work.LOOP,
            handler=file(name),
            answer_type=media_type,
        )
        for name, media_type in FILE_TYPES.items()
    ),
    Route(
        method="POST",
        path="/challenge/proof/verify",
        name="verify-proof",
        summary="Verify a proof",
        description=(
            "With an API key, the proof must belong to the key's tenant. Without one, each address"
            " has 600 calls per minute. Answers `false` for a proof that is expired, changed,"
            " revoked or another tenant's. Whether the proof fits the client is checked by"
            " decisions only."
        ),
        tag="challenges",
        credential=Credential.OPTIONAL_API_KEY,
        handler=passes.verify,
        body=wire_challenges.ProofCheck,
        max_bytes=_SOLUTION_BYTES,
        answer=wire_challenges.ProofVerdict,
        refusals=("not-ready",),
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/passes",
        name="list-passes",
        summary="List passes, newest first",
        tag="challenges",
        permission=Permission.READ_RECORDS,
        handler=passes.list_,
        query=wire_challenges.PassesQuery,
        answer=list[wire_challenges.Pass],
    ),
    Route(
        method="DELETE",
        path=f"{_TENANT}/passes/{{pass_id}}",
        name="revoke-pass",
        summary="Revoke a pass and its proof",
        tag="challenges",
        permission=Permission.WRITE_DEFINITIONS,
        handler=passes.revoke,
        status=204,
        refusals=("decision-log-unavailable", "overloaded"),
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/challenge/self-test",
        name="test-challenges",
        summary="Test whether challenged visitors can get through",
        tag="challenges",
        permission=Permission.READ_DEFINITIONS,
        handler=self_test.self_test,
        answer=wire_challenges.SelfTest,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/results/challenges",
        name="read-challenge-results",
        summary="Count the outcomes of challenges by provider",
        description="Challenges are counted at the time when their page was first shown.",
        tag="results",
        permission=Permission.READ_DEFINITIONS,
        handler=self_test.results,
        query=wire_period.Span,
        answer=wire_challenges.ChallengeResults,
    ),
)
