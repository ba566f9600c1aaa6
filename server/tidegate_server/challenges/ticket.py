"""Tickets, which a daemon puts into the URL of a challenge that it decided on.

The service opens the challenge of a ticket before it has the decision. A ticket is sealed with a
key of the tenant, for one decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from tidegate_server.stores.decision_log.lines import read_line

if TYPE_CHECKING:
    from tidegate.policy.proofs import ProofKeys
    from tidegate_server.stores.decision_log.lines import LoggedDecision

MAX_LENGTH = 6_000
"""The most characters; a challenge with a longer ticket opens once its decision is forwarded."""


def ticket_of(keys: ProofKeys, line: bytes) -> tuple[UUID, str] | None:
    """Return the ticket of a decision, given its line of the log.

    Returns:
        The id of the decision, and its ticket; None if it isn't a challenge, or the ticket is too
        long.
    """
    read = orjson.loads(line)
    record = read["record"]
    if "challenge" not in record["action"]:
        return None
    host = host_of(read["event"].get("request") or {})
    kept = {
        **read,
        "idempotency": None,
        "answer": {},
        "effects": [],
        "record": {
            "action": record["action"],
            "mitigation": record["mitigation"],
            "entities": record["entities"][:1],
        },
        "event": {"request": {} if host is None else {"host": host}},
    }
    decision_id = UUID(read["decision_id"])
    ticket = keys.seal_ticket(decision_id, orjson.dumps(kept))
    return (decision_id, ticket) if len(ticket) <= MAX_LENGTH else None


def decision_of(keys: ProofKeys, decision_id: UUID, ticket: str) -> LoggedDecision | None:
    """Return the decision in a ticket, as needed for a challenge; None if it is another one."""
    line = keys.open_ticket(decision_id, ticket)
    return None if line is None else read_line(line)


def host_of(request: Mapping[str, Any]) -> str | None:
    """Return the host in the visitor's request, with its port."""
    if isinstance(request.get("host"), str):
        return str(request["host"])
    headers = request.get("headers") or {}
    hosts = [value for name, value in headers.items() if name.lower() == "host"]
    return hosts[0] if len(hosts) == 1 and isinstance(hosts[0], str) else None
