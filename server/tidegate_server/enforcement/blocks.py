"""The addresses that active mitigations block, and when the blocks end.

Only entity definitions with just the client address or network as key name addresses, and only
mitigations with mode Block block them.  Challenge and Monitor are for the server that answers the
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from typing import Any, TypeAlias

import attrs
import orjson

from tidegate_server.enforcement.exemptions import Exemptions

Address: TypeAlias = "IPv4Address | IPv6Address"
Subject: TypeAlias = "Address | IPv6Network"
"""An address, or a client's IPv6 network."""
NETWORK_KEY = ["derived.client_network"]
BY_ADDRESS = (["request.client_ip"], NETWORK_KEY)
"""The key fields of entity definitions that name addresses."""
CLIENT_BITS = 64
"""Prefix length of a client's IPv6 network."""


@attrs.frozen
class Change:
    """A change for an address: blocked until a time, or no longer blocked if that is None."""

    address: Subject
    until: int | None


class Blocks:
    """The blocked addresses of a tenant.

    Args:
        document: the definitions document.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._by_clause: dict[Subject, dict[tuple[str, str, str], int]] = {}
        self.other = 0
        """Mitigations that don't block an address, since the start."""
        self.define(document)

    def define(self, document: Mapping[str, Any]) -> None:
        """Use other definitions for later mitigations, and their exemptions from now on."""
        self._entities = {
            each["slug"]: each["key_fields"] == NETWORK_KEY
            for each in document.get("entities", [])
            if each.get("key_fields") in BY_ADDRESS
        }
        self.exemptions = Exemptions.of(document, self._entities)
        blocking = {
            each["slug"]
            for each in document.get("mitigations", [])
            if each.get("mode") == "Block" and each.get("enabled", True)
        }
        self._clauses = {
            (policy["slug"], clause["name"])
            for policy in document.get("policies", [])
            for clause in policy.get("clauses", [])
            if clause.get("mitigation") in blocking
        }

    def replace(self, effects: bytes, now: int) -> list[Change]:
        """Replace the active mitigations by a snapshot's, and return the changes."""
        before, self._by_clause = self._by_clause, {}
        changes = list(self.apply(effects, now))
        gone = before.keys() - self._by_clause.keys()
        return [*(Change(address, None) for address in gone), *changes]

    def apply(self, effects: bytes, now: int) -> Iterator[Change]:
        """Apply effects, and return the changes.

        Args:
            effects: effects that set or lift mitigations (docs/decision.md, "Effects").
            now: nanoseconds since 1970.
        """
        for kind, definition, key, _, *rest in orjson.loads(effects):
            if kind in ("revoke", "move"):
                continue
            if definition not in self._entities:
                self.other += 1
                continue
            text = str(key[0])
            if "%" in text:
                continue  # It has a zone, which no packet's address has.
            address = _subject(text)
            if address is None:
                continue
            yield from self._change(address, definition, kind == "lift", rest[-1], now)

    def active(self, now: int) -> Iterator[Change]:
        """Every blocked address, and when its block ends."""
        for address in list(self._by_clause):
            until = self._until(address, now)
            if until is not None:
                yield Change(address, until)

    def _change(
        self,
        address: Subject,
        definition: str,
        is_lift: bool,
        clauses: Iterable[list[str]],
        now: int,
    ) -> Iterator[Change]:
        before = self._until(address, now)
        known = self._by_clause.setdefault(address, {})
        for policy, clause, *until in clauses:
            if is_lift:
                known.pop((definition, policy, clause), None)
            elif (policy, clause) in self._clauses:
                place = (definition, policy, clause)
                known[place] = max(int(until[0]), known.get(place, 0))
            else:
                self.other += 1
        after = self._until(address, now)
        if after != before:
            yield Change(address, after)

    def _until(self, address: Subject, now: int) -> int | None:
        known = self._by_clause.get(address, {})
        for place in [place for place, until in known.items() if until <= now]:
            del known[place]
        if not known:
            self._by_clause.pop(address, None)
            return None
        return max(known.values())


def _subject(text: str) -> Subject | None:
    """The address or client network in a key; None for another key."""
    try:
        network = ip_network(text)
    except ValueError:
        return None
    address = network.network_address
    if network.prefixlen == address.max_prefixlen:
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return mapped or address  # In the form that packets have.
    if isinstance(network, IPv6Network) and network.prefixlen == CLIENT_BITS:
        return network
    return None
