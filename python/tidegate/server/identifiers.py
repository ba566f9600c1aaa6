"""Ids of new objects: UUIDs of version 7, whose order is that of their making."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uuid_utils.compat import uuid7

if TYPE_CHECKING:
    from uuid import UUID


def new_id() -> UUID:
    """An id that nothing has yet."""
    return uuid7()
