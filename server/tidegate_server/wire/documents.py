"""A whole definitions document, and the changes it would make."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import UNSET, Meta, UnsetType

DefinitionKindName: TypeAlias = Literal["list", "action", "entity", "mitigation", "policy"]


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
class DefinitionFindings:
    """An object with warnings."""

    tenant_id: UUID
    kind: DefinitionKindName
    id: UUID
    name: str
    warnings: Annotated[
        tuple[DefinitionWarning, ...], Meta(description="with pointers into the object")
    ]


@attrs.frozen(kw_only=True)
class DocumentChanges:
    revision: int
    dry_run: bool
    changes: tuple[Change, ...]
    warnings: tuple[DefinitionWarning, ...]
    active: Annotated[
        bool,
        Meta(
            description="whether the next event is decided by these definitions; false while those"
            " of before still decide, until `active_revision` of `status` is `revision`"
        ),
    ]
    status: Annotated[str, Meta(description="the path of the status of the tenant")]
