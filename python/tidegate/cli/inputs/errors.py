"""Errors for log lines that cannot be read."""

from __future__ import annotations

from tidegate.errors import EventError


class UnreadableLineError(EventError):
    """A line doesn't have the format it is read in."""

    code = "unreadable-line"


class UnreadableClientError(UnreadableLineError):
    """A line has its format, but the client in it isn't an address."""


class LongLineError(EventError):
    """A line is longer than any event may be, and can't be truncated."""

    code = "line-too-long"
