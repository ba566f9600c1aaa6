"""A request as seen at the edge, and the event to decide on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote_plus

import attrs

from tidegate.evaluation.target import protocol_name
from tidegate.functions.addresses import parse_address

PARAMETER = "service_challenge_proof"
"""The query parameter with the proof that a challenge has just granted."""
COOKIE = "service_challenge"
"""The cookie that carries the proof from then on."""
KEY_HEADER = "x-service-api-key"

_PROOF = re.compile(r"[!#-+\--:<-\[\]-~]{1,3800}")
"""A text that fits into a cookie (RFC 6265, 4.1.1); with its attributes it has less than 4,096
bytes."""
_AS_WRITTEN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "#")
_NEVER_IN_A_TARGET = re.compile(r"[\x00-\x20#\x7f]")
"""RFC 9112, 3.2: with one of these characters, parsers disagree on where an address ends."""
_HOST = re.compile(
    r"(?:(?!.*\.\.)[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9.])?"
    r"|\[(?P<address>[0-9A-Fa-f:.]{2,45})\])(?::(?P<port>[0-9]{1,5}))?"
)
_MAX_PORT = 65_535
_PROTOCOL = re.compile(r"HTTP/[0-9](?:\.[0-9])?", re.IGNORECASE)
_NEVER_SENT = frozenset({"cookie", KEY_HEADER})
"""Headers left out of the event; cookies are sent one by one."""


class NoAddressError(ValueError):
    """The request has no address that all parsers read alike, as far as is known here."""


def visible(text: str) -> str:
    """A part of an address, with anything but visible ASCII percent-encoded.

    Args:
        text: one character per byte.
    """
    return quote(text.encode("latin-1", "replace"), safe=_AS_WRITTEN)


def _sent(text: str) -> str:
    """A path or query in visible ASCII, if a client may send it."""
    odd = _NEVER_IN_A_TARGET.search(text)
    if odd is not None:
        raise NoAddressError(f"the address has {odd[0]!r}")
    return visible(text)


def _protocol(text: str) -> str:
    """The name of a protocol; empty if the text has another form."""
    return protocol_name(text) if _PROTOCOL.fullmatch(text) else ""


def _is_host(text: str) -> bool:
    found = _HOST.fullmatch(text)
    if found is None or int(found["port"] or 0) > _MAX_PORT:
        return False
    address = found["address"]
    return address is None or (
        ":" in address and parse_address(address, dotted_ipv6=True) is not None
    )


@attrs.frozen(kw_only=True)
class Visit:
    """One request, with everything as it was sent.

    Attributes:
        method: in capitals.
        scheme: ``http`` or ``https``.
        host: with its port, if it has one.
        path: with its percent signs; anything but visible ASCII is encoded.
        query: the query, without the question mark.
        headers: names in lower case.
        client_ip: empty if unknown; None lets the decider find it in ``x-forwarded-for``.
        protocol: as the server saw it, such as ``HTTP/1.1``; empty if the server doesn't say.

    Raises:
        NoAddressError: scheme or host is invalid, or path or query has a fragment, a space or a
            control character.
    """

    method: str
    scheme: str
    host: str
    path: str = attrs.field(converter=_sent)
    query: str = attrs.field(converter=_sent, repr=False)
    headers: Sequence[tuple[str, str]] = attrs.field(repr=False)
    client_ip: str | None = None
    protocol: str = attrs.field(default="", converter=_protocol)

    def __attrs_post_init__(self) -> None:
        if self.scheme not in ("http", "https"):
            raise NoAddressError("the scheme is neither http nor https")
        if not _is_host(self.host):
            raise NoAddressError("the host is invalid")

    def header(self, name: str) -> str:
        """The first value of a header; empty if it is missing."""
        return next((value for each, value in self.headers if each == name), "")

    @cached_property
    def proofs(self) -> Sequence[str]:
        """The proofs in the query."""
        return [value for name, value in self._parameters if name == PARAMETER]

    @property
    def has_proof(self) -> bool:
        """Whether the query has a proof, valid or not."""
        return bool(self.proofs)

    @property
    def proof(self) -> str | None:
        """The proof in the query; None if there isn't one, or it can't be one."""
        if len(self.proofs) == 1 and _PROOF.fullmatch(self.proofs[0]):
            return self.proofs[0]
        return None

    @property
    def clean_query(self) -> str:
        """The query as sent, without the proof."""
        return without_proof(self.query) if self.has_proof else self.query

    @property
    def url(self) -> str:
        """The exact target of the visitor's request, without the proof."""
        path = self.path if self.path.startswith("/") else "/"
        query = self.clean_query
        return f"{self.scheme}://{self.host}{path}" + (f"?{query}" if query else "")

    def event(self) -> dict[str, Any]:
        """The event to decide on, in the shape of docs/fields.md.

        A proof in the query is checked alone: the cookie is left out of such an event, so that it
        can't replace a bad one.
        """
        cookies = _grouped(read_cookies(self.headers))
        if self.has_proof:
            cookies.pop(COOKIE, None)
        request: dict[str, Any] = {
            "method": self.method,
            "scheme": self.scheme,
            "host": self.host,
            "path": self.path,
            "query": self.clean_query,
            "headers": _joined(self.headers),
            "query_params": _grouped(self._parameters),
            "cookies": cookies,
        }
        if self.protocol:
            request["protocol"] = self.protocol
        if self.client_ip is not None:
            request["client_ip"] = self.client_ip
        return {"request": request, "return_url": self.url}

    @cached_property
    def _parameters(self) -> Sequence[tuple[str, str]]:
        return [_read(pair) for pair in self.query.split("&") if pair]


def without_proof(query: str) -> str:
    """A query as sent, without the proof."""
    kept = [pair for pair in query.split("&") if _read(pair)[0] != PARAMETER]
    return "&".join(kept)


def read_cookies(headers: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """A request's cookies, in order (RFC 6265, 5.4, and as lenient as servers are)."""
    for name, value in headers:
        for pair in value.split(";") if name == "cookie" else ():
            cookie, equals, content = pair.partition("=")
            if equals and cookie.strip():
                yield cookie.strip(), content.strip()


def header_text(content: bytes) -> str:
    """The value of a header: as UTF-8 if valid, else one character per byte."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return unquote_plus(name), unquote_plus(value)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Values by name; a list if a name has several."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _joined(headers: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    found: dict[str, list[str]] = {}
    for name, value in headers:
        if name not in _NEVER_SENT:
            found.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in found.items()}
