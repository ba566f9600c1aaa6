"""What a daemon decides by without its service, or without definitions: the fail mode.

It is a set of definitions like any other, so a decision under it is made, recorded and forwarded
like any other: under revision 0 when nothing else is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from uuid import UUID

FailMode: TypeAlias = Literal["last-known", "open", "closed"]
SLUG = "fail-mode"
"""Of the policy that answers."""
_REFUSAL = {
    "slug": SLUG,
    "name": "Fail mode",
    "mode": "Block",
    "ttl_seconds": 0,
    "block": {"status_code": 503, "body": "", "headers": {"retry-after": "10"}},
}


def fail_document(
    tenant_id: UUID, known: Mapping[str, Any] | None, mode: FailMode
) -> dict[str, Any] | None:
    """The document that a daemon decides by without its service.

    Args:
        tenant_id: whose.
        known: the last known document, if there is one.
        mode: of the tenant; without known definitions ``last-known`` lets everything pass.

    Returns:
        None where the last known definitions go on deciding.
    """
    if mode == "last-known" and known is not None:
        return None
    document: dict[str, Any] = {
        "apiVersion": "tidegate/v1",
        "tenant": {"tenant_id": str(tenant_id), "name": "Fail mode", "slug": SLUG},
    }
    if known is not None:
        document["tenant"] = known["tenant"]
        settings = dict(known.get("settings", {}))
        document["settings"] = settings
    if mode == "closed":
        document["mitigations"] = [_REFUSAL]
        document["policies"] = [
            {
                "slug": SLUG,
                "name": "Fail mode",
                "status": "active",
                "clauses": [{"name": "closed", "mitigation": SLUG}],
            }
        ]
    return document
