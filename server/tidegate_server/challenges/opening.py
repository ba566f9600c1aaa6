"""Open the session of a challenge from the recorded decision, on the first request for its page.

The decision writes nothing but its own record, so a challenge that nobody looks at costs nothing.
If relaxed durability lost the decision, treat it as never made: the visitor goes back and is
challenged again.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from tidegate.limits import CLOCK_TOLERANCE
from tidegate.policy.proofs import ChallengeContext, tenant_of_ticket
from tidegate_server.challenge.return_url import destination
from tidegate_server.challenges import browsers
from tidegate_server.challenges.ticket import decision_of, host_of
from tidegate_server.http.problems import Problem
from tidegate_server.logging import log as logger
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.decision_log import decisions, log
from tidegate_server.stores.decision_log.lines import read_event
from tidegate_server.stores.objects import challenges, definitions, tenants
from tidegate_server.stores.objects.challenges import ChallengeSession, Stage
from tidegate_server.wire import challenges as wire_challenges
from tidegate_server.wire.tenants import all_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from tidegate_server.control.call import Call
    from tidegate_server.stores.decision_log.lines import LoggedDecision

MINUTE_NS = 60_000_000_000
OPEN_NS = 30 * MINUTE_NS
"""How long after a decision its challenge can be opened."""
SOLVE_NS = 15 * MINUTE_NS
"""How long after that it can be solved."""
ROUNDS = 5
"""How many challenges an actor may fail before the alternative is offered."""
MOST_ROUNDS = 10
"""How many before nothing starts automatically."""
ROUNDS_NS = 10 * MINUTE_NS
"""How long a challenge counts."""
PATIENCE_NS = MINUTE_NS // 2
"""How long a challenge may be open before it counts as unsolved."""


def session_of(call: Call) -> ChallengeSession:
    """Return the session of the challenge in the path, opening it if necessary.

    Raises:
        NotFoundError: no decision with this id was a challenge.
        Problem: ``challenge-expired``; the decision is too old.
    """
    made, is_returned = _looked_up(call)
    if is_returned is None:
        return made
    kept = call.write(lambda writing: challenges.open_session(writing, made))
    call.app.challenges.figures.count(kept.provider, "issued")
    if not is_returned:
        logger.warning(
            "challenge without a return: no URL of the visitor may be sent back to",
            challenge_id=str(made.challenge_id),
            tenant_id=str(made.tenant_id),
            mend="name the site's origin in `return_url_origins`, or for calls without a"
            " `return_url` a template in the mitigation",
        )
    if kept.stage != "first":
        call.app.challenges.figures.count(kept.provider, "looped")
    return kept


def require_challenge(call: Call) -> None:
    """Refuse a path that :func:`session_of` refuses, without opening a session.

    Raises:
        NotFoundError, Problem: as for that.
    """
    _looked_up(call)


def _looked_up(call: Call) -> tuple[ChallengeSession, bool | None]:
    """Return the session of the challenge in the path.

    For a new session, also return whether a visitor who passes is sent back.
    """
    challenge_id = call.ids["challenge_id"]
    with call.app.store.read() as connection:
        try:
            return challenges.find(connection, challenge_id), None
        except NotFoundError:
            _require_recent(challenge_id, call.now)
            tenant_id, logged = _decision(call, connection, challenge_id)
            made = _session(call, connection, tenant_id, logged)
            return made, bool(returns(call, connection, tenant_id, logged))


def settings_of(connection: Connection, tenant_id: UUID) -> dict[str, Any]:
    """Return a tenant's settings.

    Raises:
        NotFoundError: it was deleted.
    """
    return all_settings(tenants.find(connection, tenant_id).settings)


def context_of(call: Call, session: ChallengeSession) -> ChallengeContext | None:
    """Return the challenge's sealed context; None if the keys can't read it."""
    return call.app.proof_keys(session.tenant_id).open(session.challenge_id, session.sealed)


def returns(
    call: Call, connection: Connection, tenant_id: UUID, logged: LoggedDecision
) -> bool | None:
    """Tell whether a visitor who passes the challenge of a decision is sent back.

    Uses the present settings and mitigation of the tenant, as for visitors.

    Returns:
        None if the decision wasn't a challenge.
    """
    record = orjson.loads(logged.record)
    if record["action"].get("challenge") is None:
        return None
    keys = call.app.proof_keys(tenant_id)
    context = keys.open(logged.decision_id, _sealed(call, tenant_id, logged))
    found = destination(
        None if context is None else context.return_url,
        _template(connection, tenant_id, record["mitigation"]),
        settings_of(connection, tenant_id)["return_url_origins"],
    )
    return found is not None


def _decision(
    call: Call, connection: Connection, challenge_id: UUID
) -> tuple[UUID, LoggedDecision]:
    """Return the challenge's tenant and decision: recorded, or from the ticket in the URL.

    Raises:
        NotFoundError: the decision doesn't exist.
    """
    try:
        found = decisions.find_of_any(connection, challenge_id)
    except NotFoundError:
        query: wire_challenges.ChallengeQuery = call.query
        tenant_id = tenant_of_ticket(query.ticket)
        keys = None if tenant_id is None else call.app.proof_keys(tenant_id)
        logged = None if keys is None else decision_of(keys, challenge_id, query.ticket)
        if tenant_id is None or logged is None:
            raise
        return tenant_id, logged
    return found.tenant_id, log.read(connection, found.seq, found.tenant_id).decision()


def _require_recent(decision_id: UUID, now: int) -> None:
    """Check the time in the id, before any lookup."""
    if decision_id.version != 7:
        raise NotFoundError("challenge")
    made_at = (decision_id.int >> 80) * 1_000_000
    if made_at > now + CLOCK_TOLERANCE:
        raise NotFoundError("challenge")
    if made_at < now - OPEN_NS:
        raise Problem("challenge-expired", "the decision is more than 30 minutes old")


def _session(
    call: Call, connection: Connection, tenant_id: UUID, logged: LoggedDecision
) -> ChallengeSession:
    """Create a session for a recorded decision.

    Raises:
        NotFoundError: the decision wasn't a challenge.
    """
    record = orjson.loads(logged.record)
    asked = record["action"].get("challenge")
    if asked is None:
        raise NotFoundError("challenge")
    settings = settings_of(connection, tenant_id)
    actor = _actor(call, tenant_id, record, logged)
    rounds = challenges.rounds(
        connection, tenant_id, actor, call.now - ROUNDS_NS, call.now - PATIENCE_NS
    )
    expires_at = call.now + SOLVE_NS
    provider = call.app.challenges.providers[asked["provider"]]
    return ChallengeSession(
        challenge_id=logged.decision_id,
        tenant_id=tenant_id,
        opened_at_ns=call.now,
        expires_at_ns=expires_at,
        provider=asked["provider"],
        stage=_stage(rounds, can_wait=settings["challenge_wait_seconds"] > 0),
        actor=actor,
        revision=logged.revision,
        parameters=provider.issue(
            logged.decision_id, asked["difficulty"], expires_at // 1_000_000_000
        ),
        sealed=_sealed(call, tenant_id, logged),
        host=host_of(_request(logged)),
        template=_template(connection, tenant_id, record["mitigation"]),
    )


def _template(connection: Connection, tenant_id: UUID, mitigation: str | None) -> str | None:
    """Return the URL that a mitigation now sends visitors without a return URL to."""
    if mitigation is None:
        return None
    try:
        found = definitions.find_by_slug(connection, tenant_id, "mitigation", mitigation)
    except NotFoundError:
        return None
    return (found.body.get("challenge") or {}).get("default_return_url_template")


def _actor(call: Call, tenant_id: UUID, record: Mapping[str, Any], logged: LoggedDecision) -> bytes:
    """Return the id of the challenged actor.

    That is the browser if it keeps cookies, or else the client and the first entity of the event.
    """
    mark = browsers.mark_of(call.headers.get("cookie"))
    if mark is not None:
        return browsers.actor_of(tenant_id, mark)
    keys = call.app.proof_keys(tenant_id)
    context = keys.open(logged.decision_id, _sealed(call, tenant_id, logged))
    client = keys.client(None, None) if context is None else context.client
    entity = record["entities"][0]["entity_id"] if record["entities"] else ""
    who = f"{entity} {client.network or ''} ".encode() + client.agent
    return hashlib.blake2b(tenant_id.bytes + who, digest_size=16).digest()


def _stage(rounds: int, *, can_wait: bool) -> Stage:
    if rounds < ROUNDS:
        return "first"
    return "other" if can_wait and rounds < MOST_ROUNDS else "stopped"


def _sealed(call: Call, tenant_id: UUID, logged: LoggedDecision) -> bytes:
    """Return the decision's sealed context, or build it from the event for an earlier version's."""
    if logged.sealed is not None:
        return logged.sealed
    keys, request = call.app.proof_keys(tenant_id), _request(logged)
    client = keys.client(request.get("client_ip"), request.get("user_agent"))
    url = read_event(logged.event).get("return_url")
    return keys.seal(logged.decision_id, ChallengeContext(url, client))


def _request(logged: LoggedDecision) -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_event(logged.event).get("request") or {}
    return found
