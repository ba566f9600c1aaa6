"""Tidegate by its native evaluator, as users have it."""

from __future__ import annotations

import tidegate._native  # noqa: F401 - so that a build without it is a row that says so
from benchmarks.peers.tidegate_reference import TidegateReference


class TidegateNative(TidegateReference):
    """The same classes, the other evaluator."""

    name = "tidegate"
    evaluator = "native"


ADAPTER = TidegateNative
