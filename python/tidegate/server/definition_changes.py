"""How a change of definitions comes about: checked against the whole set, then written.

The check may take long and happens in a worker thread, one of a tenant after the other; the write
takes place only if the set is still the one that was checked, and is tried again with the new one
if not: settings and other processes change it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import attrs

from tidegate.errors import DefinitionsError
from tidegate.policy.document import read_document
from tidegate.server.definition_set import DefinitionSet, load_set
from tidegate.server.problems import Problem
from tidegate.stores import tenants

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.server.call import Call

T = TypeVar("T")
Work: TypeAlias = "Callable[[Connection], T]"

ATTEMPTS = 8
"""Of a change whose set is changed under its hands each time."""


class _MovedError(Exception):
    """The definitions are no longer those that were checked."""


def load_present(call: Call) -> DefinitionSet:
    """The present definitions of the tenant of a call, of which a change is to be checked.

    They are compiled, if they are not known: a change is then checked as a change, again and again.

    Raises:
        NotFoundError: there is no such tenant.
    """
    known = call.app.known
    with call.app.store.read() as connection:
        present = load_set(connection, call.tenant_id, known.newest(call.tenant_id))
    if present.at_work is not None:
        return present
    try:
        compilation = read_document(present.document())
    except DefinitionsError:
        return present  # A change may mend them.
    at_work = present.put_to_work(compilation)
    known.compiled(call.tenant_id, at_work)
    return attrs.evolve(present, at_work=at_work)


def change_definitions(call: Call, prepare: Callable[[DefinitionSet], Work[T] | None]) -> T | None:
    """Check a change and write it.

    Args:
        prepare: given the present set, checks the change and gives what writes it, or None
            when there is nothing to write.  A worker sends it to the writing thread: it is a
            function of a module, or a partial one.

    Raises:
        Problem: the change is refused, or others were always faster.
    """
    for _ in range(ATTEMPTS):
        with call.app.turn(call.tenant_id):
            present = load_present(call)
            work = prepare(present)
            if work is None:
                return None
            try:
                result = call.write(partial(_guarded, call.tenant_id, present.revision, work))
            except _MovedError:
                continue
        call.app.definitions_changed(call.tenant_id)
        return result
    raise Problem("conflict", "the definitions are being changed by others; try again")


def _guarded(tenant_id: UUID, seen_revision: int, work: Work[T], connection: Connection) -> T:
    if tenants.find(connection, tenant_id).definition_revision != seen_revision:
        raise _MovedError
    result = work(connection)
    tenants.count_definition_change(connection, tenant_id)
    return result
