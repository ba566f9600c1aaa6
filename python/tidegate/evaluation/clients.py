"""The client of an event: its address, or why it has none (docs/fields.md, "Addresses")."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypeAlias

import attrs

from tidegate.functions.addresses import contains, sent_address
from tidegate.values import Address, Network

Problem: TypeAlias = Literal[
    "absent", "empty", "not-an-address", "several-addresses", "only-proxies"
]
PROBLEMS: Mapping[str, str] = {
    "absent": "the event names no client",
    "empty": "the client is empty",
    "not-an-address": "the client isn't an address, or it isn't certain which one",
    "several-addresses": "the client is a list of addresses, and no trusted proxies are named",
    "only-proxies": "every address is a trusted proxy's",
}
"""Why an event's client has no address, in words."""
_ENTRIES = re.compile("[,\t\n\f\r ]")
_AROUND = " \t\n\r\v\f\"'"


@attrs.frozen
class Client:
    """An event's client; exactly one of the two is present.

    Attributes:
        address: the client's address.
        problem: why it has none.
    """

    address: Address | None = None
    problem: Problem | None = None


def noted(problem: str) -> str | None:
    """The problem of an event that names a client: its source or a proxy is probably wrong.

    A decision's record contains it.
    """
    return None if problem in ("", "absent") else problem


def client_of(member: str | None, chain: str | None, trusted: Collection[Network]) -> Client:
    """The client of an event.

    Args:
        member: ``request.client_ip``, if the event has it.
        chain: the header ``x-forwarded-for``, used without the member.
        trusted: the proxies' networks.
    """
    if member is None:
        if chain is None:
            return Client(problem="absent")
        return _nearest(reversed(chain.split(",")), trusted)
    address = sent_address(member)
    if address is not None:
        return Client(address)
    entries = _ENTRIES.split(member)
    found = _nearest(reversed(entries), trusted)
    named = (entry for entry in entries if entry.strip(_AROUND))
    if found.address and not trusted and any(sent_address(each) != found.address for each in named):
        # The last of several may be a proxy, and blocking it hits everybody behind it.
        return Client(problem="several-addresses")
    return found


def _nearest(entries: Iterable[str], trusted: Collection[Network]) -> Client:
    """The first address from the end that is not a trusted proxy's.

    An invalid entry ends the search: the client may have made up the rest.
    """
    problem: Problem = "empty"
    for entry in entries:
        if not entry.strip(_AROUND):
            continue
        address = sent_address(entry)
        if address is None:
            return Client(problem="not-an-address")
        if not any(contains(network, address) for network in trusted):
            return Client(address)
        problem = "only-proxies"
    return Client(problem=problem)
