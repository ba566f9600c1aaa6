"""An application's view of its requests: settings shared by all middleware."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

import attrs

from tidegate.edge.addresses import TrustedProxies
from tidegate.edge.visit import NoAddressError, Visit
from tidegate.policy.document.forms import origin_problem


@attrs.frozen
class RequestView:
    """Creates a visit from a server's request.

    Attributes:
        proxies: proxies with a trusted ``x-forwarded-for`` and ``x-forwarded-proto``.
        origin: scheme and host of the site, if the server cannot know them.
    """

    proxies: TrustedProxies
    origin: tuple[str, str] | None

    @classmethod
    def of(cls, trusted_proxies: Iterable[str], origin: str | None) -> RequestView:
        """The view for a middleware's settings.

        Raises:
            ValueError: one of them is invalid.
        """
        if origin is not None and origin_problem(origin):
            raise ValueError("`origin` must be an origin such as `https://shop.example`")
        parts = None if origin is None else urlsplit(origin)
        return cls(
            TrustedProxies.of(trusted_proxies),
            None if parts is None else (parts.scheme, parts.netloc),
        )

    def visit(
        self,
        *,
        method: str,
        scheme: str,
        path: str,
        query: str,
        headers: Sequence[tuple[str, str]],
        peer: str,
        server: tuple[str, int | None] = ("", None),
        protocol: str = "",
    ) -> Visit:
        """The visit of one request.

        Args:
            path: as sent, one character per byte; ``query`` too.
            headers: names in lower case.
            peer: the peer's address; empty for a Unix socket.
            server: name and port of the server, which is the host of a request that names none.
            protocol: such as ``HTTP/1.1``, if the server says it.

        Raises:
            NoAddressError: it doesn't have exactly one host.
        """
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) > 1:
            raise NoAddressError("there are several hosts")
        forwarded = self._forwarded(headers, "x-forwarded-proto", peer)
        if forwarded and forwarded[-1].lower() in ("http", "https"):
            scheme = forwarded[-1].lower()
        host = hosts[0] if hosts else _host_of(scheme, *server)
        seen = (scheme, host) if self.origin is None else self.origin
        return Visit(
            method=method.upper(),
            scheme=seen[0],
            host=seen[1],
            path=path,
            query=query,
            headers=headers,
            protocol=protocol,
            client_ip=self.proxies.client(
                peer, [value for name, value in headers if name == "x-forwarded-for"]
            ),
        )

    def _forwarded(self, headers: Sequence[tuple[str, str]], name: str, peer: str) -> Sequence[str]:
        """The entries of a header that a trusted proxy sent."""
        if not self.proxies.trust(peer):
            return ()
        values = [value for each, value in headers if each == name]
        return [entry.strip() for value in values for entry in value.split(",")]


def _host_of(scheme: str, name: str, port: int | None) -> str:
    """A server's host, as in a ``Host`` header."""
    shown = f"[{name}]" if ":" in name else name
    is_usual = port is None or port == {"http": 80, "https": 443}.get(scheme)
    return shown if is_usual else f"{shown}:{port}"
