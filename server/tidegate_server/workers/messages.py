"""Messages over the pipe between the service and a worker, which run the same program."""

from __future__ import annotations

import pickle
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


class Kind(IntEnum):
    """The kind of a message."""

    ASKED = 0
    """The worker calls a method of the inbox: name and arguments."""
    RETURNED = 1
    RAISED = 2


def send(connection: Connection, kind: Kind, content: Any) -> None:
    """Send a message.

    Raises:
        OSError: the other end is gone.
    """
    connection.send_bytes(encode((kind, content)))


def receive(connection: Connection) -> tuple[Kind, Any]:
    """Return the next message.

    Raises:
        EOFError, OSError: the other end is gone.
    """
    kind, content = pickle.loads(connection.recv_bytes())  # noqa: S301 - this program wrote it
    return kind, _revived(*content) if kind is Kind.RAISED else content


def send_error(connection: Connection, error: BaseException) -> None:
    """Send an exception with all its data.

    Exceptions are pickled by their arguments, which are seldom those of their constructor.
    """
    send(connection, Kind.RAISED, (type(error), error.args, error.__dict__))


def encode(message: Any) -> bytes:
    """Return a message as it is sent."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def _revived(kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error
