"""Problem documents: one list of codes, nothing internal in any of them."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from tidegate import EventError
from tidegate.errors import DefinitionsError
from tidegate_server.cluster.messages import Reason
from tidegate_server.http.problems import (
    KINDS,
    OUTCOME_NOT_KNOWN,
    ErrorDetail,
    Problem,
    Referrer,
    problem_document,
    problem_of,
    problem_of_reason,
    problem_response,
)


def document(problem: Problem) -> dict[str, object]:
    made: dict[str, object] = json.loads(problem_document(problem, "/api/v1/me", "abc"))
    return made


@pytest.mark.parametrize("code", KINDS)
def test_every_code_has_a_document(code: str) -> None:
    """The members of RFC 9457, the code and the request id; nothing that is empty."""
    made = document(Problem(code))
    assert set(made) == {
        "type", "title", "status", "detail", "instance", "code", "request_id",
    }  # fmt: skip
    assert made["code"] == code
    assert made["status"] == KINDS[code].status
    assert 400 <= KINDS[code].status <= 599


@pytest.mark.parametrize("code", KINDS)
def test_codes_are_kebab_case(code: str) -> None:
    """Every problem code is in kebab case."""
    assert code == "-".join(part for part in code.split("-") if part.isalpha() and part.islower())


def test_findings_and_referrers_are_listed() -> None:
    """A problem lists findings and referrers, only with members that say something."""
    errors = [ErrorDetail(detail="is wrong", pointer="/a", line=1, column=2)]
    made = document(Problem("invalid-request", errors=errors))
    assert made["errors"] == [{"detail": "is wrong", "pointer": "/a", "line": 1, "column": 2}]
    made = document(Problem("in-use", referrers=[Referrer(kind="policy", id="1", name="P")]))
    assert made["referrers"] == [{"kind": "policy", "id": "1", "name": "P"}]


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        *((reason, "not-ready") for reason in get_args(Reason) if reason != "full"),
        ("full", "overloaded"),
        ("internal-error", "internal-error"),
        (OUTCOME_NOT_KNOWN, "not-ready"),
        ("of a newer version", "not-ready"),
    ],
)
def test_a_request_that_no_process_answered_may_be_repeated(reason: str, code: str) -> None:
    """Each reason has its problem, an unknown one too, and all say when to come back."""
    problem = problem_of_reason(reason)
    assert (problem.code, problem.headers) == (code, {"retry-after": "1"})
    told = "may have been made" in problem.detail
    assert told == (reason == OUTCOME_NOT_KNOWN)


def test_an_unknown_failure_says_nothing_of_itself() -> None:
    """The text of an unknown exception is not sent."""
    problem = problem_of(RuntimeError("SELECT secret FROM /var/lib/tidegate"))
    assert problem.code == "internal-error"
    assert "secret" not in json.dumps(document(problem))


def test_failures_of_the_package_keep_their_code() -> None:
    """A refused event and refused definitions are the caller's to mend."""
    assert problem_of(EventError("no object", "/request")).errors[0].pointer == "/request"
    assert problem_of(DefinitionsError([], "")).code == "invalid-definitions"


def test_the_response_is_a_problem_document() -> None:
    """Content type, status, request id, and no cache keeps it."""
    response = problem_response(
        Problem("unauthenticated", headers={"www-authenticate": "Bearer"}),
        instance="/api/v1/me",
        request_id="abc",
    )
    assert response.status_code == 401
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-request-id"] == "abc"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["www-authenticate"] == "Bearer"
