"""The state of a running capture in a file, for ``tidegate status``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import orjson

from tidegate.daemon import private

if TYPE_CHECKING:
    from tidegate.daemon.home import Home

FRESH_SECONDS = 30.0
"""An older file is of a capture that is gone."""
_NAME = "capture.json"
_MAX_BYTES = 64 * 1024


def write(home: Home, said: dict[str, Any]) -> None:
    """Write the state as of now.

    Raises:
        OSError: it cannot be written.
    """
    private.write(home.cache / _NAME, orjson.dumps({**said, "at": time.time()}))


def read(home: Home) -> dict[str, Any] | None:
    """The state of a running capture; None where none runs.

    Raises:
        PrivateFileError: the file cannot be trusted.
    """
    content = private.read(home.cache / _NAME, _MAX_BYTES)
    if content is None:
        return None
    try:
        found = orjson.loads(content)
        at = float(found.pop("at"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if time.time() - at < FRESH_SECONDS else None
