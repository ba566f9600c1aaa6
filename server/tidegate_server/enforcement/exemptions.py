"""The addresses that operators let through by hand, which are never dropped meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate.functions.addresses import client_network
from tidegate.policy.definitions.keys import EntityKey, entity_id
from tidegate.policy.definitions.model import Override
from tidegate.policy.definitions.overrides import Overrides

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Address, IPv6Address

REASON = "let through by hand"


@attrs.frozen
class Exemptions:
    """A tenant's exemptions.

    Attributes:
        tenant: the tenant's id.
        overrides: the overrides that let somebody through.
        entities: ids of the definitions whose entities are addresses, and whether the key is the
            client's network.
    """

    tenant: UUID
    overrides: Overrides
    entities: Mapping[str, bool]

    @classmethod
    def of(cls, document: Mapping[str, Any], by_address: Mapping[str, bool]) -> Exemptions:
        """The exemptions in a definitions document.

        Args:
            document: the document, or the part of it that names them.
            by_address: slugs of the definitions whose entities are addresses.
        """
        tenant = UUID(document["tenant"]["tenant_id"]) if document.get("tenant") else UUID(int=0)
        allowing = (each for each in document.get("overrides", []) if each["kind"] == "allow")
        overrides = Overrides.of(map(_override, allowing))
        entities = {
            each["entity_definition_id"]: by_address[each["slug"]]
            for each in document.get("entities", [])
            if overrides.all and each["slug"] in by_address
        }
        return cls(tenant, overrides, entities)

    def reason(self, address: IPv4Address | IPv6Address, now: int) -> str:
        """Why an address isn't dropped; empty if it isn't exempt.

        Args:
            address: the address.
            now: nanoseconds since 1970.
        """
        if not self.overrides.all:
            return ""
        ids = {
            str(entity_id(self.tenant, of, EntityKey.of("", (_key(address, is_network),))))
            for of, is_network in self.entities.items()
        }
        return REASON if self.overrides.find(address, ids, now) else ""


def _override(members: Mapping[str, Any]) -> Override:
    """An override, without members that a later version of the service may add."""
    known = {each.name for each in attrs.fields(Override)}
    return Override(**{name: value for name, value in members.items() if name in known})


def _key(address: IPv4Address | IPv6Address, is_network: bool) -> str:
    return client_network(address) if is_network else str(address)
