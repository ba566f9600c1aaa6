"""All limits in one place, each with its reason."""

from __future__ import annotations

import attrs


@attrs.frozen
class Limits:
    """Limits on an expression, on one evaluation and on one event."""

    source_bytes: int = 16 * 1024
    """Longest expression text; keeps parsing far below a millisecond per kilobyte."""
    nesting: int = 64
    """Deepest tree; every recursive walk relies on it."""
    nodes: int = 4_000
    """Most nodes in one tree; a constant list or map literal counts once."""
    list_elements: int = 10_000
    """Longest list or map literal."""
    macro_nesting: int = 3
    """Deepest nesting of comprehensions, which is the exponent of the cost."""
    cost: int = 20_000
    """Units one evaluation may spend (see docs/canonical-tree.md)."""
    decision_work: int = 600_000
    """Units one decision may take (see docs/decision.md, "Budget")."""
    string_bytes: int = 64 * 1024
    """Longest string or bytes value an evaluation may build."""
    regex_pattern_bytes: int = 8 * 1024
    """Published firewall patterns have up to 3,200; the compiled size is the real limit."""
    regex_nesting: int = 64
    regex_repeat: int = 1_000
    regex_program_bytes: int = 2 * 1024 * 1024
    """Compiled size, as estimated by tidegate/regex; limits the automaton."""
    regex_work: int = 1_300
    """Work per character of a subject, as estimated by tidegate/regex; keeps the longest subject
    under 5 ms. Published firewall patterns have up to 1,180."""
    event_bytes: int = 64 * 1024
    event_depth: int = 32
    event_members: int = 256
    """Members of one object (or elements of one array) in an event."""
    event_string_bytes: int = 16 * 1024


DEFAULT = Limits()
REGEX_SUBJECT_BYTES = 16 * 1024
"""A match reads at most this much of its subject."""
CLOCK_TOLERANCE = 300 * 1_000_000_000
"""Nanoseconds that an event may be ahead of the time it was received, since clocks differ."""
MAX_THRESHOLD = 10_000
"""The highest threshold of a window."""
