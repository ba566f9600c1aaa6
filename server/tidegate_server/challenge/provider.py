"""A challenge provider: issues a challenge, and verifies its solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from tidegate.errors import TidegateError

WAIT = "wait"
"""An entry next to the provider names: the timed alternative without JavaScript."""


class ProviderUnavailableError(TidegateError):
    """A provider is unreachable now; the solution is neither right nor wrong."""

    code = "challenge-provider-unavailable"


class Provider(Protocol):
    """A kind of challenge."""

    def issue(self, challenge_id: UUID, difficulty: int, expires_at: int) -> Mapping[str, Any]:
        """Issue a challenge: all the data needed to check its solution.

        Args:
            challenge_id: id of the session.
            difficulty: from 1 to 10.
            expires_at: seconds since 1970.
        """

    def is_solution(
        self, parameters: Mapping[str, Any], challenge_id: UUID, solution: str, address: str
    ) -> bool:
        """Whether a solution solves a challenge.

        Args:
            parameters: the issued parameters.
            challenge_id: id of the session.
            solution: as sent by the page.
            address: the sender's address.

        Raises:
            ProviderUnavailableError: it can't be verified now.
        """

    def why_unusable(self, public_url: str) -> str | None:
        """Why no browser could pass here; None if browsers can.

        Args:
            public_url: the address by which browsers reach the service.
        """
