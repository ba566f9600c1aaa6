"""An admitted request and its answer: the same in a thread and in a worker."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
from starlette.responses import Response

from tidegate.edge.addresses import caller_of
from tidegate.server import wire
from tidegate.server.http.call import Answer, Call
from tidegate.server.http.convert import convert_body, convert_parameters, member_types
from tidegate.server.http.forms import FORM, read_form
from tidegate.server.http.given_back import unchanged
from tidegate.server.http.headers import DATA_HEADERS, STRICT_TRANSPORT, activity
from tidegate.server.http.json_body import read_json_body
from tidegate.server.http.pages import next_page
from tidegate.server.http.preconditions import entity_tag, is_unchanged, read_tags
from tidegate.server.http.problems import Problem, problem_of, problem_response
from tidegate.server.http.repeats import REPLAYED, Repeatable
from tidegate.server.http.request import query_parameters
from tidegate.stores.objects import kept_answers

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.operators.permissions import Role
    from tidegate.server.http.call import Caller
    from tidegate.server.routing.context import Application
    from tidegate.server.routing.route import ProblemPage, Route

log = logging.getLogger(__name__)


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
    """The address of the client, as trusted proxies name it; empty for a Unix socket."""
    ids: Mapping[str, UUID]
    names: Mapping[str, str] = attrs.field(factory=dict)
    authorization: str | None = attrs.field(default=None, repr=False)
    """The header, where the handler looks at it."""
    caller: Caller | None = None
    role: Role | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Headers that the route names and the request has."""
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
        """Whether a browser asks, which shows pages."""
        return "text/html" in self.headers.get("accept", "")

    def refuse(self, error: Exception) -> Sent:
        """The answer for an exception."""
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
    """An answer as it goes over the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)
    code: str | None = None
    """The code of the problem, for a refusal."""

    @classmethod
    def of(cls, response: Response, given: Given) -> Sent:
        """The answer for a response to a request."""
        headers = {**response.headers, "x-request-id": given.request_id}
        if given.is_encrypted:
            headers["strict-transport-security"] = STRICT_TRANSPORT
        return cls(response.status_code, headers, bytes(response.body))

    def saved_only(self, tenant_id: UUID) -> Sent:
        """The same answer about a change that is saved while the definitions of before decide."""
        if self.status >= HTTPStatus.BAD_REQUEST:
            return self
        headers = {**self.headers, **activity(tenant_id, False)}
        body = self.body
        with suppress(msgspec.DecodeError):
            changes = msgspec.json.decode(body, type=wire.DocumentChanges)
            body = msgspec.json.encode(attrs.evolve(changes, active=False))
        return attrs.evolve(self, headers={**headers, "content-length": str(len(body))}, body=body)

    def response(self) -> Response:
        """The answer as a response."""
        return Response(self.body, self.status, self.headers)


def answer(application: Application, route: Route, given: Given) -> Sent:
    """The answer of a route; a refusal is an answer too."""
    try:
        call = _call(application, route, given)
        return Sent.of(_respond(route, call, given, _answered(route, call)), given)
    except Exception as error:
        return given.refuse(error)


async def answer_in_time(application: Application, route: Route, given: Given) -> Sent:
    """The same, of a route whose handler waits for others on the loop."""
    try:
        call = _call(application, route, given)
        return Sent.of(_respond(route, call, given, await _handled(route, call)), given)
    except Exception as error:
        return given.refuse(error)


def answer_by_name(name: str, given: Given, application: Application) -> Sent:
    """The same, of the route of a name: in a worker."""
    return answer(application, _routes()[name], given)


@cache
def _routes() -> Mapping[str, Route]:
    # The table names the handlers, and the handlers import this module.
    from tidegate.server.routing.routes import ROUTES

    return {route.name: route for route in ROUTES}


def _answered(route: Route, call: Call) -> Any:
    """The first answer of a call that is repeated, else the answer of the handler."""
    first = _first_answer(call)
    if first is not None:
        return first
    try:
        return _handled(route, call)
    except Exception:
        # The same call may have been answered since; then its object is in the way of this one.
        first = _first_answer(call)
        if first is None:
            raise
        return first


def _first_answer(call: Call) -> Answer | None:
    """The earlier answer to the same call, if there was one.

    Raises:
        Problem: ``idempotency-key-reused``.
    """
    if call.repeatable is None:
        return None
    with call.app.store.read() as connection:
        kept = kept_answers.find(connection, call.repeatable.name, call.now)
    if kept is None:
        return None
    body, revision, location = call.repeatable.opened(kept)
    return Answer(body=body, revision=revision, location=location, headers=REPLAYED)


def _handled(route: Route, call: Call) -> Any:
    if route.handler is None:
        raise Problem("not-found")
    return route.handler(call)


def _call(application: Application, route: Route, given: Given) -> Call:
    query = convert_parameters(_parameters(route, given), route.query or _NoQuery)
    content = None
    given_back: dict[str, dict[str, Any]] = {}
    if route.body is not None and route.body is not bytes:
        is_form = given.media_type == FORM
        members = read_form(given.body) if is_form else read_json_body(given.body)
        content = convert_body(members, route.body, given_back)
    is_conditional = route.conditional and route.method != "GET"
    call = Call(
        app=application,
        request_id=given.request_id,
        now=given.now,
        path=given.path,
        address=given.address,
        authorization=given.authorization,
        ids=given.ids,
        names=given.names,
        caller=given.caller,
        role=given.role,
        query=query,
        headers=given.headers,
        wants_page=given.wants_page,
        key_tenant_id=given.key_tenant_id,
        body=content,
        raw_body=given.body,
        precondition=read_tags("if-match", given.if_match) if is_conditional else None,
        given_back=given_back,
        repeatable=_repeatable(application, route, given),
    )
    return unchanged(route, call)


def _parameters(route: Route, given: Given) -> dict[str, str]:
    """The parameters of the query that the route is to read."""
    found = query_parameters(given.query)
    if not route.open_query:
        return found
    known = member_types(route.query)
    return {name: value for name, value in found.items() if name in known}


def _repeatable(application: Application, route: Route, given: Given) -> Repeatable | None:
    if not route.repeatable or given.idempotency_key is None or given.caller is None:
        return None
    return Repeatable.of(
        given.idempotency_key,
        secret=application.keys.pepper,
        operator_id=given.caller.operator_id,
        tenant_id=given.ids.get("tenant_id"),
        path=given.path,
        body=given.body,
        now=given.now,
    )


@attrs.frozen
class _NoQuery:
    """The query of a route that takes none."""


def _respond(route: Route, call: Call, given: Given, answer: Answer | Response) -> Response:
    if isinstance(answer, Response):
        return answer
    headers = dict(DATA_HEADERS)
    if answer.revision is not None:
        headers["etag"] = entity_tag(answer.revision)
        if route.method == "GET" and is_unchanged(given.if_none_match, headers["etag"]):
            return Response(status_code=304, headers=headers)
    if answer.location is not None:
        headers["location"] = answer.location
    headers.update(answer.headers)
    if answer.next is not None:
        headers["link"] = f'<{next_page(call, answer.next)}>; rel="next"'
    if answer.body is None:
        return Response(status_code=route.status, headers=headers)
    content = msgspec.json.encode(answer.body)
    return Response(content, route.status, headers, media_type="application/json")
