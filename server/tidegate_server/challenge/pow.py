"""Proof of work: the browser searches for a number with scrypt (RFC 7914), by ALTCHA's protocol.

The service picks the number and derives its key once; the browser derives keys from 0 on until it
finds the same one. So each difficulty limits the work above as well as below, and checking a
solution costs the service one HMAC. docs/challenges.md has the cost of each difficulty.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import altcha
import attrs

ALGORITHM = "SCRYPT"
COST = 4_096
"""The parameter N; with blocks of 128 r bytes a key takes 4 MiB."""
BLOCK_SIZE = 8
"""The parameter r."""
FIRST_KEYS = 8
"""Keys that a browser derives for difficulty 1, on average; each further difficulty doubles them.
"""
MAX_SOLUTION = 4_096
"""Characters; the widget sends less than 1,000."""
_LABELS = {"challenge": b"tidegate pow challenge v1", "key": b"tidegate pow key v1"}


@attrs.frozen
class ProofOfWork:
    """The provider ``pow``.

    Args:
        secret: 32 bytes, the source of the signature keys.
    """

    _secret: bytes = attrs.field(repr=False)

    def issue(self, challenge_id: UUID, difficulty: int, expires_at: int) -> Mapping[str, Any]:
        """See :class:`~tidegate_server.challenge.provider.Provider`."""
        mean = mean_keys(difficulty)
        made = altcha.create_challenge(
            ALGORITHM,
            COST,
            memory_cost=BLOCK_SIZE,
            parallelism=1,
            counter=mean // 2 + secrets.randbelow(mean + 1),
            expires_at=expires_at,
            data={"challenge": str(challenge_id), "difficulty": difficulty},
            hmac_secret=self._key("challenge"),
            hmac_key_secret=self._key("key"),
        )
        return made.to_dict()

    def is_solution(
        self, parameters: Mapping[str, Any], challenge_id: UUID, solution: str, address: str
    ) -> bool:
        """See :class:`~tidegate_server.challenge.provider.Provider`."""
        del challenge_id, address
        if len(solution) > MAX_SOLUTION:
            return False
        try:
            given = altcha.Payload.from_base64(solution).solution
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return False
        # Ignore the challenge in the payload: only the issued one counts.
        payload = altcha.Payload(altcha.Challenge.from_dict(dict(parameters)), given)
        found = altcha.verify_solution(
            payload, self._key("challenge"), hmac_key_secret=self._key("key")
        )
        return found.verified

    def why_unusable(self, public_url: str) -> str | None:
        """See :class:`~tidegate_server.challenge.provider.Provider`."""
        if urlsplit(public_url).scheme != "https":
            return "browsers solve `pow` on pages with TLS only, and the public URL has none"
        return None

    def _key(self, purpose: str) -> bytes:
        return hmac.digest(self._secret, _LABELS[purpose], "sha256")


def mean_keys(difficulty: int) -> int:
    """The number of keys that a browser derives for a difficulty: from half of it to one and a
    half."""
    return int(FIRST_KEYS << (difficulty - 1))
