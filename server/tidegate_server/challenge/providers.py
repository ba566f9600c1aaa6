"""A service's providers, by their names in definitions."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate_server.challenge.pow import ProofOfWork
from tidegate_server.challenge.provider import Provider
from tidegate_server.challenge.turnstile import Turnstile


def providers_of(secret: bytes, turnstile: Turnstile) -> Mapping[str, Provider]:
    """Every provider.

    Args:
        secret: the service's key for challenges, 32 bytes.
        turnstile: Turnstile with the configured keys.
    """
    return {"pow": ProofOfWork(secret), "turnstile": turnstile}
