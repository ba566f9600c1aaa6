"""Read derived tables, with every decision answered so far if possible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.port import Records


@contextmanager
def indexed(store: Records) -> Iterator[Connection]:
    """Open a reading connection that sees every decision answered so far.

    While nothing can be written the newest may be missing; the others can still be read.
    """
    with suppress(StoreUnavailableError):
        store.index_now()
    with store.read() as connection:
        yield connection


@contextmanager
def learned(store: Records) -> Iterator[Connection]:
    """Do the same as :func:`indexed`, with an up-to-date field catalog unless it is far behind."""
    with suppress(StoreUnavailableError):
        store.learn_now()
    with store.read() as connection:
        yield connection
