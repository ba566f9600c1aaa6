"""Small definitions, events and times for tests of the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.engines.serving import TenantEngine

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator

SECOND = 1_000_000_000
START = 1_772_409_600 * SECOND
TENANT_ID = "0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e"

ADDRESS = {"name": "Address", "key_fields": ["request.client_ip"]}
BLOCK = {"name": "Refuse", "mode": "Block", "ttl_seconds": 60}
ONCE = {"name": "Once", "mode": "Block", "ttl_seconds": 0}
WATCH = {"name": "Watch", "mode": "Monitor", "ttl_seconds": 0}
PUZZLE = {"name": "Puzzle", "mode": "Challenge", "ttl_seconds": 0}


def document(**sections: Any) -> dict[str, Any]:
    """A definitions document with these sections."""
    return {
        "apiVersion": "tidegate/v1",
        "tenant": {"tenant_id": TENANT_ID, "name": "Test"},
        **sections,
    }


def policy(*clauses: dict[str, Any], name: str = "P", **members: Any) -> dict[str, Any]:
    """A policy with these clauses."""
    return {"name": name, "clauses": list(clauses), **members}


def event(path: str = "/", ip: str = "192.0.2.1", at: float | None = None, **more: Any) -> Any:
    """An event; ``at`` is its own time, in seconds from the start."""
    made: dict[str, Any] = {"request": {"method": "GET", "path": path, "client_ip": ip}, **more}
    if at is not None:
        seconds, fraction = divmod(round(at * 1000), 1000)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        made["observed_at"] = f"2026-03-02T{hours:02}:{minutes:02}:{seconds:02}.{fraction:03}Z"
    return made


@attrs.frozen
class Build:
    """Makes engines of one evaluator."""

    evaluator: Evaluator

    def __call__(self, **sections: Any) -> TenantEngine:
        return TenantEngine(document(**sections), self.evaluator, clock=lambda: START)
