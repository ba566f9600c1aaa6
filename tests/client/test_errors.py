"""Problem documents as exceptions."""

from __future__ import annotations

import pytest

from tidegate.client.answer import Answer
from tidegate.client.errors import (
    AuthenticationError,
    BadRequestError,
    ClientError,
    ConflictError,
    ErrorDetail,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    PayloadTooLargeError,
    RateLimitedError,
    ServiceError,
    UnavailableError,
    service_error,
)
from tidegate.errors import TidegateError


@pytest.mark.parametrize(
    ("status", "family"),
    [
        (400, BadRequestError),
        (401, AuthenticationError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (405, BadRequestError),
        (408, UnavailableError),
        (409, ConflictError),
        (412, ConflictError),
        (413, PayloadTooLargeError),
        (415, BadRequestError),
        (422, InvalidRequestError),
        (429, RateLimitedError),
        (500, UnavailableError),
        (503, UnavailableError),
        (504, UnavailableError),
    ],
)
def test_every_status_has_its_family(status: int, family: type[ServiceError]) -> None:
    """Each status becomes one class of error, and all are Tidegate's."""
    error = service_error(status, {"code": "some-code", "detail": "too bad"})
    assert type(error) is family
    assert isinstance(error, ClientError)
    assert isinstance(error, TidegateError)
    assert str(error) == f"{status} some-code: too bad"


def test_every_code_of_the_service_keeps_its_code() -> None:
    """The list of the service and the client's families fit: none is taken for a stranger."""
    problems = pytest.importorskip("tidegate_server.http.problems", reason="needs tidegate[server]")
    for code, kind in problems.KINDS.items():
        error = service_error(kind.status, {"code": code, "detail": kind.title})
        assert (error.code, error.status) == (code, kind.status)
        assert error.is_transient == (kind.status in (408, 429) or kind.status >= 500)


def test_a_problem_keeps_its_places() -> None:
    """The findings of a problem become objects; members unknown to the client are dropped."""
    document = {
        "code": "invalid-event",
        "detail": "x",
        "request_id": "r-1",
        "errors": [{"detail": "no address", "pointer": "/request/client_ip", "new": 1}, "junk"],
    }
    error = service_error(422, document)
    assert error.request_id == "r-1"
    assert error.errors == (ErrorDetail(detail="no address", pointer="/request/client_ip"),)


@pytest.mark.parametrize(
    "document",
    [None, [], "text", {}, {"code": 1, "detail": [], "request_id": {}, "errors": "x"}],
)
def test_a_refusal_by_something_else_is_still_an_error(document: object) -> None:
    """A proxy's page has no code; the status gives one."""
    error = service_error(502, document)
    assert (error.code, error.status, error.request_id, error.errors) == ("http-502", 502, None, ())


def test_a_page_is_not_read_as_a_problem() -> None:
    """An answer is read as a problem only where its content type says so."""
    answer = Answer(503, {"content-type": "text/html", "retry-after": "4"}, b'{"code": "x"}')
    with pytest.raises(UnavailableError) as caught:
        answer.json()
    assert (caught.value.code, caught.value.retry_after) == ("http-503", 4)
    broken = Answer(400, {"content-type": "application/problem+json"}, b"{")
    with pytest.raises(BadRequestError, match="http-400"):
        broken.json()
