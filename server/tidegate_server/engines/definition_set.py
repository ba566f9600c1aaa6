"""A tenant's definitions as they are stored, and checks that a change of them is consistent.

A change is checked against the whole set, outside the writing thread. It is then written only if
nobody changed the set in between.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import DefinitionsError
from tidegate.language.tree.diagnostics import Source, quote
from tidegate.policy.definitions.model import API_VERSION
from tidegate.policy.definitions.return_urls import TEMPLATE, foreign_templates
from tidegate.policy.document import Excerpt, Ready, count_nodes, read_document
from tidegate.policy.lint.absent import absent
from tidegate.policy.lint.unused import NEVER_USED
from tidegate_server.http.problems import ErrorDetail, Problem, Referrer, error_of_finding
from tidegate_server.stores.objects import definitions, tenants
from tidegate_server.wire.kinds import KINDS, LIST, MITIGATION, OVERRIDE, wire_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.findings import Finding
    from tidegate.policy.definitions.model import Definitions, Mitigation
    from tidegate_server.stores.objects.definitions import Definition
    from tidegate_server.stores.objects.tenants import Tenant
    from tidegate_server.wire.kinds import DefinitionKind

_CONFLICTS = frozenset({"duplicate-name", "duplicate-slug", "duplicate-id"})
FEW = 100
"""Objects that are parsed with each change rather than kept parsed."""
_NO_DATABASE = (
    "no address database is configured, so only events that state `geo` have it",
    "set `geo.databases`, or send `geo` as the proxy or the application knows it",
)
LOCATED_FIELDS = ("derived.country", "derived.asn", "derived.as_org")
"""Fields that address databases give."""
_SECTIONS = {kind.section: kind for kind in KINDS.values()}


@attrs.frozen
class ActiveDefinitions:
    """Active definitions, whose objects the next set mostly shares.

    Attributes:
        compilation: the compilation; parts checked for it are not checked again.
        read: each object as it was stored and as it was parsed, by id.
        at: revision and generation of the set.
        objects: the objects of that set.
    """

    compilation: Compilation
    read: Mapping[UUID, tuple[Definition, Ready]]
    at: tuple[int, int]
    objects: Mapping[str, tuple[Definition, ...]]

    def find(self, definition: Definition) -> Ready | None:
        """Return a parsed object, if it is unchanged."""
        stored, ready = self.read.get(definition.object_id, (None, None))
        if stored is None or (stored is not definition and not _is_same(stored, definition)):
            return None
        return ready

    def covers(self, objects: Mapping[str, tuple[Definition, ...]]) -> bool:
        """Tell whether only a few of the objects must be parsed again."""
        if objects is self.objects:
            return True
        unread = (each for kind in objects.values() for each in kind if self.find(each) is None)
        return next(islice(unread, FEW, None), None) is None

    def stored(self) -> Iterator[Definition]:
        """Yield the objects as they were stored."""
        return (stored for stored, _ in self.read.values())


@attrs.frozen
class Checked:
    """An object that is consistent with the set.

    Attributes:
        model: the parsed object.
        warnings: warnings about it, with pointers into its wire form.
        definitions: the whole set with it in place, without the entries of lists.
    """

    model: Any
    warnings: tuple[Finding, ...]
    definitions: Definitions


@attrs.frozen(kw_only=True)
class DefinitionSet:
    """All definitions of a tenant at one revision, by section in the order of the document.

    Attributes:
        tenant: the tenant.
        revision: the revision of the whole set.
        objects: the objects, by section.
        active: the definitions that decide now.
        generation: their generation among the tenant's definitions in the store.
        located: the fields that address databases give.
    """

    tenant: Tenant
    revision: int
    objects: Mapping[str, tuple[Definition, ...]]
    active: ActiveDefinitions | None = None
    generation: int = 0
    located: Collection[str] = ()

    @property
    def tenant_id(self) -> UUID:
        return self.tenant.tenant_id

    def find(self, kind: DefinitionKind, object_id: UUID) -> Definition | None:
        """Return the object with an id."""
        found = (each for each in self.objects[kind.section] if each.object_id == object_id)
        return next(found, None)

    def next_position(self, kind: DefinitionKind) -> int:
        """Return a position after all others of a kind."""
        return max((each.position for each in self.objects[kind.section]), default=-1) + 1

    def id_of(self, kind: DefinitionKind, slug: str) -> UUID:
        """Return the id for a slug that another object of the set refers to."""
        return next(each.object_id for each in self.objects[kind.section] if each.slug == slug)

    @property
    def compilation(self) -> Compilation | None:
        """The compilation of the active definitions."""
        return None if self.active is None else self.active.compilation

    def document(self, *, entries: bool = True) -> dict[str, Any]:
        """Return the set as a definitions document.

        Args:
            entries: whether to include the entries of lists; no expression depends on them.
        """
        return self._document(lambda each: dict(each.body), entries=entries)

    def to_read(self, *, entries: bool = True) -> dict[str, Any]:
        """Return the set for parsing; objects equal to active ones are the ones parsed earlier."""
        if self.active is None:
            return self.document(entries=entries)
        find = self.active.find
        return self._document(lambda each: find(each) or each.body, entries=entries)

    def activate(self, compilation: Compilation) -> ActiveDefinitions:
        """Return these definitions as the active ones.

        Args:
            compilation: the compilation of :meth:`document` or :meth:`to_read`.
        """
        source = compilation.compiled.source
        read = {}
        for kind in KINDS.values():
            models = getattr(source, kind.section)
            for each, model in zip(self.objects[kind.section], models, strict=True):
                known = None if self.active is None else self.active.find(each)
                ready = known or Ready(model=model, nodes=count_nodes(each.body))
                read[each.object_id] = (each, ready)
        return ActiveDefinitions(compilation, read, (self.revision, self.generation), self.objects)

    def _document(self, show: Callable[[Definition], Any], *, entries: bool) -> dict[str, Any]:
        sections = {
            section: [show(each) for each in objects] for section, objects in self.objects.items()
        }
        if not sections[OVERRIDE.section]:
            # A daemon of an earlier version refuses a section that it doesn't know.
            del sections[OVERRIDE.section]
        if not entries:
            sections[LIST.section] = [_without_entries(each) for each in sections[LIST.section]]
        return {
            "apiVersion": API_VERSION,
            "tenant": {
                "tenant_id": str(self.tenant_id),
                "name": self.tenant.name,
                "slug": self.tenant.slug,
            },
            "revision": self.revision,
            "settings": dict(self.tenant.settings),
            **sections,
        }

    def check_put(self, kind: DefinitionKind, object_id: UUID, body: Mapping[str, Any]) -> Checked:
        """Parse an object, and check that the set that contains it is consistent.

        Args:
            object_id: the id of the changed or new object.

        Raises:
            Problem: ``conflict`` for a name or slug that is taken, else ``invalid-definitions``,
                with pointers into the object's wire form.
        """
        at = next(
            (
                number
                for number, each in enumerate(self.objects[kind.section])
                if each.object_id == object_id
            ),
            len(self.objects[kind.section]),
        )
        changed = [{**body, kind.id_member: str(object_id)}]
        place = f"/{kind.section}/{at}"
        document = self.to_read(entries=False)
        document.setdefault(kind.section, [])[at : at + 1] = changed
        try:
            compilation = read_document(document, self.compilation, lint=place)
        except DefinitionsError as error:
            findings: list[Finding] = list(error.diagnostics)  # type: ignore[arg-type]
            shown = self.document(entries=False)
            shown.setdefault(kind.section, [])[at : at + 1] = changed
            raise _refusal(shown, findings, place) from None
        shown = {kind.section: {str(at): changed[0]}}
        found = _of_object(
            shown,
            # An object is saved before anything can use it.
            (
                each
                for each in warnings_of(compilation, self.located, place)
                if each.code != NEVER_USED
            ),
            place,
        )
        source = compilation.compiled.source
        if kind is MITIGATION:
            _need_own_template(source.settings.return_url_origins, source.mitigations[at])
        return Checked(getattr(source, kind.section)[at], found, source)

    def findings(self) -> Iterator[tuple[DefinitionKind, Definition, tuple[Finding, ...]]]:
        """Yield the objects that have warnings, with pointers into their wire form."""
        compilation = read_document(self.to_read(entries=False), self.compilation, lint="")
        return self.by_object(warnings_of(compilation, self.located))

    def by_object(
        self, found: Iterable[Finding]
    ) -> Iterator[tuple[DefinitionKind, Definition, tuple[Finding, ...]]]:
        """Yield the objects that findings about the document are about, as :meth:`findings`.

        Args:
            found: with pointers into the document; those about no object are left out.
        """
        found = tuple(found)
        shown = self.document(entries=False)
        for section, kind in _SECTIONS.items():
            of_kind = [each for each in found if each.pointer.startswith(f"/{section}/")]
            numbers = sorted({int(each.pointer.split("/")[2]) for each in of_kind})
            for at in numbers:
                about = _of_object(shown, of_kind, f"/{section}/{at}")
                yield kind, self.objects[section][at], about

    def check_delete(self, kind: DefinitionKind, object_id: UUID) -> None:
        """Refuse to remove objects that others refer to.

        The set was consistent before, so anything inconsistent without the object refers to it.

        Raises:
            Problem: ``in-use``, with the referrers.
        """
        rest = self.without(kind, [object_id])
        try:
            read_document(rest.to_read(entries=False), self.compilation)
        except DefinitionsError as error:
            referrers = rest.referrers(error.diagnostics)  # type: ignore[arg-type]
            detail = f"{len(referrers)} other objects refer to this {kind.name}"
            raise Problem("in-use", detail, referrers=referrers) from None

    def without(self, kind: DefinitionKind, object_ids: Collection[UUID]) -> DefinitionSet:
        """Return the set without some objects of a kind."""
        if not object_ids:
            return self
        rest = tuple(
            each for each in self.objects[kind.section] if each.object_id not in object_ids
        )
        return attrs.evolve(self, objects={**self.objects, kind.section: rest})

    def referrers(self, findings: Iterable[Finding]) -> list[Referrer]:
        """Return the objects that findings are about, each once."""
        places = dict.fromkeys(tuple(each.pointer.split("/")[1:3]) for each in findings)
        made = []
        for place in places:
            kind = _SECTIONS.get(place[0])
            if kind is not None and len(place) == 2:
                found = self.objects[kind.section][int(place[1])]
                made.append(Referrer(kind=kind.name, id=str(found.object_id), name=found.name))
        return made


def empty_fields(located: Collection[str]) -> Mapping[str, tuple[str, str]]:
    """Return fields that no address database gives, with the reason and the remedy.

    Args:
        located: the fields that address databases give.
    """
    return {name: _NO_DATABASE for name in LOCATED_FIELDS if name not in located}


def warnings_of(
    compilation: Compilation, located: Collection[str], about: str = ""
) -> tuple[Finding, ...]:
    """Return the findings about definitions, and about fields that are empty in the service.

    Args:
        compilation: definitions that were read with their findings.
        located: the fields that address databases give.
        about: the JSON pointer of the object they are about; all by default.
    """
    return (*compilation.findings, *absent(compilation, empty_fields(located), about))


def load_set(
    connection: Connection, tenant_id: UUID, active: ActiveDefinitions | None = None
) -> DefinitionSet:
    """Load a tenant's present definitions.

    Args:
        tenant_id: the tenant.
        active: as for :class:`DefinitionSet`.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    tenant = tenants.find(connection, tenant_id)
    generation = tenants.generation(connection, tenant_id)
    if active is not None and active.at == (tenant.definition_revision, generation):
        objects = active.objects
    else:
        known = () if active is None else active.stored()
        found = definitions.of_tenant(connection, tenant_id, known)
        objects = {
            kind.section: tuple(each for each in found if each.kind == kind.name)
            for kind in KINDS.values()
        }
    return DefinitionSet(
        tenant=tenant,
        revision=tenant.definition_revision,
        objects=objects,
        active=active,
        generation=generation,
    )


def _need_own_template(origins: Iterable[str], mitigation: Mitigation) -> None:
    """Refuse a template that leads to an origin which isn't in the settings.

    Raises:
        Problem: ``invalid-definitions``.
    """
    challenge = mitigation.challenge
    template = None if challenge is None else challenge.default_return_url_template
    foreign = list(foreign_templates(origins, [(TEMPLATE, template)]))
    if foreign:
        raise Problem("invalid-definitions", errors=[error_of_finding(each) for each in foreign])


def _is_same(one: Definition, other: Definition) -> bool:
    """Tell whether an object is unchanged.

    One that was deleted and created again has the revisions of the first, and may have its id.
    """
    return (
        one.revision == other.revision
        and one.created_at_ns == other.created_at_ns
        and one.updated_at_ns == other.updated_at_ns
    )


def _without_entries(named: Any) -> Any:
    """Return a list of a document without its entries, for parsing."""
    if isinstance(named, Ready):
        return attrs.evolve(named, model=attrs.evolve(named.model, entries=()))
    if "entries" not in named:
        return named
    return {**named, "entries": Excerpt(nodes=1 + len(named["entries"]))}


def in_text(document: Mapping[str, Any], finding: Finding) -> Finding:
    """Return a finding in an expression with line and column in the expression's text."""
    if finding.span is None or finding.line is not None:
        return finding
    text = _value_at(document, finding.pointer)
    if not isinstance(text, str):
        return finding
    position = Source(text).position(finding.span.start)
    return attrs.evolve(finding, line=position.line, column=position.column)


def _of_object(
    document: Mapping[str, Any], findings: Iterable[Finding], place: str
) -> tuple[Finding, ...]:
    """Return the findings about the object at a place, with pointers into it."""
    return tuple(
        attrs.evolve(in_text(document, each), pointer=wire_pointer(each.pointer[len(place) :]))
        for each in findings
        if f"{each.pointer}/".startswith(f"{place}/")
    )


def _value_at(document: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name) if isinstance(document, (list, tuple)) else name]
    return document


def _refusal(document: Mapping[str, Any], findings: list[Finding], place: str) -> Problem:
    """Return the problem for findings about a set whose object at ``place`` was changed."""
    if all(each.code in _CONFLICTS and _is_of_object(each.pointer) for each in findings):
        kind = _SECTIONS[place.split("/")[1]].name
        errors = [_taken(each, kind) for each in findings]
        return Problem("conflict", errors[0].detail, errors=errors)
    errors = [_error(document, each, place) for each in findings]
    return Problem("invalid-definitions", "the object is not valid", errors=errors)


def _is_of_object(pointer: str) -> bool:
    """Tell whether a pointer is ``/SECTION/NUMBER/MEMBER``, since clauses have their own names."""
    return pointer.count("/") == 3


def _taken(finding: Finding, kind: str) -> ErrorDetail:
    # The finding may be about the other of the two; both have that member.
    member = finding.pointer.rpartition("/")[2]
    detail = f"the tenant has another {kind} of this {member}"
    return error_of_finding(attrs.evolve(finding, message=detail), f"/{member}")


def _error(document: Mapping[str, Any], finding: Finding, place: str) -> ErrorDetail:
    found = in_text(document, finding)
    if found.pointer == place or found.pointer.startswith(f"{place}/"):
        return error_of_finding(found, wire_pointer(found.pointer[len(place) :]))
    # Another object would become invalid, and the pointer would lead nowhere in the body.
    section, number = (*found.pointer.split("/"), "", "")[1:3]
    if section not in _SECTIONS or not number:
        return error_of_finding(found, "")
    other = document[section][int(number)]
    detail = f"{_SECTIONS[section].name} {quote(other['name'])} would not hold: {found.message}"
    return error_of_finding(attrs.evolve(found, message=detail), "")
