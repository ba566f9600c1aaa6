"""A challenge provider: makes a challenge, and says whether a solution solves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from tidegate.errors import TidegateError

WAIT = "wait"
"""Stands beside the names of providers for the timed way without JavaScript."""


class ProviderUnavailableError(TidegateError):
    """A provider cannot be asked now; the solution is neither right nor wrong."""

    code = "challenge-provider-unavailable"


class Provider(Protocol):
    """A kind of challenge."""

    def issue(self, challenge_id: UUID, difficulty: int, expires_at: int) -> Mapping[str, Any]:
        """A new challenge: everything that its solution is checked against.

        Args:
            challenge_id: of the session.
            difficulty: from 1 to 10.
            expires_at: seconds since 1970.
        """

    def is_solution(
        self, parameters: Mapping[str, Any], challenge_id: UUID, solution: str, address: str
    ) -> bool:
        """Whether a solution solves a challenge.

        Args:
            parameters: as they were issued.
            challenge_id: of the session.
            solution: as the page sent it.
            address: where it was sent from.

        Raises:
            ProviderUnavailableError: nobody can say so now.
        """

    def why_unusable(self, public_url: str) -> str | None:
        """Why no browser could pass here; None when browsers can.

        Args:
            public_url: the address that browsers reach the service by.
        """
