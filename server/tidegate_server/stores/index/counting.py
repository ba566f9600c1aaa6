"""The extension's counts for a part of the log; no other module of a store imports it."""

from tidegate._native import LearnedNames, count_log

__all__ = ["LearnedNames", "count_log"]
