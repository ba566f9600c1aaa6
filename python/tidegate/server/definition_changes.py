"""How a change of definitions comes about: checked against the whole set, then written.

The check may take long and happens in a worker thread, one of a tenant after the other; the write
takes place only if the set is still the one that was checked, and is tried again with the new one
if not: settings and other processes change it, too.

What is written is encoded before, and a large change is written in steps that nobody sees until
the last: see ``stores/pending.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.server.definition_kinds import POLICY
from tidegate.server.definition_set import DefinitionSet, load_set
from tidegate.server.identifiers import new_id
from tidegate.server.problems import Problem
from tidegate.stores import definitions, pending, tables, tenants, versions
from tidegate.stores.base import StoreUnavailableError
from tidegate.stores.bulk import STEP_BYTES, STEP_ROWS, Rows, json_text, ready
from tidegate.stores.pending import PendingChange

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.server.call import Call
    from tidegate.stores.audit import AuditEntry
    from tidegate.stores.base import Store
    from tidegate.stores.definitions import Definition

ATTEMPTS = 8
"""Of a change whose set is changed under its hands each time."""
IN_PLACE = -1
"""The generation of a change whose definitions are no generation of their own."""


class _MovedError(Exception):
    """The definitions are no longer those that were checked."""


@attrs.frozen
class ObjectChange:
    """What becomes of one object.

    Args:
        action: for the audit trail.
        before: as it is; None for a new one.
        after: as it will be, with its next revision; None when it is deleted.
        audited: what the audit trail holds in place of the bodies.
    """

    action: str
    before: Definition | None
    after: Definition | None
    audited: Mapping[str, Any] | None = None

    @property
    def of(self) -> Definition:
        """The object, as it is or will be."""
        found = self.after or self.before
        assert found is not None
        return found


@attrs.frozen
class SetChange:
    """What is changed at once.

    Args:
        objects: those that change.
        settings: the tenant's new settings; None when they stay.
    """

    objects: Sequence[ObjectChange] = ()
    settings: dict[str, Any] | None = None


def load_present(call: Call) -> DefinitionSet:
    """The present definitions of the tenant of a call.

    Raises:
        NotFoundError: there is no such tenant.
    """
    at_work = call.app.runtime.at_work(call.tenant_id)
    with call.app.store.read() as connection:
        return load_set(connection, call.tenant_id, at_work)


def change_definitions(call: Call, prepare: Callable[[DefinitionSet], SetChange | None]) -> bool:
    """Check a change and write it; whether there was something to write.

    Args:
        prepare: given the present set, checks the change and gives it, or None when there is
            nothing to write.

    Raises:
        Problem: the change is refused, or others were always faster.
    """
    for _ in range(ATTEMPTS):
        removal = None
        with call.app.turn(call.tenant_id):
            present = load_present(call)
            change = prepare(present)
            if change is None:
                return False
            try:
                removal = _Writing.of(call, present, change).write()
            except _MovedError:
                continue
        call.app.definitions_changed(call.tenant_id)
        if removal is not None:
            with suppress(StoreUnavailableError):  # the next start goes on with it
                remove_pending(call.app.store, removal)
        return True
    raise Problem("conflict", "the definitions are being changed by others; try again")


def remove_pending(store: Store, change: PendingChange) -> None:
    """Remove what a change left that was not finished, or that another took the place of.

    Raises:
        StoreUnavailableError: nothing can be written now.
    """
    while store.write(lambda connection: pending.remove(connection, change), quietly=True).result():
        pass


@attrs.frozen
class _Writing:
    """A change on its way into the store.

    Attributes:
        gone: objects that are deleted or changed.
        made: rows of those that are new or changed.
        beside: rows of the audit and of versions.
        whole: rows of all objects as they will be, where they become a generation of their own.
    """

    call: Call
    seen: DefinitionSet
    settings: dict[str, Any] | None
    pending: PendingChange
    gone: Sequence[Definition]
    made: Rows
    beside: Sequence[Rows]
    whole: Rows | None

    @classmethod
    def of(cls, call: Call, seen: DefinitionSet, change: SetChange) -> _Writing:
        """Encode a change."""
        objects = [_encoded(each) for each in change.objects]
        after = [each.after for each in objects if each.after is not None]
        made = definitions.rows_of(after, seen.generation)
        entries = _audit(call, seen, change, objects)
        is_large = len(change.objects) > STEP_ROWS or (len(after) > 1 and made.size > STEP_BYTES)
        generation = time.time_ns() if is_large else IN_PLACE
        whole = None
        if is_large:
            whole = definitions.rows_of(_all_after(seen, change.objects), generation)
        made_pending = PendingChange(new_id(), call.tenant_id, generation)
        marked = {"change_id": made_pending.change_id}
        beside = (
            ready(tables.audit, (attrs.asdict(each, recurse=False) | marked for each in entries)),
            ready(tables.policy_versions, (each | marked for each in _versions(call, after))),
        )
        gone = [each.before for each in change.objects if each.before is not None]
        return cls(call, seen, change.settings, made_pending, gone, made, beside, whole)

    def write(self) -> PendingChange | None:
        """Write it; what is left to be removed.

        Raises:
            _MovedError: the set is no longer the one that was checked; nothing is written.
        """
        size = self.made.size + sum(rows.size for rows in self.beside)
        if self.whole is None and size <= STEP_BYTES:
            return self.call.write(self._at_once)
        try:
            for step in self._steps():
                self.call.app.store.write(step, quietly=True).result()
            return self.call.write(self._finish)
        except BaseException:
            with suppress(StoreUnavailableError):  # the next start does it
                remove_pending(self.call.app.store, self.pending)
            raise

    def _at_once(self, connection: Connection) -> None:
        self._guard(connection)
        for rows in self.beside:
            rows.insert(connection)
        self._change(connection)

    def _steps(self) -> Iterator[Callable[[Connection], object]]:
        yield lambda connection: pending.begin(connection, self.pending)
        for rows in (*self.beside, *([] if self.whole is None else [self.whole])):
            yield from rows.steps()

    def _finish(self, connection: Connection) -> PendingChange | None:
        self._guard(connection)
        self._change(connection)
        if self.whole is not None:
            return pending.put_in_force(connection, self.pending, new_id())
        pending.finish(connection, self.pending)
        return None

    def _guard(self, connection: Connection) -> None:
        found = tenants.find(connection, self.call.tenant_id)
        if found.definition_revision != self.seen.revision:
            raise _MovedError

    def _change(self, connection: Connection) -> None:
        tenant_id = self.call.tenant_id
        if self.whole is None:
            definitions.swap(connection, tenant_id, self.gone, self.made)
        if self.settings is not None:
            tenants.change(connection, tenant_id, self.call.now, settings=self.settings)
        tenants.count_definition_change(connection, tenant_id)


def _encoded(change: ObjectChange) -> ObjectChange:
    """The same with bodies that are encoded once for all rows that hold them."""

    def encode(of: Definition | None) -> Definition | None:
        body: Any = None if of is None else json_text(of.body)
        return None if of is None else attrs.evolve(of, body=body)

    return attrs.evolve(change, before=encode(change.before), after=encode(change.after))


def _audit(
    call: Call, seen: DefinitionSet, change: SetChange, objects: Iterable[ObjectChange]
) -> Iterator[AuditEntry]:
    """What the audit trail is to say of a change."""
    for each in objects:
        before = None if each.audited is not None or each.before is None else each.before.body
        after = each.audited if each.audited is not None else each.after and each.after.body
        of = each.of
        yield call.audit_entry(each.action, of.kind, of.object_id, before=before, after=after)
    if change.settings is not None:
        yield call.audit_entry(
            "update",
            "tenant",
            call.tenant_id,
            before={"settings": dict(seen.tenant.settings)},
            after={"settings": change.settings},
        )


def _versions(call: Call, after: Sequence[Definition]) -> Iterator[dict[str, Any]]:
    """A version of every policy that is saved."""
    policies = [each for each in after if each.kind == POLICY.name]
    if not policies:
        return
    ids = [each.object_id for each in policies]
    with call.app.store.read() as connection:
        last = versions.last_numbers(connection, call.tenant_id, ids)
    for each in policies:
        yield {
            "tenant_id": call.tenant_id,
            "policy_id": each.object_id,
            "version": last.get(each.object_id, 0) + 1,
            "body": each.body,
            "actor": str(call.operator.operator_id),
            "created_at_ns": call.now,
        }


def _all_after(seen: DefinitionSet, changes: Iterable[ObjectChange]) -> Iterator[Definition]:
    """All objects of the set as they will be."""
    changed = {(each.of.kind, each.of.object_id): each.after for each in changes}
    for objects in seen.objects.values():
        for each in objects:
            after = changed.pop((each.kind, each.object_id), each)
            if after is not None:
                yield after
    yield from (each for each in changed.values() if each is not None)
