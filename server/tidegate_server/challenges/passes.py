"""Verify proofs; list and revoke the passes behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from tidegate.policy.proofs import claimed_tenant
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after, page_of
from tidegate_server.http.problems import Problem
from tidegate_server.stores.objects import passes
from tidegate_server.wire import challenges as wire_challenges
from tidegate_server.wire import common as wire_common

if TYPE_CHECKING:
    from tidegate_server.stores.objects.passes import Pass


def verify(call: Call) -> Answer:
    """Tell any caller whether a proof is valid.

    Raises:
        Problem: ``not-ready``; the revoked passes are unknown now.
    """
    body: wire_challenges.ProofCheck = call.body
    reason = call.app.runtime.why_not_ready()
    if reason is not None:
        raise Problem("not-ready", reason, headers={"retry-after": "1"})
    return Answer(body=wire_challenges.ProofVerdict(valid=_is_valid(call, body.token)))


def _is_valid(call: Call, token: str) -> bool:
    tenant_id = call.key_tenant_id or claimed_tenant(token)
    if tenant_id is None:
        return False
    found = call.app.proof_keys(tenant_id).read(token, call.now)
    if found.status != "valid" or found.pass_id is None:
        return False
    return call.app.runtime.pass_status(tenant_id, found.pass_id) == "alive"


def list_(call: Call) -> Answer:
    """List the passes of a tenant, newest first."""
    query: wire_challenges.PassesQuery = call.query
    after = page_after(call)
    before = UUID(str(after[0])) if after else None
    with call.app.store.read() as connection:
        found = passes.page(
            connection,
            call.tenant_id,
            query.limit + 1,
            before,
            call.now if query.alive else None,
        )
    return page_of(call, found, lambda each: _shown(call, each), lambda each: [str(each.pass_id)])


def revoke(call: Call) -> Answer:
    """Revoke a pass: its proof is no longer valid."""
    with call.app.store.read() as connection:
        found = passes.find(connection, call.tenant_id, call.ids["pass_id"])
    call.app.runtime.revoke_pass(
        call.tenant_id,
        found.pass_id,
        found.expires_at_ns,
        str(call.operator.operator_id),
        call.request_id,
    )
    return Answer()


def _shown(call: Call, found: Pass) -> wire_challenges.Pass:
    if found.expires_at_ns <= call.now:
        status = "expired"
    else:
        status = call.app.runtime.pass_status(found.tenant_id, found.pass_id)
    return wire_challenges.Pass(
        tenant_id=found.tenant_id,
        pass_id=found.pass_id,
        challenge_id=found.challenge_id,
        provider=found.provider,
        status=status,  # type: ignore[arg-type]
        issued_at=wire_common.time_text(found.issued_at_ns),
        expires_at=wire_common.time_text(found.expires_at_ns),
    )
