"""The transports of links: mutual TLS between nodes, and Unix sockets between server workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from tidegate_server.settings.bounds import split_address

if TYPE_CHECKING:
    import ssl

    from tidegate_server.owners.links import Link

Connect: TypeAlias = "Callable[[str, Callable[[], Link]], Awaitable[object]]"
"""Connects to an address, with the given end of the link.

Raises:
    OSError: no connection could be made.
    ValueError: it isn't an address.
"""


def over_tls(context: ssl.SSLContext) -> Connect:
    """Return the transport of nodes, whose addresses are ``host:port``.

    Args:
        context: for calling other nodes.
    """

    async def connect(address: str, end: Callable[[], Link]) -> object:
        host, port = split_address(address)
        return await asyncio.get_running_loop().create_connection(end, host, port, ssl=context)

    return connect


async def over_unix(address: str, end: Callable[[], Link]) -> object:
    """Connect to the Unix socket of another server worker; see :data:`Connect`.

    Args:
        address: the path of the socket.
        end: makes this end of the link.
    """
    return await asyncio.get_running_loop().create_unix_connection(end, address)
