"""Check whether visitors can reach the challenges of this service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.challenge.public_url import unreachable
from tidegate_server.logging import log
from tidegate_server.stores.objects import definitions

if TYPE_CHECKING:
    from tidegate_server.stores.port import Store


def warn_of_unreachable(store: Store, base_url: str) -> None:
    """Log a warning if there are challenges, but no address to send visitors to.

    Args:
        store: the store of the definitions.
        base_url: the address that browsers reach the service by.
    """
    reason = unreachable(base_url)
    if reason is None:
        return
    with store.read() as connection:
        challenging = {
            tenant_id
            for tenant_id, body in definitions.bodies(connection, "mitigation")
            if body.get("mode") == "Challenge" and body.get("enabled", True)
        }
    if challenging:
        log.warning(
            "challenges lead visitors nowhere: set server.public_url",
            reason=reason,
            tenants=len(challenging),
        )
