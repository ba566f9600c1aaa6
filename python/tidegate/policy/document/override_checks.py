"""Checks of overrides: whom they are for, and when."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING

from tidegate.functions.addresses import parse_range
from tidegate.language.tree.diagnostics import quote
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.definitions.overrides import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.definitions.model import Definitions, Override
    from tidegate.policy.definitions.overrides import Network

WIDEST = {4: 8, 6: 19}
"""The shortest prefix of a network that isn't said to be wide, by IP version."""
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def check_overrides(definitions: Definitions) -> Iterator[Finding]:
    """Every finding about overrides; names, slugs and ids are checked elsewhere.

    Args:
        definitions: the document.
    """
    if not definitions.overrides:
        return
    proxies = [
        found.network
        for found in map(parse_range, definitions.settings.trusted_proxies)
        if found is not None
    ]
    for at, override in enumerate(definitions.overrides):
        pointer = f"/overrides/{at}"
        yield from _target(override, pointer)
        yield from _times(override, pointer)
        found = None if override.network is None else parse_range(override.network)
        if found is not None:
            yield from _network(override, found.network, proxies, f"{pointer}/network")


def _target(override: Override, pointer: str) -> Iterator[Finding]:
    if override.network is None and override.entity_id is None:
        hint = "give the `network` or the `entity_id` that it is for"
        yield Finding("missing-member", "an override needs a target", pointer, hint=hint)
    if override.network is not None and override.entity_id is not None:
        message = "an override is for a network or for an entity, not for both"
        hint = "leave one of the two out"
        yield Finding("misplaced-member", message, f"{pointer}/entity_id", hint=hint)


def _times(override: Override, pointer: str) -> Iterator[Finding]:
    start, end = override.starts_at, override.ends_at
    if start and end and moment(end) <= moment(start):
        message = f"it ends at {quote(end)}, which isn't after its start at {quote(start)}"
        yield Finding("never-applies", message, f"{pointer}/ends_at")


def _network(
    override: Override, network: Network, proxies: list[Network], pointer: str
) -> Iterator[Finding]:
    widest = WIDEST[network.version]
    if network.prefixlen < widest and not override.wide:
        message = f"{network} is wider than /{widest}"
        hint = "set `wide: true` if so many addresses are meant"
        yield Finding("wide-network", message, pointer, hint=hint)
    if override.kind != "ban":
        return
    for protected, noun in ((LOOPBACK, "loopback addresses"), (proxies, "trusted proxies")):
        if any(each.version == network.version and each.overlaps(network) for each in protected):
            message = f"{network} contains {noun}, which can't be banned"
            yield Finding("protected-network", message, pointer)
