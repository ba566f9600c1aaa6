"""Validators for structured texts: header, origin, URL, identifier.

Each function returns the problem with a text, or None.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from uuid import UUID

from tidegate.policy.definitions.header_values import header_value_problem
from tidegate.policy.definitions.shapes import Text

MAX_URL = 2 * 1024
LABEL = Text(maximum=200)
"""The value of a label."""
LABEL_NAME = r"[A-Za-z0-9][A-Za-z0-9_./-]{0,62}"
_LABEL_NAME = re.compile(LABEL_NAME)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_VISIBLE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_HOST = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])")

_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")

HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"}
    | {"te", "trailer", "trailers", "transfer-encoding", "upgrade"}
)
"""Headers that belong to one connection, not to the response (RFC 9110, section 7.6.1)."""
RESERVED_HEADERS = frozenset(
    {"host", "content-length", "content-encoding", "authorization", "cookie", "set-cookie"}
    | {"x-service-api-key"}
)
"""Headers that would change the framing of the response, or carry or forge a credential."""
_OBJECT_NAMES = frozenset({"constructor", "prototype"})
"""Besides names with a leading underscore, such as `__proto__`, the properties of every JavaScript
object: an edge that puts headers into one would change them."""


def header_problem(name: str, value: str) -> str | None:
    """Why a response header cannot be sent."""
    if not _TOKEN.fullmatch(name):
        return "a header name must be a token of at most 64 characters"
    if not name[0].isalnum() or name.lower() in _OBJECT_NAMES:
        return (
            "a header name begins with a letter or a digit, and is not `constructor` or `prototype`"
        )
    if name.lower() in HOP_BY_HOP:
        return "a hop-by-hop header cannot be set"
    if name.lower() in RESERVED_HEADERS:
        return "this header cannot be set by a block answer"
    return header_value_problem(value)


def label_problem(name: str) -> str | None:
    """Why a label cannot have a name."""
    if _LABEL_NAME.fullmatch(name) and name not in _OBJECT_NAMES:
        return None
    return (
        "a name has at most 63 letters, digits, `_`, `.`, `/` and `-`, begins with a letter or a"
        " digit, and is not `constructor` or `prototype`"
    )


def url_problem(text: str) -> str | None:
    """Why a text isn't an absolute http or https URL."""
    if len(text) > MAX_URL or not _VISIBLE.fullmatch(text) or " " in text or "\\" in text:
        return "not an absolute http or https URL"
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        return "not an absolute http or https URL"
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or not port_is_fine:
        return "not an absolute http or https URL"
    host = parts.netloc.rpartition(":")[0] if parts.port is not None else parts.netloc
    return None if _HOST.fullmatch(host) else "not an absolute http or https URL"


def secure_url_problem(text: str) -> str | None:
    """Why a text isn't an absolute https URL."""
    if url_problem(text) is not None or urlsplit(text).scheme != "https" or "#" in text:
        return "not an absolute https URL"
    return None


def origin_problem(text: str) -> str | None:
    """Why a text isn't an origin."""
    problem = url_problem(text)
    if problem is not None or text.count("/") != 2 or "?" in text or "#" in text:
        return "not an origin such as `https://shop.example`"
    return None


def is_pointer(text: str) -> bool:
    """Whether a text is a JSON Pointer (RFC 6901)."""
    return _POINTER.fullmatch(text) is not None


def identifier_problem(text: str) -> str | None:
    """Why a text isn't a UUID."""
    try:
        is_usual = str(UUID(text)) == text.lower()
    except ValueError:
        is_usual = False
    return None if is_usual else "not a UUID"
