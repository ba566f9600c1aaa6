"""Settings and hooks shared by all Python middleware, and how they are used."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, cast

from tidegate.edge.conventions import Boundary
from tidegate.edge.request_view import RequestView

if TYPE_CHECKING:
    from tidegate.decider import Decision
    from tidegate.edge.reply import Reply
    from tidegate.edge.visit import Visit
    from tidegate.event_form import Event

log = logging.getLogger("tidegate.edge")

Request = TypeVar("Request")

REFUSED = range(400, 600)
"""Statuses with which a site rejects a request, or fails."""


class Options(TypedDict, Generic[Request], total=False):
    """Settings of a middleware. Hooks get the framework's request.

    An error in a hook is raised like one of the application.

    Attributes:
        fail_open: whether a request passes without a decision; otherwise the response is 502.
            If the service rejects the key, nothing passes.
        trusted_proxies: addresses and networks with a trusted ``x-forwarded-for`` and
            ``x-forwarded-proto``; ``unix`` for peers on a Unix socket.
        origin: scheme and host of the site, as in ``https://shop.example``, if a proxy in front
            does not pass on the visitor's; by default the request's.
        fields: returns the ``fields`` of the event, such as the logged-in account.
        skip: whether a request goes to the application without a decision or report.
        on_decision: called with every decision before it is carried out, or with None when no
            decision was made.
        monitor_only: whether every request passes, whatever is decided.
        outcomes: statuses of the application's responses that are reported, each as a second event
            of the request with ``fields.status``; 400 to 599 by default. An empty collection
            reports nothing.
    """

    fail_open: bool
    trusted_proxies: Iterable[str]
    origin: str | None
    fields: Callable[[Request], Any] | None
    skip: Callable[[Request], bool] | None
    on_decision: Callable[[Request, Decision | None], object] | None
    monitor_only: bool
    outcomes: Collection[int]


class Guard(Generic[Request]):
    """The validated settings of one middleware, and its steps before and after the decision.

    Args:
        decider: the middleware's decider.

    Raises:
        TypeError: an option is unknown.
        ValueError: a proxy or the origin is invalid, or the decider challenges and has no page for
            it.
    """

    def __init__(
        self,
        decider: object,
        *,
        fail_open: bool = False,
        trusted_proxies: Iterable[str] = (),
        origin: str | None = None,
        fields: Callable[[Request], Any] | None = None,
        skip: Callable[[Request], bool] | None = None,
        on_decision: Callable[[Request, Decision | None], object] | None = None,
        monitor_only: bool = False,
        outcomes: Collection[int] = REFUSED,
    ) -> None:
        if not monitor_only:
            _require_pages(decider)
        self.view = RequestView.of(trusted_proxies, origin)
        self.fields = fields
        self._boundary = Boundary(fail_open)
        self._skip = skip
        self._on_decision = on_decision
        self._monitor_only = monitor_only
        self._outcomes = outcomes
        self._has_warned = False
        self._lost = 0

    def is_skipped(self, request: Request) -> bool:
        """Whether the application gets the request without a decision."""
        return self._skip is not None and self._skip(request)

    def event(self, visit: Visit, fields: Mapping[str, Any] | None) -> Event:
        """The event to decide on."""
        event = visit.event()
        if not _may_be_address(visit.client_ip or ""):
            event["request"]["client_ip"] = ""
            self._warn_of_no_address(visit.client_ip or "")
        return cast("Event", {**event, "fields": dict(fields)} if fields else event)

    def decided(self, request: Request, visit: Visit, decision: Decision) -> Reply | None:
        """The response to the visitor; None if the application responds."""
        if self._on_decision is not None:
            self._on_decision(request, decision)
        return self._kept(self._boundary.decided(visit, decision))

    def failed(self, request: Request, visit: Visit, error: Exception) -> Reply | None:
        """The response without a decision."""
        if self._on_decision is not None:
            self._on_decision(request, None)
        return self._kept(self._boundary.failed(visit, error))

    def refused(self, reply: Reply) -> Reply | None:
        """The response if there is nothing to decide."""
        return self._kept(reply)

    def outcome(self, event: Event | None, status: int) -> Event | None:
        """The event that reports the application's response; None if it isn't reported.

        Args:
            event: the event decided on; None without a decision.
            status: status of the application's response.
        """
        if event is None or status not in self._outcomes:
            return None
        kept = {name: value for name, value in event.items() if name != "return_url"}
        fields = {**(event.get("fields") or {}), "status": str(status)}
        return cast("Event", {**kept, "fields": fields})

    def not_reported(self, error: Exception) -> None:
        """Log that a response could not be reported; the visitor has it already."""
        self._lost += 1
        if self._lost == 1:
            log.warning("an answer of the site could not be reported: %s", error)

    def _warn_of_no_address(self, peer: str) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        log.warning(
            "the server gives %s as the visitor's address, so no policy applies that needs one."
            ' Behind a proxy on a Unix socket, set `trusted_proxies=["unix"]` and have the proxy'
            " send `X-Forwarded-For`. In a test, give the client an address, as in"
            ' `TestClient(app, client=("192.0.2.7", 50000))` or'
            ' `environ_base={"REMOTE_ADDR": "192.0.2.7"}`',
            repr(peer) if peer else "nothing",
        )

    def _kept(self, reply: Reply | None) -> Reply | None:
        return None if self._monitor_only else reply


def _may_be_address(text: str) -> bool:
    """Whether the peer has more than a name such as ``testclient``."""
    return "." in text or ":" in text


def _require_pages(decider: object) -> None:
    """Reject an engine that challenges, since nothing could carry out its challenges.

    Raises:
        ValueError: it does; the message names its mitigations.
    """
    definitions: Any = getattr(decider, "definitions", None)
    if definitions is None:
        return
    challenging = {
        each.slug for each in definitions.mitigations if each.enabled and each.mode == "Challenge"
    }
    used = dict.fromkeys(
        clause.mitigation
        for policy in definitions.policies
        if policy.enabled and policy.status == "active"
        for clause in policy.clauses
        if clause.mitigation in challenging
    )
    if used:
        named = ", ".join(f"`{each}`" for each in used)
        raise ValueError(
            f"an engine in the process has no page for a challenge, and {named} challenges: ask a"
            " service with a `Client`, or use mode `Block` or `Monitor`"
        )
