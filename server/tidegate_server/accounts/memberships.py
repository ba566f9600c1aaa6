"""Memberships: the operators' roles in a tenant."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_by_id
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.operators.permissions import Role, may_change_membership
from tidegate_server.stores.base import ConflictError, NotFoundError
from tidegate_server.stores.objects import memberships, operators
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import tenants as wire_tenants

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.objects.memberships import Membership


def list_(call: Call) -> Answer:
    """List all members of the tenant."""

    def read(
        connection: Connection, limit: int, after: UUID | None
    ) -> list[wire_tenants.Membership]:
        members = memberships.page(connection, call.tenant_id, limit, after)
        return [_answer(connection, each) for each in members]

    return page_by_id(call, read, lambda each: each, lambda each: each.user_id)


def put(call: Call) -> Answer:
    """Give an operator or an address a role, replacing the present one.

    Name and address of an operator are shown once the operator has used the tenant. The answer
    never reveals whether an address is an operator's.
    """
    body: wire_tenants.MembershipWrite = call.body

    def work(connection: Connection) -> wire_tenants.Membership:
        before = _named(connection, call)
        _require_allowed(connection, call, before, Role(body.role))
        _require_revision(call, before)
        if before is None and body.user_id is not None:
            _require_operator(connection, body.user_id)
        user_id = before.user_id if before else body.user_id or new_id()
        try:
            made = memberships.put(
                connection, call.tenant_id, user_id, body.role, call.now, email=body.email
            )
        except ConflictError as error:
            raise Problem("last-owner", str(error)) from None
        call.audit(
            connection,
            "update" if before else "create",
            "membership",
            user_id,
            before=wire_audit.audited(_answer(connection, before)) if before else None,
            after=wire_audit.audited(_answer(connection, made)),
        )
        return _answer(connection, made)

    made = call.write(work)
    return Answer(body=made, revision=made.revision)


def present(call: Call) -> Answer:
    """Return the membership that a body names, if it exists."""
    with call.app.store.read() as connection:
        found = _named(connection, call)
        if found is None:
            return Answer()
        return Answer(body=_answer(connection, found), revision=found.revision)


def delete(call: Call) -> Answer:
    """Remove an operator's role."""
    user_id = call.ids["user_id"]

    def work(connection: Connection) -> None:
        before = memberships.find(connection, call.tenant_id, user_id)
        _require_allowed(connection, call, before, None)
        _require_revision(call, before)
        try:
            memberships.delete(connection, call.tenant_id, user_id)
        except ConflictError as error:
            raise Problem("last-owner", str(error)) from None
        audited = wire_audit.audited(_answer(connection, before))
        call.audit(connection, "delete", "membership", user_id, before=audited)

    call.write(work)
    return Answer()


def _require_allowed(
    connection: Connection, call: Call, before: Membership | None, after: Role | None
) -> None:
    """Refuse a change that the caller's role, read in this transaction, doesn't allow."""
    own = memberships.find(connection, call.tenant_id, call.operator.operator_id)
    if not may_change_membership(Role(own.role), Role(before.role) if before else None, after):
        raise Problem("forbidden", f"the role `{own.role}` may not change memberships of Owners")


def _require_revision(call: Call, before: Membership | None) -> None:
    """Check the caller's ``If-Match``.

    It never matches a missing object (RFC 9110, section 13.1.1).
    """
    if before is not None:
        call.require_revision(before.revision)
    elif call.precondition is not None:
        raise Problem("stale-revision", "the operator is no member of the tenant")


def _require_operator(connection: Connection, user_id: UUID) -> None:
    """Refuse an unknown id: nobody could ever use the membership."""
    try:
        operators.find(connection, user_id)
    except NotFoundError:
        detail = "there is no operator with this id"
        errors = [ErrorDetail(detail=detail, pointer="/user_id", hint=wire_tenants.BY_ADDRESS)]
        raise Problem("invalid-request", detail, errors=errors) from None


def _named(connection: Connection, call: Call) -> Membership | None:
    """Return the membership that a body names by id or address, if it exists.

    Raises:
        Problem: ``invalid-request``; it names no operator, or an id and another operator's address.
    """
    body: wire_tenants.MembershipWrite = call.body
    found = None
    with suppress(NotFoundError):
        if body.user_id is not None:
            found = memberships.find(connection, call.tenant_id, body.user_id)
        elif body.email is not None:
            return memberships.find_by_email(connection, call.tenant_id, body.email)
    if body.user_id is None:
        if body.email is None:
            detail = "name an operator by `user_id`, or an address by `email`"
            raise Problem("invalid-request", detail)
    elif body.email is not None:
        shown = None if found is None else _answer(connection, found).email
        if shown is None or shown != operators.address_key(body.email):
            detail = "`email` is not the address of the membership of `user_id`"
            errors = [ErrorDetail(detail=detail, pointer="/email", hint="leave one of them out")]
            raise Problem("invalid-request", detail, errors=errors)
    return found


def _answer(connection: Connection, membership: Membership) -> wire_tenants.Membership:
    """Return a membership, with name and address once its operator has used it."""
    is_used = membership.accepted_at_ns is not None
    operator = operators.find(connection, membership.user_id) if is_used else None
    return wire_tenants.membership_answer(membership, operator)
