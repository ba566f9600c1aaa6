"""Policies have versions beside the handlers of all definitions: every saved one is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.server import wire
from tidegate.server.definitions.objects import Handlers
from tidegate.server.http.call import Answer, Call
from tidegate.server.http.pages import page_after, page_of
from tidegate.server.wire.kinds import POLICY, to_saved
from tidegate.stores.objects import definitions, versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.server.engines.definition_set import DefinitionSet
    from tidegate.server.wire.kinds import FindId
    from tidegate.stores.objects.definitions import Definition

handlers = Handlers(POLICY)


def list_versions(call: Call) -> Answer:
    """Versions of a policy, the newest first."""
    policy_id = call.ids["policy_id"]
    after = page_after(call)
    with call.app.store.read() as connection:
        definitions.find(connection, call.tenant_id, POLICY.name, policy_id)
        found = versions.page(
            connection,
            call.tenant_id,
            policy_id,
            call.query.limit + 1,
            int(after[0]) if after else None,
        )
        known = definitions.ids_by_slug(connection, call.tenant_id)

    def show(version: versions.PolicyVersion) -> wire.PolicyVersion:
        return _answer(version, lambda kind, slug: known.get((kind.name, slug)))

    return page_of(call, found, show, lambda each: [each.version])


def restore(call: Call) -> Answer:
    """Save a version again as the newest."""
    body: wire.Restore = call.body
    with call.app.store.read() as connection:
        definitions.find(connection, call.tenant_id, POLICY.name, call.ids["policy_id"])
        version = versions.find(connection, call.tenant_id, call.ids["policy_id"], body.version)

    def body_of(present: DefinitionSet, before: Definition) -> Mapping[str, Any]:  # noqa: ARG001
        return {**version.body, "slug": before.slug}

    return handlers.save(call, "restore", body_of)


def _answer(version: versions.PolicyVersion, find_id: FindId) -> wire.PolicyVersion:
    members, missing = to_saved(POLICY, version.tenant_id, version.body, find_id)
    return wire.PolicyVersion(
        tenant_id=version.tenant_id,
        policy_id=version.policy_id,
        version=version.version,
        created_at=wire.time_text(version.created_at_ns),
        created_by=version.actor,
        policy=wire.SavedPolicy(**members),
        missing_references=missing,
    )
