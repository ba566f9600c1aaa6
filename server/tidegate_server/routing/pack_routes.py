"""The routes of packs; a part of the table in ``routes``."""

from __future__ import annotations

from typing import Any

from tidegate_server.definitions import packs
from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.routing.definition_routes import CONFLICTS
from tidegate_server.routing.route import Route
from tidegate_server.wire import documents as wire_documents

_PACKS = "/tenants/{tenant_id}/packs"
_PACK = f"{_PACKS}/{{pack}}"
_READ: dict[str, Any] = {
    "method": "GET",
    "tag": "definitions",
    "permission": Permission.READ_DEFINITIONS,
    "work": Work.DOCUMENT,
}
_STEP: dict[str, Any] = {
    "method": "POST",
    "tag": "definitions",
    "permission": Permission.WRITE_DEFINITIONS,
    "work": Work.COMPILE,
    "query": wire_documents.DocumentQuery,
    "answer": wire_documents.PackChanges,
    "conditional": True,
    "refusals": CONFLICTS,
}
_SHOWN = (
    " `If-Match` takes the revision of the definitions as a whole; `dry_run` shows the changes."
)

PACK_ROUTES: tuple[Route, ...] = (
    Route(
        path=_PACKS,
        name="list-packs",
        summary="List the packs that come with the service, with the tenant's versions",
        handler=packs.list_,
        answer=list[wire_documents.Pack],
        **_READ,
    ),
    Route(
        path=_PACK,
        name="read-pack",
        summary="Read a pack: what it catches, misses and may hurt, and its slots",
        handler=packs.read,
        answer=wire_documents.Pack,
        **_READ,
    ),
    Route(
        path=f"{_PACK}/add",
        name="add-pack",
        summary="Add a pack to the definitions",
        description=(
            "The pack changes no answer: its mitigations are disabled, and its policies that let"
            f" requests pass are drafts.{_SHOWN}"
        ),
        handler=packs.add,
        body=wire_documents.PackAddition,
        **_STEP,
    ),
    Route(
        path=f"{_PACK}/update",
        name="update-pack",
        summary="Bring a pack to the version of the service",
        description=(
            "Your changes stay. Where the pack changed the same member, that is a conflict, and"
            f" your value stays.{_SHOWN}"
        ),
        handler=packs.update,
        **_STEP,
    ),
    Route(
        path=f"{_PACK}/remove",
        name="remove-pack",
        summary="Remove a pack from the definitions",
        description=f"The actions of its slots stay. Refused while others use its objects.{_SHOWN}",
        handler=packs.remove,
        **_STEP,
    ),
)
