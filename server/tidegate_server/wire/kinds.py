"""The kinds of definitions, and the conversion of their objects from wire to document and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from uuid import UUID

import attrs
import msgspec
from msgspec import UNSET

from tidegate.policy.definitions.findings import pointer_to
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire import documents as wire_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tidegate.policy.definitions.findings import Finding
    from tidegate_server.stores.objects.definitions import Definition, Kind

FindId: TypeAlias = Callable[["DefinitionKind", str], UUID | None]
"""Returns the id of the object of a kind with a slug; None if there isn't one."""


@attrs.frozen(kw_only=True)
class DefinitionKind:
    """One kind of object that a tenant defines.

    Attributes:
        name: its name in the store and in the audit.
        section: its section of the definitions document.
        id_member: name of the id, on the wire and in the document.
        create: its members, mostly the body of a POST; its defaults are those of every answer.
        answer: the class of an answer.
    """

    name: Kind
    section: str
    id_member: str
    create: Any
    answer: Any


class Objects(Protocol):
    """A tenant's objects, by id and by slug."""

    def find(self, kind: DefinitionKind, object_id: UUID) -> Definition | None:
        """Return the object with an id."""

    def id_of(self, kind: DefinitionKind, slug: str) -> UUID:
        """Return the id for a slug that an object refers to."""


LIST = DefinitionKind(
    name="list",
    section="lists",
    id_member="list_id",
    create=wire_definitions.ListCreate,
    answer=wire_definitions.NamedList,
)
ACTION = DefinitionKind(
    name="action",
    section="actions",
    id_member="action_id",
    create=wire_definitions.ActionCreate,
    answer=wire_definitions.Action,
)
ENTITY = DefinitionKind(
    name="entity",
    section="entities",
    id_member="entity_definition_id",
    create=wire_definitions.EntityDefinitionCreate,
    answer=wire_definitions.EntityDefinition,
)
MITIGATION = DefinitionKind(
    name="mitigation",
    section="mitigations",
    id_member="mitigation_id",
    create=wire_definitions.MitigationCreate,
    answer=wire_definitions.Mitigation,
)
POLICY = DefinitionKind(
    name="policy",
    section="policies",
    id_member="policy_id",
    create=wire_definitions.PolicyCreate,
    answer=wire_definitions.Policy,
)
OVERRIDE = DefinitionKind(
    name="override",
    section="overrides",
    id_member="override_id",
    create=wire_definitions.OverrideMembers,
    answer=wire_definitions.Override,
)
KINDS: Mapping[str, DefinitionKind] = {
    kind.name: kind for kind in (LIST, ACTION, ENTITY, MITIGATION, POLICY, OVERRIDE)
}
"""Kinds in the order of the definitions document."""

_REFERENCES = (
    ("action_ids", "actions", ACTION),
    ("entity_definition_id", "entity", ENTITY),
    ("mitigation_id", "mitigation", MITIGATION),
)
"""The references in a clause: their names on the wire and in the document, and their kinds."""
_WIRE_NAMES = {document: name for name, document, _ in _REFERENCES}


def to_body(kind: DefinitionKind, members: Mapping[str, Any], known: Objects) -> dict[str, Any]:
    """Convert members from the wire to an object of the document.

    Raises:
        Problem: ``invalid-request``; an id names no object of the tenant.
    """
    body = {name: msgspec.to_builtins(value) for name, value in members.items()}
    if kind is POLICY:
        errors: list[ErrorDetail] = []
        clauses = enumerate(members["clauses"])
        body["clauses"] = [
            _clause_body(clause, known, f"/clauses/{at}", errors) for at, clause in clauses
        ]
        if errors:
            raise Problem("invalid-request", "the body names what does not exist", errors=errors)
    return {name: value for name, value in body.items() if value is not None}


def _clause_body(
    clause: wire_definitions.Clause, known: Objects, pointer: str, errors: list[ErrorDetail]
) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(clause)

    def slug(kind: DefinitionKind, object_id: UUID, place: str) -> str:
        found = known.find(kind, object_id)
        if found is None:
            detail = f"the tenant has no {kind.name} `{object_id}`"
            errors.append(ErrorDetail(detail=detail, code="missing-reference", pointer=place))
            return ""
        return found.slug

    for name, member, kind in _REFERENCES:
        del body[name]
        value = getattr(clause, name)
        place = pointer_to(pointer, name)
        if isinstance(value, tuple):
            items = enumerate(value)
            body[member] = [slug(kind, each, pointer_to(place, at)) for at, each in items]
        elif value is not None:
            body[member] = slug(kind, value, place)
    kept: dict[str, Any] = _without_null(body)
    return kept


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in value.items() if each is not None}
    return value


def to_wire_members(
    kind: DefinitionKind, body: Mapping[str, Any], known: Objects
) -> dict[str, Any]:
    """Return the members of an object as in a POST, with defaults filled in."""
    return _members(kind, body, known.id_of, [])


def _members(
    kind: DefinitionKind,
    body: Mapping[str, Any],
    find_id: FindId,
    missing: list[wire_definitions.MissingReference],
) -> dict[str, Any]:
    members = {name: value for name, value in body.items() if name != kind.id_member}
    if kind is POLICY:
        members["clauses"] = [
            _clause_wire(each, find_id, f"/clauses/{at}", missing)
            for at, each in enumerate(members["clauses"])
        ]
    made = msgspec.convert(members, kind.create)
    return {each.name: getattr(made, each.name) for each in attrs.fields(kind.create)}


def _clause_wire(
    clause: Mapping[str, Any],
    find_id: FindId,
    pointer: str,
    missing: list[wire_definitions.MissingReference],
) -> dict[str, Any]:
    members = dict(clause)

    def ids(kind: DefinitionKind, slugs: Iterable[str], name: str) -> list[str]:
        found = [(slug, find_id(kind, slug)) for slug in slugs]
        place = pointer_to(pointer, name)
        missing.extend(
            wire_definitions.MissingReference(pointer=place, kind=kind.name, slug=slug)
            for slug, object_id in found
            if object_id is None
        )
        return [str(object_id) for _, object_id in found if object_id is not None]

    for name, member, kind in _REFERENCES:
        value = members.pop(member, None)
        if isinstance(value, list):
            members[name] = ids(kind, value, name)
        elif value is not None:
            members[name] = next(iter(ids(kind, [value], name)), None)
    return members


def to_saved(
    kind: DefinitionKind, tenant_id: UUID, body: Mapping[str, Any], find_id: FindId
) -> tuple[dict[str, Any], tuple[wire_definitions.MissingReference, ...]]:
    """Convert a stored body to the object as it is answered, as far as the body alone allows.

    Args:
        kind: the object's kind.
        tenant_id: the tenant.
        body: an object of a definitions document, perhaps an old one.
        find_id: returns the ids of the objects that it refers to.

    Returns:
        The members, and the references left out since their objects are gone.

    Raises:
        msgspec.ValidationError: the body isn't of this kind.
    """
    missing: list[wire_definitions.MissingReference] = []
    members = _members(kind, body, find_id, missing)
    members |= {kind.id_member: UUID(body[kind.id_member]), "tenant_id": tenant_id}
    return members, tuple(missing)


def to_answer(
    kind: DefinitionKind,
    stored: Definition,
    known: Objects,
    warnings: Sequence[Finding] = (),
) -> Any:
    """Return the answer for an object.

    Args:
        kind: the object's kind.
        stored: the object.
        known: the set it belongs to.
        warnings: those of the write, if any; otherwise the answer leaves them out.
    """
    return _answer(kind, stored, known.id_of, warnings)


def to_audited(kind: DefinitionKind, stored: Definition, find_id: FindId) -> dict[str, Any]:
    """Return an object for the audit trail.

    Args:
        kind: the object's kind.
        stored: the object.
        find_id: returns the ids of the objects that it refers to.
    """
    return wire_audit.audited(_answer(kind, stored, find_id, ()))


def _answer(
    kind: DefinitionKind, stored: Definition, find_id: FindId, warnings: Sequence[Finding]
) -> Any:
    members = _members(kind, stored.body, find_id, [])
    members |= {
        "slug": stored.slug,
        kind.id_member: stored.object_id,
        "tenant_id": stored.tenant_id,
        "created_at": wire_common.time_text(stored.created_at_ns),
        "updated_at": wire_common.time_text(stored.updated_at_ns),
        "revision": stored.revision,
    }
    if kind is LIST:
        members["entry_count"] = len(members["entries"])
    if warnings:
        members["warnings"] = tuple(map(to_warning, warnings))
    return kind.answer(**members)


def wire_pointer(pointer: str) -> str:
    """Convert a pointer into an object of the document to one into its wire form."""
    return "/".join(_WIRE_NAMES.get(part, part) for part in pointer.split("/"))


def to_warning(finding: Finding) -> wire_documents.DefinitionWarning:
    """Convert a finding to the answer's form of a warning."""
    return wire_documents.DefinitionWarning(
        code=finding.code,
        detail=finding.message,
        pointer=finding.pointer,
        line=UNSET if finding.line is None else finding.line,
        column=UNSET if finding.column is None else finding.column,
        hint=UNSET if finding.hint is None else finding.hint,
    )
