"""How what is derived is read: with everything that was answered before, where that can be had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tidegate.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.server.application import Records


@contextmanager
def indexed(store: Records) -> Iterator[Connection]:
    """A reading connection that knows every decision answered before.

    While nothing can be written the newest may be missing: what is there can still be read.
    """
    with suppress(StoreUnavailableError):
        store.index_now()
    with store.read() as connection:
        yield connection
