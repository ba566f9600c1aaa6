"""Decisions for lists: from the index, with a few members of the line in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import attrs

from tidegate.errors import EventError
from tidegate_server.logging import log as logger
from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.decision_log.lines import event_in, read_event
from tidegate_server.stores.decision_log.recorded import record_in
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import decisions as wire_decisions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.records.kept import Kept
    from tidegate_server.stores.decision_log.decisions import FoundDecision

_MODES = get_args(wire_decisions.ModeName)
"""Weakest first."""
MAX_SHOWN = 512
"""The most characters of an event's text in a list."""


@attrs.frozen(kw_only=True)
class _Shown:
    """The members of a line that a list shows; all empty if the line can't be read."""

    damaged: bool = False

    method: str | None = None
    client_ip: str | None = None
    user_agent: str | None = None
    clause: str | None = None


def read_rows(
    connection: Connection, tenant_id: UUID, found: Sequence[FoundDecision], kept: Kept
) -> tuple[wire_decisions.DecisionSummary, ...]:
    """Return decisions for a list; if a line is damaged, with the index's data only.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        found: the decisions.
        kept: redacts their events.
    """

    def passed(error: DamagedLogError) -> None:
        logger.error("a list has a damaged record", seq=error.seq)

    seqs = sorted(each.seq for each in found)
    lines = log.read_many(connection, seqs, tenant_id, passed)
    return rows_of(found, {each.seq: each.line for each in lines}, kept)


def rows_of(
    found: Iterable[FoundDecision], lines: dict[int, bytes], kept: Kept
) -> tuple[wire_decisions.DecisionSummary, ...]:
    """Return decisions for a list, given their lines."""
    return tuple(_row(each, _shown(each.seq, lines.get(each.seq), kept)) for each in found)


def _shown(seq: int, line: bytes | None, kept: Kept) -> _Shown:
    if line is None:
        return _Shown(damaged=True)
    try:
        record = record_in(line, seq)
        event = read_event(kept.event(event_in(line)))
    except (DamagedLogError, EventError, ValueError) as error:
        logger.error("a list has a damaged record", seq=seq, reason=str(error))
        return _Shown(damaged=True)
    request = event.get("request")
    request = request if isinstance(request, dict) else {}
    fired = [each.clause for each in record.fired]
    return _Shown(
        method=_text(request.get("method")),
        client_ip=_text(kept.client_ip(record.client_ip, record.client_ip_problem, request)),
        user_agent=_text(request.get("user_agent") or _header(request, "user-agent")),
        clause=record.clause or next(iter(fired), None),
    )


def _header(request: dict[str, Any], name: str) -> Any:
    headers = request.get("headers")
    pairs = headers.items() if isinstance(headers, dict) else ()
    return next((value for each, value in pairs if each.lower() == name), None)


def _text(value: Any) -> str | None:
    return value[:MAX_SHOWN] if isinstance(value, str) else None


def _row(found: FoundDecision, shown: _Shown) -> wire_decisions.DecisionSummary:
    modes = [mode for _, mode in found.fired]
    return wire_decisions.DecisionSummary(
        decision_id=found.decision_id,
        tenant_id=found.tenant_id,
        received_at=wire_common.time_text(found.received_at_ns),
        observed_at=wire_common.time_text(found.observed_at_ns),
        action=found.action,  # type: ignore[arg-type]
        reason=found.reason,  # type: ignore[arg-type]
        policy_id=found.policy_id,
        clause=shown.clause,
        mode=max(modes, key=_MODES.index, default=None),  # type: ignore[arg-type]
        method=shown.method,
        path=found.path,
        client_ip=shown.client_ip,
        user_agent=shown.user_agent,
        api_key_id=found.api_key_id,
        entity_ids=found.entity_ids,
        fired=tuple(
            wire_decisions.FiredPolicy(policy_id=policy_id, mode=mode)  # type: ignore[arg-type]
            for policy_id, mode in found.fired
        ),
        damaged=shown.damaged,
    )
