"""The routes of alerts; a part of the table in ``routes``."""

from __future__ import annotations

from typing import Any

from tidegate_server.alerts import handlers, shapes
from tidegate_server.http.cursor import Paging
from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.routing.route import Route

_ALERTS = "/tenants/{tenant_id}/alerts"
_ALERT = f"{_ALERTS}/{{alert_id}}"
# The address of a receiver may be a credential, so reading an alert needs this as well.
_COMMON: dict[str, Any] = {"tag": "alerts", "permission": Permission.WRITE_DEFINITIONS}

ALERT_ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path=_ALERTS,
        name="list-alerts",
        summary="List alerts with their states",
        handler=handlers.list_,
        query=Paging,
        answer=list[shapes.Alert],
        **_COMMON,
    ),
    Route(
        method="POST",
        path=_ALERTS,
        name="create-alert",
        summary="Create an alert",
        description="Members of the condition that are left out have the defaults of the metric.",
        handler=handlers.create,
        body=shapes.AlertCreate,
        answer=shapes.Alert,
        status=201,
        refusals=("conflict", "overloaded"),
        repeatable=True,
        **_COMMON,
    ),
    Route(
        method="POST",
        path=f"{_ALERTS}/preview",
        name="preview-alert",
        summary="Try a condition over the past",
        description=(
            "Runs the evaluation of the service over recorded counts, and returns when an alert"
            " would have fired. Nothing is sent."
        ),
        handler=handlers.preview,
        work=Work.TRAFFIC,
        body=shapes.AlertPreview,
        answer=shapes.AlertPreviewed,
        **_COMMON,
    ),
    Route(
        method="GET",
        path=_ALERT,
        name="read-alert",
        summary="Read an alert with its state",
        handler=handlers.read,
        answer=shapes.Alert,
        conditional=True,
        **_COMMON,
    ),
    Route(
        method="PATCH",
        path=_ALERT,
        name="change-alert",
        summary="Change an alert",
        description="Omitted members don't change. An alert that fires keeps its state.",
        handler=handlers.change,
        present=handlers.read,
        body=shapes.AlertChange,
        answer=shapes.Alert,
        conditional=True,
        refusals=("conflict", "overloaded"),
        **_COMMON,
    ),
    Route(
        method="DELETE",
        path=_ALERT,
        name="delete-alert",
        summary="Delete an alert",
        description="Messages that wait for a receiver are not sent.",
        handler=handlers.delete,
        status=204,
        conditional=True,
        refusals=("overloaded",),
        **_COMMON,
    ),
)
