"""Counts of the index of a part of the log; the only importer of the extension in a store."""

from tidegate._native import tally

__all__ = ["tally"]
