"""The role table: the only place that decides which role may do what."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The roles of operators in a tenant, lowest first."""

    VIEWER = "Viewer"
    ANALYST = "Analyst"
    ADMIN = "Admin"
    OWNER = "Owner"


class Permission(StrEnum):
    """The permission that a route needs."""

    READ_DEFINITIONS = "read definitions, results and the field catalog"
    READ_RECORDS = "read decisions, events, entities and audit; simulate and replay"
    WRITE_DEFINITIONS = "write definitions and lists; deploy; lift mitigations, revoke passes"
    MANAGE_ACCESS = "manage API keys, and memberships up to Admin"
    MANAGE_TENANT = "manage memberships of Owners and settings; delete the tenant"


_VIEWER = frozenset({Permission.READ_DEFINITIONS})
_ANALYST = _VIEWER | {Permission.READ_RECORDS}
_ADMIN = _ANALYST | {Permission.WRITE_DEFINITIONS, Permission.MANAGE_ACCESS}
_OWNER = _ADMIN | {Permission.MANAGE_TENANT}

PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.ANALYST: _ANALYST,
    Role.ADMIN: _ADMIN,
    Role.OWNER: _OWNER,
}


def may(role: Role, permission: Permission) -> bool:
    """Whether a role has a permission."""
    return permission in PERMISSIONS[role]


def may_change_membership(role: Role, before: Role | None, after: Role | None) -> bool:
    """Whether a role may change a membership from one role to another; None is a missing one.

    Only Owners may grant or remove the Owner role.
    """
    needed = Permission.MANAGE_TENANT if Role.OWNER in (before, after) else Permission.MANAGE_ACCESS
    return may(role, needed)
