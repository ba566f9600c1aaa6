"""Callers that cannot answer a challenge: programs that don't show a page.

Challenging one of them is a block that nobody notices: webhooks are lost, certificates expire,
health checks take servers out of service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tidegate.functions.addresses import contains, parse_range, sent_address

MACHINES = "no-challenge"
"""Slug of the list with networks of callers that cannot answer."""
_WEBHOOK = re.compile(r"(^|[/_-])web-?hooks?($|[/_-])|/hooks/", re.IGNORECASE)
_WEBHOOK_AGENT = re.compile(r"hookshot|webhook|stripe/|svix|twilio|shopify-captain", re.IGNORECASE)
_FEED = re.compile(
    r"\.(rss|atom|ics)$|/(rss|atom|feed|feeds)(\.xml)?/?$|/sitemap[^/]*\.xml$", re.IGNORECASE
)
_FEED_AGENT = re.compile(r"feed|rss|podcast|tiny tiny|newsblur|inoreader", re.IGNORECASE)
_HEALTH = re.compile(
    r"/_?(health|healthz|healthcheck|health-check|livez?|liveness|readyz?|readiness|ping|status)/?$",
    re.IGNORECASE,
)
_HEALTH_AGENT = re.compile(
    r"kube-probe|elb-health|googlehc|uptime|pingdom|statuscake|consul health|haproxy", re.IGNORECASE
)
_JSON = re.compile(r"^\s*[\w.+/-]*json\b", re.IGNORECASE)


@attrs.frozen
class Request:
    """A request's data about its sender.

    Attributes:
        method: in capitals.
        path: without the query.
        headers: by name in lower case.
        client_ip: empty if unknown.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    client_ip: str

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Request:
        """The ``request`` of an event."""
        headers = members.get("headers") or {}
        found = {str(name).lower(): str(value) for name, value in headers.items()}
        if members.get("user_agent") is not None:
            found["user-agent"] = str(members["user_agent"])
        return cls(
            method=str(members.get("method") or "GET").upper(),
            path=str(members.get("path") or "/").partition("?")[0],
            headers=found,
            client_ip=str(members.get("client_ip") or ""),
        )

    @property
    def agent(self) -> str:
        """The user agent; empty if there isn't one."""
        return self.headers.get("user-agent", "")


_KINDS: Mapping[str, Callable[[Request], bool]] = {
    "ACME validations": lambda it: it.path.startswith("/.well-known/acme-challenge/"),
    "preflights": lambda it: (
        it.method == "OPTIONS" and "access-control-request-method" in it.headers
    ),
    "webhooks": lambda it: (
        it.method != "GET" and bool(_WEBHOOK.search(it.path) or _WEBHOOK_AGENT.search(it.agent))
    ),
    "health checks": lambda it: bool(_HEALTH.search(it.path) or _HEALTH_AGENT.search(it.agent)),
    "feed readers": lambda it: bool(_FEED.search(it.path) or _FEED_AGENT.search(it.agent)),
    "calls for JSON": lambda it: _is_json(it.headers),
    "calls of scripts": lambda it: it.headers.get("sec-fetch-mode", "navigate") != "navigate",
    "other methods than GET": lambda it: it.method not in ("GET", "HEAD"),
}
"""The kinds, the most telling first."""
KINDS: tuple[str, ...] = (f"networks of the list `{MACHINES}`", *_KINDS)


def kind_of(request: Request, machines: Sequence[str] = ()) -> str | None:
    """The kind of caller that cannot answer a challenge; None if it may be a browser.

    Args:
        request: the request.
        machines: addresses and networks of such callers.
    """
    if machines and _is_in(request.client_ip, machines):
        return KINDS[0]
    return next((kind for kind, is_it in _KINDS.items() if is_it(request)), None)


def _is_json(headers: Mapping[str, str]) -> bool:
    accept = headers.get("accept", "")
    if _JSON.match(headers.get("content-type", "")):
        return True
    return "json" in accept.lower() and "html" not in accept.lower()


def _is_in(address: str, networks: Sequence[str]) -> bool:
    found = sent_address(address)
    ranges = map(parse_range, networks)
    return found is not None and any(each is not None and contains(each, found) for each in ranges)
