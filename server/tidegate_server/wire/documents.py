"""A whole definitions document, the packs in it, and the changes that either would make."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import UNSET, Meta, UnsetType

from tidegate_server.wire.common import Expression, Identifier

DefinitionKindName: TypeAlias = Literal[
    "list", "action", "entity", "mitigation", "policy", "override"
]


Active: TypeAlias = Annotated[
    bool,
    Meta(
        description="whether the next event is decided by these definitions; false while those"
        " of before still decide, until `active_revision` of `status` is `revision`"
    ),
]
StatusPath: TypeAlias = Annotated[str, Meta(description="the path of the status of the tenant")]


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
    active: Active
    status: StatusPath


@attrs.frozen(kw_only=True)
class PackSlot:
    """An action that differs between sites."""

    slug: str
    meaning: str
    guess: Annotated[str, Meta(description="the expression that it gets if you give none")]
    expression: Annotated[
        str | None, Meta(description="the id of the tenant's action; null if the tenant has none")
    ]


@attrs.frozen(kw_only=True)
class Pack:
    """A pack that comes with the service, and the version that the tenant has."""

    tenant_id: UUID
    name: str
    version: str
    summary: str
    installed_version: Annotated[
        str | None,
        Meta(description="by the labels of its objects, the oldest; null if the tenant has none"),
    ]
    update_available: bool
    needs: tuple[str, ...]
    catches: tuple[str, ...]
    misses: tuple[str, ...]
    hurts: Annotated[tuple[str, ...], Meta(description="visitors that it may hurt")]
    measured: Annotated[str, Meta(description="how the figures of its page were measured")]
    policies: Annotated[tuple[str, ...], Meta(description="the slugs of its policies, in order")]
    slots: tuple[PackSlot, ...]


@attrs.frozen(kw_only=True)
class PackAddition:
    slots: Annotated[
        dict[Identifier, Expression],
        Meta(max_length=16, description="expressions for slots, instead of the guesses"),
    ] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class PackDifference:
    """A place at which the definitions differ; null stands for a value that isn't there."""

    place: Annotated[str, Meta(description="section, slug and members, joined by dots")]
    before: Any
    after: Any


@attrs.frozen(kw_only=True)
class PackConflict:
    """A place that you and the pack changed in different ways; your value stays."""

    place: str
    yours: Any
    pack: Any


@attrs.frozen(kw_only=True)
class PackChanges:
    """A step of a pack: made, or with `dry_run` only shown."""

    tenant_id: UUID
    pack: str
    from_version: str | None
    to_version: str | None
    revision: Annotated[int, Meta(description="of the definitions as a whole")]
    dry_run: bool
    changes: tuple[PackDifference, ...]
    yours: Annotated[
        tuple[PackDifference, ...],
        Meta(description="your changes of the pack's objects, slots left out"),
    ]
    conflicts: tuple[PackConflict, ...]
    warnings: Annotated[
        tuple[DefinitionWarning, ...],
        Meta(description="about new and changed objects, with pointers into the whole document"),
    ]
    active: Active
    status: StatusPath
