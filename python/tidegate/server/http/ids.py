"""Ids of new objects: UUIDs of version 7, which sort in the order in which they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uuid_utils.compat import uuid7

if TYPE_CHECKING:
    from uuid import UUID


def new_id() -> UUID:
    """A new id."""
    return uuid7()
