"""The answer to a hot call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

Header: TypeAlias = tuple[bytes, bytes]


class Answer(NamedTuple):
    """An answer: a status, headers in addition to the usual ones, and a JSON body."""

    body: bytes
    status: int = 200
    headers: tuple[Header, ...] = ()
    content_type: bytes = b"application/json"


Outcome: TypeAlias = Answer | Exception
Done: TypeAlias = Callable[[Outcome], None]
