"""Client addresses in logs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from tidegate.cli.inputs.errors import UnreadableClientError
from tidegate.functions.addresses import sent_address

_FORWARDED = "x-forwarded-for"
_LONGEST_KEPT = 100
"""Characters of a text that is remembered."""
_AROUND = " \t\"'()<>,"


def address_of(text: str) -> str | None:
    """An address without its port, brackets, zone and quotes; None if it isn't an address."""
    return _known(text) if len(text) <= _LONGEST_KEPT else _read(text)


def _read(text: str) -> str | None:
    address = sent_address(text.strip(_AROUND))
    return None if address is None else str(address)


_known = lru_cache(maxsize=20_000)(_read)
"""A log has the same addresses again and again, and reading them takes longer than deciding."""


def with_client(request: dict[str, Any]) -> dict[str, Any]:
    """A request with its ``client_ip`` parsed.

    If proxies named addresses, all of them go into ``x-forwarded-for``, ending with the one the
    server saw, as one more proxy would write it. Then the definitions' trusted proxies apply to a
    log as to a request.

    Raises:
        UnreadableClientError: the client isn't an address.
    """
    request = dict(request)
    headers = {name.lower(): value for name, value in (request.get("headers") or {}).items()}
    client = request.pop("client_ip", None)
    seen = _addresses("" if client is None else str(client).strip(_AROUND))
    before = _forwarded(headers.pop(_FORWARDED, None))
    if headers:
        request["headers"] = headers
    else:
        request.pop("headers", None)
    if not seen and client is not None and not before:
        raise UnreadableClientError("the line has no address of the client, only a `-`")
    if before and not seen and address_of(before[-1]) is None:
        raise UnreadableClientError(_no_address(before[-1]))
    if not before and len(seen) == 1:
        request["client_ip"] = seen[0]
    elif before or seen:
        request["headers"] = headers | {_FORWARDED: ", ".join([*before, *seen])}
    return request


def _forwarded(value: object) -> list[str]:
    """The addresses named by proxies; other texts are left as they are."""
    values = value if isinstance(value, list) else [value]
    texts = [each for value in values if isinstance(value, str) for each in value.split(",")]
    return [address_of(text) or text.strip() for text in texts if text.strip(" \t-")]


def _addresses(client: str) -> list[str]:
    if client in ("", "-"):
        return []
    found = []
    for each in re.split(r"[,\s]+", client):
        address = address_of(each)
        if address is None:
            raise UnreadableClientError(_no_address(client))
        found.append(address)
    return found


def _no_address(client: str) -> str:
    shown = client[:60]
    if client.startswith("unix:"):
        mend = "log $http_x_forwarded_for, or set real_ip_header, where a Unix socket is read"
    elif re.fullmatch(r"[A-Za-z][\w.-]*", client):
        mend = "it is a name; turn off the look-up of names (Apache: HostnameLookups Off)"
    else:
        mend = "a log needs the whole address of the client"
    return f"the client is `{shown}`, which isn't an address: {mend}"
