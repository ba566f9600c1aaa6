"""Whether an address that reached the site is the one that was judged."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import attrs
from tests.integrations.differential.exchange import NO_NUMBER, Served

import tidegate
from tidegate.edge.visit import visible
from tidegate_server.challenge.return_url import OF_VISITOR

_SLASHES = re.compile("/+")
_PATH = tidegate.compile("request.path")
_HOST = tidegate.compile("request.host")


@attrs.frozen
class Judged:
    """A request as it was judged.

    Attributes:
        event: as it was recorded.
        path: what ``request.path`` was.
        host: what ``request.host`` was.
    """

    event: Mapping[str, Any]
    path: str
    host: str

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Judged:
        """The reading of an event by rules."""
        return cls(event, str(_PATH.evaluate(event)), str(_HOST.evaluate(event)))

    @property
    def target(self) -> str:
        """Path and query as they were judged."""
        url = str(self.event["return_url"]).removesuffix(OF_VISITOR)
        rest = url.partition("://")[2]
        return rest[len(self.event["request"]["host"]) :]


def judged_by_spelling(messages: Iterable[Mapping[str, Any]]) -> dict[int, list[Judged]]:
    """Published decisions by the number of the spelling."""
    found: defaultdict[int, list[Judged]] = defaultdict(list)
    for message in messages:
        event = message["event"]
        number = event["request"]["headers"].get("x-spelling", NO_NUMBER)
        found[int(number)].append(Judged.of(event))
    return found


def difference(front: str, served: Sequence[Served], judged: Sequence[Judged]) -> str | None:
    """How the requests that reached the site for a spelling differ from what was judged.

    Args:
        front: the proxy that let them through.
    """
    if not served:
        return None
    if len(served) != 1 or not judged:
        return f"judged {len(judged)} times, served {len(served)} times: {served[0].line!r}"
    # It was judged again where the first answer came too late.
    found = [_of_one(front, served[0], each) for each in judged]
    return next((each for each in found if each), None)


def _of_one(front: str, request: Served, event: Judged) -> str | None:
    target = visible(request.target.decode("latin-1"))
    path, _, query = target.partition("?")
    if (f"{path}?{query}" if query else path) != event.target:
        return f"judged {event.target!r}, served {request.target!r}"
    if path != event.event["request"]["path"]:
        return f"judged path {event.event['request']['path']!r}, served {request.target!r}"
    host = request.header(b"host")
    if host != event.event["request"]["host"].encode():
        return f"judged host {event.event['request']['host']!r}, served {host!r}"
    if front == "envoy" and _SLASHES.sub("/", unquote(path, errors="replace")) != event.path:
        return f"judged as {event.path!r}, routed by {path!r}"
    return _otherwise_read(request, event)


def _otherwise_read(request: Served, event: Judged) -> str | None:
    """How the proxy's own reading, where it says so, differs from that of rules."""
    path = request.header(b"x-proxy-path")
    if path and path.decode(errors="replace") != event.path:
        return f"judged as {event.path!r}, read as {path!r}"
    host = request.header(b"x-proxy-host")
    if host is not None and host.decode() != event.host:
        return f"judged as host {event.host!r}, read as {host!r}"
    return None
