"""A request once its caller is admitted, and its answer in serialised form."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import attrs
from starlette.responses import Response

from tidegate.edge.addresses import caller_of
from tidegate_server.http.headers import STRICT_TRANSPORT
from tidegate_server.http.problems import problem_of, problem_response

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.http.authorise import Caller
    from tidegate_server.http.problems import Problem
    from tidegate_server.operators.permissions import Role

log = logging.getLogger(__name__)

ProblemPage: TypeAlias = "Callable[[Problem, Given], Response]"
"""Shows a refusal to a browser."""


@attrs.frozen(kw_only=True)
class Given:
    """The content of a request, once its caller is admitted."""

    request_id: str
    now: int
    """Nanoseconds since 1970."""
    path: str
    query: bytes
    is_encrypted: bool
    address: str
    """The client's address, as trusted proxies report it; empty for a Unix socket."""
    ids: Mapping[str, UUID]
    method: str = "GET"
    names: Mapping[str, str] = attrs.field(factory=dict)
    authorization: str | None = attrs.field(default=None, repr=False)
    """The header, if the handler reads it."""
    caller: Caller | None = None
    role: Role | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """The headers of the request that the route names."""
    problem_page: ProblemPage | None = None
    """The problem page of the route."""
    key_tenant_id: UUID | None = None
    """The tenant whose API key came with the request, if the route reads one."""
    if_match: str | None = None
    if_none_match: str | None = None
    idempotency_key: str | None = attrs.field(default=None, repr=False)
    body: bytes = b""
    media_type: str = ""
    """The media type of the body."""

    @property
    def client(self) -> str:
        """The caller that limits count: the address, or its IPv6 network of 64 bits."""
        return caller_of(self.address)

    @property
    def wants_page(self) -> bool:
        """Whether the caller is a browser, which gets pages."""
        return "text/html" in self.headers.get("accept", "")

    def refuse(self, error: Exception) -> Sent:
        """Return the answer for an exception."""
        problem = problem_of(error)
        if problem.code == "internal-error":
            log.error("request %s failed", self.request_id, exc_info=error)
        if self.problem_page is not None and self.wants_page:
            made = self.problem_page(problem, self)
        else:
            made = problem_response(problem, instance=self.path, request_id=self.request_id)
        return attrs.evolve(Sent.of(made, self), code=problem.code)


@attrs.frozen
class Sent:
    """An answer in serialised form."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)
    code: str | None = None
    """The problem's code, for a refusal."""

    @classmethod
    def of(cls, response: Response, given: Given) -> Sent:
        """Serialise the response to a request."""
        headers = {**response.headers, "x-request-id": given.request_id}
        if given.is_encrypted:
            headers["strict-transport-security"] = STRICT_TRANSPORT
        return cls(response.status_code, headers, bytes(response.body))

    def response(self) -> Response:
        """Return the answer as a response."""
        return Response(self.body, self.status, self.headers)
