"""JSON Web Tokens in compact form (RFC 7515), parsed strictly.

The shape is checked before a library decodes anything: there is one way to write a token, and every
other is rejected.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from tidegate.errors import EventError, TidegateError
from tidegate.evaluation.json_text import Node, read_json

MAX_BYTES = 8 * 1024
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_SECONDS = re.compile(r"[1-9][0-9]{0,11}")


class InvalidTokenError(TidegateError):
    """A token was rejected. The message is for logs; callers only learn of the rejection."""

    code = "invalid-token"


def compact_parts(text: str) -> tuple[dict[str, Node], dict[str, Node], bytes]:
    """Split a token into header members, payload members and signature.

    Raises:
        InvalidTokenError: it has another form.
    """
    if len(text) > MAX_BYTES or not _FORM.fullmatch(text):
        raise InvalidTokenError("not three parts of base64url")
    header, payload, signature = (_decoded(part) for part in text.split("."))
    return _members(header), _members(payload), signature


def _decoded(part: str) -> bytes:
    """The bytes of one part; only one encoding of them is valid."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise InvalidTokenError("not base64url") from None
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != part:
        raise InvalidTokenError("not canonical base64url")
    return data


def _members(data: bytes) -> dict[str, Node]:
    try:
        node = read_json(data)
    except EventError as error:
        raise InvalidTokenError(f"it isn't strict JSON: {error.message}") from None
    if node.kind != "object":
        raise InvalidTokenError("no JSON object")
    members: dict[str, Node] = node.content
    return members


def text_of(members: dict[str, Node], name: str) -> str:
    """A text member.

    Raises:
        InvalidTokenError: it isn't a text, or is missing.
    """
    node = members.get(name)
    if node is None or node.kind != "string":
        raise InvalidTokenError(f"`{name}` is no text")
    text: str = node.content
    return text


def texts_of(members: dict[str, Node], name: str) -> list[str]:
    """One text, or a list of them (RFC 7519, section 4.1.3).

    Raises:
        InvalidTokenError: it is neither, or is missing.
    """
    node = members.get(name)
    if node is None or node.kind != "array":
        return [text_of(members, name)]
    items: list[Any] = node.content
    if any(each.kind != "string" for each in items):
        raise InvalidTokenError(f"`{name}` is no list of texts")
    return [each.content for each in items]


def seconds_of(members: dict[str, Node], name: str) -> int:
    """Whole seconds since 1970.

    Raises:
        InvalidTokenError: it isn't such a number, or is missing.
    """
    node = members.get(name)
    if node is None or node.kind != "number" or not _SECONDS.fullmatch(node.content):
        raise InvalidTokenError(f"`{name}` is no whole number of seconds")
    return int(node.content)
