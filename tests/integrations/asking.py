"""A visitor that asks byte for byte, and sees byte for byte what comes back."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

BROWSER = {
    "accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
    "sec-fetch-mode": "navigate",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
}
"""The headers of a browser that is to show a page."""
PROGRAM = {"accept": "*/*", "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"}


@attrs.frozen
class Seen:
    """An answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes

    def header(self, name: str) -> str | None:
        """The only value of a header."""
        values = [value for each, value in self.headers if each == name]
        assert len(values) < 2, (name, values)
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    base_url: str,
    target: str = "/",
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = BROWSER,
    *,
    method: str = "GET",
    host: str | None = None,
    body: bytes | None = None,
) -> Seen:
    """One request, its target as it is written here."""
    where = urlsplit(base_url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=30)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("host", where.netloc if host is None else host)
        for name, value in headers.items() if isinstance(headers, Mapping) else headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        found = tuple((name.lower(), value) for name, value in answer.getheaders())
        return Seen(answer.status, found, answer.read())
    finally:
        connection.close()
