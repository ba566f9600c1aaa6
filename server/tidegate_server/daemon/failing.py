"""The fail mode: a daemon's decisions without its service, or without definitions.

It is a set of definitions like any other, so its decisions are made, recorded and forwarded in the
same way, under revision 0.  One policy comes before all others and ends the walk for events that
the last known definitions must not decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.stores.decision_log.recorded import Record, RecordedClause

from tidegate.policy.definitions.model import FailMode
from tidegate_server.logging import log
from tidegate_server.stores.decision_log.recorded import record_in

SLUG = "tidegate-fail-mode"
"""The slug of the policy that answers, and of its mitigation."""
_REFUSAL = {
    "slug": SLUG,
    "name": "Fail mode",
    "mode": "Block",
    "ttl_seconds": 0,
    "block": {"status_code": 503, "body": "", "headers": {"retry-after": "10"}},
}
_FIRST = -1_000_000
HOUR = 3600.0
STEP = 60.0


def unknown_document(tenant_id: UUID, mode: FailMode) -> dict[str, Any]:
    """The definitions of a tenant about which only a fail mode is known."""
    return {
        "apiVersion": "tidegate/v1",
        "tenant": {"tenant_id": str(tenant_id), "name": "Fail mode", "slug": SLUG},
        "settings": {"fail_mode": mode},
    }


def fail_part(known: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a document for the fail mode: settings, actions with a mode, and lists."""
    part = {name: known[name] for name in ("apiVersion", "tenant", "settings") if name in known}
    actions = [each for each in known.get("actions", ()) if each.get("fail_mode") is not None]
    return {**part, "lists": known.get("lists", []), "actions": actions} if actions else part


def fail_mode(document: Mapping[str, Any]) -> FailMode:
    """The tenant's mode."""
    mode: FailMode = document.get("settings", {}).get("fail_mode", "last-known")
    return mode


def fail_document(known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The document that a daemon decides by without its service.

    If an event matches several actions with modes, the strictest counts: ``closed``, then
    ``last-known``, then ``open``.  If none of them has a mode, the tenant's counts.

    Args:
        known: the last known document, or the part of it that the fail mode needs.

    Returns:
        None if the last known definitions keep deciding alone.
    """
    clauses = _clauses(known)
    if not clauses:
        return None
    policy = {"slug": SLUG, "name": "Fail mode", "priority": _FIRST, "clauses": clauses}
    return {
        **known,
        "revision": 0,
        "mitigations": [_REFUSAL, *_others(known.get("mitigations", ()))],
        "policies": [policy, *_others(known.get("policies", ()))],
    }


def has_fail_mode(known: Mapping[str, Any]) -> bool:
    """Whether a document has a fail mode other than the last known definitions for everything."""
    return bool(_clauses(known))


def let_through(lines: bytes, is_known: bool) -> int:
    """How many decisions the fail mode let through, without checking any of the tenant's policies.

    Args:
        lines: lines of the decisions, as in the log, separated by line feeds.
        is_known: whether the last known definitions made them: then the fail mode let through those
            that ended at its open clauses.  Without any definitions it let through everything
            allowed.
    """
    if is_known and SLUG.encode() not in lines:
        return 0
    read = (record_in(line, number) for number, line in enumerate(lines.split(b"\n")))
    if not is_known:
        return sum(map(_allows, read))
    return sum(any(map(_is_open, each.fired)) for each in read)


def _allows(record: Record) -> bool:
    return record.action is not None and record.action.type == "allow"


def _is_open(fired: RecordedClause) -> bool:
    return fired.policy == SLUG and fired.mitigation is None


def _clauses(known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The clauses that end the walk, in order."""
    actions = [each for each in known.get("actions", ()) if each.get("enabled", True)]
    closed, last_known, opened = (
        " || ".join(f"actions.{each['slug']}" for each in actions if each.get("fail_mode") == mode)
        for mode in ("closed", "last-known", "open")
    )
    others = f"!({last_known})" if last_known else ""
    clauses = [_clause("closed actions", closed, "closed")] if closed else []
    if opened:
        condition = f"({opened}) && {others}" if others else opened
        clauses.append(_clause("open actions", condition, "open"))
    mode = fail_mode(known)
    if mode != "last-known":
        clauses.append(_clause(mode, others, mode))
    return clauses


def _clause(name: str, condition: str, mode: FailMode) -> dict[str, Any]:
    clause: dict[str, Any] = {"name": name, "final": True}
    if condition:
        clause["expression"] = condition
    return {**clause, "mitigation": SLUG} if mode == "closed" else clause


def _others(objects: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in objects if each["slug"] != SLUG]


class FailOpenBudget:
    """Counts requests let through without definitions to judge them.

    Args:
        per_hour: limit that raises the alarm; nothing is rejected because of it.
    """

    def __init__(self, per_hour: int) -> None:
        self._per_hour = per_hour
        self._steps: deque[tuple[float, int]] = deque()
        self.total = 0
        """Since the start."""
        self.alarm = False
        """Whether more than the limit were let through in the last hour."""

    def count(self, decisions: int, now: float) -> None:
        """Count decisions at a time, in seconds of a monotonic clock."""
        if decisions:
            self.total += decisions
            if self._steps and now - self._steps[-1][0] < STEP:
                at, before = self._steps.pop()
                self._steps.append((at, before + decisions))
            else:
                self._steps.append((now, decisions))
        while self._steps and now - self._steps[0][0] > HOUR:
            self._steps.popleft()
        is_over = sum(count for _, count in self._steps) > self._per_hour
        if is_over and not self.alarm:
            log.error("the fail mode lets more requests through than its budget", total=self.total)
        self.alarm = is_over
