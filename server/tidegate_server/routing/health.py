"""Health, readiness and process figures, for machines without a key."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from tidegate_server.control.call import Answer, Call
from tidegate_server.hot.metrics import Shown
from tidegate_server.http.authorise import CHALLENGE
from tidegate_server.http.headers import DATA_HEADERS
from tidegate_server.http.problems import Problem
from tidegate_server.wire import common as wire_common


def healthz(call: Call) -> Answer:  # noqa: ARG001
    """Report that the process answers."""
    return Answer(body=wire_common.Health(status="ok"))


def readyz(call: Call) -> Answer:
    """Report that decisions can be made and recorded.

    Raises:
        Problem: ``not-ready``.
    """
    reason = call.app.runtime.why_not_ready()
    if reason is not None:
        raise Problem("not-ready", reason, headers={"retry-after": "1"})
    return Answer(body=wire_common.Health(status="ready"))


def metrics(call: Call) -> Response:
    """Return the page for Prometheus, with the figures that the caller may see.

    Raises:
        Problem: ``unauthenticated``.
    """
    shown = call.app.figures.shown_to(call.authorization)
    if shown is None:
        detail = "the metrics token is needed: `Authorization: Bearer <TOKEN>`"
        raise Problem("unauthenticated", detail, headers=CHALLENGE)
    page = call.app.runtime.metrics(shown)
    if shown is Shown.ALL:
        page += call.app.latency.page() + call.app.challenges.figures.page()
    return Response(page, headers={**DATA_HEADERS, "content-type": CONTENT_TYPE_LATEST})
