"""The target of a request: the text in place of a path, and how back ends interpret it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.functions.text import form_decode, percent_decoded, upper

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSOLUTE = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL
)
_BLANKS = " \t\n\v\f\r\u00a0"
"""Blanks that some back ends strip from the end of a segment."""
_PROTOCOLS = {"HTTP/2.0": "HTTP/2", "HTTP/3.0": "HTTP/3"}


@attrs.frozen
class Target:
    """The parts of a target, as received.

    Attributes:
        scheme: scheme of an absolute address.
        host: host of an absolute address, with its port.
        path: the part before the first ``?``.
        query: the part after it.
    """

    scheme: str | None
    host: str | None
    path: str
    query: str | None


def read_target(text: str) -> Target:
    """The parts of a path that may have a query, or of an absolute address (RFC 9112, 3.2)."""
    scheme = host = None
    if (found := _ABSOLUTE.fullmatch(text)) is not None:
        scheme, host, text = found["scheme"], found["authority"].rpartition("@")[2], found["rest"]
    path, mark, query = text.partition("?")
    is_root = host is not None and not path
    return Target(scheme, host, "/" if is_root else path, query if mark else None)


def protocol_name(text: str) -> str:
    """A protocol in upper case; HTTP/2 and HTTP/3 as RFC 9113 and 9114 name them.

    Args:
        text: such as ``HTTP/1.1``, or ``HTTP/2.0`` as nginx and Caddy write it.
    """
    name = upper(text)
    return _PROTOCOLS.get(name, name)


def pairs_of(query: str) -> list[tuple[str, str]]:
    """The names and values in a query, in order, decoded like form data."""
    pairs = [pair.partition("=") for pair in query.removeprefix("?").split("&") if pair]
    return [(form_decode(name), form_decode(value)) for name, _, value in pairs]


def query_members(query: str) -> dict[str, Any]:
    """The members of a request for its query: as sent, and its values by name."""
    query = query.removeprefix("?")
    found: dict[str, list[str]] = {}
    for name, value in pairs_of(query):
        found.setdefault(name, []).append(value)
    return {"query": query, "query_params": found} if query else {}


def canonical_path(path: str) -> str:
    """The path decoded once, without empty and dot segments."""
    return _resolved(percent_decoded(path), str)


def lenient_path(path: str) -> str:
    """The path as the most lenient back end reads it (docs/fields.md)."""
    decoded = percent_decoded(percent_decoded(path.partition("#")[0]))
    return _resolved(decoded.replace("\\", "/"), _lenient_segment)


def _lenient_segment(segment: str) -> str:
    """The segment without parameters, a stream name, and trailing blanks and dots."""
    name = re.split("[;\0]", segment, maxsplit=1)[0]
    before, stream, _ = name.partition(":$")
    name = before.rstrip(":") if stream else name
    dots = name.rstrip(_BLANKS)
    return dots if dots in {".", ".."} else name.rstrip("." + _BLANKS)


def _resolved(decoded: str, read: Callable[[str], str]) -> str:
    kept: list[str] = []
    segments = [read(each) for each in decoded.split("/")]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in {"", "."}:
            kept.append(segment)
    canonical = ("/" if decoded.startswith("/") else "") + "/".join(kept)
    is_directory = len(segments) > 1 and segments[-1] in {"", ".", ".."}
    return canonical + "/" if is_directory and not canonical.endswith("/") else canonical
