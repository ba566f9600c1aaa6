"""Audit entries of earlier versions, which held objects as they are stored, in the wire form.

What such an entry did not keep (times and revision of a definition) stays out of its answer.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import msgspec

from tidegate.server import wire
from tidegate.server.wire.kinds import ENTITY, KINDS, LIST, MITIGATION, POLICY, to_saved
from tidegate.stores.objects import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.server.wire.kinds import DefinitionKind
    from tidegate.stores.objects.audit import AuditEntry

Shown: TypeAlias = "tuple[Any, tuple[wire.MissingReference, ...]]"
"""A value as it is answered, and what it refers to that is gone."""

_TIMES = {
    "expires_at_ns": "expires_at",
    "revoked_at_ns": "revoked_at",
    "previous_secret_until_ns": "previous_secret_expires_at",
    "created_at_ns": "created_at",
    "updated_at_ns": "updated_at",
    "since_ns": "since",
    "until_ns": "until",
}
"""Times of keys and jobs: as they were kept, and as they are answered."""
_LIFTED = (
    ("definition", "entity_definition_id", ENTITY),
    ("policy", "policy_id", POLICY),
    ("mitigation", "mitigation_id", MITIGATION),
)
"""The references of a lifted mitigation to definitions: slug, id and kind."""


@attrs.define(slots=False)
class Earlier:
    """Entries of one tenant.

    Attributes:
        connection: of the store, for ids that the entries do not have.
        tenant_id: whose.
    """

    connection: Connection
    tenant_id: UUID

    def to_wire(self, entry: AuditEntry, value: Any, place: str) -> Shown:
        """A value of an entry as it is answered; one in the wire form stays as it is.

        Args:
            entry: the entry.
            value: before or after the change.
            place: pointer to the value in the entry.
        """
        match entry.kind, value:
            case ("active-mitigation", list()):
                return self._mitigations(value, place)
            case (_, dict()) if entry.kind in KINDS:
                return self._definition(KINDS[entry.kind], entry, value, place)
            case ("tenant", dict()) if "tenant_id" not in value:
                settings = wire.all_settings(value.get("settings", {}))
                return {"tenant_id": entry.object_id, **value, "settings": settings}, ()
            case ("membership", dict()) if "tenant_id" not in value:
                return {**self._owned, "user_id": entry.object_id, **value}, ()
            case ("api-key", dict()) if "created_at_ns" in value:
                return _with_times(value), ()
            case ("replay-job", dict()) if "since_ns" in value:
                return {**self._owned, "replay_job_id": entry.object_id} | _with_times(value), ()
        return value, ()

    def _definition(
        self, kind: DefinitionKind, entry: AuditEntry, value: Mapping[str, Any], place: str
    ) -> Shown:
        if "tenant_id" in value:
            return value, ()
        if kind is LIST and "add_count" in value:  # entries that were put in and taken out
            return {**self._owned, kind.id_member: entry.object_id, **value}, ()
        try:
            members, missing = to_saved(kind, self.tenant_id, value, self._find_id)
        except (msgspec.ValidationError, LookupError, TypeError, ValueError):
            return value, ()  # of a form that is no longer known: the entry is shown all the same
        if kind is LIST:
            members["entry_count"] = len(members["entries"])
        return msgspec.to_builtins(members), _placed(missing, place)

    def _mitigations(self, lifted: list[Any], place: str) -> Shown:
        shown: list[Any] = []
        missing: list[wire.MissingReference] = []
        for at, each in enumerate(lifted):
            members = dict(each)
            if "tenant_id" not in members:
                members |= self._owned | {"expires_at": wire.time_text(each["expires_at"])}
                for slug, name, kind in _LIFTED:
                    found = self._find_id(kind, each[slug])
                    members[name] = None if found is None else str(found)
                    if found is None:
                        pointer = f"{place}/{at}/{name}"
                        missing.append(
                            wire.MissingReference(pointer=pointer, kind=kind.name, slug=each[slug])
                        )
            shown.append(members)
        return shown, tuple(missing)

    @property
    def _owned(self) -> dict[str, str]:
        return {"tenant_id": str(self.tenant_id)}

    def _find_id(self, kind: DefinitionKind, slug: str) -> UUID | None:
        return self._ids.get((kind.name, slug))

    @cached_property
    def _ids(self) -> dict[tuple[str, str], UUID]:
        return definitions.ids_by_slug(self.connection, self.tenant_id)


def _with_times(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        _TIMES.get(name, name): wire.optional_time(each) if name in _TIMES else each
        for name, each in value.items()
    }


def _placed(
    missing: tuple[wire.MissingReference, ...], place: str
) -> tuple[wire.MissingReference, ...]:
    return tuple(attrs.evolve(each, pointer=place + each.pointer) for each in missing)
