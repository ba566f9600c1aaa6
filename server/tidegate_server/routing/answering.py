"""Answering an admitted request: the same in a thread and in a worker."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
from starlette.responses import Response

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import next_page
from tidegate_server.http.convert import convert_body, convert_parameters, member_types
from tidegate_server.http.forms import FORM, read_form
from tidegate_server.http.given import Sent
from tidegate_server.http.headers import DATA_HEADERS, activity
from tidegate_server.http.json_body import read_json_body
from tidegate_server.http.preconditions import Precondition, entity_tag, is_unchanged, read_tags
from tidegate_server.http.problems import Problem
from tidegate_server.http.read_only_members import members, require
from tidegate_server.http.repeats import REPLAYED, Repeatable
from tidegate_server.http.request import query_parameters
from tidegate_server.stores.objects import kept_answers
from tidegate_server.wire import documents as wire_documents

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.control.app import Application
    from tidegate_server.http.given import Given
    from tidegate_server.routing.route import Route

_REVISION = "revision"
_TELLS_REVISION = frozenset({_REVISION, "updated_at"})


def answer(application: Application, route: Route, given: Given) -> Sent:
    """Return the answer of a route; a refusal is an answer too."""
    try:
        call = _call(application, route, given)
        return Sent.of(_respond(route, call, given, _answered(route, call)), given)
    except Exception as error:
        return given.refuse(error)


async def answer_in_time(application: Application, route: Route, given: Given) -> Sent:
    """Do the same for a route with a handler that waits for others on the loop."""
    try:
        call = _call(application, route, given)
        return Sent.of(_respond(route, call, given, await _handled(route, call)), given)
    except Exception as error:
        return given.refuse(error)


def saved_only(sent: Sent, tenant_id: UUID) -> Sent:
    """Return the answer to a change that is saved while the previous definitions still decide."""
    if sent.status >= HTTPStatus.BAD_REQUEST:
        return sent
    headers = {**sent.headers, **activity(tenant_id, False)}
    body = _saved_only(sent.body)
    return attrs.evolve(sent, headers={**headers, "content-length": str(len(body))}, body=body)


def _saved_only(body: bytes) -> bytes:
    """Return the body with the changes of definitions marked as not active yet."""
    # An answer about a pack first: it has all members of an answer about a document.
    for changes in (wire_documents.PackChanges, wire_documents.DocumentChanges):
        with suppress(msgspec.DecodeError):
            made: Any = msgspec.json.decode(body, type=changes)
            return msgspec.json.encode(attrs.evolve(made, active=False))
    return body


def _answered(route: Route, call: Call) -> Any:
    """Return the first answer of a repeated call, else the handler's answer."""
    first = _first_answer(call)
    if first is not None:
        return first
    try:
        return _handled(route, call)
    except Exception:
        # The same call may have been answered since; then its object conflicts with this one.
        first = _first_answer(call)
        if first is None:
            raise
        return first


def _first_answer(call: Call) -> Answer | None:
    """Return the earlier answer to the same call, if there was one.

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
        method=given.method,
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
    return _unchanged(route, call)


def _parameters(route: Route, given: Given) -> dict[str, str]:
    """Return the query parameters that the route reads."""
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


def _unchanged(route: Route, call: Call) -> Call:
    """Return the call if it states nothing false about its object.

    A revision that was sent back counts as ``If-Match``: the write is refused if the object changes
    first.

    Raises:
        NotFoundError: the object doesn't exist.
        Problem: ``invalid-request`` for a member that differs; ``stale-revision`` for any revision
            but the present one.
    """
    given = call.given_back.get("")
    if not given:
        return call
    present: dict[str, Any] = {name: str(value) for name, value in call.ids.items()}
    revision = None
    if route.present is not None:
        found: Any = route.present(call)
        revision = found.revision
        if found.body is not None:
            present |= members(found.body, given)
    if revision is None:
        require(given, present, route.answer)
        return call
    if _REVISION in given:
        _pinned(given[_REVISION]).require(revision)
    require(given, present, route.answer)
    if not _TELLS_REVISION & given.keys():
        return call
    if call.precondition is not None:
        call.precondition.require(revision)
    return attrs.evolve(call, precondition=_pinned(revision))


def _pinned(revision: int) -> Precondition:
    return Precondition(frozenset({entity_tag(revision)}))


@attrs.frozen
class _NoQuery:
    """The query of a route without parameters."""


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
