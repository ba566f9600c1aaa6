"""A tenant on the hot path: an engine, and further data for its answers and log lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

from tidegate_server.signatures.directory import Directories

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.evaluation.native import Redactor
    from tidegate.policy.definitions.model import Settings
    from tidegate.policy.key_forms import KeyForms
    from tidegate_server.engines.compiled import Names
    from tidegate_server.engines.serving import BundledEngine

Revision: TypeAlias = tuple[int, int]
"""The number of changes to a tenant's definitions, and its own revision, which counts settings."""


@attrs.frozen
class Tenant:
    """The parts of a tenant that a decision needs."""

    tenant_id: UUID
    revision: int
    """The revision of the definitions."""
    read_at: Revision
    engine: BundledEngine
    redactor: Redactor
    names: Names
    """The ids of every policy, entity definition and mitigation."""
    settings: Settings
    keys: KeyForms
    """The form of entity keys."""
    directories: Directories = attrs.field(factory=Directories)
    """The keys of agents that the tenant accepts."""
    id_text: str = attrs.field(init=False)

    @id_text.default
    def _write_id(self) -> str:
        return str(self.tenant_id)
