"""Errors that a client call can raise.

ClientError
├── UnreachableError        no answer came: refused, cut, name not found, TLS not valid
│   └── TimedOutError       no answer came in time
├── UnexpectedAnswerError   an answer that isn't the service's: a redirect, a strange body
├── ServiceError            the service refused, with a problem document
│   ├── BadRequestError         400, and what has no class of its own
│   ├── AuthenticationError     401
│   ├── ForbiddenError          403
│   ├── NotFoundError           404
│   ├── ConflictError           409, 412
│   ├── PayloadTooLargeError    413
│   ├── InvalidRequestError     422
│   ├── InvalidEventError       400 and 422 for what an event is; an EventError too
│   ├── RateLimitedError        429
│   └── UnavailableError        408 and 5xx
├── QueueFullError          an event was dropped: the queue had no room
└── ClientClosedError       the client was closed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from tidegate.errors import EventError, TidegateError


@attrs.frozen(kw_only=True)
class ErrorDetail:
    """One problem with a request; ``pointer`` leads into its body."""

    detail: str
    code: str | None = None
    pointer: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None


class ClientError(TidegateError):
    """Base of everything a call raises.

    ``code`` is stable.  ``status``, ``request_id`` and ``errors`` come from the problem document,
    if there is one; ``retry_after`` is how many seconds the service asks to wait.
    """

    code: str = "client-error"
    status: int | None = None
    request_id: str | None = None
    errors: tuple[ErrorDetail, ...] = ()
    retry_after: float | None = None

    is_transient: ClassVar[bool] = False
    """Whether the same call may succeed later: it is retried, and the fail mode covers it."""


class UnreachableError(ClientError):
    """No response came."""

    code = "unreachable"
    is_transient = True


class TimedOutError(UnreachableError):
    """No response came in time."""

    code = "timed-out"


class UnexpectedAnswerError(ClientError):
    """The response isn't the service's: a redirect (never followed), or malformed."""

    code = "unexpected-answer"
    is_transient = True

    def __init__(self, message: str, status: int) -> None:
        super().__init__(f"{message} (status {status})")
        self.status = status


class QueueFullError(ClientError):
    """An event was dropped, because the queue had no room for it."""

    code = "queue-full"


class ClientClosedError(ClientError):
    """The client was closed."""

    code = "client-closed"


class ServiceError(ClientError):
    """The service rejected the call, or something in front of it did.

    Args:
        status: the HTTP status.
        problem: the problem document; empty if the response had none.
        retry_after: seconds.
    """

    def __init__(
        self, status: int, problem: Mapping[str, Any], retry_after: float | None = None
    ) -> None:
        code, detail = problem.get("code"), problem.get("detail")
        self.code = code if isinstance(code, str) else f"http-{status}"
        self.detail = detail if isinstance(detail, str) else "no problem document came with it"
        super().__init__(f"{status} {self.code}: {self.detail}")
        self.status = status
        request_id = problem.get("request_id")
        self.request_id = request_id if isinstance(request_id, str) else None
        self.errors = _details(problem.get("errors"))
        self.retry_after = retry_after


class BadRequestError(ServiceError):
    """The request could not be read."""


class AuthenticationError(ServiceError):
    """The API key is missing, wrong, expired or revoked."""


class ForbiddenError(ServiceError):
    """The key lacks the permission."""


class NotFoundError(ServiceError):
    """The object does not exist, or belongs to another tenant."""


class ConflictError(ServiceError):
    """The request conflicts with the current state."""


class PayloadTooLargeError(ServiceError):
    """The body is too large."""


class InvalidRequestError(ServiceError):
    """The request is readable but invalid; ``errors`` says where."""


class InvalidEventError(InvalidRequestError, EventError):
    """The service rejects the event, as an engine would: ``pointer`` says where."""

    def __init__(
        self, status: int, problem: Mapping[str, Any], retry_after: float | None = None
    ) -> None:
        InvalidRequestError.__init__(self, status, problem, retry_after)
        self.message = self.detail
        self.pointer = next((each.pointer or "" for each in self.errors), "")
        self.offset = None
        self.is_unreadable = self.code == "invalid-json"


class RateLimitedError(ServiceError):
    """The rate limit of the key is exceeded."""

    is_transient = True


class UnavailableError(ServiceError):
    """The service could not respond now."""

    is_transient = True


_FAMILIES: Mapping[int, type[ServiceError]] = {
    401: AuthenticationError,
    403: ForbiddenError,
    404: NotFoundError,
    408: UnavailableError,
    409: ConflictError,
    412: ConflictError,
    413: PayloadTooLargeError,
    422: InvalidRequestError,
    429: RateLimitedError,
}


_EVENT_CODES = frozenset(("empty-payload", "invalid-event", "invalid-json"))


def service_error(status: int, problem: object, retry_after: float | None = None) -> ServiceError:
    """The error for a rejection, with the class that fits it.

    Args:
        problem: the parsed body, whatever it is.
    """
    document = problem if isinstance(problem, dict) else {}
    if status in (400, 422) and document.get("code") in _EVENT_CODES:
        return InvalidEventError(status, document, retry_after)
    family = UnavailableError if status >= 500 else _FAMILIES.get(status, BadRequestError)
    return family(status, document, retry_after)


def _details(found: object) -> tuple[ErrorDetail, ...]:
    if not isinstance(found, Sequence) or isinstance(found, str):
        return ()
    return tuple(_detail(each) for each in found if isinstance(each, dict))


def _detail(found: dict[str, Any]) -> ErrorDetail:
    def text(name: str) -> str | None:
        value = found.get(name)
        return value if isinstance(value, str) else None

    def number(name: str) -> int | None:
        value = found.get(name)
        return value if isinstance(value, int) else None

    return ErrorDetail(
        detail=text("detail") or "",
        code=text("code"),
        pointer=text("pointer"),
        line=number("line"),
        column=number("column"),
        hint=text("hint"),
    )
