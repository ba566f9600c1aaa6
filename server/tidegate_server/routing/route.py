"""A route as data: everything about it is declared once, here."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from tidegate_server.http.json_body import MAX_BYTES
from tidegate_server.offload.kinds import Crowd, Work

if TYPE_CHECKING:
    from starlette.responses import Response

    from tidegate_server.control.call import Answer, Call
    from tidegate_server.http.given import ProblemPage
    from tidegate_server.operators.permissions import Permission

PREFIX = "/api/v1"
Handler: TypeAlias = "Callable[[Call], Answer | Response | Coroutine[Any, Any, Answer]]"
Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Credential(Enum):
    """The credential that a caller has to present."""

    NONE = "nothing"
    API_KEY = "the API key header"
    SYNC_KEY = "the API key header, with a key that may sync"
    OPTIONAL_API_KEY = "the API key header, by those who have a key"
    OPERATOR = "an operator's token"
    METRICS = "the metrics token, where the settings do not show the figures to anybody"


@attrs.frozen(kw_only=True)
class Route:
    """One method of one path.

    Attributes:
        path: with ``{names}``; under ``PREFIX`` unless ``rooted``.
        name: the operation's unique name, as in ``list-actions``.
        summary: one line for the documentation; ``description`` has the details.
        tag: its group in the documentation.
        credential: the credential that the caller has to present.
        permission: the permission that the caller's role in ``{tenant_id}`` must have.
        handler: None for requests answered before the control plane; a page returns its own
            response.
        work: the kind of work of the handler, which says where it runs.
        body: the class of the request body; bytes for one that the handler reads itself.
        query: the class of the query parameters.
        open_query: ignore unknown parameters, as others wrote the query.
        headers: names of request headers that the handler reads, in lower case.
        answer: the class of the answer, or a list of it; None for no body.
        status: of success.
        also: further answers that aren't problems, by status.
        present: returns the present state of the object that a write changes, for members sent back
            with the write; None for a new object.
        refusals: codes of problems that the handler itself can raise.
        conditional: the object has a revision: ETag, ``If-Match`` or ``If-None-Match``.
        also_bare: the specification shows the path without the prefix; both lead here.
        rooted: the path has no prefix at all.
        any_method: the path treats all methods alike.
        cookie: the purpose of the answer's cookie in the browser; None for no cookie.
        repeatable: takes an idempotency key; the handler keeps its answer with its change.
        problem_page: how a refusal is shown to a browser; None if browsers don't use the route.
        max_bytes: size limit of the request body.
        media_types: of the request body; ``answer_type`` is the media type of the answer.
    """

    method: Method
    path: str
    name: str
    summary: str
    description: str = ""
    tag: str
    credential: Credential = Credential.OPERATOR
    permission: Permission | None = None
    handler: Handler | None
    work: Work = Work.LIGHT
    body: Any = None
    query: Any = None
    open_query: bool = False
    headers: tuple[str, ...] = ()
    answer: Any = None
    status: int = 200
    also: Mapping[int, str] = attrs.field(factory=dict)
    present: Handler | None = None
    refusals: tuple[str, ...] = ()
    conditional: bool = False
    also_bare: bool = False
    rooted: bool = False
    any_method: bool = False
    cookie: str | None = None
    repeatable: bool = False
    problem_page: ProblemPage | None = None
    max_bytes: int = MAX_BYTES
    media_types: tuple[str, ...] = ("application/json",)
    answer_type: str = "application/json"

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path of this route, the preferred one first."""
        if self.rooted:
            return (self.path,)
        prefixed = PREFIX + self.path
        return (prefixed, self.path) if self.also_bare else (prefixed,)

    @property
    def crowd(self) -> Crowd:
        """The group of requests that this route shares slots and threads with."""
        crowd = self.work.crowd
        if self.credential is not Credential.OPERATOR:
            return Crowd.PUBLIC if crowd is Crowd.LIGHT else crowd
        # An operator with a token doesn't wait for a slot with strangers who log in.
        return Crowd.LIGHT if crowd is Crowd.LOGIN else crowd

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path, in order."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def codes(self) -> tuple[str, ...]:
        """Every problem this route can answer with, including the layer's."""
        codes = [*self.refusals, "malformed-request", "internal-error", "store-unavailable"]
        codes += ["headers-too-large", "request-timeout"]
        if self.handler is not None:
            # An unknown query parameter is refused everywhere.
            codes.append("invalid-request")
            if self.work is not Work.LOOP:
                codes += ["too-many-requests", "overloaded"]
            if self.work.is_heavy:
                codes.append("work-ended")
        if self.credential is not Credential.NONE:
            codes.append("unauthenticated")
        if self.credential is Credential.OPTIONAL_API_KEY:
            codes.append("rate-limited")
        if self.permission is not None:
            codes.append("forbidden")
        if self.parameters:
            codes.append("not-found")
        if self.body is not None:
            codes += ["invalid-json", "body-too-large"]
            codes.append("unsupported-media-type")
        if self.repeatable:
            codes.append("idempotency-key-reused")
        if self.conditional and self.method != "GET":
            codes.append("stale-revision")
        return tuple(sorted(set(codes)))
