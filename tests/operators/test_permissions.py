"""The role table."""

from __future__ import annotations

import pytest

from tidegate_server.operators.permissions import (
    PERMISSIONS,
    Permission,
    Role,
    may,
    may_change_membership,
)

TABLE = {
    Permission.READ_DEFINITIONS: (True, True, True, True),
    Permission.READ_RECORDS: (False, True, True, True),
    Permission.WRITE_DEFINITIONS: (False, False, True, True),
    Permission.MANAGE_ACCESS: (False, False, True, True),
    Permission.MANAGE_TENANT: (False, False, False, True),
}


@pytest.mark.parametrize("permission", Permission)
def test_each_permission_belongs_to_the_roles_of_the_table(permission: Permission) -> None:
    """Viewer, Analyst, Admin and Owner have exactly what the table says."""
    assert tuple(may(role, permission) for role in Role) == TABLE[permission]


def test_every_role_has_a_row() -> None:
    """No role is without an entry, and none has a permission that is not listed."""
    assert set(PERMISSIONS) == set(Role)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("before", [None, *Role])
@pytest.mark.parametrize("after", [None, *Role])
def test_only_owners_make_and_unmake_owners(
    role: Role, before: Role | None, after: Role | None
) -> None:
    """Admins change memberships up to Admin; whatever touches an Owner needs an Owner."""
    touches_owner = Role.OWNER in (before, after)
    allowed = (Role.OWNER,) if touches_owner else (Role.ADMIN, Role.OWNER)
    assert may_change_membership(role, before, after) == (role in allowed)
