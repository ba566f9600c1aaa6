"""Warnings about saved definitions that are probably mistakes, by object."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tidegate.policy.document import read_document
from tidegate_server.control.call import Answer
from tidegate_server.definitions.challenge_safety import challenge_warnings
from tidegate_server.definitions.changes import load_present
from tidegate_server.operators.permissions import Permission, may
from tidegate_server.wire import documents as wire_documents
from tidegate_server.wire.kinds import POLICY, to_warning

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.policy.definitions.findings import Finding
    from tidegate_server.control.call import Call
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.stores.objects.definitions import Definition
    from tidegate_server.wire.kinds import DefinitionKind


def list_(call: Call) -> Answer:
    """List the objects that have warnings, in document order.

    The warnings are those of a write. Warnings about challenges name recorded requests, and only
    callers who may read these get them.
    """
    present = load_present(call)
    about: dict[UUID, tuple[DefinitionKind, Definition, list[Finding]]] = {}
    for kind, each, found in present.findings():
        about[each.object_id] = (kind, each, [*found])
    if call.role is not None and may(call.role, Permission.READ_RECORDS):
        for each, warnings in _challenges(call, present):
            about.setdefault(each.object_id, (POLICY, each, []))[2].extend(warnings)
    places = {
        each.object_id: place
        for place, each in enumerate(each for many in present.objects.values() for each in many)
    }
    return Answer(
        body=[
            wire_documents.DefinitionFindings(
                tenant_id=call.tenant_id,
                kind=kind.name,
                id=each.object_id,
                name=each.name,
                warnings=tuple(map(to_warning, found)),
            )
            for kind, each, found in sorted(about.values(), key=lambda of: places[of[1].object_id])
        ]
    )


def _challenges(call: Call, present: DefinitionSet) -> list[tuple[Definition, list[Finding]]]:
    """Return active and draft policies with the warnings about their challenges."""
    source = read_document(present.to_read(), present.compilation).compiled.source
    tried = {
        each.policy_id for each in source.policies if each.enabled and each.status != "retired"
    }
    found = defaultdict[str, list["Finding"]](list)
    for policy_id, warning in challenge_warnings(call, source, tried):
        found[policy_id].append(warning)
    saved = {str(each.object_id): each for each in present.objects[POLICY.section]}
    return [(saved[policy_id], warnings) for policy_id, warnings in found.items()]
