"""Findings from a key's figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidegate_server.wire import entities as wire_entities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate_server.traffic.key_figures import KeyFigures

LEAST_FILL = 0.9
MOST_PER_EVENT = 0.95
LARGEST_SHARE = 0.1
MOST_ACCOUNTS = 5
LEAST_EVENTS = 100
"""Fewer events say nothing about the distribution of keys."""
_GIVEN = re.compile(
    r"\b(?:request\.client_ip|derived\.(?:ip_\w+|client_network|country|asn|as_org)|fields|source"
    r"|request\.route_params)\b"
)
"""Fields that the client can't choose freely: its address, and facts from the application."""
_READS = re.compile(r"\b(?:request|derived|fields|source)\b")


def findings(
    figures: KeyFigures, key_fields: tuple[str, ...], on_missing_key: str, window: int | None
) -> tuple[wire_entities.KeyHealthFinding, ...]:
    """Return the findings about a key, worst first.

    Args:
        figures: the figures from recorded events.
        key_fields: the expressions of its parts.
        on_missing_key: ``skip`` or ``blank``.
        window: the widest window that counts by it, in seconds.
    """
    found = [*_of_parts(figures, key_fields, on_missing_key)]
    if figures.events >= LEAST_EVENTS:
        found += _of_spread(figures, window)
    return tuple(found)


def verdict(figures: KeyFigures, found: tuple[wire_entities.KeyHealthFinding, ...]) -> str:
    """Return one sentence about a key."""
    if not figures.events:
        return "No event that was looked at has this key."
    if found:
        return found[0].detail
    if figures.events < LEAST_EVENTS:
        return f"Only {figures.events} events have this key: too few to judge how it is spread."
    return f"The key tells {figures.distinct} actors apart over {figures.events} events."


def _of_parts(
    figures: KeyFigures, key_fields: tuple[str, ...], on_missing_key: str
) -> Iterator[wire_entities.KeyHealthFinding]:
    least = min(figures.fill_rates, default=1.0)
    if least < LEAST_FILL:
        result = (
            "who leaves it out evades every clause that counts by this key"
            if on_missing_key == "skip"
            else "strangers who leave it out share one key"
        )
        yield wire_entities.KeyHealthFinding(
            code="key-often-missing",
            detail=f"A part of the key is there in {least:.0%} of the events: {result}.",
        )
    if all(_READS.search(each) and not _GIVEN.search(each) for each in key_fields):
        yield wire_entities.KeyHealthFinding(
            code="key-forgeable",
            detail="The client chooses every part of the key freely, and can change it at will.",
        )


def _of_spread(figures: KeyFigures, window: int | None) -> Iterator[wire_entities.KeyHealthFinding]:
    per_event, largest = figures.distinct_per_event or 0.0, figures.largest_share or 0.0
    if per_event > MOST_PER_EVENT:
        yield wire_entities.KeyHealthFinding(
            code="key-per-request",
            detail="Nearly every event has a key of its own: no window fills.",
        )
    if largest > LARGEST_SHARE:
        yield wire_entities.KeyHealthFinding(
            code="key-too-broad",
            detail=f"One key has {largest:.0%} of the events: a mitigation of it meets many.",
        )
    for definition in figures.definitions_beside:
        others = figures.others_a_key(definition)
        if others > MOST_ACCOUNTS:
            yield wire_entities.KeyHealthFinding(
                code="key-shared",
                detail=(
                    f"One key in a hundred is seen with {others} or more of {definition}:"
                    " challenge such a key, do not block it."
                ),
            )
    life = figures.life_seconds
    if window is not None and life is not None and life < window and per_event > 0.5:
        yield wire_entities.KeyHealthFinding(
            code="key-short-lived",
            detail=(
                f"A key is seen for {life:.0f} s, and the widest window has {window} s: a client"
                " that changes its key empties the window."
            ),
        )
