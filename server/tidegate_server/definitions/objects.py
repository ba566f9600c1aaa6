"""The common handlers of actions, entity definitions, mitigations, policies, lists and overrides.

One function creates the five handlers of a kind; special handlers of a kind are in its own file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate.policy.document import to_members
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after, page_of
from tidegate_server.definitions.challenge_safety import warnings_of
from tidegate_server.definitions.changes import ObjectChange, SetChange, change_definitions
from tidegate_server.engines.definition_set import DefinitionSet, load_set
from tidegate_server.http.ids import new_id
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import definitions, tenants
from tidegate_server.stores.objects.definitions import Definition
from tidegate_server.wire import common as wire_common
from tidegate_server.wire.kinds import POLICY, to_answer, to_body, to_wire_members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from tidegate.policy.definitions.findings import Finding
    from tidegate_server.wire.kinds import DefinitionKind


@attrs.frozen
class Handlers:
    """The handlers of one kind."""

    kind: DefinitionKind
    show: Callable[[DefinitionKind, Definition, DefinitionSet], Any] = to_answer
    """Converts an object for a list."""

    def list_(self, call: Call) -> Answer:
        """List all objects of the kind, in document order."""
        after = page_after(call)
        place = (int(after[0]), UUID(str(after[1]))) if after else None
        with call.app.store.read() as connection:
            found = definitions.page(
                connection, call.tenant_id, self.kind.name, call.query.limit + 1, place
            )
            known = self._known(connection, call)
        return page_of(
            call,
            found,
            lambda each: self.show(self.kind, each, known),
            lambda each: [each.position, str(each.object_id)],
        )

    def create(self, call: Call) -> Answer:
        """Create an object, after all others of its kind."""
        body: Any = call.body
        members = {each.name: getattr(body, each.name) for each in attrs.fields(type(body))}
        return self.add(call, lambda _: members)

    def add(
        self,
        call: Call,
        members_of: Callable[[DefinitionSet], Mapping[str, Any]],
        gone_of: Callable[[DefinitionSet], Sequence[ObjectChange]] = lambda _: (),
    ) -> Answer:
        """Add an object.

        Args:
            members_of: returns its members, given the present set.
            gone_of: returns objects to remove before, given the present set.
        """
        object_id = new_id()
        answers: list[Answer] = []

        def prepare(present: DefinitionSet) -> SetChange:
            gone = gone_of(present)
            present = present.without(self.kind, [each.of.object_id for each in gone])
            body = to_body(self.kind, members_of(present), present)
            checked = present.check_put(self.kind, object_id, body)
            model, warnings = checked.model, warnings_of(call, self.kind, present, checked)
            made = Definition(
                tenant_id=call.tenant_id,
                kind=self.kind.name,
                object_id=object_id,
                slug=model.slug,
                name=model.name,
                body=to_members(model),
                position=present.next_position(self.kind),
                created_at_ns=call.now,
                updated_at_ns=call.now,
            )
            answer = Answer(
                body=to_answer(self.kind, made, present, warnings),
                revision=made.revision,
                location=f"{call.path}/{object_id}",
            )
            answers[:] = [answer]
            change = ObjectChange("create", None, made)
            return SetChange([*gone, change], kept=call.kept(answer))

        change_definitions(call, prepare)
        return answers[0]

    def read(self, call: Call) -> Answer:
        """Return one object."""
        with call.app.store.read() as connection:
            found = definitions.find(connection, call.tenant_id, self.kind.name, self._id(call))
            known = self._known(connection, call)
        return Answer(body=to_answer(self.kind, found, known), revision=found.revision)

    def change(self, call: Call) -> Answer:
        """Change the given members; the slug stays when the name changes."""
        given = wire_common.given(call.body)

        def body_of(present: DefinitionSet, before: Definition) -> Mapping[str, Any]:
            members = to_wire_members(self.kind, before.body, present) | given
            return to_body(self.kind, {**members, "slug": before.slug}, present)

        return self.save(call, "update", body_of)

    def save(
        self,
        call: Call,
        action: str,
        body_of: Callable[[DefinitionSet, Definition], Mapping[str, Any]],
        finish: Callable[[Definition, dict[str, Any]], dict[str, Any]] | None = None,
        audited: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Replace the body of an object.

        Args:
            action: the name in the audit trail.
            body_of: returns the new body, given the present set and object.
            finish: returns the body to store instead of the checked one.
            audited: the replacement for a list's entries in the audit trail.
        """
        seen: list[tuple[Definition, DefinitionSet, Sequence[Finding]]] = []

        def prepare(present: DefinitionSet) -> SetChange | None:
            before = self._present(call, present)
            call.require_revision(before.revision)
            checked = present.check_put(self.kind, before.object_id, body_of(present, before))
            model, warnings = checked.model, warnings_of(call, self.kind, present, checked)
            seen[:] = [(before, present, warnings)]
            body = to_members(model)
            if finish is not None:
                body = finish(before, body)
            if body == before.body:
                return None
            made = attrs.evolve(before, slug=model.slug, name=model.name, body=body)
            made = definitions.succeeding(before, made, call.now)
            seen[:] = [(made, present, warnings)]
            return SetChange([ObjectChange(action, before, made, audited)])

        change_definitions(call, prepare)
        result, present, warnings = seen[0]
        body = to_answer(self.kind, result, present, warnings)
        return Answer(body=body, revision=result.revision)

    def delete(self, call: Call) -> Answer:
        """Delete an object that no other refers to."""

        def prepare(present: DefinitionSet) -> SetChange:
            before = self._present(call, present)
            call.require_revision(before.revision)
            present.check_delete(self.kind, before.object_id)
            return SetChange([ObjectChange("delete", before, None)])

        change_definitions(call, prepare)
        return Answer()

    def _known(self, connection: Connection, call: Call) -> DefinitionSet:
        """Return the names needed to show an object: a policy names others by their ids."""
        if self.kind is POLICY:
            return load_set(connection, call.tenant_id)
        tenant = tenants.find(connection, call.tenant_id)
        return DefinitionSet(tenant=tenant, revision=tenant.definition_revision, objects={})

    def _id(self, call: Call) -> UUID:
        return call.ids[self.kind.id_member]

    def _present(self, call: Call, present: DefinitionSet) -> Definition:
        found = present.find(self.kind, self._id(call))
        if found is None:
            raise NotFoundError(self.kind.name)
        return found
