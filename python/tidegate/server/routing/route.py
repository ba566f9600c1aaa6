"""A route as data: everything about it is declared here, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from tidegate.server.http.json_body import MAX_BYTES
from tidegate.server.offload.kinds import Crowd, Work

if TYPE_CHECKING:
    from starlette.responses import Response

    from tidegate.operators.permissions import Permission
    from tidegate.server.control.call import Answer, Call
    from tidegate.server.http.given import ProblemPage

PREFIX = "/api/v1"
Handler: TypeAlias = "Callable[[Call], Answer | Response | Coroutine[Any, Any, Answer]]"
Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Credential(Enum):
    """The credential that a caller has to show."""

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
        name: of the operation, unique, as in ``list-actions``.
        summary: one line for the documentation; ``description`` says what else there is to know.
        tag: the group it belongs to in the documentation.
        credential: what the caller has to show.
        permission: what the caller's role in ``{tenant_id}`` must allow.
        handler: None for what is answered in front of the control plane; a page gives its own
            response.
        work: what kind of work the handler does, which says where it runs.
        body: the class of the request body; bytes for one that the handler reads itself.
        query: the class of the query parameters.
        open_query: parameters that the class does not have are passed over: others wrote the query.
        headers: names of request headers that the handler looks at, in lower case.
        answer: the class of the answer, or a list of it; None without a body.
        status: of success.
        also: what else is answered that is no problem, by status.
        present: gives the object that a write changes as it is, for members that come back with
            the write; None for a new object.
        refusals: codes of problems that the handler itself can raise.
        conditional: the object has a revision: ETag, ``If-Match`` or ``If-None-Match``.
        also_bare: the specification shows the path without the prefix; both lead here.
        rooted: the path has no prefix at all.
        any_method: the path takes every method, and answers all of them alike.
        cookie: what a cookie of the answer keeps in the browser; None where there is none.
        repeatable: takes an idempotency key; the handler keeps its answer with its change.
        problem_page: how a refusal is shown to a browser; None where browsers do not come.
        max_bytes: bound of the request body.
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
        """Every path that leads here, the preferred one first."""
        if self.rooted:
            return (self.path,)
        prefixed = PREFIX + self.path
        return (prefixed, self.path) if self.also_bare else (prefixed,)

    @property
    def crowd(self) -> Crowd:
        """The requests that a request of the route shares places and threads with."""
        crowd = self.work.crowd
        is_public = self.credential is not Credential.OPERATOR
        return Crowd.PUBLIC if is_public and crowd is Crowd.LIGHT else crowd

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path, in order."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def codes(self) -> tuple[str, ...]:
        """Every problem this route can answer with, including those of the layer."""
        codes = [*self.refusals, "malformed-request", "internal-error", "store-unavailable"]
        codes += ["headers-too-large", "request-timeout"]
        if self.handler is not None:
            # A query parameter that the route does not know is refused everywhere.
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
