"""Refusals of the service: problem documents (RFC 9457), each with a stable code.

Exceptions become a status and a body only here. An unlisted exception becomes ``internal-error``
with the id of the request, and its text isn't sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from tidegate.errors import DefinitionsError, EventError, WorkerError
from tidegate.policy.definitions.findings import Finding
from tidegate_server.http.headers import DATA_HEADERS
from tidegate_server.stores.base import (
    ConflictError,
    DamagedDatabaseError,
    DamagedLogError,
    NotFoundError,
    StaleRevisionError,
    StoreBusyError,
    StoreUnavailableError,
)

CONTENT_TYPE = "application/problem+json"
_RETRY = {"retry-after": "1"}


@attrs.frozen
class Kind:
    """The common parts of all problems with one code."""

    status: int
    title: str

    @property
    def meaning(self) -> str:
        """The title as part of a sentence."""
        return self.title[0].lower() + self.title[1:]


KINDS: Mapping[str, Kind] = {
    "malformed-request": Kind(400, "The request can't be read"),
    "invalid-json": Kind(400, "The body isn't strict JSON"),
    "unauthenticated": Kind(401, "A valid credential is needed"),
    "second-factor-required": Kind(401, "The login needs a code of the second factor"),
    "forbidden": Kind(403, "The role does not allow this"),
    "challenge-not-opened": Kind(403, "A challenge is not opened ahead of the visitor"),
    "sync-not-permitted": Kind(403, "The API key may not sync"),
    "not-found": Kind(404, "The object doesn't exist, or it isn't yours"),
    "method-not-allowed": Kind(405, "The resource does not know this method"),
    "request-timeout": Kind(408, "The request did not arrive in time"),
    "challenge-solved": Kind(409, "The challenge is solved already"),
    "conflict": Kind(409, "The change conflicts with the present state"),
    "not-recorded": Kind(409, "The decision can't be made a test that means the same"),
    "refresh-off": Kind(409, "The service does not fetch lists"),
    "in-use": Kind(409, "Other objects refer to this one"),
    "last-owner": Kind(409, "A tenant keeps at least one Owner"),
    "unknown-cursor": Kind(410, "The changes after this number are not known any more"),
    "challenge-expired": Kind(410, "The challenge is over"),
    "stale-revision": Kind(412, "The object has changed since it was read"),
    "body-too-large": Kind(413, "The body is too large"),
    "unsupported-media-type": Kind(415, "The body must be JSON"),
    "invalid-request": Kind(422, "The request is not valid"),
    "challenge-failed": Kind(422, "The solution does not solve the challenge"),
    "challenge-too-early": Kind(422, "The wait is not over"),
    "invalid-definitions": Kind(422, "The definitions would not hold together"),
    "invalid-event": Kind(422, "The event is not valid"),
    "empty-payload": Kind(422, "The payload is empty"),
    "idempotency-key-reused": Kind(422, "The idempotency key belongs to another body"),
    "rate-limited": Kind(429, "The rate limit is exceeded"),
    "too-many-requests": Kind(429, "Too many requests of one caller are under way"),
    "headers-too-large": Kind(431, "The address and headers are too large"),
    "damaged-records": Kind(500, "Records in the database are damaged"),
    "internal-error": Kind(500, "The service failed"),
    "challenge-provider-unavailable": Kind(503, "The challenge cannot be checked now"),
    "decision-log-unavailable": Kind(503, "The decision log cannot be written"),
    "definitions-unavailable": Kind(503, "The definitions of the tenant cannot be used"),
    "store-unavailable": Kind(503, "The store cannot be reached"),
    "work-ended": Kind(503, "The work was ended before it was done"),
    "not-ready": Kind(503, "The service cannot decide now"),
    "overloaded": Kind(503, "The service has more work than it can take"),
}
"""Every code that a problem document can have. Codes never change their meaning."""


OUTCOME_NOT_KNOWN = "outcome-not-known"
"""The reason of a change that may have been made."""
_REASONS: Mapping[str, tuple[str, str]] = {
    "full": ("overloaded", "too many calls wait for the tenant's owner"),
    "no-owner": ("not-ready", "no process decides for the tenant at the moment"),
    "unanswered": ("not-ready", "the process that decides for the tenant does not answer"),
    "internal-error": ("internal-error", ""),
    OUTCOME_NOT_KNOWN: (
        "not-ready",
        "the process that was asked ended before it answered, so the change may have been made:"
        " look before you repeat it",
    ),
}
"""Code and detail for each reason why another process gave no answer."""


@attrs.frozen(kw_only=True)
class ErrorDetail:
    """One mistake in a request.

    ``pointer`` leads into the body; ``parameter`` and ``header`` name the place outside of it.
    For an expression, ``line`` and ``column`` count from one within its text; for JSON that
    cannot be read, within the body.
    """

    detail: str
    code: str | UnsetType = UNSET
    pointer: str | UnsetType = UNSET
    parameter: str | UnsetType = UNSET
    header: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    hint: str | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class Referrer:
    """An object that prevents a deletion."""

    kind: str
    id: str
    name: str


@attrs.frozen(kw_only=True)
class ProblemDocument:
    """The body of every error."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    errors: Sequence[ErrorDetail] | UnsetType = UNSET
    referrers: Sequence[Referrer] | UnsetType = UNSET


class Problem(Exception):  # noqa: N818 - RFC 9457's name for it
    """A refusal to be sent.

    Args:
        code: one of ``KINDS``.
        detail: lower case, no final stop; defaults to the code's title.
        errors: all mistakes, if there can be several.
        referrers: for ``in-use``.
        headers: headers sent with the answer.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        errors: Sequence[ErrorDetail] = (),
        referrers: Sequence[Referrer] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = KINDS[code]
        super().__init__(detail or self.kind.title)
        self.code = code
        self.detail = detail or self.kind.meaning
        self.errors = tuple(errors)
        self.referrers = tuple(referrers)
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        return self.kind.status


def problem_of(error: BaseException) -> Problem:
    """Return the problem for an exception; ``internal-error`` if it is unknown."""
    match error:
        case Problem():
            return error
        case EventError():
            place = ErrorDetail(detail=error.message, pointer=error.pointer)
            return Problem("invalid-event", error.message, errors=[place])
        case DefinitionsError():
            findings = [each for each in error.diagnostics if isinstance(each, Finding)]
            return Problem("invalid-definitions", errors=[error_of_finding(e) for e in findings])
        case NotFoundError():
            return Problem("not-found")
        case ConflictError():
            return Problem("conflict", str(error))
        case DamagedLogError(seq=first, last_seq=last):
            return Problem("damaged-records", f"records {first} to {last}: {error}")
        case DamagedDatabaseError():
            return Problem("damaged-records", str(error))
        case StaleRevisionError(found=found):
            detail = f"the present revision is {found}; read the object again"
            return Problem("stale-revision", detail, headers={"etag": f'"{found}"'})
        case StoreBusyError():
            return Problem("overloaded", "too much is waiting to be written", headers=_RETRY)
        case StoreUnavailableError():
            return Problem("store-unavailable", "the store cannot be written now", headers=_RETRY)
        case WorkerError():
            return Problem("work-ended", str(error), headers=_RETRY)
    return Problem("internal-error", "the failure is recorded under the request id")


def problem_of_reason(reason: str) -> Problem:
    """Return the problem of a request that another process didn't answer.

    Args:
        reason: of ``cluster/messages.py``, or one of this module; a newer process may send others.
    """
    return Problem(*_REASONS.get(reason, _REASONS["unanswered"]), headers=_RETRY)


def error_of_finding(finding: Finding, pointer: str | None = None) -> ErrorDetail:
    """Return the error for a finding about a definition.

    Pass ``pointer`` if the body isn't the whole document.
    """
    return ErrorDetail(
        detail=finding.message,
        code=finding.code,
        pointer=finding.pointer if pointer is None else pointer,
        line=UNSET if finding.line is None else finding.line,
        column=UNSET if finding.column is None else finding.column,
        hint=UNSET if finding.hint is None else finding.hint,
    )


def meanings() -> dict[str, str]:
    """The meaning of every code, for ``tidegate explain-code``."""
    return {
        code: f"{kind.title}. The service answers it with status {kind.status}."
        for code, kind in KINDS.items()
    }


def problem_document(problem: Problem, instance: str, request_id: str) -> bytes:
    """Return the body of a problem.

    Args:
        instance: the requested path.
        request_id: the id of the request in the logs.
    """
    return msgspec.json.encode(
        ProblemDocument(
            type=f"/docs#problem-{problem.code}",
            title=problem.kind.title,
            status=problem.status,
            detail=problem.detail,
            instance=instance,
            code=problem.code,
            request_id=request_id,
            errors=problem.errors or UNSET,
            referrers=problem.referrers or UNSET,
        )
    )


def problem_response(problem: Problem, *, instance: str, request_id: str) -> Response:
    """Return the answer for a problem, which is also an ASGI application."""
    return Response(
        problem_document(problem, instance, request_id),
        status_code=problem.status,
        headers={**DATA_HEADERS, **problem.headers, "x-request-id": request_id},
        media_type=CONTENT_TYPE,
    )
