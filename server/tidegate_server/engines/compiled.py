"""A tenant's definitions in the form that an engine is built from; daemons use it too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from tidegate.policy.definitions.bundle import bundle, change
from tidegate.policy.definitions.model import Settings
from tidegate.policy.definitions.redaction import Redaction
from tidegate.policy.key_forms import KeyForms
from tidegate_server.signatures.directory import Directories

if TYPE_CHECKING:
    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import Definitions

MOST_BYTES = 1024 * 1024
"""A larger change is compiled as a whole, as its policies are better indexed with all others."""


@attrs.frozen
class Names:
    """The ids of a tenant's definitions by slug, as text."""

    policies: Mapping[str, str] = attrs.field(factory=dict)
    entities: Mapping[str, str] = attrs.field(factory=dict)
    mitigations: Mapping[str, str] = attrs.field(factory=dict)

    @classmethod
    def of(cls, definitions: Definitions) -> Names:
        """Return the names of a definition set."""
        return cls(
            {each.slug: each.policy_id for each in definitions.policies},
            {each.slug: each.entity_definition_id for each in definitions.entities},
            {each.slug: each.mitigation_id for each in definitions.mitigations},
        )


@attrs.frozen(kw_only=True)
class CompiledSet:
    """Definitions as a decision needs them."""

    revision: int
    content: bytes = attrs.field(repr=False)
    """The bundle that the native engine is built from."""
    settings: Settings
    names: Names = attrs.field(repr=False)
    keys: KeyForms = attrs.field(repr=False)
    directories: Directories = attrs.field(repr=False)
    """The keys of agents that the tenant accepts."""
    sample: Sequence[bytes] = attrs.field(repr=False)
    """Recent events that train the engine's index."""

    @classmethod
    def of(cls, compiled: CompiledDefinitions, sample: Sequence[bytes] = ()) -> CompiledSet:
        """Return the result of a compilation."""
        return cls(
            revision=compiled.revision,
            content=bundle(compiled),
            settings=compiled.source.settings,
            names=Names.of(compiled.source),
            keys=KeyForms.of(compiled),
            directories=Directories.of(compiled.source.lists),
            sample=sample,
        )


@attrs.frozen(kw_only=True)
class CompiledChange:
    """The policies that differ from the definitions that an engine has."""

    revision: int
    content: bytes = attrs.field(repr=False)
    """The bundle of changes for the engine."""
    names: Mapping[str, str] = attrs.field(repr=False)
    """The ids of new policies, by slug."""
    gone: Sequence[str]
    """The slugs of removed policies."""

    @classmethod
    def of(cls, before: Definitions | None, compiled: CompiledDefinitions) -> CompiledChange | None:
        """Return the changes for an engine with earlier definitions; None if it must be rebuilt."""
        if before is None or before.compilation is None:
            return None
        known_as = before.compilation.compiled
        if Redaction.of(known_as) != Redaction.of(compiled):
            return None  # the redactor belongs to the whole engine
        content = change(known_as, compiled)
        if content is None or len(content) > MOST_BYTES:
            return None
        known, present = Names.of(before).policies, Names.of(compiled.source).policies
        return cls(
            revision=compiled.revision,
            content=content,
            names=dict(present.items() - known.items()),
            gone=list(known.keys() - present.keys()),
        )
