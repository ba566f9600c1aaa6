"""Findings about definitions that are valid but can't do what they say.

All of them are certain for the definitions as they are: they don't guess what traffic looks like.
``traffic`` has the findings that come from events.
"""

from tidegate.policy.lint.definitions import lint

__all__ = ["lint"]
