"""Ids of new objects: UUIDs of version 7, which sort by creation time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uuid_utils.compat import uuid7

if TYPE_CHECKING:
    from uuid import UUID


def new_id() -> UUID:
    """Return a new id."""
    return uuid7()
