"""The interface of a frame."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Frame(Protocol):
    """A table of Arrow, polars, pandas or another library with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of record batches."""
