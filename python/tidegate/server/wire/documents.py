"""A whole definitions document, and what it would change."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs
from msgspec import UNSET, Meta, UnsetType


@attrs.frozen(kw_only=True)
class DocumentQuery:
    dry_run: Annotated[bool, Meta(description="say what would change, and change nothing")] = False


@attrs.frozen(kw_only=True)
class Change:
    """One object that differs between two definition sets."""

    change: Literal["created", "updated", "deleted"]
    kind: str
    id: str
    name: str
    members: Annotated[tuple[str, ...], Meta(description="that differ, for an update")] = ()


@attrs.frozen(kw_only=True)
class DefinitionWarning:
    code: str
    detail: str
    pointer: str
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    hint: str | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class DocumentChanges:
    revision: int
    dry_run: bool
    changes: tuple[Change, ...]
    warnings: tuple[DefinitionWarning, ...]
