"""Sessions of challenges: opened when a visitor asks for the page, solved once.

A session has the id of the decision that challenged. The solution is verified before; the single
statement in :func:`burn` decides who was first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

import attrs
from sqlalchemy import delete, func, or_, select, update

from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import passes
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.bulk import STEP_ROWS
from tidegate_server.stores.rows.tables import challenge_sessions as table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from tidegate_server.stores.objects.passes import Pass

MINUTE_NS = 60_000_000_000
LONGEST_NS = 60 * MINUTE_NS
"""No session lasts longer."""
Stage: TypeAlias = Literal["first", "other", "stopped"]
"""The offer to a visitor: the provider, the alternative after too many rounds, or nothing."""


@attrs.frozen(kw_only=True)
class ChallengeSession:
    """A challenge that a visitor has seen.

    Attributes:
        challenge_id: also the id of the decision.
        provider: the kind of challenge.
        stage: the number of the round.
        actor: identifies the visitor whose rounds are counted, 16 bytes.
        revision: the definitions' revision that challenged.
        parameters: the only parameters a solution is checked against.
        sealed: the return URL and the client.
        host: the host that the visitor asked for.
        template: where the mitigation sends visitors who have no return URL.
        failures: how many solutions were wrong.
        solved_at_ns: when the correct solution arrived.
        solved_by: the provider, or ``wait``.
    """

    challenge_id: UUID
    tenant_id: UUID
    opened_at_ns: int
    expires_at_ns: int
    provider: str
    stage: Stage
    actor: bytes
    revision: int
    parameters: Mapping[str, Any] = attrs.field(repr=False)
    sealed: bytes = attrs.field(repr=False)
    host: str | None
    template: str | None
    failures: int = 0
    solved_at_ns: int | None = None
    solved_by: str | None = None


@attrs.frozen(kw_only=True)
class ChallengeCounts:
    """Outcomes of the challenges of one provider.

    Attributes:
        issued: sessions opened.
        solved: sessions solved.
        failed: wrong solutions.
        looped: sessions of visitors who had seen too many.
        seconds: total time from page to solution over all solved sessions.
    """

    provider: str
    issued: int
    solved: int
    failed: int
    looped: int
    seconds: float


def open_session(connection: Connection, session: ChallengeSession) -> ChallengeSession:
    """Add a session, or return the existing one if another request has added it."""
    try:
        return find(connection, session.challenge_id)
    except NotFoundError:
        records.add(connection, table, session)
        return session


def find(connection: Connection, challenge_id: UUID) -> ChallengeSession:
    """A session.

    Raises:
        NotFoundError: it doesn't exist.
    """
    key = {"challenge_id": challenge_id}
    return records.find(connection, table, ChallengeSession, "challenge", key)


def rounds(
    connection: Connection, tenant_id: UUID, actor: bytes, since_ns: int, patience_ns: int
) -> int:
    """The number of an actor's solved and abandoned sessions.

    Args:
        since_ns: count sessions opened at this time or later.
        patience_ns: sessions opened after this time may still be solved, and don't count.
    """
    query = select(func.count()).where(
        table.c.tenant_id == tenant_id,
        table.c.actor == actor,
        table.c.opened_at_ns >= since_ns,
        or_(table.c.solved_at_ns.is_not(None), table.c.opened_at_ns <= patience_ns),
    )
    return connection.execute(query).scalar_one()


def burn(connection: Connection, made: Pass, actor: bytes | None = None) -> bool:
    """Exchange a solution for a pass; False if it was spent already or came too late.

    Args:
        connection: the connection of a write.
        made: the pass, with its challenge and the time of the solution.
        actor: the actor who solved it; None for the actor it was opened for.
    """
    spent = connection.execute(
        update(table)
        .where(
            table.c.challenge_id == made.challenge_id,
            table.c.solved_at_ns.is_(None),
            table.c.expires_at_ns > made.issued_at_ns,
        )
        .values(
            solved_at_ns=made.issued_at_ns,
            solved_by=made.provider,
            **({} if actor is None else {"actor": actor}),
        )
    )
    if spent.rowcount:
        passes.add(connection, made)
    return bool(spent.rowcount)


def failed(connection: Connection, challenge_id: UUID) -> None:
    """Count a wrong solution."""
    counted = {"failures": table.c.failures + 1}
    connection.execute(update(table).where(table.c.challenge_id == challenge_id).values(counted))


def counts(
    connection: Connection, tenant_id: UUID, from_ns: int | None, to_ns: int | None
) -> list[ChallengeCounts]:
    """Outcomes of the challenges of a tenant, by provider.

    Args:
        from_ns: sessions opened at this time or later.
        to_ns: sessions opened before this time.
    """
    solving = func.sum(table.c.solved_at_ns - table.c.opened_at_ns)
    query = (
        select(
            table.c.provider,
            func.count().label("issued"),
            func.count(table.c.solved_at_ns).label("solved"),
            func.sum(table.c.failures).label("failed"),
            func.count().filter(table.c.stage != "first").label("looped"),
            (func.coalesce(solving, 0) / 1e9).label("seconds"),
        )
        .where(table.c.tenant_id == tenant_id)
        .group_by(table.c.provider)
        .order_by(table.c.provider)
    )
    if from_ns is not None:
        query = query.where(table.c.opened_at_ns >= from_ns)
    if to_ns is not None:
        query = query.where(table.c.opened_at_ns < to_ns)
    return records.many(connection, query, ChallengeCounts)


def by_minute(
    connection: Connection, tenant_id: UUID, from_ns: int, to_ns: int
) -> tuple[dict[int, int], dict[int, int]]:
    """How many challenges of a tenant were opened and solved, by minutes since 1970.

    Args:
        from_ns: from this time on.
        to_ns: before this time.

    Returns:
        Opened ones, and solved ones; minutes without any are left out.
    """
    opened, solved = table.c.opened_at_ns, table.c.solved_at_ns

    def counted(at: Any, since_ns: int) -> dict[int, int]:
        minute = (at // MINUTE_NS).label("minute")
        query = (
            select(minute, func.count().label("number"))
            .where(table.c.tenant_id == tenant_id, opened >= since_ns, opened < to_ns)
            .where(at >= from_ns, at < to_ns)
            .group_by(minute)
        )
        return {row.minute: row.number for row in connection.execute(query)}

    return counted(opened, from_ns), counted(solved, from_ns - LONGEST_NS)


def prune(connection: Connection, tenant_id: UUID, before_ns: int, limit: int = STEP_ROWS) -> int:
    """Delete a tenant's sessions opened before a time, at most ``limit``; return how many."""
    old = (
        select(table.c.challenge_id)
        .where(table.c.tenant_id == tenant_id, table.c.opened_at_ns < before_ns)
        .limit(limit)
    )
    return connection.execute(delete(table).where(table.c.challenge_id.in_(old))).rowcount
