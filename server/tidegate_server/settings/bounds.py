"""Validators for settings."""

from __future__ import annotations

import math
import re
from ipaddress import ip_network
from urllib.parse import urlsplit

import attrs
import orjson


@attrs.frozen
class Between:
    """Requires a number between inclusive bounds."""

    least: int
    most: float = math.inf

    def __call__(self, _instance: object, _attribute: object, value: float) -> None:
        """Check a value.

        Raises:
            ValueError: it is outside.
        """
        if not self.least <= value <= self.most:
            raise ValueError(f"it must be {self}")

    def __str__(self) -> str:
        if self.most == math.inf:
            return f"{self.least:,} or more"
        return f"{self.least:,} to {self.most:,.0f}"


@attrs.frozen
class JsonObject:
    """Requires a JSON object as text, or an empty text; a settings file has the object itself."""

    def __call__(self, _instance: object, _attribute: object, value: str) -> None:
        """Check a value.

        Raises:
            ValueError: it is neither.
        """
        try:
            is_object = not value or isinstance(orjson.loads(value), dict)
        except orjson.JSONDecodeError:
            is_object = False
        if not is_object:
            raise ValueError("it must be a JSON object")


@attrs.frozen
class NodeName:
    """Requires a name that fits into a row, a log line and a command; empty means none."""

    def __call__(self, _instance: object, _attribute: object, value: str) -> None:
        """Check a value.

        Raises:
            ValueError: it isn't a valid name.
        """
        if not re.fullmatch(r"([a-z0-9][a-z0-9.-]{0,39})?", value):
            raise ValueError("it must have 1 to 40 of a-z, 0-9, `.` and `-`")


@attrs.frozen
class HostAndPort:
    """Requires an address as ``host:port``; an IPv6 address is in brackets."""

    def __call__(self, _instance: object, _attribute: object, value: str) -> None:
        """Check a value.

        Raises:
            ValueError: it isn't an address.
        """
        split_address(value)


@attrs.frozen
class Receiver:
    """Requires the address of an HTTP server, without a user, query or fragment; may be empty."""

    def __call__(self, _instance: object, _attribute: object, value: str) -> None:
        """Check a value.

        Raises:
            ValueError: it isn't such an address.
        """
        try:
            parts = urlsplit(value)
            is_valid = bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_valid = False
        is_bare = not re.search(r"[@?#\s]", value)
        if value and not (is_valid and is_bare and parts.scheme in ("http", "https")):
            raise ValueError(
                "it must be http:// or https:// and a host, as in http://127.0.0.1:4318"
            )


@attrs.frozen
class Networks:
    """Requires a list of addresses and networks, separated by commas or spaces; may be empty.

    Attributes:
        unix: whether to allow `unix`, the peers on a Unix socket.
    """

    unix: bool = False

    def __call__(self, _instance: object, _attribute: object, value: str) -> None:
        """Check a value.

        Raises:
            ValueError: an entry is invalid.
        """
        for each in split_list(value):
            try:
                if each != "unix" or not self.unix:
                    ip_network(each)
            except ValueError as error:
                or_unix = ", or `unix`" if self.unix else ""
                raise ValueError(
                    "it must have addresses and networks such as 10.0.0.0/8, 192.0.2.7 or"
                    f" 2001:db8::/32{or_unix}, with commas between: {error}"
                ) from None


def split_list(text: str) -> list[str]:
    """The entries of a setting with a list."""
    return text.replace(",", " ").split()


def split_address(text: str) -> tuple[str, int]:
    """Host and port of an address.

    Raises:
        ValueError: it isn't an address.
    """
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and separator and port.isascii() and port.isdecimal() and int(port) <= 65_535):
        raise ValueError("it must be host:port, as in 10.0.0.5:7400")
    return host, int(port)
