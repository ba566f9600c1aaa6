"""All definitions of a tenant as one document: read it, and replace the stored ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate.policy.definitions.findings import Finding, refuse
from tidegate.policy.definitions.model import Settings, Tenant, derived_id
from tidegate.policy.definitions.return_urls import TEMPLATE, foreign_templates
from tidegate.policy.document import parse_document, to_members
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.challenge_safety import challenge_warnings
from tidegate_server.definitions.changes import ObjectChange, SetChange, change_definitions
from tidegate_server.definitions.lists import MAX_ENTRIES
from tidegate_server.definitions.overrides import PROXIES, contains_proxies
from tidegate_server.engines.definition_set import load_set, warnings_of
from tidegate_server.http.authorise import require
from tidegate_server.http.headers import status_path
from tidegate_server.operators.permissions import Permission
from tidegate_server.stores.objects import definitions
from tidegate_server.stores.objects.definitions import Definition
from tidegate_server.wire import documents as wire_documents
from tidegate_server.wire.kinds import KINDS, OVERRIDE, POLICY, to_warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidegate.policy.definitions.model import Definitions
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.wire.kinds import DefinitionKind


def read(call: Call) -> Answer:
    """Return the document with every setting, so that it means the same elsewhere."""
    with call.app.store.read() as connection:
        present = load_set(connection, call.tenant_id)
    document = present.document()
    document["settings"] = {**attrs.asdict(Settings(), recurse=False), **document["settings"]}
    return Answer(body=document, revision=present.revision)


def replace(call: Call) -> Answer:
    """Make the tenant's definitions equal to a document; equal objects stay untouched."""
    query: wire_documents.DocumentQuery = call.query
    given = parse_document(call.raw_body)
    outcome: list[tuple[int, list[Finding], list[wire_documents.Change]]] = []

    def prepare(present: DefinitionSet) -> SetChange | None:
        call.require_revision(present.revision)
        parsed = given
        if not given.has(OVERRIDE.section):
            # They are made by hand in between, so a document that doesn't name them keeps them.
            kept = [dict(each.body) for each in present.objects[OVERRIDE.section]]
            parsed = given.with_member(OVERRIDE.section, kept)
        tenant = Tenant(
            tenant_id=str(call.tenant_id), name=present.tenant.name, slug=present.tenant.slug
        )
        compilation = parsed.read(tenant, present.compilation, lint="")
        source = compilation.compiled.source
        objects, changes = object_changes(call, present, source)
        settings = to_members(source.settings) if given.has("settings") else None
        if settings is not None and settings != dict(present.tenant.settings):
            if call.role is not None:
                require(call.role, Permission.MANAGE_TENANT)
            changes.insert(0, _settings_change(present, settings))
        else:
            settings = None
        call.app.known.checked(call.tenant_id, compilation)
        located = call.app.runtime.located_fields()
        found = [*warnings_of(compilation, located), *challenged(call, source, changes)]
        outcome[:] = [(present.revision, found, changes)]
        if query.dry_run or not changes:
            return None
        return SetChange(objects, settings)

    is_written = change_definitions(call, prepare)
    revision, findings, changes = outcome[0]
    if not query.dry_run and not is_written:
        # An earlier change may be saved without being in effect yet.
        call.app.definitions_changed(call.tenant_id)
    made = wire_documents.DocumentChanges(
        revision=revision + is_written,
        dry_run=query.dry_run,
        changes=tuple(changes),
        warnings=tuple(map(to_warning, findings)),
        active=not query.dry_run,
        status=status_path(call.tenant_id),
    )
    return Answer(body=made, revision=made.revision)


def object_changes(
    call: Call, present: DefinitionSet, source: Definitions
) -> tuple[list[ObjectChange], list[wire_documents.Change]]:
    """Return the changes that make a tenant's objects those of other definitions.

    Args:
        call: the call that makes them.
        present: the tenant's present definitions.
        source: the wanted definitions, checked as a whole.

    Returns:
        The changes to write, and the same as they are answered.

    Raises:
        DefinitionsError: a service can't keep these definitions.
    """
    _need_own_templates(source)
    _need_small_lists(source)
    _need_no_own_proxies(call, source)
    wanted = list(_wanted(call, present, source))
    return _object_changes(present, wanted, call.now), list(_changes(present, wanted))


def _need_own_templates(source: Definitions) -> None:
    """Refuse mitigations with templates that lead to origins missing from the settings.

    Raises:
        DefinitionsError: with all of them.
    """
    templates = [
        (f"/mitigations/{number}{TEMPLATE}", each.challenge.default_return_url_template)
        for number, each in enumerate(source.mitigations)
        if each.challenge is not None
    ]
    foreign = list(foreign_templates(source.settings.return_url_origins, templates))
    if foreign:
        raise refuse(foreign)


def _need_small_lists(source: Definitions) -> None:
    """Refuse lists that are longer than a service keeps.

    Raises:
        DefinitionsError: with all of them.
    """
    long = [
        Finding(
            "wrong-length",
            f"{len(each.entries)} entries, at most {MAX_ENTRIES} fit into a list of a service",
            f"/lists/{number}/entries",
        )
        for number, each in enumerate(source.lists)
        if len(each.entries) > MAX_ENTRIES
    ]
    if long:
        raise refuse(long)


def _need_no_own_proxies(call: Call, source: Definitions) -> None:
    """Refuse bans of proxies that the service trusts.

    Raises:
        DefinitionsError: with all of them.
    """
    found = [
        Finding("protected-network", PROXIES, f"/overrides/{number}/network")
        for number, each in enumerate(source.overrides)
        if each.kind == "ban" and contains_proxies(call.app.proxies, each.network)
    ]
    if found:
        raise refuse(found)


def challenged(
    call: Call, source: Definitions, changes: Iterable[wire_documents.Change]
) -> Iterator[Finding]:
    """Yield warnings about the challenges of new or changed policies, with their places.

    Args:
        call: the call that changes them.
        source: the definitions with the changes.
        changes: the changes.
    """
    changed = {each.id for each in changes if each.kind == POLICY.name and each.change != "deleted"}
    places = {
        each.policy_id: f"/policies/{number}"
        for number, each in enumerate(source.policies)
        if each.policy_id in changed and each.enabled and each.status == "active"
    }
    for policy_id, finding in challenge_warnings(call, source, places.keys()):
        yield attrs.evolve(finding, pointer=places[policy_id] + finding.pointer)


def _object_changes(
    present: DefinitionSet, wanted: Iterable[Definition], now: int
) -> list[ObjectChange]:
    known = [each for objects in present.objects.values() for each in objects]
    done = definitions.compare(known, wanted, now)
    return [
        *(ObjectChange("delete", each, None) for each in done.deleted),
        *(ObjectChange("update", before, after) for before, after in done.changed),
        *(ObjectChange("create", None, each) for each in done.created),
    ]


def _wanted(call: Call, present: DefinitionSet, source: Definitions) -> Iterator[Definition]:
    for kind in KINDS.values():
        models = getattr(source, kind.section)
        known = {each.object_id: each for each in present.objects[kind.section]}
        # An id in the document belongs to that object alone, whatever its slug was.
        taken = {UUID(getattr(model, kind.id_member)) for model in models}
        by_slug = {each.slug: each for each in known.values() if each.object_id not in taken}
        last = -1
        for model in models:
            named = _keep_id(call.tenant_id, kind, model, by_slug.get(model.slug))
            object_id = UUID(getattr(named, kind.id_member))
            before = known.get(object_id)
            # Positions are kept if the order allows, so that the same document changes nothing.
            last = before.position if before and before.position > last else last + 1
            yield Definition(
                tenant_id=call.tenant_id,
                kind=kind.name,
                object_id=object_id,
                slug=named.slug,
                name=named.name,
                body=to_members(named),
                position=last,
                created_at_ns=call.now,
                updated_at_ns=call.now,
            )


def _keep_id(
    tenant_id: UUID, kind: DefinitionKind, model: Any, same_slug: Definition | None
) -> Any:
    """Give an object without an id in the document the id of the stored one with its slug."""
    derived = derived_id(tenant_id, kind.name, model.slug)
    if same_slug is None or getattr(model, kind.id_member) != derived:
        return model
    return attrs.evolve(model, **{kind.id_member: str(same_slug.object_id)})


def _changes(
    present: DefinitionSet, wanted: Iterable[Definition]
) -> Iterator[wire_documents.Change]:
    known = {
        (each.kind, each.object_id): each
        for objects in present.objects.values()
        for each in objects
    }
    for each in wanted:
        before = known.pop((each.kind, each.object_id), None)
        if before is None:
            yield _change("created", each)
            continue
        members = [
            name
            for name in dict.fromkeys([*before.body, *each.body])
            if before.body.get(name) != each.body.get(name)
        ]
        if before.position != each.position:
            members.append("position")
        if members:
            yield _change("updated", each, members)
    for each in known.values():
        yield _change("deleted", each)


def _change(what: Any, of: Definition, members: Iterable[str] = ()) -> wire_documents.Change:
    return wire_documents.Change(
        change=what, kind=of.kind, id=str(of.object_id), name=of.name, members=tuple(members)
    )


def _settings_change(present: DefinitionSet, settings: dict[str, Any]) -> wire_documents.Change:
    before = present.tenant.settings
    members = [
        f"settings.{name}"
        for name in dict.fromkeys([*before, *settings])
        if before.get(name) != settings.get(name)
    ]
    return wire_documents.Change(
        change="updated",
        kind="tenant",
        id=str(present.tenant_id),
        name=present.tenant.name,
        members=tuple(members),
    )
