"""A tenant's definitions compared with those that decide now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import DefinitionsError
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.document import Ready, read_document, to_members, tree
from tidegate_server.engines.definition_set import ActiveDefinitions, DefinitionSet
from tidegate_server.stores.objects.definitions import Definition
from tidegate_server.stores.objects.tenants import Tenant
from tidegate_server.wire.kinds import KINDS, LIST

TENANT = Tenant(
    tenant_id=UUID(int=7 << 76 | 2 << 62 | 1),
    name="Shop",
    slug="shop",
    settings={},
    definition_revision=1,
    created_at_ns=0,
    updated_at_ns=0,
)
DOCUMENT: Mapping[str, Any] = {
    "apiVersion": "tidegate/v1",
    "lists": [{"name": "Office", "kind": "ip", "entries": ["198.51.100.0/24"]}],
    "actions": [{"name": "Login", "expression": 'request.path == "/login"'}],
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "mitigations": [{"name": "Refuse", "mode": "Block", "block": {"status_code": 404}}],
    "policies": [
        {"name": "One", "clauses": [{"expression": 'request.client_ip.inList("office")'}]},
        {
            "name": "Two",
            "expression": "actions.login",
            "clauses": [
                {
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 3},
                }
            ],
        },
    ],
    "overrides": [],
}
OBJECTS = [(kind, at) for kind in KINDS.values() for at in range(len(DOCUMENT[kind.section]))]
DESCRIBED = st.dictionaries(st.sampled_from(OBJECTS), st.text("ab", max_size=3))


def saved() -> DefinitionSet:
    """The document as it is stored."""
    source = read_document({**DOCUMENT, "tenant": members()}).compiled.source
    objects = {}
    for kind in KINDS.values():
        rows = []
        for position, model in enumerate(getattr(source, kind.section)):
            body = to_members(model)
            object_id = UUID(body[kind.id_member])
            rows.append(
                Definition(
                    tenant_id=TENANT.tenant_id,
                    kind=kind.name,
                    object_id=object_id,
                    slug=model.slug,
                    name=model.name,
                    body=body,
                    position=position,
                    created_at_ns=0,
                    updated_at_ns=0,
                )
            )
        objects[kind.section] = tuple(rows)
    return DefinitionSet(tenant=TENANT, revision=1, objects=objects)


def members() -> dict[str, str]:
    return {"tenant_id": str(TENANT.tenant_id), "name": TENANT.name, "slug": TENANT.slug}


def changed(
    first: DefinitionSet, changes: Mapping[Any, str], active: ActiveDefinitions | None
) -> DefinitionSet:
    """The set with other descriptions, and so other revisions, of some objects."""
    objects = {section: list(rows) for section, rows in first.objects.items()}
    for (kind, at), text in changes.items():
        row = objects[kind.section][at]
        body = {**row.body, "description": text}
        objects[kind.section][at] = attrs.evolve(row, body=body, revision=row.revision + 1)
    rows = {section: tuple(found) for section, found in objects.items()}
    return attrs.evolve(first, objects=rows, active=active)


@given(DESCRIBED, st.booleans())
def test_active_definitions_are_not_read_again_and_change_nothing(
    changes: Mapping[Any, str], entries: bool
) -> None:
    """Only changed objects are read again, and the result equals the whole document."""
    first = saved()
    active = first.activate(read_document(first.document()))
    second = changed(first, changes, active)
    document = second.to_read(entries=entries)
    anew = {(kind, at) for kind, at in OBJECTS if not isinstance(document[kind.section][at], Ready)}
    assert anew == set(changes)
    made = read_document(document, second.compilation).compiled
    whole = read_document(second.document(entries=entries)).compiled
    assert made.source == whole.source
    assert bundle(made) == bundle(whole)
    assert second.activate(read_document(second.to_read(), second.compilation)).read.keys() == {
        row.object_id for rows in second.objects.values() for row in rows
    }


def test_an_object_that_was_made_again_is_read_again() -> None:
    """A new object with the id and revision of a deleted one is read again."""
    first = saved()
    active = first.activate(read_document(first.document()))
    old = first.objects[LIST.section][0]
    body = {**old.body, "entries": ["203.0.113.0/24"]}
    new = attrs.evolve(old, body=body, created_at_ns=1, updated_at_ns=1)
    second = attrs.evolve(first, objects={**first.objects, LIST.section: (new,)}, active=active)
    made = read_document(second.to_read(), second.compilation).compiled.source
    assert made.lists[0].entries == ("203.0.113.0/24",)


def test_an_active_list_keeps_its_entries() -> None:
    """Entries are left out of the copy that is checked, and of nothing else."""
    first = saved()
    second = attrs.evolve(first, active=first.activate(read_document(first.document())))
    checked, whole = (second.to_read(entries=entries) for entries in (False, True))
    assert [each[LIST.section][0].model.entries for each in (checked, whole)] == [
        (),
        ("198.51.100.0/24",),
    ]


def test_active_definitions_count_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes cannot produce a set that could not be read as a whole after a restart."""
    first = saved()
    document = first.document()
    second = attrs.evolve(first, active=first.activate(read_document(document)))
    nodes = tree.count_nodes(document)
    monkeypatch.setattr(tree, "MAX_NODES", nodes)
    read_document(second.to_read())
    monkeypatch.setattr(tree, "MAX_NODES", nodes - 1)
    for each in (document, second.to_read()):
        with pytest.raises(DefinitionsError, match="more than"):
            read_document(each)
