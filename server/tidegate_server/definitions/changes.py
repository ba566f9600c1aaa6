"""Changes of definitions: checked against the whole set, then written.

The check may take long and runs in a worker process. The write takes place only if the set is still
the one that was checked, and is repeated with the new one otherwise: settings and other processes
change it, too.

Rows are encoded before the write, and a large change is written in steps that stay hidden until the
last: see ``stores/objects/pending.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import DefinitionsError
from tidegate.policy.document import read_document
from tidegate_server.engines.definition_set import DefinitionSet, load_set
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import Problem
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.objects import definitions, kept_answers, pending, tenants, versions
from tidegate_server.stores.objects.pending import PendingChange
from tidegate_server.stores.rows import tables
from tidegate_server.stores.rows.bulk import STEP_BYTES, STEP_ROWS, Rows, json_text, ready
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import tenants as wire_tenants
from tidegate_server.wire.kinds import KINDS, POLICY, to_audited

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.control.call import Call
    from tidegate_server.stores.objects.audit import AuditEntry
    from tidegate_server.stores.objects.definitions import Definition
    from tidegate_server.stores.objects.kept_answers import KeptAnswer
    from tidegate_server.stores.port import Records

ATTEMPTS = 8
"""How often a change is attempted while others keep changing the set."""
IN_PLACE = -1
"""The generation of a change that creates no generation of its own."""


class _MovedError(Exception):
    """The definitions are no longer those that were checked."""


@attrs.frozen
class ObjectChange:
    """The change of one object.

    Args:
        action: the name in the audit trail.
        before: the present object; None for a new one.
        after: the changed object, with its next revision; None if it is deleted.
        audited: the replacement for a list's entries in the audit trail.
    """

    action: str
    before: Definition | None
    after: Definition | None
    audited: Mapping[str, Any] | None = None

    @property
    def of(self) -> Definition:
        """The object, in its present or changed form."""
        found = self.after or self.before
        assert found is not None
        return found


@attrs.frozen
class SetChange:
    """All objects of one change.

    Args:
        objects: the changed objects.
        settings: the tenant's new settings; None if they stay.
        because: an audit entry about the change as a whole; None if its objects say it all.
        kept: the answer to store with the change.
    """

    objects: Sequence[ObjectChange] = ()
    settings: dict[str, Any] | None = None
    because: AuditEntry | None = None
    kept: KeptAnswer | None = None


def load_present(call: Call) -> DefinitionSet:
    """Load the present definitions of a call's tenant, to check a change against.

    They are compiled here unless cached, so that each attempt checks only the change.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    known = call.app.known
    with call.app.store.read() as connection:
        present = load_set(connection, call.tenant_id, known.newest(call.tenant_id))
    present = attrs.evolve(present, located=call.app.runtime.located_fields())
    if present.active is not None and present.active.covers(present.objects):
        return present
    try:
        compilation = read_document(present.to_read(), present.compilation)
    except DefinitionsError:
        return present  # A change may repair them.
    active = present.activate(compilation)
    known.compiled(call.tenant_id, active)
    return attrs.evolve(present, active=active)


def change_definitions(call: Call, prepare: Callable[[DefinitionSet], SetChange | None]) -> bool:
    """Check a change and write it; return whether there was something to write.

    Args:
        prepare: called with the present set; checks the change and returns it, or None if there is
            nothing to write.

    Raises:
        Problem: the change is refused, or others were faster each time.
    """
    for _ in range(ATTEMPTS):
        removal = None
        with call.app.turn(call.tenant_id):
            present = load_present(call)
            change = prepare(present)
            if change is None:
                return False
            try:
                removal = _Writing.of(call, present, change).write(call.app.store)
            except _MovedError:
                continue
        call.app.definitions_changed(call.tenant_id)
        if removal is not None:
            with suppress(StoreUnavailableError):  # the next start continues it
                remove_pending(call.app.store, removal)
        return True
    raise Problem("conflict", "the definitions are being changed by others; try again")


def remove_pending(store: Records, change: PendingChange) -> None:
    """Remove the remains of a change that was interrupted or superseded.

    Raises:
        StoreUnavailableError: nothing can be written now.
    """
    while store.write(partial(pending.remove, change=change), quietly=True).result():
        pass


@attrs.frozen
class _Switch:
    """The last step of a change, which makes it visible: small, and sent to the writing thread.

    Attributes:
        seen: revision of the set that was checked.
        pending: hides the rows of a large change; None for a change in one step.
        gone: the objects deleted or changed in place.
        made: rows of new objects and of those changed in place.
        beside: rows of the audit and of versions that earlier steps didn't write.
        kept: the answer to store with the change.
    """

    tenant_id: UUID
    now: int
    seen: int
    settings: dict[str, Any] | None
    pending: PendingChange | None
    gone: Sequence[Definition]
    made: Rows | None
    beside: Sequence[Rows]
    kept: KeptAnswer | None

    def write(self, connection: Connection) -> PendingChange | None:
        """Write the change; return the remains to be removed.

        Raises:
            _MovedError: the set is no longer the one that was checked; nothing is written.
        """
        found = tenants.find(connection, self.tenant_id)
        if found.definition_revision != self.seen:
            raise _MovedError
        for rows in self.beside:
            rows.insert(connection)
        if self.made is not None:
            definitions.swap(connection, self.tenant_id, self.gone, self.made)
        if self.settings is not None:
            tenants.change(connection, self.tenant_id, self.now, settings=self.settings)
        tenants.count_definition_change(connection, self.tenant_id)
        if self.kept is not None:
            kept_answers.keep(connection, self.kept)
        if self.pending is None:
            return None
        if self.pending.generation != IN_PLACE:
            return pending.put_in_force(connection, self.pending, new_id())
        pending.finish(connection, self.pending)
        return None


@attrs.frozen
class _Writing:
    """A change on its way to the store.

    Attributes:
        steps: rows to write before the switch, hidden.
        switch: the last step.
    """

    steps: Sequence[Rows]
    switch: _Switch

    @classmethod
    def of(cls, call: Call, seen: DefinitionSet, change: SetChange) -> _Writing:
        """Encode a change."""
        after = [_encoded(each.after) for each in change.objects if each.after is not None]
        made = definitions.rows_of(after, seen.generation)
        entries = _audit(call, seen, change)
        is_large = len(change.objects) > STEP_ROWS or (len(after) > 1 and made.size > STEP_BYTES)
        generation = time.time_ns() if is_large else IN_PLACE
        hidden = PendingChange(new_id(), call.tenant_id, generation)
        marked = {"change_id": hidden.change_id}
        beside = (
            ready(tables.audit, (attrs.asdict(each, recurse=False) | marked for each in entries)),
            ready(tables.policy_versions, (each | marked for each in _versions(call, after))),
        )
        gone = [each.before for each in change.objects if each.before is not None]
        switch = _Switch(
            tenant_id=call.tenant_id,
            now=call.now,
            seen=seen.revision,
            settings=change.settings,
            pending=hidden,
            gone=() if is_large else gone,
            made=None if is_large else made,
            beside=(),
            kept=change.kept,
        )
        if is_large:
            whole = definitions.rows_of(_all_after(seen, change.objects), generation)
            return cls((*beside, whole), switch)
        if made.size + sum(rows.size for rows in beside) > STEP_BYTES:
            return cls(beside, switch)
        return cls((), attrs.evolve(switch, pending=None, beside=beside))

    def write(self, store: Records) -> PendingChange | None:
        """Write the change; return the remains to be removed.

        Raises:
            _MovedError: the set is no longer the one that was checked; nothing is written.
        """
        hidden = self.switch.pending
        if hidden is None:
            return store.write(self.switch.write).result()
        try:
            store.write(partial(pending.begin, change=hidden), quietly=True).result()
            for rows in self.steps:
                for step in rows.steps():
                    store.write(step, quietly=True).result()
            return store.write(self.switch.write).result()
        except BaseException:
            with suppress(StoreUnavailableError):  # the next start does it
                remove_pending(store, hidden)
            raise


def _encoded(of: Definition) -> Definition:
    """Return the object with its body encoded once for all rows that contain it."""
    body: Any = json_text(of.body)
    return attrs.evolve(of, body=body)


def _audit(call: Call, seen: DefinitionSet, change: SetChange) -> Iterator[AuditEntry]:
    """Yield the audit entries of a change: each object before and after, as it is answered."""
    ids: dict[tuple[str, str], UUID] = {
        (each.kind, each.slug): each.object_id
        for objects in seen.objects.values()
        for each in objects
    }
    gone = [each.before for each in change.objects if each.before is not None]
    made = [each.after for each in change.objects if each.after is not None]
    ids_after = dict(ids)
    for each in gone:
        ids_after.pop((each.kind, each.slug), None)
    ids_after |= {(each.kind, each.slug): each.object_id for each in made}
    if change.because is not None:
        yield change.because
    for changed in change.objects:
        of = changed.of
        before = _audited(changed.before, ids, changed.audited, {})
        after = _audited(changed.after, ids_after, changed.audited, changed.audited or {})
        yield call.audit_entry(changed.action, of.kind, of.object_id, before=before, after=after)
    if change.settings is not None:
        tenant = seen.tenant
        new = attrs.evolve(
            tenant,
            settings=change.settings,
            revision=tenant.revision + 1,
            updated_at_ns=call.now,
        )
        yield call.audit_entry(
            "update",
            "tenant",
            call.tenant_id,
            before=wire_audit.audited(wire_tenants.tenant_answer(tenant)),
            after=wire_audit.audited(wire_tenants.tenant_answer(new)),
        )


def _audited(
    of: Definition | None,
    ids: Mapping[tuple[str, str], UUID],
    in_place_of_entries: Mapping[str, Any] | None,
    added: Mapping[str, Any],
) -> Any:
    """Return an object for the audit trail, encoded, as a large change has many."""
    if of is None:
        return None
    members = to_audited(KINDS[of.kind], of, lambda kind, slug: ids.get((kind.name, slug)))
    if in_place_of_entries is not None:
        del members["entries"]
    return json_text({**members, **added})


def _versions(call: Call, after: Sequence[Definition]) -> Iterator[dict[str, Any]]:
    """Yield a version of every saved policy."""
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
    """Yield all objects of the set after the change."""
    changed = {(each.of.kind, each.of.object_id): each.after for each in changes}
    for objects in seen.objects.values():
        for each in objects:
            after = changed.pop((each.kind, each.object_id), each)
            if after is not None:
                yield after
    yield from (each for each in changed.values() if each is not None)
