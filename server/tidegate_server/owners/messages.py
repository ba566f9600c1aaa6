"""Messages between a gateway and an owner on a link, one per frame.

A gateway says hello once, then forwards calls: requests in batches, and hot calls in the plain form
in blocks. An owner reports whether it takes calls, and their outcomes. Ids are UUIDs of version 7,
in 16 bytes.
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

    @property
    def path(self) -> str:
        """The path of the target, undecoded."""
        return self.target.partition(b"?")[0].decode("latin-1")

    @property
    def query(self) -> bytes:
        """The query of the target, without the question mark; empty without a query."""
        return self.target.partition(b"?")[2]


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


class Look(msgspec.Struct, array_like=True, frozen=True, tag="look"):
    """Asks for the owner's standing, which shows that it is there."""


class HandedOn(msgspec.Struct, array_like=True, frozen=True):
    """A request in a batch.

    Attributes:
        id: the id that the gateway gave it.
        is_repeated: whether it was forwarded before, to this owner or another.
        asked: the request.
    """

    id: bytes
    is_repeated: bool
    asked: Asked


class Batch(msgspec.Struct, array_like=True, frozen=True, tag="batch"):
    """Requests that are forwarded together.

    Attributes:
        gateway: whose bounds hold for them, ``hot`` or ``others``; outcomes repeat it.
        number: the number of their sending at that gateway, from 1; outcomes repeat it.
        calls: the requests, in order of arrival.
        term: of the addressed owner; an owner of another term takes none of them. 0 where it can't
            be another: on the owner's node.
    """

    gateway: str
    number: int
    calls: list[HandedOn]
    term: int = 0


class Calls(msgspec.Struct, array_like=True, frozen=True, tag="calls"):
    """Hot calls of one turn in the plain form, in columns; ``number`` and ``term`` as in a batch.

    Attributes:
        is_repeated: whether they were forwarded before, to this owner or another.
        ids: the id of each call, under which it is decided.
        paths: the path of each endpoint.
        credentials: as they were sent.
        request_ids: the callers', safe to send back.
        bodies: the events.
        traceparents: the callers', valid; empty if no call has one.
    """

    number: int
    term: int
    is_repeated: bool
    ids: list[bytes]
    paths: list[str]
    credentials: list[bytes]
    request_ids: list[bytes | None]
    bodies: list[bytes]
    traceparents: list[bytes | None] = []


class Outcome(msgspec.Struct, array_like=True, frozen=True):
    """The outcome of a call.

    Attributes:
        id: the call's id.
        refusal: why to ask again, as a reason of ``cluster/messages.py``; empty for an answer.
        answer: None for a refusal.
    """

    id: bytes
    refusal: str
    answer: Answered | None = None


class Outcomes(msgspec.Struct, array_like=True, frozen=True, tag="outcomes"):
    """Outcomes of some calls of one sending, whose gateway and number they repeat."""

    gateway: str
    number: int
    outcomes: list[Outcome]


class Decided(msgspec.Struct, array_like=True, frozen=True, tag="decided"):
    """The decisions of hot calls, as nearly every one ends: their answers have only a body.

    Attributes:
        ids: of the calls.
        bodies: the answer of each.
    """

    ids: list[bytes]
    bodies: list[bytes]


class Standing(msgspec.Struct, array_like=True, frozen=True, tag="standing"):
    """Whether the process takes calls now."""

    is_owner: bool


Message: TypeAlias = Hello | Look | Batch | Calls | Outcomes | Decided | Standing

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Message).decode
