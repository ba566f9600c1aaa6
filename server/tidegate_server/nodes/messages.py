"""Messages between nodes on a link, one per frame.

A gateway says hello once, then forwards calls in batches. An owner reports whether it takes calls,
and their outcomes.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

MAX_BODY_BYTES = 32 * 1024 * 1024
"""The largest body of any route."""


class Asked(msgspec.Struct, array_like=True, frozen=True):
    """A request as a gateway received it.

    Attributes:
        method: in capitals.
        target: path and query, as they were written.
        headers: names in lower case.
        body: complete.
        client: the caller's address and port; None for a Unix socket.
        scheme: the scheme of the caller's connection, ``http`` or ``https``.
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
        name: the gateway's name.
        run: identifies its process.
        link: increases with each link of that process; an owner ignores earlier links.
        partition: the partition that the link's calls are for.
    """

    name: str
    run: int
    link: int
    partition: int = 0


class HandedOn(msgspec.Struct, array_like=True, frozen=True):
    """A call in a batch.

    Attributes:
        id: the id that the gateway gave it.
        is_repeated: whether it was forwarded before, to this owner or another.
        request: :class:`Asked`, encoded.
    """

    id: str
    is_repeated: bool
    request: bytes


class Batch(msgspec.Struct, array_like=True, frozen=True, tag="batch"):
    """Calls that are forwarded together; names as in ``cluster/messages.py``.

    Attributes:
        term: of the addressed owner; an owner of another term takes none of the calls. 0 where it
            can't be another: on the owner's node.
    """

    gateway: str
    number: int
    partition: int
    calls: list[HandedOn]
    term: int = 0


class Outcome(msgspec.Struct, array_like=True, frozen=True):
    """The outcome of a call.

    Attributes:
        id: the call's id.
        refusal: why to ask again, as a reason of ``cluster/messages.py``; empty for an answer.
        answer: :class:`Answered`, encoded.
    """

    id: str
    refusal: str
    answer: bytes


class Outcomes(msgspec.Struct, array_like=True, frozen=True, tag="outcomes"):
    """Outcomes of calls from one batch; names as in ``cluster/messages.py``."""

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
