"""The parts of the running service that challenges need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from tidegate_server.challenge.figures import ChallengeFigures
from tidegate_server.challenge.providers import providers_of
from tidegate_server.challenge.turnstile import Turnstile

if TYPE_CHECKING:
    from tidegate_server.challenge.provider import Provider


def _nowhere() -> str:
    """The address of a service that doesn't listen."""
    return ""


@attrs.frozen(kw_only=True)
class ChallengeParts:
    """Parts that issue, check and count challenges.

    Attributes:
        providers: the providers by name.
        public_url: returns the address by which browsers reach the service.
        figures: counts of challenges since the start.
    """

    providers: Mapping[str, Provider]
    public_url: Callable[[], str] = _nowhere
    figures: ChallengeFigures = attrs.field(factory=ChallengeFigures)

    @classmethod
    def of(
        cls,
        secret: bytes,
        turnstile: Turnstile | None = None,
        public_url: Callable[[], str] = _nowhere,
    ) -> ChallengeParts:
        """The parts of a service.

        Args:
            secret: the key of challenges, 32 bytes.
            turnstile: Turnstile with the configured keys.
            public_url: as above.
        """
        providers = providers_of(secret, turnstile or Turnstile("", ""))
        return cls(providers=providers, public_url=public_url)
