"""The agent of an event, and what proves that it is the one: docs/fields.md, "Agents".

An event may have a finding, the member ``agent``: what was found of the request's signature, or by
the source itself, before the decision.  It is recorded with the event, so no key is needed to
decide again.
"""

from __future__ import annotations

import ipaddress
from functools import cache
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import EventError
from tidegate.evaluation.agents.ranges import RANGES
from tidegate.evaluation.agents.registry import PURPOSES
from tidegate.event_form import MEMBERS_OF_AGENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.evaluation.agents.registry import KnownAgent
    from tidegate.values import Address

PROOFS = ("signature", "range", "dns")
"""The kinds of proof that a finding may have."""
DEFAULT_PURPOSE = "other"


@attrs.frozen
class Agent:
    """The agent of an event; the texts are empty if nothing is known.

    Attributes:
        operator: the company that runs it.
        product: its name.
        purpose: one of ``PURPOSES``.
        proof: one of ``PROOFS``; ``name`` if the visitor only says so, and ``none`` if it doesn't.
        claims: the agent that the visitor says it is.
        is_provable: whether the operator publishes the addresses from which the claimed agent
            comes, and the client's address is known.
        signature_problem: why the request's signature proves nothing.
    """

    operator: str = ""
    product: str = ""
    purpose: str = ""
    proof: str = "none"
    claims: str = ""
    is_provable: bool = False
    signature_problem: str = ""


def check_finding(finding: Mapping[str, str]) -> None:
    """Reject a finding that can't be used.

    Args:
        finding: its members, joined as in other objects of an event.

    Raises:
        EventError: a member is unknown, or proof or purpose has an unknown value.
    """
    for name in finding:
        if name not in MEMBERS_OF_AGENT:
            known = "`, `".join(MEMBERS_OF_AGENT)
            raise _refused(f"`agent` has no such member; its members are `{known}`", name)
    proof = finding.get("proof")
    if proof is not None and proof not in PROOFS:
        raise _refused(f"must be one of `{'`, `'.join(PROOFS)}`", "proof")
    if finding.get("purpose", DEFAULT_PURPOSE) not in PURPOSES:
        raise _refused(f"must be one of `{'`, `'.join(PURPOSES)}`", "purpose")
    if proof is not None and not finding.get("product"):
        raise _refused("an agent with a proof has a name", "product")


def agent_of(
    finding: Mapping[str, str], claimed: KnownAgent | None, address: Address | None
) -> Agent:
    """The agent of an event.

    Args:
        finding: as the event has it, checked; empty without one.
        claimed: the agent whose name the user agent has.
        address: of the client.
    """
    says = finding.get("claims", "") if claimed is None else claimed.family
    is_provable = claimed is not None and claimed.ranges != "" and address is not None
    unknown = Agent(
        proof="name" if says else "none",
        claims=says,
        is_provable=is_provable,
        signature_problem=finding.get("signature_problem", ""),
    )
    if "proof" in finding:
        return attrs.evolve(
            unknown,
            operator=finding.get("operator", ""),
            product=finding["product"],
            purpose=finding.get("purpose", DEFAULT_PURPOSE),
            proof=finding["proof"],
        )
    if claimed is None:
        return unknown
    is_in_range = address is not None and is_published(claimed.ranges, address)
    return attrs.evolve(
        unknown,
        operator=claimed.operator,
        product=claimed.family,
        purpose=claimed.purpose,
        proof="range" if is_in_range else "name",
    )


def is_published(ranges: str, address: Address) -> bool:
    """Whether an address is one of those that are published under a name of ``ranges.py``."""
    return any(address in network for network in _networks(ranges, address.version))


@cache
def _networks(name: str, version: int) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    found = map(ipaddress.ip_network, RANGES.get(name, ()))
    return tuple(each for each in found if each.version == version)


def _refused(message: str, member: str) -> EventError:
    step = member.replace("~", "~0").replace("/", "~1")
    return EventError(message, f"/agent/{step}")
