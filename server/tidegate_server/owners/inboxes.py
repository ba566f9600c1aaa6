"""The inboxes of a process, one per partition, and the links that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate_server.owners.links import Link
from tidegate_server.owners.messages import Hello

if TYPE_CHECKING:
    from tidegate_server.owners.inbox import Inbox
    from tidegate_server.owners.messages import Message


class Inboxes:
    """Takes links of gateways; each is for one partition, which its first message names.

    Args:
        inbox_of: returns the inbox of a partition; None if this process has none.
    """

    def __init__(self, inbox_of: Callable[[int], Inbox | None]) -> None:
        self._inbox_of = inbox_of
        self._inboxes: dict[Link, Inbox] = {}

    def link(self) -> Link:
        """Return the end of a new link from another process."""
        return Link(self.receive, self.lost)

    def receive(self, link: Link, message: Message) -> None:
        """Take a gateway's message."""
        if isinstance(message, Hello) and link not in self._inboxes:
            inbox = self._inbox_of(message.partition)
            if inbox is not None:
                self._inboxes[link] = inbox
        if link in self._inboxes:
            self._inboxes[link].receive(link, message)
        else:
            link.abort()

    def close(self) -> None:
        """End all links."""
        for link in list(self._inboxes):
            link.abort()

    def lost(self, link: Link) -> None:
        """Note that a link has ended."""
        inbox = self._inboxes.pop(link, None)
        if inbox is not None:
            inbox.link_lost(link)
