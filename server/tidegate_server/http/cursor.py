"""Pages of a list: the caller passes the start of the next page back, protected by a MAC.

A cursor is bound to its path and query. Its content still counts as data, and is passed to
statements as parameters.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import attrs
import orjson
from msgspec import Meta

from tidegate_server.http.problems import ErrorDetail, Problem

MAX_LIMIT = 500
DEFAULT_LIMIT = 50
_MAC_BYTES = 16
_MAX_CURSOR = 2_048
"""Long enough for the longest position: a field catalog name, or a clause's name."""

Position: TypeAlias = "Sequence[str | int]"


@attrs.frozen(kw_only=True)
class Paging:
    """The query of a list."""

    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="items of a page")] = DEFAULT_LIMIT
    cursor: Annotated[
        str | None, Meta(description="where the page begins, from the `Link` header of the last")
    ] = None


class Cursors:
    """Creates and reads cursors, with a key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, position: Position, scope: str) -> str:
        """Return the cursor for a position in the list that ``scope`` names."""
        body = orjson.dumps(list(position))
        return base64.urlsafe_b64encode(self._mac(body, scope) + body).decode().rstrip("=")

    def open(self, cursor: str, scope: str) -> list[str | int]:
        """Return the position in a cursor.

        Raises:
            Problem: ``invalid-request``; it isn't ours, or is of another list.
        """
        data = _decode(cursor)
        mac, body = data[:_MAC_BYTES], data[_MAC_BYTES:]
        if not body or not hmac.compare_digest(mac, self._mac(body, scope)):
            detail = "the cursor is not one that this list gave out"
            errors = [ErrorDetail(detail=detail, parameter="cursor")]
            raise Problem("invalid-request", detail, errors=errors)
        position: list[str | int] = orjson.loads(body)
        return position

    def _mac(self, body: bytes, scope: str) -> bytes:
        digest = hashlib.blake2b(key=self._key, digest_size=_MAC_BYTES, person=b"tidegate-cursor")
        digest.update(len(body).to_bytes(4, "big") + body + scope.encode())
        return digest.digest()


def _decode(cursor: str) -> bytes:
    if len(cursor) > _MAX_CURSOR or not cursor.isascii():
        return b""
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
