"""Convert audit entries of earlier versions, which stored objects as rows, to the wire form.

Times and revisions of a definition that such an entry lacks are left out of its answer.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import msgspec

from tidegate_server.stores.objects import definitions
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire import tenants as wire_tenants
from tidegate_server.wire.kinds import ENTITY, KINDS, LIST, MITIGATION, POLICY, to_saved

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.stores.objects.audit import AuditEntry
    from tidegate_server.wire.kinds import DefinitionKind

Shown: TypeAlias = "tuple[Any, tuple[wire_definitions.MissingReference, ...]]"
"""A value as it is answered, and its references to deleted objects."""

_TIMES = {
    "expires_at_ns": "expires_at",
    "revoked_at_ns": "revoked_at",
    "previous_secret_until_ns": "previous_secret_expires_at",
    "created_at_ns": "created_at",
    "updated_at_ns": "updated_at",
    "since_ns": "since",
    "until_ns": "until",
}
"""Times of keys and jobs: the stored name, and the name in the answer."""
_LIFTED = (
    ("definition", "entity_definition_id", ENTITY),
    ("policy", "policy_id", POLICY),
    ("mitigation", "mitigation_id", MITIGATION),
)
"""The references from a lifted mitigation to definitions: slug, id and kind."""


@attrs.define(slots=False)
class Earlier:
    """The entries of one tenant.

    Attributes:
        connection: of the store, for ids that the entries lack.
        tenant_id: the tenant.
    """

    connection: Connection
    tenant_id: UUID

    def to_wire(self, entry: AuditEntry, value: Any, place: str) -> Shown:
        """Return a value of an entry as it is answered; one in the wire form stays unchanged.

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
                settings = wire_tenants.all_settings(value.get("settings", {}))
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
        if kind is LIST and "add_count" in value:  # entries added and removed
            return {**self._owned, kind.id_member: entry.object_id, **value}, ()
        try:
            members, missing = to_saved(kind, self.tenant_id, value, self._find_id)
        except (msgspec.ValidationError, LookupError, TypeError, ValueError):
            return value, ()  # an unknown form: the entry is shown anyway
        if kind is LIST:
            members["entry_count"] = len(members["entries"])
        return msgspec.to_builtins(members), _placed(missing, place)

    def _mitigations(self, lifted: list[Any], place: str) -> Shown:
        shown: list[Any] = []
        missing: list[wire_definitions.MissingReference] = []
        for at, each in enumerate(lifted):
            members = dict(each)
            if "tenant_id" not in members:
                members |= self._owned | {"expires_at": wire_common.time_text(each["expires_at"])}
                for slug, name, kind in _LIFTED:
                    found = self._find_id(kind, each[slug])
                    members[name] = None if found is None else str(found)
                    if found is None:
                        pointer = f"{place}/{at}/{name}"
                        missing.append(
                            wire_definitions.MissingReference(
                                pointer=pointer, kind=kind.name, slug=each[slug]
                            )
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
        _TIMES.get(name, name): wire_common.optional_time(each) if name in _TIMES else each
        for name, each in value.items()
    }


def _placed(
    missing: tuple[wire_definitions.MissingReference, ...], place: str
) -> tuple[wire_definitions.MissingReference, ...]:
    return tuple(attrs.evolve(each, pointer=place + each.pointer) for each in missing)
