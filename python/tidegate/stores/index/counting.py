"""What the extension derives of a part of the log; the only importer of it in a store."""

from tidegate._native import LearnedNames, count_log

__all__ = ["LearnedNames", "count_log"]
