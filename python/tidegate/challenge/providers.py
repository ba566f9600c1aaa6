"""A service's providers, by their names in definitions."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.challenge.pow import ProofOfWork
from tidegate.challenge.provider import Provider
from tidegate.challenge.turnstile import Turnstile


def providers_of(secret: bytes, turnstile: Turnstile) -> Mapping[str, Provider]:
    """Every provider.

    Args:
        secret: the service's key for challenges, 32 bytes.
        turnstile: Turnstile with the configured keys.
    """
    return {"pow": ProofOfWork(secret), "turnstile": turnstile}
