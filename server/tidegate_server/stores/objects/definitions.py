"""Definitions: the objects of all kinds, in the shape of a document.

A body is an object in the format of a definitions document (docs/definitions.md); objects refer to
each other by slug. References are checked before this, where the whole document is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

import attrs
from sqlalchemy import LargeBinary, func, insert, select, tuple_, type_coerce
from sqlalchemy import delete as sql_delete

from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows import records, tables
from tidegate_server.stores.rows.bulk import ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import ColumnElement, Connection

    from tidegate_server.stores.rows.bulk import Rows

Kind: TypeAlias = Literal["list", "action", "entity", "mitigation", "policy", "override"]
MOST_NAMED = 500
"""Most objects that one statement names; if more have changed, all are read."""


@attrs.frozen(kw_only=True)
class Definition:
    """One object.  ``position`` is its place among those of its kind."""

    tenant_id: UUID
    kind: Kind
    object_id: UUID
    slug: str
    name: str
    body: Mapping[str, Any]
    position: int
    revision: int = 1
    created_at_ns: int
    updated_at_ns: int


@attrs.frozen
class Replacement:
    """The differences that :func:`compare` found."""

    created: tuple[Definition, ...]
    changed: tuple[tuple[Definition, Definition], ...]
    """Each object before and after."""
    deleted: tuple[Definition, ...]


def create(connection: Connection, definition: Definition) -> None:
    """Add an object.

    Raises:
        ConflictError: another of its kind has its id, slug or name.
        NotFoundError: the tenant doesn't exist.
    """
    values = {
        **attrs.asdict(definition, recurse=False),
        "generation": tenants.generation(connection, definition.tenant_id),
    }
    connection.execute(insert(tables.definitions).values(values))


def find(connection: Connection, tenant_id: UUID, kind: Kind, object_id: UUID) -> Definition:
    """An object.

    Raises:
        NotFoundError: the tenant has none of this kind and id.
    """
    key = _key(tenant_id, kind, object_id)
    return records.find(connection, tables.definitions, Definition, kind, key)


def find_by_slug(connection: Connection, tenant_id: UUID, kind: Kind, slug: str) -> Definition:
    """An object by its slug.

    Raises:
        NotFoundError: the tenant has none of this kind and slug.
    """
    table = tables.definitions
    query = records.of(Definition, table).where(
        *_in_force(tenant_id), table.c.kind == kind, table.c.slug == slug
    )
    found = records.many(connection, query, Definition)
    if not found:
        raise NotFoundError(kind)
    return found[0]


def of_kind(connection: Connection, tenant_id: UUID, kind: Kind) -> list[Definition]:
    """All objects of a kind by position and id."""
    table = tables.definitions
    query = records.of(Definition, table).where(*_in_force(tenant_id), table.c.kind == kind)
    return records.many(connection, query.order_by(table.c.position, table.c.object_id), Definition)


def page(
    connection: Connection,
    tenant_id: UUID,
    kind: Kind,
    limit: int,
    after: tuple[int, UUID] | None = None,
) -> list[Definition]:
    """Objects of a kind by position and id, starting after one."""
    table = tables.definitions
    place = (table.c.position, table.c.object_id)
    query = (
        records.of(Definition, table)
        .where(*_in_force(tenant_id), table.c.kind == kind)
        .order_by(*place)
        .limit(limit)
    )
    if after is not None:
        query = query.where(tuple_(*place) > tuple_(after[0], after[1].bytes))
    return records.many(connection, query, Definition)


def bodies(
    connection: Connection, kind: Kind, tenant_id: UUID | None = None
) -> Iterator[tuple[UUID, Mapping[str, Any]]]:
    """The objects of a kind in force, in document order, with their tenants.

    Args:
        tenant_id: only this tenant's; all tenants' if left out.
    """
    table, owners = tables.definitions, tables.tenants
    query = (
        select(table.c.tenant_id, table.c.body)
        .join(owners, owners.c.tenant_id == table.c.tenant_id)
        .where(table.c.generation == owners.c.definition_generation, table.c.kind == kind)
        .order_by(table.c.tenant_id, table.c.position, table.c.object_id)
    )
    if tenant_id is not None:
        query = query.where(table.c.tenant_id == tenant_id)
    for row in connection.execute(query):
        yield row.tenant_id, row.body


def of_tenant(
    connection: Connection, tenant_id: UUID, known: Iterable[Definition] = ()
) -> list[Definition]:
    """All objects of a tenant by kind, position and id.

    Args:
        known: objects read before: those that have not changed are not read again.
    """
    table = tables.definitions
    order = (table.c.kind, table.c.position, table.c.object_id)
    whole = records.of(Definition, table).where(*_in_force(tenant_id))
    before = {(each.object_id.bytes, each.kind): each for each in known}
    if not before:
        return records.many(connection, whole.order_by(*order), Definition)
    # Most of what there is to read are bodies.  An id is compared as it is stored.
    id_bytes = type_coerce(table.c.object_id, LargeBinary).label("id")
    stamps = select(
        id_bytes,
        table.c.kind,
        table.c.position,
        table.c.revision,
        table.c.created_at_ns,
        table.c.updated_at_ns,
    )
    rows = connection.execute(stamps.where(*_in_force(tenant_id)).order_by(*order)).all()
    found = [before.get((row[0], row[1])) for row in rows]
    places = {
        (row[0], row[1]): at
        for at, (row, each) in enumerate(zip(rows, found, strict=True))
        if each is None or _stamp(each) != tuple(row[2:])
    }
    if len(places) > MOST_NAMED:
        return records.many(connection, whole.order_by(*order), Definition)
    changed = whole.where(table.c.object_id.in_([UUID(bytes=each) for each, _ in places]))
    for each in records.many(connection, changed, Definition):
        # Another kind may have an object with the same id.
        at = places.get((each.object_id.bytes, each.kind))
        if at is not None:
            found[at] = each
    return [each for each in found if each is not None]


def ids_by_slug(connection: Connection, tenant_id: UUID) -> dict[tuple[str, str], UUID]:
    """The id of each object of a tenant, by kind and slug."""
    table = tables.definitions
    query = select(table.c.kind, table.c.slug, table.c.object_id).where(*_in_force(tenant_id))
    return {(row.kind, row.slug): row.object_id for row in connection.execute(query)}


def _stamp(definition: Definition) -> tuple[int, int, int, int]:
    """Values that change when an object is changed, moved, or deleted and created again."""
    each = definition
    return each.position, each.revision, each.created_at_ns, each.updated_at_ns


def next_position(connection: Connection, tenant_id: UUID, kind: Kind) -> int:
    """A position after all other objects of the kind."""
    table = tables.definitions
    last = connection.execute(
        select(func.max(table.c.position)).where(*_in_force(tenant_id), table.c.kind == kind)
    ).scalar()
    return 0 if last is None else last + 1


def change(
    connection: Connection,
    tenant_id: UUID,
    kind: Kind,
    object_id: UUID,
    now_ns: int,
    *,
    expected_revision: int | None = None,
    **values: object,
) -> int:
    """Change ``slug``, ``name``, ``body`` or ``position``; return the new revision.

    Raises:
        ConflictError: another of its kind has this slug or name.
        NotFoundError: the object doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    key = _key(tenant_id, kind, object_id)
    return records.change(
        connection, tables.definitions, kind, key, values, now_ns, expected_revision
    )


def delete(
    connection: Connection,
    tenant_id: UUID,
    kind: Kind,
    object_id: UUID,
    *,
    expected_revision: int | None = None,
) -> None:
    """Delete an object.

    Raises:
        NotFoundError: the object doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    key = _key(tenant_id, kind, object_id)
    records.remove(connection, tables.definitions, kind, key, expected_revision)


def compare(
    present: Iterable[Definition], wanted: Iterable[Definition], now_ns: int
) -> Replacement:
    """The changes that turn the stored objects into ``wanted``; equal objects are left alone.

    Revisions and times of ``wanted`` are ignored: a changed object continues from its own revision,
    and a new one starts at 1.
    """
    known = {(each.kind, each.object_id): each for each in present}
    created = []
    changed = []
    for each in wanted:
        old = known.pop((each.kind, each.object_id), None)
        if old is None:
            created.append(
                attrs.evolve(each, revision=1, created_at_ns=now_ns, updated_at_ns=now_ns)
            )
        elif _content(old) != _content(each):
            changed.append((old, succeeding(old, each, now_ns)))
    return Replacement(tuple(created), tuple(changed), tuple(known.values()))


def succeeding(old: Definition, new: Definition, now_ns: int) -> Definition:
    """An object that replaces another with the same id."""
    return attrs.evolve(
        new,
        revision=old.revision + 1,
        created_at_ns=old.created_at_ns,
        updated_at_ns=now_ns,
    )


def rows_of(objects: Iterable[Definition], generation: int) -> Rows:
    """Objects as rows of a generation."""
    return ready(
        tables.definitions,
        ({**attrs.asdict(each, recurse=False), "generation": generation} for each in objects),
    )


def swap(connection: Connection, tenant_id: UUID, gone: Iterable[Definition], made: Rows) -> None:
    """Replace some objects by others, all in the generation in force.

    Raises:
        ConflictError: two of a kind share an id, slug or name.
    """
    # Remove all first: a name may move from one object to another.
    by_kind: dict[str, list[UUID]] = {}
    for each in gone:
        by_kind.setdefault(each.kind, []).append(each.object_id)
    for kind, ids in by_kind.items():
        connection.execute(
            sql_delete(tables.definitions).where(
                *_in_force(tenant_id),
                tables.definitions.c.kind == kind,
                tables.definitions.c.object_id.in_(ids),
            )
        )
    made.insert(connection)


def _content(definition: Definition) -> tuple[object, ...]:
    return (definition.slug, definition.name, dict(definition.body), definition.position)


def _key(tenant_id: UUID, kind: Kind, object_id: UUID) -> dict[str, object]:
    return {
        "tenant_id": tenant_id,
        "generation": _generation(tenant_id),
        "kind": kind,
        "object_id": object_id,
    }


def _in_force(tenant_id: UUID) -> tuple[ColumnElement[bool], ...]:
    """Rows of the tenant, without incomplete changes."""
    table = tables.definitions
    return table.c.tenant_id == tenant_id, table.c.generation == _generation(tenant_id)


def _generation(tenant_id: UUID) -> Any:
    table = tables.tenants
    return (
        select(table.c.definition_generation)
        .where(table.c.tenant_id == tenant_id)
        .scalar_subquery()
    )
