"""The members of an event, for type checkers and for rejections: docs/fields.md, "The event"."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from tidegate.errors import EventError

if TYPE_CHECKING:
    from tidegate.values import Timestamp

MEMBERS = (
    "request",
    "fields",
    "source",
    "observed_at",
    "return_url",
    "idempotency_key",
    "tenant_id",
    "agent",
    "geo",
)
"""The members of an event."""
MEMBERS_OF_AGENT = (
    "proof",
    "operator",
    "product",
    "purpose",
    "claims",
    "signature_problem",
)
"""The members of ``agent``, which are text."""
MEMBERS_OF_GEO = ("country", "asn", "as_org")
"""The members of ``geo``: two texts, and a whole number between them."""
REQUEST_TEXTS = (
    "method",
    "protocol",
    "scheme",
    "host",
    "path",
    "query",
    "client_ip",
    "user_agent",
    "referer",
    "content_type",
)
"""Members of ``request`` that are text."""
REQUEST_MAPS = ("headers", "query_params", "cookies", "route_params")
"""Members of ``request`` that are objects of texts."""
MEMBERS_OF_REQUEST = (*REQUEST_TEXTS, *REQUEST_MAPS)
"""The members of ``request``."""
NO_MOMENT = "must be ISO 8601 text with an offset from UTC, such as `2026-03-02T10:00:00Z`"
"""The message about an invalid ``observed_at``."""
NAIVE_MOMENT = "is a datetime without a time zone; give it one, as `datetime.now(UTC)` does"
"""The message about a naive ``datetime`` in ``observed_at``."""
MOST_AWAY = 2
"""Most letters that a misspelt name may differ by."""
_LONGEST = 64
"""Letters of a name that are compared."""


class RequestContext(TypedDict, total=False):
    """The request of a visitor, as a source describes it."""

    method: str | None
    protocol: str | None
    scheme: str | None
    host: str | None
    path: str | None
    query: str | None
    client_ip: str | None
    user_agent: str | None
    referer: str | None
    content_type: str | None
    headers: Mapping[str, Any] | None
    query_params: Mapping[str, Any] | None
    cookies: Mapping[str, Any] | None
    route_params: Mapping[str, Any] | None


class AgentFinding(TypedDict, total=False):
    """A finding about the agent that sent the request, before the decision."""

    proof: str | None
    operator: str | None
    product: str | None
    purpose: str | None
    claims: str | None
    signature_problem: str | None


class GeoFinding(TypedDict, total=False):
    """Where the client is, found before the decision."""

    country: str | None
    asn: int | None
    as_org: str | None


class Event(TypedDict, total=False):
    """One event: a request, and what the application knows about it."""

    request: RequestContext | None
    fields: Mapping[str, Any] | None
    agent: AgentFinding | None
    geo: GeoFinding | None
    source: str | None
    observed_at: datetime | Timestamp | str | None
    return_url: str | None
    idempotency_key: str | None
    tenant_id: str | None


def no_such_member(path: Sequence[str]) -> EventError:
    """The error for an unknown member.

    Args:
        path: path to it; a member of ``request`` has two names.
    """
    whole, known = ("an event", MEMBERS) if len(path) == 1 else ("`request`", MEMBERS_OF_REQUEST)
    meant = nearest(path[-1], known)
    if meant is not None:
        hint = f"did you mean `{meant}`?"
    else:
        hint = f"its members are `{'`, `'.join(known[:-1])}` and `{known[-1]}`"
    pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)
    return EventError(f"{whole} has no such member; {hint}", pointer)


def unknown_member(
    event: Mapping[str, Any], declared: Collection[str] = ()
) -> tuple[str, ...] | None:
    """The path of the first unknown member of an event or of its ``request``.

    Args:
        event: its members.
        declared: names of variables, which are members too.
    """
    for name, value in event.items():
        if name in declared:
            continue
        if name not in MEMBERS:
            return (str(name),)
        for each in value if name == "request" and isinstance(value, Mapping) else ():
            if each not in MEMBERS_OF_REQUEST and not _is_declared(f"request.{each}", declared):
                return ("request", str(each))
    return None


def _is_declared(name: str, declared: Collection[str]) -> bool:
    return any(each == name or each.startswith(f"{name}.") for each in declared)


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name closest to a misspelt one.

    It is at most two letters away, ignoring case and word separators.
    """
    folded = _folded(name)
    away, nearest = min(((_distance(folded, _folded(each)), each) for each in known), key=_away)
    return nearest if away <= MOST_AWAY and away < len(folded) else None


def _away(pair: tuple[int, str]) -> int:
    return pair[0]


def _folded(name: str) -> bytes:
    return re.sub(rb"[_-]", b"", name.encode(errors="replace")[:_LONGEST]).lower()


def _distance(one: bytes, other: bytes) -> int:
    """The number of letters to insert, delete or replace to turn one text into another."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one):
        following = [number + 1]
        for place, each in enumerate(other):
            replaced = row[place] + (letter != each)
            following.append(min(replaced, row[place + 1] + 1, following[-1] + 1))
        row = following
    return row[-1]
