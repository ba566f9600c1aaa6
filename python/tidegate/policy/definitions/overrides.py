"""Overrides ready for decisions: which ban or exemption is for an event, if any."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING, TypeAlias

import attrs

from tidegate.errors import EvaluationError
from tidegate.functions.addresses import parse_range
from tidegate.functions.time import parse_timestamp

if TYPE_CHECKING:
    from tidegate.policy.definitions.model import Override, OverrideKind
    from tidegate.values import Address

Network: TypeAlias = "IPv4Network | IPv6Network"
_LATEST = 2**63 - 1
_SECOND = 1_000_000_000


@attrs.frozen
class CompiledOverride:
    """One override; times are nanoseconds since 1970.

    ``network`` or ``entity_id`` is present.
    """

    id: str
    kind: OverrideKind
    network: Network | None
    entity_id: str | None
    starts_at: int
    ends_at: int

    @classmethod
    def of(cls, source: Override) -> CompiledOverride:
        """An override in compiled form."""
        network = None if source.network is None else parse_range(source.network)
        return cls(
            id=source.override_id,
            kind=source.kind,
            network=None if network is None else network.network,
            entity_id=source.entity_id,
            starts_at=0 if source.starts_at is None else moment(source.starts_at),
            ends_at=moment(source.ends_at),
        )

    def applies(self, address: Address | None, entity_ids: Collection[str], at: int) -> bool:
        """Whether it is for an event.

        Args:
            address: the client's address, if it is known.
            entity_ids: the ids of the event's entities.
            at: when the event was received.
        """
        if not self.starts_at <= at < self.ends_at:
            return False
        if self.network is not None:
            return address is not None and address in self.network
        return self.entity_id in entity_ids

    def seconds_left(self, at: int) -> int:
        """Whole seconds to its end, rounded up."""
        return -((at - self.ends_at) // _SECOND)


@attrs.frozen
class Overrides:
    """All overrides, in the order of the document."""

    all: tuple[CompiledOverride, ...]

    @classmethod
    def of(cls, sources: Iterable[Override]) -> Overrides:
        """Overrides in compiled form."""
        return cls(tuple(map(CompiledOverride.of, sources)))

    def find(
        self, address: Address | None, entity_ids: Collection[str], at: int
    ) -> CompiledOverride | None:
        """The override that answers an event: one that allows, else the one that ends last.

        Of two that end together the first counts.  Args: as :meth:`CompiledOverride.applies`.
        """
        found = (each for each in self.all if each.applies(address, entity_ids, at))
        return max(found, key=lambda each: (each.kind == "allow", each.ends_at), default=None)


def moment(text: str) -> int:
    """A time of the document in nanoseconds since 1970, from 0 to the last of 64 bits."""
    try:
        return min(max(parse_timestamp(text).nanoseconds, 0), _LATEST)
    except EvaluationError:  # a stand-in; such a document is refused
        return 0
