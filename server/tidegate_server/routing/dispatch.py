"""The thin layer between HTTP and the handlers.

The order is route, credential, tenant, role, body, place, handler. Handlers are plain functions. A
route's kind of work says where its handler runs: on the loop, in a thread, or in a worker process.
An exception becomes a problem document.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs
from anyio import to_thread

from tidegate_server.hot.admission import KEY_HEADER
from tidegate_server.http.authorise import SECOND, bearer, caller_of, membership_in, require
from tidegate_server.http.exchange import read_body
from tidegate_server.http.given import Given, Sent
from tidegate_server.http.headers import request_id_of
from tidegate_server.http.latency import OTHER
from tidegate_server.http.problems import Problem
from tidegate_server.http.repeats import HEADER as IDEMPOTENCY_KEY
from tidegate_server.http.request import (
    only_header,
    path_ids,
    path_names,
    require_media_type,
)
from tidegate_server.offload.inbox import Inbox
from tidegate_server.offload.kinds import SECONDS, Work
from tidegate_server.offload.slots import Party
from tidegate_server.offload.throttle import LATE
from tidegate_server.operators.permissions import Role
from tidegate_server.routing.answering import answer, answer_in_time, saved_only
from tidegate_server.routing.route import Credential
from tidegate_server.routing.routes import ROUTES
from tidegate_server.stores.objects import memberships

if TYPE_CHECKING:
    from uuid import UUID

    from starlette.requests import Request
    from starlette.responses import Response

    from tidegate_server.control.app import Application
    from tidegate_server.http.application import Handler
    from tidegate_server.offload.slots import Holder
    from tidegate_server.routing.route import Route


_BY_NAME = {route.name: route for route in ROUTES}


def answer_by_name(name: str, given: Given, application: Application) -> Sent:
    """Return a route's answer by the route's name, in a worker."""
    return answer(application, _BY_NAME[name], given)


def control_plane(application: Application, routes: Iterable[Route] = ROUTES) -> dict[str, Handler]:
    """Return the handlers of the control plane, by path, from every route that has a handler."""
    by_path: dict[str, dict[str, Route]] = {}
    for route in routes:
        for path in route.paths if route.handler is not None else ():
            by_path.setdefault(path, {})[route.method] = route
    return {path: _Resource(application, methods) for path, methods in by_path.items()}


def nothing(application: Application) -> Handler:
    """Return the handler of requests without a route."""

    async def answer(request: Request) -> Response:
        started = application.access.now()
        given = _given(application, request)
        sent = given.refuse(Problem("not-found"))
        application.access.control(request.method, given, sent, started)
        seconds = application.access.now() - started
        application.latency.answered(OTHER, OTHER, sent.status, seconds)
        return sent.response()

    return answer


class _Resource:
    """Answers all methods of one path."""

    def __init__(self, application: Application, methods: Mapping[str, Route]) -> None:
        self._application = application
        self._methods = methods
        self._allowed = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))

    async def __call__(self, request: Request) -> Response:
        access = self._application.access
        started = access.now()
        given = _given(self._application, request)
        is_noted, name = True, (OTHER, OTHER)
        try:
            route = self._route(request)
            name = (route.paths[0], route.method)
            given = _with_headers(route, request, given)
            # Requests made every few seconds, such as health and metrics, are logged only on
            # failure.
            is_noted = route.work is not Work.LOOP
            sent = await _serve(self._application, route, request, given)
        except Exception as error:
            sent = given.refuse(error)
        self._application.latency.answered(*name, sent.status, access.now() - started)
        if is_noted or sent.status >= HTTPStatus.BAD_REQUEST:
            access.control(request.method, given, sent, started)
        if sent.status in LATE:
            await self._application.throttle.refused(_asking(request, given, sent))
        return sent.response()

    def _route(self, request: Request) -> Route:
        route = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            allowed = self._allowed
            raise Problem(
                "method-not-allowed", f"allowed are {allowed}", headers={"allow": allowed}
            )
        return route


def _asking(request: Request, given: Given, sent: Sent) -> Hashable:
    """Return the refused caller: by a valid credential, else by the client."""
    credential = request.headers.get("authorization")
    if credential is None or sent.status == HTTPStatus.UNAUTHORIZED:
        return given.client
    return credential


def _given(application: Application, request: Request) -> Given:
    """Return the facts about a request before its caller is admitted."""
    return Given(
        request_id=request_id_of(request.headers.raw),
        now=application.clock(),
        path=request.scope["path"],
        method=request.method,
        query=request.scope["query_string"],
        is_encrypted=request.scope.get("scheme") == "https",
        address=request.client.host if request.client else "",
        ids={},
    )


async def _serve(application: Application, route: Route, request: Request, given: Given) -> Sent:
    if route.work is Work.LOOP:
        authorization = only_header(request.headers, "authorization")
        return answer(application, route, attrs.evolve(given, authorization=authorization))
    given = await _admitted(application, route, request, given)
    # A slot is held while work is done, and never while a caller sends.
    given = await _with_body(application, route, request, given)
    given = attrs.evolve(
        given,
        if_match=only_header(request.headers, "if-match"),
        if_none_match=only_header(request.headers, "if-none-match"),
        idempotency_key=(
            only_header(request.headers, IDEMPOTENCY_KEY) if route.repeatable else None
        ),
    )
    with application.places[route.crowd].take(_holders(application, route, given)):
        if route.work.is_heavy:
            return await _work(application, route, given)
        if route.work in (Work.LOGIN, Work.FETCH):
            return await answer_in_time(application, route, given)
        threads = application.threads(route.crowd)
        return await to_thread.run_sync(answer, application, route, given, limiter=threads)


async def _admitted(
    application: Application, route: Route, request: Request, given: Given
) -> Given:
    """Return the request, once its caller is known to be allowed to make it.

    Raises:
        Problem: the credential is missing, or doesn't allow this.
        NotFoundError: the tenant doesn't exist, or the caller isn't a member.
    """
    if route.credential is Credential.OPTIONAL_API_KEY:
        key = only_header(request.headers, KEY_HEADER.decode())
        given = attrs.evolve(given, key_tenant_id=application.keyed(key, given.client))
    if route.credential is not Credential.OPERATOR:
        values = request.path_params
        return attrs.evolve(given, ids=path_ids(values), names=path_names(values))
    token = bearer(only_header(request.headers, "authorization"))
    return await to_thread.run_sync(
        _admit, application, route, request, given, token, limiter=application.admitting_threads
    )


def _admit(
    application: Application, route: Route, request: Request, given: Given, token: str
) -> Given:
    """Check the credential first, then the tenant, then the role."""
    with application.store.read() as connection:
        caller = caller_of(connection, application.tokens, token, given.now)
        ids = path_ids(request.path_params)
        if "tenant_id" not in ids:
            return attrs.evolve(given, ids=ids, caller=caller)
        membership = membership_in(connection, ids["tenant_id"], caller)
    if membership.accepted_at_ns is None:
        accept = partial(
            memberships.accept,
            tenant_id=membership.tenant_id,
            user_id=membership.user_id,
            now_ns=given.now,
        )
        application.store.write(accept)  # without waiting; if it fails, the next request notes it
    role = Role(membership.role)
    if route.permission is not None:
        require(role, route.permission)
    names = path_names(request.path_params)
    return attrs.evolve(given, ids=ids, names=names, caller=caller, role=role)


def _holders(application: Application, route: Route, given: Given) -> list[Holder]:
    """Return the holders that the request's slot counts for."""
    if given.caller is None:
        device = None
        if route.work is Work.LOGIN:
            # So strangers at an operator's address don't take the operator's slots.
            now, base_url = given.now // SECOND, application.base_url()
            device = application.devices.open(given.headers.get("cookie"), base_url, now)
        return [(Party.CLIENT, given.client if device is None else device.client)]
    holders: list[Holder] = [(Party.OPERATOR, given.caller.operator_id)]
    if "tenant_id" in given.ids:
        holders.append((Party.TENANT, given.ids["tenant_id"]))
    return holders


def _with_headers(route: Route, request: Request, given: Given) -> Given:
    """Add the headers that the route reads to the request."""
    found = {
        name: ", ".join(request.headers.getlist(name))
        for name in route.headers
        if name in request.headers
    }
    return attrs.evolve(given, headers=found, problem_page=route.problem_page)


async def _with_body(
    application: Application, route: Route, request: Request, given: Given
) -> Given:
    """Add the body to the request, with limits on its size and time, and per sender."""
    if route.body is None:
        return given
    media_type = require_media_type(request.headers.raw, route.media_types)
    holder = _holders(application, route, given)[0]
    with application.bodies.receiving(holder, request.receive) as receive:
        body = await read_body(request.scope, receive, route.max_bytes)
    return attrs.evolve(given, body=body, media_type=media_type)


async def _work(application: Application, route: Route, given: Given) -> Sent:
    """Return a worker's answer, which says so if its change isn't in effect yet."""
    inbox = Inbox(application)
    owner = _holders(application, route, given)[-1]
    job = partial(answer_by_name, route.name, given)
    late: list[UUID] = []
    try:
        sent = await application.workers.run(job, inbox, owner, SECONDS[route.work])
    finally:
        for tenant_id in inbox.changed:
            decides = await to_thread.run_sync(application.definitions_changed, tenant_id)
            if decides is False:
                late.append(tenant_id)
    return saved_only(sent, late[0]) if late else sent
