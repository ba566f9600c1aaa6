"""How a change of definitions comes about: checked against the whole set, then written.

The check may take long and happens in a worker thread, one of a tenant after the other; the write
takes place only if the set is still the one that was checked, and is tried again with the new one
if not: settings and other processes change it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tidegate.server.definition_set import DefinitionSet, load_set
from tidegate.server.problems import Problem
from tidegate.stores import tenants

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.server.call import Call

T = TypeVar("T")
Work: TypeAlias = "Callable[[Connection], T]"

ATTEMPTS = 8
"""Of a change whose set is changed under its hands each time."""


class _MovedError(Exception):
    """The definitions are no longer those that were checked."""


def load_present(call: Call) -> DefinitionSet:
    """The present definitions of the tenant of a call.

    Raises:
        NotFoundError: there is no such tenant.
    """
    at_work = call.app.runtime.at_work(call.tenant_id)
    with call.app.store.read() as connection:
        return load_set(connection, call.tenant_id, at_work)


def change_definitions(call: Call, prepare: Callable[[DefinitionSet], Work[T] | None]) -> T | None:
    """Check a change and write it.

    Args:
        prepare: given the present set, checks the change and gives what writes it, or None
            when there is nothing to write.

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
                result = call.write(_guarded(call, present, work))
            except _MovedError:
                continue
        call.app.definitions_changed(call.tenant_id)
        return result
    raise Problem("conflict", "the definitions are being changed by others; try again")


def _guarded(call: Call, seen: DefinitionSet, work: Work[T]) -> Work[T]:
    def write(connection: Connection) -> T:
        if tenants.find(connection, call.tenant_id).definition_revision != seen.revision:
            raise _MovedError
        result = work(connection)
        tenants.count_definition_change(connection, call.tenant_id)
        return result

    return write
