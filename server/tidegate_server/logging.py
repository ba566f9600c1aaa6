"""Structured logs: one JSON object per line on standard error, without secrets."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

import orjson
import structlog

from tidegate.evaluation.secrets.names import Names
from tidegate.evaluation.secrets.values import spans

if TYPE_CHECKING:
    import asyncio

    from tidegate_server.settings.service import LogSettings

log: structlog.stdlib.BoundLogger = structlog.get_logger("tidegate")

MAX_TEXT = 2_048
"""The most characters of one text in a log line."""
_NAMES = Names(["*proof*"])


def conceal(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Remove values that are or look like secrets, and truncate long texts."""
    for name, value in event.items():
        if _NAMES.is_secret(name):
            event[name] = "concealed"
        elif isinstance(value, str):
            event[name] = _concealed(value[:MAX_TEXT])
    return event


def _concealed(text: str) -> str:
    """Return a text without values recognisable as secrets."""
    for start, end in reversed(spans(text)):
        text = f"{text[:start]}concealed{text[end:]}"
    return text


def log_failure(task: asyncio.Task[None]) -> None:
    """Write that a task ended with an error; a callback for tasks that end by being cancelled.

    Without it, whoever gathers the tasks at the stop drops their errors.
    """
    if not task.cancelled() and (error := task.exception()) is not None:
        work = getattr(task.get_coro(), "__qualname__", task.get_name())
        log.error("work in the background ended", work=work, exc_info=error)


def is_text(settings: LogSettings) -> bool:
    """Whether lines are for people rather than JSON."""
    return settings.format == "text" or (settings.format == "auto" and sys.stderr.isatty())


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    conceal,
]


def _formatter(renderer: Any) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def json_formatter() -> logging.Formatter:
    """Return what writes a record as a line of JSON, with secrets concealed."""
    return _formatter(
        structlog.processors.JSONRenderer(
            serializer=lambda event, **_: orjson.dumps(event, default=str).decode()
        )
    )


def configure(settings: LogSettings) -> None:
    """Set up logging for the process, for Tidegate and its libraries alike."""
    level = getattr(logging, settings.level.upper())
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
    )
    handler = logging.StreamHandler(sys.stderr)
    as_text = structlog.dev.ConsoleRenderer(colors=False)
    handler.setFormatter(_formatter(as_text) if is_text(settings) else json_formatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "alembic"):
        library = logging.getLogger(name)
        library.handlers = []
        library.propagate = name != "uvicorn.access"
    logging.getLogger("alembic").setLevel(logging.WARNING)
