"""A daemon's responses other than decisions: health, readiness, figures, and status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from tidegate_server.daemon.figures import DaemonFigures
from tidegate_server.hot.hot_path import problem_answer
from tidegate_server.http.answer import Answer
from tidegate_server.http.headers import DATA_HEADERS
from tidegate_server.http.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from tidegate_server.daemon.service import Daemon
    from tidegate_server.http.answer import Header

_HEADERS = tuple((name.lower().encode(), value.encode()) for name, value in DATA_HEADERS.items())


class DaemonAnswers:
    """Responds to everything but decisions.

    Args:
        daemon: the daemon.
    """

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(DaemonFigures(daemon))
        self._registry.register(daemon.metrics)

    async def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        return self._answer(request.scope["path"], request.scope["headers"])

    def _answer(self, path: str, headers: Sequence[Header]) -> Answer:
        match path:
            case "/healthz":
                return _json({"status": "ok"})
            case "/readyz":
                return _json({"status": "ready"})
        try:
            self._daemon.admission.credential(headers)
        except Problem as refusal:
            return problem_answer(refusal, path, "")
        match path:
            case "/status":
                return _json(self.status())
            case "/mitigations":
                return _json(self._daemon.mitigations())
            case "/metrics":
                page = generate_latest(self._registry)
                return Answer(page, 200, _HEADERS, CONTENT_TYPE_LATEST.encode())
        problem = Problem("not-found", "a daemon answers decisions, /status and /metrics")
        return problem_answer(problem, path, "")

    def status(self) -> dict[str, Any]:
        """The daemon's status."""
        daemon = self._daemon
        cursor, known = daemon.following.cursor, daemon.local.definitions
        return {
            "mode": daemon.local.mode,
            "fail_mode": daemon.local.fail_mode,
            "daemon_id": str(daemon.home.daemon_id),
            "tenant_id": str(daemon.home.tenant_id),
            "revision": 0 if known is None else known.revision,
            "sequence": 0 if cursor is None else cursor.sequence,
            "contact_seconds": round(daemon.silence(), 1),
            "refused_definitions": daemon.following.refused,
            "decided": daemon.recorder.committed,
            "spooled": daemon.spool.waiting,
            "dropped": daemon.spool.dropped,
            "fail_open_alarm": daemon.budget.alarm,
            "entities": daemon.local.stats()["keys"],
            "address_databases": [attrs.asdict(each) for each in daemon.geo.state()],
        }


def _json(body: dict[str, Any]) -> Answer:
    return Answer(orjson.dumps(body), headers=_HEADERS)
