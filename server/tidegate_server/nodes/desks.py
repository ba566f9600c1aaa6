"""The inboxes of a node, one per partition, and the links that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate_server.nodes.messages import Hello

if TYPE_CHECKING:
    from tidegate_server.nodes.desk import Desk
    from tidegate_server.nodes.links import Link
    from tidegate_server.nodes.messages import Message


class Desks:
    """Takes links of gateways; each is for one partition, which its first message names.

    Args:
        desk_of: returns the inbox of a partition; None if this node has none.
    """

    def __init__(self, desk_of: Callable[[int], Desk | None]) -> None:
        self._desk_of = desk_of
        self._desks: dict[Link, Desk] = {}

    def receive(self, link: Link, message: Message) -> None:
        """Take a gateway's message."""
        if isinstance(message, Hello) and link not in self._desks:
            desk = self._desk_of(message.partition)
            if desk is not None:
                self._desks[link] = desk
        if link in self._desks:
            self._desks[link].receive(link, message)
        else:
            link.abort()

    def lost(self, link: Link) -> None:
        """Note that a link has ended."""
        desk = self._desks.pop(link, None)
        if desk is not None:
            desk.link_lost(link)
