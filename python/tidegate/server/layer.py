"""The thin layer between HTTP and the handlers.

In order: route, credential, tenant, role, query, body, handler.  Handlers are plain functions
that run in worker threads; what they raise becomes a problem document here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import attrs
import msgspec
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from tidegate.server.authorise import caller_of, require, role_in
from tidegate.server.call import Answer, Call
from tidegate.server.conversion import convert_body, convert_parameters
from tidegate.server.headers import DATA_HEADERS, STRICT_TRANSPORT
from tidegate.server.json_body import read_json_body
from tidegate.server.pages import next_page
from tidegate.server.preconditions import entity_tag, is_unchanged, read_tags
from tidegate.server.problems import Problem, problem_of, problem_response
from tidegate.server.request import (
    only_header,
    path_as_written,
    path_ids,
    query_parameters,
    read_body,
    request_id_of,
    require_media_type,
)
from tidegate.server.route import Credential
from tidegate.server.routes import ROUTES

if TYPE_CHECKING:
    from uuid import UUID

    from starlette.types import Receive, Scope, Send

    from tidegate.operators.permissions import Role
    from tidegate.server.application import Application
    from tidegate.server.call import Caller
    from tidegate.server.route import Route

log = logging.getLogger(__name__)


def control_plane(application: Application, routes: Iterable[Route] = ROUTES) -> Starlette:
    """The control plane as an ASGI application: every route that has a handler."""
    by_path: dict[str, dict[str, Route]] = {}
    for route in routes:
        for path in route.paths if route.handler is not None else ():
            by_path.setdefault(path, {})[route.method] = route
    # An endpoint that is no function is given every method, and answers for those it lacks.
    mounted = [
        StarletteRoute(path, _Resource(application, methods)) for path, methods in by_path.items()
    ]
    made = _ControlPlane(routes=mounted)
    made.router.redirect_slashes = False
    made.router.default = _nothing
    return made


class _ControlPlane(Starlette):
    """Routes on paths as they were written."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": path_as_written(scope)}
        await super().__call__(scope, receive, send)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """What answers where there is no route."""
    if scope["type"] == "http":
        request = Request(scope)
        response = _refuse(request, request_id_of(request.headers), Problem("not-found"))
        await response(scope, receive, send)


class _Resource:
    """The methods of one path, as an ASGI application."""

    def __init__(self, application: Application, methods: Mapping[str, Route]) -> None:
        self._application = application
        self._methods = methods
        self._allowed = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        request_id = request_id_of(request.headers)
        try:
            response = await _serve(self._application, self._route(request), request, request_id)
        except Exception as error:
            problem = problem_of(error)
            if problem.code == "internal-error":
                log.exception("request %s failed", request_id)
            response = _refuse(request, request_id, problem)
        await response(scope, receive, send)

    def _route(self, request: Request) -> Route:
        route = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            allowed = self._allowed
            raise Problem(
                "method-not-allowed", f"allowed are {allowed}", headers={"allow": allowed}
            )
        return route


@attrs.frozen
class _Admitted:
    """Who was let in, and where."""

    ids: Mapping[str, UUID]
    caller: Caller | None = None
    role: Role | None = None


async def _serve(
    application: Application, route: Route, request: Request, request_id: str
) -> Response:
    now = application.clock()
    admitted = await to_thread.run_sync(_admit, application, route, request, now)
    body = b""
    if route.body is not None:
        require_media_type(request.headers.raw, route.media_types)
        body = await read_body(request.headers, request.receive, route.max_bytes)

    def work() -> Response:
        call = _call(application, route, request, admitted, body, now, request_id)
        if route.handler is None:
            raise Problem("not-found")
        return _respond(route, call, request, route.handler(call))

    return await to_thread.run_sync(work)


def _admit(application: Application, route: Route, request: Request, now: int) -> _Admitted:
    """The credential first, then the tenant, then the role."""
    if route.credential is not Credential.OPERATOR:
        return _Admitted(path_ids(request.path_params))
    header = only_header(request.headers, "authorization")
    with application.store.read() as connection:
        caller = caller_of(connection, application.tokens, header, now)
        ids = path_ids(request.path_params)
        if "tenant_id" not in ids:
            return _Admitted(ids, caller)
        role = role_in(connection, ids["tenant_id"], caller)
    if route.permission is not None:
        require(role, route.permission)
    return _Admitted(ids, caller, role)


def _call(
    application: Application,
    route: Route,
    request: Request,
    admitted: _Admitted,
    body: bytes,
    now: int,
    request_id: str,
) -> Call:
    parameters = query_parameters(request.scope["query_string"])
    query = convert_parameters(parameters, route.query or _NoQuery)
    if route.body is None or route.body is bytes:
        content = None
    else:
        content = convert_body(read_json_body(body), route.body)
    conditional = route.conditional and route.method != "GET"
    return Call(
        app=application,
        request_id=request_id,
        now=now,
        path=request.scope["path"],
        ids=admitted.ids,
        caller=admitted.caller,
        role=admitted.role,
        query=query,
        body=content,
        raw_body=body,
        precondition=(
            read_tags("if-match", only_header(request.headers, "if-match")) if conditional else None
        ),
    )


@attrs.frozen
class _NoQuery:
    """The query of a route that takes none."""


def _respond(route: Route, call: Call, request: Request, answer: Answer | Response) -> Response:
    if isinstance(answer, Response):
        answer.headers.update({"x-request-id": call.request_id, **_transport(request)})
        return answer
    headers = {**DATA_HEADERS, "x-request-id": call.request_id, **_transport(request)}
    if answer.revision is not None:
        headers["etag"] = entity_tag(answer.revision)
        if route.method == "GET" and is_unchanged(
            only_header(request.headers, "if-none-match"), headers["etag"]
        ):
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


def _refuse(request: Request, request_id: str, problem: Problem) -> Response:
    response = problem_response(problem, instance=request.scope["path"], request_id=request_id)
    response.headers.update(_transport(request))
    return response


def _transport(request: Request) -> dict[str, str]:
    if request.scope.get("scheme") != "https":
        return {}
    return {"strict-transport-security": STRICT_TRANSPORT}
