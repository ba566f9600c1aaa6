"""A server worker's slot: the partition it owns, and the sockets that reach it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

BACKLOG = 2_048
_LONGEST = 100
"""The longest path in bytes that fits a Unix socket's address."""


@attrs.frozen
class Slot:
    """The slot of one of several server workers.

    Attributes:
        number: its partition.
        paths: paths of all owners' Unix sockets, by partition.
        inbox: this owner's listening socket; the parent holds it too, so calls can connect while
            there isn't an owner.
        shared: a socket that listens for callers, shared by all workers; None if each has its own
            on the same port.
        port: the port of those sockets.
    """

    number: int
    paths: Sequence[str]
    inbox: socket.socket
    shared: socket.socket | None
    port: int


def make_inboxes(directory: Path, count: int) -> tuple[list[str], list[socket.socket]]:
    """Create the Unix sockets that reach the owners.

    Args:
        directory: the data directory; nobody else may enter it.
        count: the number of partitions.

    Returns:
        Their paths, and the listening sockets.
    """
    place = str(directory)
    if len(os.fsencode(place)) > _LONGEST - len("/partition-999.socket"):
        # A socket's address has a short path. The directory stays open for as long as the process
        # lives.
        place = f"/proc/{os.getpid()}/fd/{os.open(directory, os.O_RDONLY)}"
    paths, made = [], []
    for number in range(count):
        path = f"{place}/partition-{number}.socket"
        (directory / f"partition-{number}.socket").unlink(missing_ok=True)
        inbox = socket.socket(socket.AF_UNIX)
        inbox.bind(path)
        Path(path).chmod(0o600)
        inbox.listen(BACKLOG)
        inbox.setblocking(False)
        paths.append(path)
        made.append(inbox)
    return paths, made
