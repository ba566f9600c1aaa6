"""From a profile to an operator: identities, first logins, and roles that wait for an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.http.ids import new_id
from tidegate_server.login.profile import LoginRefusedError
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import audit, identities, memberships, operators, revoked_tokens
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import tenants as wire_tenants

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.login.profile import Profile
    from tidegate_server.login.started import Started
    from tidegate_server.operators.providers import Provider
    from tidegate_server.stores.objects.operators import Operator

SECOND = 1_000_000_000
_MAX_NAME = 200
_MAX_EMAIL = 320


@attrs.frozen
class Moment:
    """The time and the request of an action."""

    now_ns: int
    request_id: str


def sign_in(
    connection: Connection,
    provider: Provider,
    started: Started,
    profile: Profile,
    *,
    anyone: bool,
    moment: Moment,
) -> Operator:
    """Return a profile's operator; a first login may create one.

    Args:
        connection: the connection for a write.
        started: the login, which ends here, once.
        anyone: whether uninvited people become operators.

    Raises:
        LoginRefusedError: nobody may log in with it.
    """
    expires_at_ns = started.expires_at * SECOND
    if not revoked_tokens.revoke(connection, started.mark, expires_at_ns, moment.now_ns):
        raise LoginRefusedError("the login has ended before", "expired")
    email = _usable_email(provider, profile)
    operator = _known(connection, profile)
    if operator is None:
        operator = _joined(connection, profile, email, anyone, moment)
    if operator.disabled:
        raise LoginRefusedError("the operator is disabled")
    if email is not None:
        claim(connection, email, operator.operator_id, moment)
    return operator


def claim(connection: Connection, email: str, operator_id: UUID, moment: Moment) -> None:
    """Give an operator the roles that waited for their address."""
    for before in memberships.claim(connection, email, operator_id, moment.now_ns):
        entry = audit.AuditEntry(
            audit_id=new_id(),
            tenant_id=before.tenant_id,
            at_ns=moment.now_ns,
            actor=str(operator_id),
            action="accept",
            kind="membership",
            object_id=str(operator_id),
            before=_audited(before),
            after=_audited(memberships.find(connection, before.tenant_id, operator_id)),
            request_id=moment.request_id,
        )
        audit.add(connection, entry)


def _audited(membership: memberships.Membership) -> dict[str, Any]:
    return wire_audit.audited(wire_tenants.membership_answer(membership, None))


def _known(connection: Connection, profile: Profile) -> Operator | None:
    try:
        identity = identities.find(connection, profile.issuer, profile.subject)
    except NotFoundError:
        return None
    return operators.find(connection, identity.operator_id)


def _joined(
    connection: Connection, profile: Profile, email: str | None, anyone: bool, moment: Moment
) -> Operator:
    """Return the operator with a verified address, who has this identity from now on."""
    if email is None:
        raise LoginRefusedError("the provider has verified no address that it may vouch for")
    try:
        operator = operators.find_by_email(connection, email)
    except NotFoundError:
        if not anyone and not memberships.is_invited(connection, email):
            raise LoginRefusedError("the address is not invited", "not-invited") from None
        operator = _created(connection, profile, email, moment)
    identity = identities.Identity(
        issuer=profile.issuer,
        subject=profile.subject,
        operator_id=operator.operator_id,
        created_at_ns=moment.now_ns,
    )
    identities.add(connection, identity)
    after = {"issuer": profile.issuer, "subject": profile.subject}
    _audit(connection, moment, operator.operator_id, "identity", after)
    return operator


def _created(connection: Connection, profile: Profile, email: str, moment: Moment) -> Operator:
    operator = operators.Operator(
        operator_id=new_id(),
        name=(profile.name or email)[:_MAX_NAME],
        email=email,
        created_at_ns=moment.now_ns,
        updated_at_ns=moment.now_ns,
    )
    operators.create(connection, operator)
    _audit(connection, moment, operator.operator_id, "operator", None)
    return operators.find(connection, operator.operator_id)


def _usable_email(provider: Provider, profile: Profile) -> str | None:
    """Return the address to treat as the caller's, if any."""
    email = profile.email
    if email is None or len(email) > _MAX_EMAIL or email.count("@") != 1 or not email.isprintable():
        return None
    return email if provider.may_vouch_for(email) and " " not in email else None


def _audit(
    connection: Connection,
    moment: Moment,
    operator_id: UUID,
    kind: str,
    after: dict[str, str] | None,
) -> None:
    entry = audit.AuditEntry(
        audit_id=new_id(),
        tenant_id=None,
        at_ns=moment.now_ns,
        actor=str(operator_id),
        action="create",
        kind=kind,
        object_id=str(operator_id),
        after=after,
        request_id=moment.request_id,
    )
    audit.add(connection, entry)
