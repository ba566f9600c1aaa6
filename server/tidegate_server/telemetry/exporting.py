"""Export telemetry while a process serves, if the settings say so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from tidegate_server.settings.outbound import TelemetrySettings
    from tidegate_server.telemetry.trace_context import Tracer


@asynccontextmanager
async def exporting(
    settings: TelemetrySettings, instance: str, show: Callable[[Collector], None]
) -> AsyncIterator[Tracer | None]:
    """Export spans and log lines until the context ends; gives the tracer, None without a receiver.

    Args:
        settings: of the process.
        instance: the name of this process among those of the service.
        show: shows figures of the process.
    """
    if not settings.otlp_endpoint:
        yield None
        return
    from tidegate_server.telemetry.otlp import Otlp

    headers = read_headers(settings.otlp_headers)
    otlp = Otlp(settings.otlp_endpoint, headers, settings.sample_ratio, instance)
    otlp.start()
    show(otlp)
    try:
        yield otlp
    finally:
        await asyncio.to_thread(otlp.close)


def need_otlp() -> None:
    """Check that the libraries of the extra can be used.

    Raises:
        ValueError: they can't.
    """
    try:
        # They take a while to import, which a service without a receiver saves.
        from tidegate_server.telemetry import otlp
    except ImportError as error:
        reason = f"it needs the extra `otlp`: pip install 'tidegate[otlp]' ({error})"
        raise ValueError(reason) from None
    _ = otlp


def read_headers(text: str) -> dict[str, str]:
    """Return the headers of ``NAME=VALUE,NAME=VALUE``, values percent-encoded.

    This is the form of ``OTEL_EXPORTER_OTLP_HEADERS``.

    Raises:
        ValueError: an entry has another form.
    """
    found = {}
    for each in text.split(",") if text else ():
        name, separator, value = each.strip().partition("=")
        if not (name and separator and name.isascii() and name.replace("-", "").isalnum()):
            raise ValueError("it must be NAME=VALUE, with commas between, as in api-key=…")
        found[name.lower()] = unquote(value)
    return found
