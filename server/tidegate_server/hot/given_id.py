"""The id that a gateway gives a call before it forwards the call to the owner.

A call that lost its answer is asked again under the same id, so it is decided once. If the log
already has a decision under the id, that decision is the answer.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCOPE = "tidegate.given_id"
_TIME_BYTES = 6
"""A version 7 id begins with its milliseconds, so ids sort by time."""


@attrs.frozen
class GivenId:
    """The id of a call.

    Attributes:
        value: 16 bytes, a UUID of version 7.
        is_repeated: whether the call was forwarded before, and may have been decided.
    """

    value: bytes
    is_repeated: bool

    def of_event(self, number: int) -> bytes:
        """Return the id of one event of a batch, 16 bytes: the same on every retry of the batch.

        Args:
            number: of the event, from 0.
        """
        drawn = hashlib.blake2b(self.value + number.to_bytes(4), digest_size=16).digest()
        made = bytearray(self.value[:_TIME_BYTES] + drawn[_TIME_BYTES:])
        made[6] = made[6] & 0x0F | 0x70
        made[8] = made[8] & 0x3F | 0x80
        return bytes(made)


def given_id(scope: Mapping[str, Any]) -> GivenId | None:
    """Return the id of a request that a gateway forwarded; None for any other request."""
    found: GivenId | None = scope.get(_SCOPE)
    return found


def with_id(scope: dict[str, Any], given: GivenId) -> dict[str, Any]:
    """Return an ASGI request with an id."""
    return {**scope, _SCOPE: given}
