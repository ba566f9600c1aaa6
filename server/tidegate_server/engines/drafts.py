"""Definitions with one policy changed and active."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
from msgspec import UNSET

from tidegate_server.http.problems import Problem
from tidegate_server.http.read_only_members import require_object
from tidegate_server.stores.base import NotFoundError
from tidegate_server.wire.kinds import POLICY, to_answer, to_body

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.http.problems import ErrorDetail
    from tidegate_server.wire.definitions import PolicyCreate


def with_policy(
    present: DefinitionSet,
    policy_id: UUID,
    policy: PolicyCreate | None,
    given_back: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the definitions with a policy active, as it is saved or as in the member ``policy``.

    Args:
        present: the definitions.
        policy_id: the policy's id.
        policy: the member; None if it is absent.
        given_back: read-only members in the body.

    Raises:
        NotFoundError: the policy doesn't exist.
        Problem: the changed policy is inconsistent with the rest.
    """
    saved = present.find(POLICY, policy_id)
    if saved is None:
        raise NotFoundError("policy")
    body = dict(saved.body)
    if policy is not None:
        members = {each.name: getattr(policy, each.name) for each in attrs.fields(type(policy))}
        with in_member("policy"):
            require_object(given_back.get("/policy", {}), to_answer(POLICY, saved, present))
            body = to_body(POLICY, {**members, "slug": saved.slug}, present)
            present.check_put(POLICY, policy_id, body)
    active = {POLICY.id_member: str(policy_id), "enabled": True, "status": "active"}
    document = present.document()
    document[POLICY.section] = [
        {**body, **active} if each.object_id == policy_id else dict(each.body)
        for each in present.objects[POLICY.section]
    ]
    return document


@contextmanager
def in_member(name: str) -> Iterator[None]:
    """Make findings about a member of the body point into that member."""
    try:
        yield
    except Problem as problem:
        errors = [_moved(each, name) for each in problem.errors]
        raise Problem(problem.code, problem.detail, errors=errors) from None


def _moved(error: ErrorDetail, name: str) -> ErrorDetail:
    pointer = "" if error.pointer is UNSET else error.pointer
    return attrs.evolve(error, pointer=f"/{name}{pointer}")
