"""Packs in a tenant's definitions: shown, added, updated, removed.

The steps are those of the library over the tenant's definitions as a document, written as a change
of the objects that differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import DefinitionsError
from tidegate.packs import PackError, bundled_pack, bundled_packs
from tidegate.packs.labels import version_in
from tidegate.packs.merging import ABSENT
from tidegate.packs.objects import SECTIONS, by_slug, without_id
from tidegate.packs.pack import BUNDLED
from tidegate.packs.planning import plan_add, plan_remove, plan_update
from tidegate.policy.document import read_document
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.changes import SetChange, change_definitions
from tidegate_server.definitions.document import challenged, object_changes
from tidegate_server.engines.definition_set import in_text, load_set
from tidegate_server.http.headers import status_path
from tidegate_server.http.problems import ErrorDetail, Problem, error_of_finding
from tidegate_server.wire import documents as wire_documents
from tidegate_server.wire.kinds import KINDS, to_warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tidegate.packs import Pack
    from tidegate.packs.merging import Change
    from tidegate.packs.planning import Plan
    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.findings import Finding
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.stores.objects.audit import AuditEntry


def list_(call: Call) -> Answer:
    """List all packs, in the order in which they decide."""
    document = _document_of(call)
    return Answer(body=[_shown(call, pack, document) for pack in bundled_packs()])


def read(call: Call) -> Answer:
    """Return a pack."""
    pack = _pack(call)
    return Answer(body=_shown(call, pack, _document_of(call)))


def add(call: Call) -> Answer:
    """Add a pack, which only monitors until the tenant changes that."""
    body: wire_documents.PackAddition = call.body
    pack = _pack(call)
    unknown = [
        ErrorDetail(detail=f"`{pack.name}` has no such slot", pointer=f"/slots/{slot}")
        for slot in body.slots
        if slot not in pack.slots
    ]
    if unknown:
        raise Problem("invalid-request", unknown[0].detail, errors=unknown)
    return _take(
        call,
        "add",
        pack,
        lambda document: plan_add(pack, document, body.slots),
        pack.version,
        body.slots,
    )


def update(call: Call) -> Answer:
    """Bring a pack to the version of the service, and keep the tenant's changes."""
    pack = _pack(call)
    return _take(call, "update", pack, lambda document: plan_update(pack, document), pack.version)


def remove(call: Call) -> Answer:
    """Remove a pack; the actions of its slots stay."""
    pack = _pack(call)
    return _take(call, "remove", pack, lambda document: plan_remove(pack, document), None)


def _take(
    call: Call,
    action: str,
    pack: Pack,
    plan: Callable[[Mapping[str, Any]], Plan],
    version: str | None,
    slots: Mapping[str, str] | None = None,
) -> Answer:
    """Take a step, or show it.

    Args:
        action: the name in the audit trail.
        pack: the pack.
        plan: makes the step in a document.
        version: the version that the tenant has after it.
        slots: expressions that the caller gave.
    """
    query: wire_documents.DocumentQuery = call.query
    outcome: list[wire_documents.PackChanges] = []

    def prepare(present: DefinitionSet) -> SetChange | None:
        call.require_revision(present.revision)
        document = _plain(present)
        before = version_in(pack, document)
        try:
            found = plan(document)
        except PackError as error:
            raise Problem("conflict", str(error)) from None
        compilation = _checked(found.document, present, slots or {})
        source = compilation.compiled.source
        objects, changes = object_changes(call, present, source)
        call.app.known.checked(call.tenant_id, compilation)
        ids = {each.id for each in changes}
        warnings = [*_about(ids, compilation), *challenged(call, source, changes)]
        is_written = bool(objects) and not query.dry_run
        outcome[:] = [
            wire_documents.PackChanges(
                tenant_id=call.tenant_id,
                pack=pack.name,
                from_version=before,
                to_version=version,
                revision=present.revision + is_written,
                dry_run=query.dry_run,
                changes=_differences(found.changes),
                yours=_differences(found.yours),
                conflicts=tuple(
                    wire_documents.PackConflict(
                        place=each.place, yours=_value(each.site), pack=_value(each.pack)
                    )
                    for each in found.conflicts
                ),
                warnings=tuple(map(to_warning, warnings)),
                active=not query.dry_run,
                status=status_path(call.tenant_id),
            )
        ]
        if not is_written:
            return None
        return SetChange(objects, because=_entry(call, action, pack, before, version, slots))

    change_definitions(call, prepare)
    return Answer(body=outcome[0], revision=outcome[0].revision)


def _entry(
    call: Call,
    action: str,
    pack: Pack,
    before: str | None,
    after: str | None,
    slots: Mapping[str, str] | None,
) -> AuditEntry:
    """Return the audit entry that says which pack the changes of the objects are from."""
    owner = {"tenant_id": str(call.tenant_id), "pack": pack.name}
    given = {} if slots is None else {"slots": dict(slots)}
    return call.audit_entry(
        action,
        "pack",
        pack.name,
        before=None if before is None else {**owner, "version": before},
        after=None if after is None else {**owner, "version": after, **given},
    )


def _pack(call: Call) -> Pack:
    """Return the pack that the path names.

    Raises:
        Problem: ``not-found``.
    """
    name = call.names["pack"]
    if name not in BUNDLED:
        raise Problem("not-found")
    return bundled_pack(name)


def _document_of(call: Call) -> dict[str, Any]:
    with call.app.store.read() as connection:
        return _plain(load_set(connection, call.tenant_id))


def _plain(present: DefinitionSet) -> dict[str, Any]:
    """Return a tenant's document without ids: an object keeps the id of its slug."""
    document = present.document()
    objects = {section: [without_id(each) for each in document[section]] for section in SECTIONS}
    return {**document, **objects}


def _shown(call: Call, pack: Pack, document: Mapping[str, Any]) -> wire_documents.Pack:
    """Return a pack with its notes, and the tenant's version and slots."""
    installed = version_in(pack, document)
    guesses, actions = by_slug(pack.definitions, "actions"), by_slug(document, "actions")
    return wire_documents.Pack(
        tenant_id=call.tenant_id,
        name=pack.name,
        version=pack.version,
        summary=pack.summary,
        installed_version=installed,
        update_available=installed is not None and pack.is_newer_than(installed),
        needs=pack.needs,
        catches=pack.catches,
        misses=pack.misses,
        hurts=pack.hurts,
        measured=pack.measured,
        policies=tuple(by_slug(pack.definitions, "policies")),
        slots=tuple(
            wire_documents.PackSlot(
                slug=slot,
                meaning=meaning,
                guess=guesses[slot]["expression"],
                expression=actions.get(slot, {}).get("expression"),
            )
            for slot, meaning in pack.slots.items()
        ),
    )


def _checked(
    document: Mapping[str, Any], present: DefinitionSet, slots: Mapping[str, str]
) -> Compilation:
    """Return the document as it compiles.

    Raises:
        Problem: ``invalid-definitions``, with pointers into the slots, or into the whole document.
    """
    try:
        return read_document(document, present.compilation, lint="")
    except DefinitionsError as error:
        found: list[Finding] = list(error.diagnostics)  # type: ignore[arg-type]
    errors = []
    for each in found:
        section, number, *rest = (*each.pointer.split("/")[1:], "", "")
        slug = document["actions"][int(number)].get("slug") if section == "actions" else None
        placed = error_of_finding(in_text(document, each))
        if slug in slots and rest[:1] == ["expression"]:
            placed = attrs.evolve(placed, pointer=f"/slots/{slug}")
        errors.append(placed)
    raise Problem("invalid-definitions", errors[0].detail, errors=errors)


def _about(ids: set[str], compilation: Compilation) -> Iterator[Finding]:
    """Yield the findings about objects, by the ids of these."""
    source = compilation.compiled.source
    places = {
        f"/{kind.section}/{number}/"
        for kind in KINDS.values()
        for number, each in enumerate(getattr(source, kind.section))
        if getattr(each, kind.id_member) in ids
    }
    for each in compilation.findings:
        if "/".join(f"{each.pointer}//".split("/")[:3]) + "/" in places:
            yield each


def _differences(changes: Iterable[Change]) -> tuple[wire_documents.PackDifference, ...]:
    return tuple(
        wire_documents.PackDifference(
            place=each.place, before=_value(each.before), after=_value(each.after)
        )
        for each in changes
    )


def _value(value: Any) -> Any:
    return None if value is ABSENT else value
