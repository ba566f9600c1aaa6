"""Policies, which have versions in addition to the common handlers: every saved one is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after, page_of
from tidegate_server.definitions.changes import ObjectChange, SetChange, change_definitions
from tidegate_server.definitions.objects import Handlers
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.stores.objects import definitions, versions
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire.kinds import POLICY, to_saved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.stores.objects.definitions import Definition
    from tidegate_server.wire.kinds import FindId

handlers = Handlers(POLICY)
STEP = 10
"""The distance between priorities of ordered policies, which leaves room for others."""
DEFAULT_PRIORITY = 100
"""The priority of a policy without one."""


def list_versions(call: Call) -> Answer:
    """List a policy's versions, newest first."""
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

    def show(version: versions.PolicyVersion) -> wire_definitions.PolicyVersion:
        return _answer(version, lambda kind, slug: known.get((kind.name, slug)))

    return page_of(call, found, show, lambda each: [each.version])


def restore(call: Call) -> Answer:
    """Save an old version as the newest."""
    body: wire_definitions.Restore = call.body
    with call.app.store.read() as connection:
        definitions.find(connection, call.tenant_id, POLICY.name, call.ids["policy_id"])
        version = versions.find(connection, call.tenant_id, call.ids["policy_id"], body.version)

    def body_of(present: DefinitionSet, before: Definition) -> Mapping[str, Any]:  # noqa: ARG001
        return {**version.body, "slug": before.slug}

    return handlers.save(call, "restore", body_of)


def order(call: Call) -> Answer:
    """Give all policies new priorities in one change; policies that keep theirs are not changed.

    ``If-Match`` refers to the revision of the definitions as a whole.
    """
    body: wire_definitions.PoliciesOrder = call.body
    ordered: list[definitions.Definition] = []
    revision = 0

    def prepare(present: DefinitionSet) -> SetChange | None:
        nonlocal revision
        call.require_revision(present.revision)
        changes = []
        ordered.clear()
        for at, before in enumerate(_in_order(present, body.policy_ids), 1):
            priority = at * STEP
            after = before
            if before.body.get("priority", DEFAULT_PRIORITY) != priority:
                changed = attrs.evolve(before, body={**before.body, "priority": priority})
                after = definitions.succeeding(before, changed, call.now)
                changes.append(ObjectChange("update", before, after))
            ordered.append(after)
        revision = present.revision + bool(changes)
        return SetChange(changes) if changes else None

    change_definitions(call, prepare)
    shown = [
        wire_definitions.OrderedPolicy(
            policy_id=each.object_id,
            tenant_id=call.tenant_id,
            name=each.name,
            priority=each.body["priority"],
        )
        for each in ordered
    ]
    return Answer(body=shown, revision=revision)


def _in_order(present: DefinitionSet, first: Sequence[UUID]) -> list[definitions.Definition]:
    """Return the named policies, then the others in the order they decide now.

    Raises:
        Problem: ``invalid-request``; one is named twice, or doesn't belong to the tenant.
    """
    known = {each.object_id: each for each in present.objects[POLICY.section]}
    errors = [
        ErrorDetail(detail="the tenant has no such policy", pointer=f"/policy_ids/{at}")
        for at, each in enumerate(first)
        if each not in known
    ]
    if not errors and len(set(first)) != len(first):
        errors = [ErrorDetail(detail="a policy is named twice", pointer="/policy_ids")]
    if errors:
        raise Problem("invalid-request", errors[0].detail, errors=errors)
    named = set(first)
    rest = [each for each in known.values() if each.object_id not in named]
    # The sort is stable: policies of one priority decide in the order of their creation.
    rest.sort(key=lambda each: each.body.get("priority", DEFAULT_PRIORITY))
    return [*(known[each] for each in first), *rest]


def _answer(version: versions.PolicyVersion, find_id: FindId) -> wire_definitions.PolicyVersion:
    members, missing = to_saved(POLICY, version.tenant_id, version.body, find_id)
    return wire_definitions.PolicyVersion(
        tenant_id=version.tenant_id,
        policy_id=version.policy_id,
        version=version.version,
        created_at=wire_common.time_text(version.created_at_ns),
        created_by=version.actor,
        policy=wire_definitions.SavedPolicy(**members),
        missing_references=missing,
    )
