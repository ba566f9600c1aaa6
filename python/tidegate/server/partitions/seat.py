"""A server worker's seat: which partition it owns, and the sockets by which it is reached."""

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
"""Bytes of a path that the address of a Unix socket has room for."""


@attrs.frozen
class Seat:
    """One of several server workers.

    Attributes:
        number: of its partition.
        paths: of the Unix sockets of all owners, by partition.
        inbox: the one of this owner, which listens; the parent holds it too, so a call finds it
            while there is no owner.
        shared: a socket that listens for callers and that all workers have; None where each has
            one of its own on the same port.
        port: on which each has one.
    """

    number: int
    paths: Sequence[str]
    inbox: socket.socket
    shared: socket.socket | None
    port: int


def make_inboxes(directory: Path, count: int) -> tuple[list[str], list[socket.socket]]:
    """The Unix sockets by which owners are reached.

    Args:
        directory: of the data; nobody else may enter it.
        count: how many partitions there are.

    Returns:
        Their paths, and the sockets, which listen.
    """
    place = str(directory)
    if len(os.fsencode(place)) > _LONGEST - len("/partition-999.socket"):
        # The address of a socket is short. The directory stays open for as long as the process.
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
