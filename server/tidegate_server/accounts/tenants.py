"""Tenants: any operator can create one, and becomes its Owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
from msgspec import UNSET

from tidegate.edge.addresses import TrustedProxies
from tidegate.errors import DefinitionsError
from tidegate.functions.addresses import parse_range
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.definitions.model import API_VERSION
from tidegate.policy.definitions.return_urls import TEMPLATE, foreign_templates
from tidegate.policy.definitions.slugs import slug_from_name
from tidegate.policy.document import read_document, to_members
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_by_id
from tidegate_server.definitions.overrides import contains_proxies
from tidegate_server.definitions.starting_entities import starting_entities
from tidegate_server.http.headers import activity
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import ErrorDetail, Problem, error_of_finding
from tidegate_server.operators.permissions import Role
from tidegate_server.stores.objects import definitions, memberships, tenants
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import tenants as wire_tenants
from tidegate_server.wire.kinds import ENTITY, MITIGATION, OVERRIDE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

_TEMPLATE = TEMPLATE.rpartition("/")[2]


def list_(call: Call) -> Answer:
    """List the caller's tenants."""
    operator_id = call.operator.operator_id
    return page_by_id(
        call,
        lambda connection, limit, after: tenants.page_of_operator(
            connection, operator_id, limit, after
        ),
        wire_tenants.tenant_answer,
        lambda tenant: tenant.tenant_id,
    )


def create(call: Call) -> Answer:
    """Create a tenant with its first definitions and its first Owner."""
    body: wire_tenants.TenantCreate = call.body
    tenant_id = new_id()
    changes: dict[str, Any] = wire_common.given(body.settings) if body.settings else {}
    slug = body.slug or slug_from_name(body.name, "tenant")
    made = tenants.Tenant(
        tenant_id=tenant_id,
        name=body.name,
        slug=slug,
        settings=_checked(tenant_id, body.name, slug, changes),
        created_at_ns=call.now,
        updated_at_ns=call.now,
    )

    location = f"{call.path}/{tenant_id}"
    answer = Answer(
        body=wire_tenants.tenant_answer(made), revision=made.revision, location=location
    )

    def work(connection: Connection) -> None:
        partition = tenants.least_loaded(connection, call.app.partitions)
        tenants.create(connection, attrs.evolve(made, partition_id=partition))
        memberships.put(
            connection,
            tenant_id,
            call.operator.operator_id,
            Role.OWNER.value,
            call.now,
            accepted_at_ns=call.now,
        )
        for position, entity in enumerate(starting_entities(tenant_id)):
            definition = definitions.Definition(
                tenant_id=tenant_id,
                kind=ENTITY.name,
                object_id=UUID(entity.entity_definition_id),
                slug=entity.slug,
                name=entity.name,
                body=to_members(entity),
                position=position,
                created_at_ns=call.now,
                updated_at_ns=call.now,
            )
            definitions.create(connection, definition)
        call.audit(
            connection,
            "create",
            "tenant",
            tenant_id,
            after=wire_audit.audited(wire_tenants.tenant_answer(made)),
            tenant_id=tenant_id,
        )
        call.keep(connection, answer)

    call.write(work)
    headers = activity(tenant_id, call.app.definitions_changed(tenant_id))
    return attrs.evolve(answer, headers={**answer.headers, **headers})


def read(call: Call) -> Answer:
    """Return one tenant."""
    with call.app.store.read() as connection:
        found = tenants.find(connection, call.tenant_id)
    return Answer(body=wire_tenants.tenant_answer(found), revision=found.revision)


def change(call: Call) -> Answer:
    """Change the name or settings; omitted settings stay as they are."""
    body: wire_tenants.TenantChange = call.body
    given = wire_common.given(body)
    with call.app.store.read() as connection:
        seen = tenants.find(connection, call.tenant_id)
    call.require_revision(seen.revision)
    name = given.get("name", seen.name)
    changes = wire_common.given(given["settings"]) if "settings" in given else {}
    settings = _checked(call.tenant_id, name, seen.slug, {**seen.settings, **changes})
    if (name, settings) == (seen.name, dict(seen.settings)):
        return Answer(body=wire_tenants.tenant_answer(seen), revision=seen.revision)

    def work(connection: Connection) -> tenants.Tenant:
        # Checked here and not before, as a mitigation may be saved meanwhile.
        _need_own_templates(connection, call.tenant_id, settings)
        _need_no_banned_proxies(connection, call.tenant_id, settings)
        tenants.change(
            connection,
            call.tenant_id,
            call.now,
            expected_revision=seen.revision,
            name=name,
            settings=settings,
        )
        if settings != dict(seen.settings):
            # A revision names everything that a decision was based on.
            tenants.count_definition_change(connection, call.tenant_id)
        made = tenants.find(connection, call.tenant_id)
        call.audit(
            connection,
            "update",
            "tenant",
            call.tenant_id,
            before=wire_audit.audited(wire_tenants.tenant_answer(seen)),
            after=wire_audit.audited(wire_tenants.tenant_answer(made)),
        )
        return made

    made = call.write(work)
    return Answer(
        body=wire_tenants.tenant_answer(made),
        revision=made.revision,
        headers=activity(call.tenant_id, call.app.definitions_changed(call.tenant_id)),
    )


def delete(call: Call) -> Answer:
    """Delete a tenant with everything it owns; its audit trail stays."""

    def work(connection: Connection) -> None:
        found = tenants.find(connection, call.tenant_id)
        call.require_revision(found.revision)
        tenants.delete(connection, call.tenant_id)
        call.audit(
            connection,
            "delete",
            "tenant",
            call.tenant_id,
            before=wire_audit.audited(wire_tenants.tenant_answer(found)),
        )

    call.write(work)
    call.app.api_keys_changed(call.tenant_id)
    call.app.definitions_changed(call.tenant_id)
    return Answer()


def _need_own_templates(
    connection: Connection, tenant_id: UUID, settings: Mapping[str, Any]
) -> None:
    """Refuse a list of origins that lacks those of the mitigations' templates.

    Raises:
        Problem: ``invalid-request``.
    """
    origins = settings.get("return_url_origins") or ()
    if not origins:
        return
    templates = [
        ("/settings/return_url_origins", (body.get("challenge") or {}).get(_TEMPLATE))
        for _, body in definitions.bodies(connection, MITIGATION.name, tenant_id)
    ]
    foreign = list(foreign_templates(origins, templates))
    if foreign:
        detail = "mitigations have return URLs outside of the list"
        errors = [attrs.evolve(error_of_finding(each), hint=UNSET) for each in foreign]
        raise Problem("invalid-request", detail, errors=errors)


def _need_no_banned_proxies(
    connection: Connection, tenant_id: UUID, settings: Mapping[str, Any]
) -> None:
    """Refuse trusted proxies that a ban contains: the definitions would no longer hold together.

    Raises:
        Problem: ``invalid-request``.
    """
    ranges = map(parse_range, settings.get("trusted_proxies") or ())
    networks = tuple(each.network for each in ranges if each is not None)
    proxies = TrustedProxies(networks, unix=False)
    errors = [
        ErrorDetail(
            detail=f"the ban of {body['network']} contains trusted proxies: end it first",
            code="protected-network",
            pointer="/settings/trusted_proxies",
        )
        for _, body in definitions.bodies(connection, OVERRIDE.name, tenant_id)
        if body["kind"] == "ban" and contains_proxies(proxies, body.get("network"))
    ]
    if errors:
        raise Problem("invalid-request", "a ban contains trusted proxies", errors=errors)


def _checked(tenant_id: UUID, name: str, slug: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a document has them.

    Raises:
        Problem: ``invalid-request``.
    """
    document = {
        "apiVersion": API_VERSION,
        "tenant": {"tenant_id": str(tenant_id), "name": name, "slug": slug},
        "settings": msgspec.to_builtins(settings),
    }
    try:
        source = read_document(document).compiled.source
    except DefinitionsError as error:
        findings = [each for each in error.diagnostics if isinstance(each, Finding)]
        errors = [error_of_finding(each, each.pointer.removeprefix("/tenant")) for each in findings]
        raise Problem("invalid-request", "the tenant is not valid", errors=errors) from None
    return to_members(source.settings)
