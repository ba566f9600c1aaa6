"""Authorization requests from proxies, and responses that each kind of proxy understands.

Pure: headers in, an event out; a decision in, a response out.  Three dialects are known:

``auth_request``
    nginx and what imitates it: the address in ``x-original-url``, the method in
    ``x-original-method``.  The proxy sees 2xx, 401 and 403, and can use headers of the answer.
``forward_auth``
    Caddy and Traefik: method, scheme, host and path in ``x-forwarded-method``, ``-proto``,
    ``-host`` and ``-uri``.  The proxy hands any answer but a 2xx on.
``ext_authz``
    Envoy over HTTP: the request itself, its path behind ``/authz``.  The proxy hands any answer
    on but a 2xx and a 5xx, which is a failure to it.

A visitor can send the headers of another dialect than the proxy's.  The dialects have no order of
preference; such mixtures are rejected, so the judged address is always the served one.  For the
same reason an address is rejected if a proxy, or the site behind it, could read it differently
(docs/decisions/0041-one-reading-of-an-address.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs

from tidegate.edge.conventions import Boundary, early
from tidegate.edge.reply import Reply, problem
from tidegate.edge.visit import KEY_HEADER, NoAddressError, Visit, header_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.decider import Decision

PATH = "/authz"
LOCATION = "x-service-location"
"""The header with the URL to which nginx redirects the visitor."""
PROBLEM = "x-service-problem"
"""The document that nginx must respond with instead."""
PROTOCOL = "x-original-protocol"
"""The header with the protocol of the visitor's request, which a proxy sets in each dialect."""
NO_DECISION = "x-service-no-decision"
"""The header of a response that no decision stands behind."""
_URL = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#]*)(?P<path>/[^?]*)?(?:\?(?P<query>.*))?")
_ODD_IN_A_PATH = re.compile(r"[^!\"$-\[\]-~]|%(?![0-9A-Fa-f]{2})|%00")
_ODD_IN_A_QUERY = re.compile(r"[^!\"$-~]")
_SLASH_IN_A_SEGMENT = re.compile("%2f", re.IGNORECASE)
_OF_THE_PROXY = frozenset(
    {KEY_HEADER, "x-original-url", "x-original-method", "x-forwarded-uri", "x-forwarded-method"}
    | {PROTOCOL}
    | {"host", "connection", "content-length", "transfer-encoding"}
)
"""Headers that the proxy sends about itself."""
_ALLOWED = Reply(200, (("cache-control", "no-store"),))


class Dialect(Enum):
    """The format of a proxy's request."""

    AUTH_REQUEST = "auth_request"
    FORWARD_AUTH = "forward_auth"
    EXT_AUTHZ = "ext_authz"


class UnclearInquiryError(ValueError):
    """It is unclear which request the proxy asks about."""


@attrs.frozen
class Inquiry:
    """A proxy's authorization request."""

    dialect: Dialect
    visit: Visit

    def event(self) -> dict[str, Any]:
        """The event to decide on."""
        return self.visit.event()

    def early(self) -> Reply | None:
        """The response, if there is nothing to decide."""
        return self._told(early(self.visit))

    def decided(self, boundary: Boundary, decision: Decision) -> Reply:
        """The response for a decision."""
        return self._told(boundary.decided(self.visit, decision)) or _ALLOWED

    def failed(self, boundary: Boundary, error: Exception) -> Reply:
        """The response without a decision."""
        return self._told(boundary.failed(self.visit, error), is_failure=True) or _ALLOWED

    def _told(self, reply: Reply | None, *, is_failure: bool = False) -> Reply | None:
        """A response in the proxy's dialect."""
        if reply is not None and reply.code == "no-decision":
            # A block may have the same status; a proxy that fails open tells them apart.
            return attrs.evolve(reply, headers=(*reply.headers, (NO_DECISION, "1")))
        if reply is None or is_failure:
            return reply
        if self.dialect is Dialect.AUTH_REQUEST:
            return _for_auth_request(reply)
        if self.dialect is Dialect.EXT_AUTHZ and reply.status >= 500:
            # Envoy would treat it as a failure, and might let the request through.
            return attrs.evolve(reply, status=403)
        return reply


def read_inquiry(method: str, path: str, query: str, headers: Sequence[tuple[str, str]]) -> Inquiry:
    """Parse a proxy's authorization request.

    Args:
        method: the proxy's request method.
        path: path of the proxy's request, as sent: ``/authz``, or below it.
        query: its query, without the question mark.
        headers: names in lower case, values one character per byte.

    Raises:
        UnclearInquiryError: the address is missing, there are several, or it has several readings.
    """
    try:
        if path != PATH:
            return _ext_authz(method, path.removeprefix(PATH), query, headers)
        given = {name for name, _ in headers}
        has_original, has_forwarded = "x-original-url" in given, "x-forwarded-uri" in given
        if has_original and has_forwarded:
            raise UnclearInquiryError("`x-original-url` and `x-forwarded-uri` are both there")
        if has_original:
            return _auth_request(headers)
        if has_forwarded:
            return _forward_auth(headers)
    except NoAddressError as error:
        raise UnclearInquiryError(str(error)) from None
    raise UnclearInquiryError(
        "neither `x-original-url` nor `x-forwarded-uri` is there" + _meant(given)
    )


def _meant(given: Iterable[str]) -> str:
    """The headers that resemble known ones, for the log of the rejection."""
    near = {
        name: found[0]
        for name in sorted(given)
        if name not in _OF_THE_PROXY
        and (found := get_close_matches(name, ("x-original-url", "x-forwarded-uri"), 1, 0.9))
    }
    return "".join(
        f"; `{name}` is not read, did you mean `{meant}`?" for name, meant in near.items()
    )


def refused() -> Reply:
    """The response to an unclear request."""
    return problem(None, "request-refused")


def _auth_request(headers: Sequence[tuple[str, str]]) -> Inquiry:
    found = _URL.fullmatch(_only(headers, "x-original-url"))
    if found is None:
        raise UnclearInquiryError("`x-original-url` is no absolute URL")
    parts = found.groupdict(default="")
    method = _only(headers, "x-original-method")
    return _inquiry(Dialect.AUTH_REQUEST, headers, method=method, **parts)


def _forward_auth(headers: Sequence[tuple[str, str]]) -> Inquiry:
    path, _, query = _only(headers, "x-forwarded-uri").partition("?")
    return _inquiry(
        Dialect.FORWARD_AUTH,
        headers,
        method=_only(headers, "x-forwarded-method"),
        scheme=_only(headers, "x-forwarded-proto"),
        host=_only(headers, "x-forwarded-host"),
        path=path,
        query=query,
    )


def _ext_authz(method: str, path: str, query: str, headers: Sequence[tuple[str, str]]) -> Inquiry:
    if _has_hidden_dots(path):
        raise UnclearInquiryError("the path has a dot segment next to an encoded slash")
    return _inquiry(
        Dialect.EXT_AUTHZ,
        headers,
        method=method,
        scheme=_only(headers, "x-forwarded-proto"),
        host=_only(headers, "host"),
        path=path,
        query=query,
    )


def _inquiry(
    dialect: Dialect,
    headers: Sequence[tuple[str, str]],
    *,
    host: str,
    path: str,
    query: str,
    **parts: str,
) -> Inquiry:
    method = parts["method"].upper()
    if method == "CONNECT":
        raise UnclearInquiryError("the method asks for a tunnel, whatever the path is")
    if not path.startswith("/"):
        raise UnclearInquiryError("the path begins with no slash")
    for what, text, odd in (("path", path, _ODD_IN_A_PATH), ("query", query, _ODD_IN_A_QUERY)):
        if found := odd.search(text):
            raise UnclearInquiryError(f"the {what} has {found[0]!r}")
    own = [
        (name, header_text(value.encode("latin-1")))
        for name, value in headers
        if name not in _OF_THE_PROXY
    ]
    parts |= {"method": method, "protocol": _protocol(headers)}
    visit = Visit(host=host, headers=[("host", host), *own], path=path, query=query, **parts)
    return Inquiry(dialect, visit)


def _has_hidden_dots(path: str) -> bool:
    """Whether a path segment has a dot segment once its encoded slashes are decoded.

    Rules read an encoded slash as a slash, like nginx and Caddy; Envoy resolves dot segments
    without doing so.
    """
    for segment in path.split("/"):
        inner = _SLASH_IN_A_SEGMENT.split(segment)
        if len(inner) > 1 and any(unquote(each) in (".", "..") for each in inner):
            return True
    return False


def _only(headers: Iterable[tuple[str, str]], name: str) -> str:
    values = [value for each, value in headers if each == name]
    if len(values) != 1 or not values[0]:
        raise UnclearInquiryError(f"`{name}` has to be there once")
    return values[0]


def _protocol(headers: Sequence[tuple[str, str]]) -> str:
    given = [value for name, value in headers if name == PROTOCOL]
    if len(given) > 1:
        raise UnclearInquiryError(f"`{PROTOCOL}` may be there once")
    return given[0] if given else ""


def _for_auth_request(reply: Reply) -> Reply:
    """nginx understands only 401 and 403, so headers carry the rest of the response."""
    more: Mapping[str, str | None] = {
        LOCATION: reply.header("location") if reply.status < 400 else None,
        PROBLEM: reply.body.decode() if reply.code == "challenge-required" else None,
    }
    added = tuple((name, value) for name, value in more.items() if value)
    kept = tuple(pair for pair in reply.headers if pair[0] != "location")
    return attrs.evolve(reply, status=401 if added else 403, headers=(*kept, *added))
