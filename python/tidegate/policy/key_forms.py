"""The stored form and names of a tenant's entity keys.

This part of definitions is small and has no expressions, so it can be sent to where records are
shown and entities are looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate.decider import Challenge
from tidegate.functions.addresses import client_network, sent_address
from tidegate.policy.definitions.keys import EntityKey, Part, entity_id
from tidegate.policy.definitions.redaction import Redaction
from tidegate.policy.definitions.secrets import Reading, kept_parts

if TYPE_CHECKING:
    from tidegate.policy.decision import EngineDecision
    from tidegate.policy.definitions.compiled import CompiledDefinitions, CompiledEntity
    from tidegate.policy.definitions.secrets import Redacts


@attrs.frozen
class KeyForm:
    """The key of an entity definition.

    Attributes:
        id: id of the definition.
        readings: how each part is read.
        is_network: whether each part is a client's network.
    """

    id: str
    readings: tuple[Reading, ...]
    is_network: tuple[bool, ...]


@attrs.frozen
class KeyForms:
    """The keys of a tenant's entity definitions.

    Attributes:
        redaction: the data of the tenant's redactor.
        by_slug: the key of each definition.
    """

    tenant: UUID
    redaction: Redaction
    by_slug: Mapping[str, KeyForm]

    @classmethod
    def of(cls, compiled: CompiledDefinitions) -> KeyForms:
        """The keys in compiled definitions."""
        return cls(
            compiled.tenant,
            Redaction.of(compiled),
            {each.slug: _form(each) for each in compiled.entities},
        )

    def has_secret(self, slug: str) -> bool:
        """Whether a key part of an entity definition is stored as a hash."""
        form = self.by_slug.get(slug)
        return form is not None and any(each.is_secret for each in form.readings)

    def kept(self, slug: str, key: Sequence[Part], redactor: Redacts | None) -> tuple[Part, ...]:
        """The parts of a key as stored: secrets as hashes."""
        form = self.by_slug.get(slug)
        if form is None or len(form.readings) != len(key):
            return tuple(key)
        return kept_parts(redactor, form.readings, key)

    def named(
        self, slug: str, key: Sequence[Part], redactor: Redacts | None
    ) -> tuple[str, tuple[Part, ...]] | None:
        """Id and stored key of an entity; None if it isn't one of these definitions'.

        Args:
            slug: slug of the entity's definition.
            key: the parts of its key, secrets in clear or as hashes; an address means its client's
                network.
            redactor: makes the hashes.
        """
        form = self.by_slug.get(slug)
        if form is None or len(form.readings) != len(key):
            return None
        parts = zip(form.is_network, key, strict=True)
        key = [_network_of(part) if is_network else part for is_network, part in parts]
        kept = EntityKey.of(slug, kept_parts(redactor, form.readings, key))
        return str(entity_id(self.tenant, form.id, kept)), kept.parts

    def decision(self, decision: EngineDecision, redactor: Redacts | None) -> EngineDecision:
        """A decision as stored.

        One from an earlier version of Tidegate may have secrets in clear in its keys and return
        URL.
        """
        if redactor is None:
            return decision
        ids: dict[str, str] = {}
        entities = []
        for entity in decision.entities:
            named = self.named(entity.definition, entity.key, redactor)
            if named is not None and named[1] != entity.key:
                ids[entity.entity_id] = named[0]
                entity = attrs.evolve(entity, entity_id=named[0], key=named[1])
            entities.append(entity)
        fired = tuple(
            attrs.evolve(each, entity_id=ids.get(each.entity_id or "", each.entity_id))
            for each in decision.fired
        )
        action = decision.action
        if isinstance(action, Challenge) and action.return_url is not None:
            action = attrs.evolve(action, return_url=redactor.link(action.return_url))
        return attrs.evolve(decision, action=action, entities=tuple(entities), fired=fired)


def _form(entity: CompiledEntity) -> KeyForm:
    is_network = tuple(each.text.strip() == "derived.client_network" for each in entity.key_fields)
    return KeyForm(entity.id, entity.key_readings, is_network)


def _network_of(part: Part) -> Part:
    address = sent_address(part) if isinstance(part, str) else None
    return part if address is None else client_network(address)
