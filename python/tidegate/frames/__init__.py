"""Frames: events as the rows of a table of Arrow, polars or pandas; docs/frames.md.

A column has the name of a member of an event, as ``request.path``. Rows become JSON events, which
the evaluators read as all others. Only ``frame``, ``form`` and ``rows`` may be imported without
the extra ``tidegate[frames]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def table_functions() -> ModuleType:
    """``tidegate.frames.results``, which needs pyarrow.

    Raises:
        ImportError: pyarrow isn't installed.
    """
    try:
        from tidegate.frames import results
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        message = "frames need pyarrow: pip install 'tidegate[frames]'"
        raise ImportError(message, name=error.name) from None
    return results
