"""What nodes say to each other on a link, a message in each frame.

A gateway says hello once, then hands calls on in batches; an owner tells whether it takes calls,
and what became of them.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

MAX_BODY_BYTES = 32 * 1024 * 1024
"""The largest body of any route."""


class Asked(msgspec.Struct, array_like=True, frozen=True):
    """A request as a gateway took it.

    Attributes:
        method: in capitals.
        target: path and query, as they were written.
        headers: names in lower case.
        body: whole.
        client: the caller's address and port; None for a Unix socket.
        scheme: by which the caller came, ``http`` or ``https``.
    """

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    client: tuple[str, int] | None
    scheme: str


class Answered(msgspec.Struct, array_like=True, frozen=True):
    """The answer to a request."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Hello(msgspec.Struct, array_like=True, frozen=True, tag="hello"):
    """The first message of a link.

    Attributes:
        name: of the gateway.
        run: of its process.
        link: grows with each link of that process; an owner takes nothing from an earlier one.
        partition: whose calls the link is for.
    """

    name: str
    run: int
    link: int
    partition: int = 0


class HandedOn(msgspec.Struct, array_like=True, frozen=True):
    """A call in a batch.

    Attributes:
        id: that the gateway gave it.
        is_repeated: whether it was handed on before, to this owner or another.
        request: :class:`Asked`, encoded.
    """

    id: str
    is_repeated: bool
    request: bytes


class Batch(msgspec.Struct, array_like=True, frozen=True, tag="batch"):
    """Calls that are handed on together; names as of ``cluster/messages.py``.

    Attributes:
        term: of the placement of the owner that is asked: an owner of another term takes none of
            them.  0 from versions that do not say.
    """

    gateway: str
    number: int
    partition: int
    calls: list[HandedOn]
    term: int = 0


class Outcome(msgspec.Struct, array_like=True, frozen=True):
    """What became of a call.

    Attributes:
        id: of the call.
        refusal: why it is to be asked again, as a reason of ``cluster/messages.py``; empty for an
            answer.
        answer: :class:`Answered`, encoded.
    """

    id: str
    refusal: str
    answer: bytes


class Outcomes(msgspec.Struct, array_like=True, frozen=True, tag="outcomes"):
    """What became of calls of one batch; names as of ``cluster/messages.py``."""

    gateway: str
    number: int
    partition: int
    outcomes: list[Outcome]


class Standing(msgspec.Struct, array_like=True, frozen=True, tag="standing"):
    """Whether the node takes calls now."""

    is_owner: bool


Message: TypeAlias = Hello | Batch | Outcomes | Standing

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Message).decode
decode_asked = msgspec.msgpack.Decoder(Asked).decode
decode_answered = msgspec.msgpack.Decoder(Answered).decode
