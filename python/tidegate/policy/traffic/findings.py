"""Findings from a key's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.traffic.figures import KeyFigures

LEAST_FILL = 0.9
MOST_PER_EVENT = 0.95
LARGEST_SHARE = 0.1
MOST_ACCOUNTS = 5
LEAST_EVENTS = 100
"""Fewer events say nothing about the distribution of keys."""
_GIVEN = frozenset(
    (
        "request.client_ip",
        "request.route_params",
        "derived.ip_version",
        "derived.ip_subnet",
        "derived.client_network",
        "derived.country",
        "derived.asn",
        "derived.as_org",
        "fields",
        "source",
        "observed_at",
    )
)
"""Fields that the client can't choose freely: its address, and facts from the application."""


@attrs.frozen(kw_only=True)
class KeyFinding:
    """One problem of a key."""

    code: str
    detail: str


def is_forgeable(key_fields: Sequence[CheckedExpression]) -> bool:
    """Whether the client chooses every part of a key."""
    read = [each.references.fields for each in key_fields]
    return all(fields and not fields & _GIVEN for fields in read)


def findings(
    figures: KeyFigures,
    *,
    on_missing_key: str,
    forgeable: bool,
    window: int | float | None,
    fleeting: Collection[str] = (),
) -> tuple[KeyFinding, ...]:
    """Return the findings about a key, worst first.

    Args:
        figures: the figures from recorded events.
        on_missing_key: ``skip`` or ``blank``.
        forgeable: whether the client chooses every part.
        window: the widest window that counts by it, in seconds.
        fleeting: the other definitions whose keys don't tell actors apart, such as a key of each
            request's own; how many of them a key has says nothing.
    """
    found = [*_of_parts(figures, on_missing_key, forgeable=forgeable)]
    if figures.events >= LEAST_EVENTS:
        beside = figures.definitions_beside
        found += _of_spread(figures, window, [each for each in beside if each not in fleeting])
    return tuple(found)


def is_fleeting(figures: KeyFigures) -> bool:
    """Whether nearly every event has a key of its own."""
    return (figures.distinct_per_event or 0.0) > MOST_PER_EVENT


def verdict(figures: KeyFigures, found: tuple[KeyFinding, ...]) -> str:
    """Return one sentence about a key."""
    if not figures.events:
        return "No event that was looked at has this key."
    if found:
        return found[0].detail
    if figures.events < LEAST_EVENTS:
        return f"Only {figures.events} events have this key: too few to judge how it is spread."
    return f"The key tells {figures.distinct} actors apart over {figures.events} events."


def _of_parts(figures: KeyFigures, on_missing_key: str, *, forgeable: bool) -> Iterator[KeyFinding]:
    least = min(figures.fill_rates, default=1.0)
    if least < LEAST_FILL:
        result = (
            "who leaves it out evades every clause that counts by this key"
            if on_missing_key == "skip"
            else "strangers who leave it out share one key"
        )
        yield KeyFinding(
            code="key-often-missing",
            detail=f"A part of the key is there in {least:.0%} of the events: {result}.",
        )
    if forgeable:
        yield KeyFinding(
            code="key-forgeable",
            detail="The client chooses every part of the key freely, and can change it at will.",
        )


def _of_spread(
    figures: KeyFigures, window: int | float | None, shared_with: Collection[str]
) -> Iterator[KeyFinding]:
    per_event, largest = figures.distinct_per_event or 0.0, figures.largest_share or 0.0
    if per_event > MOST_PER_EVENT:
        yield KeyFinding(
            code="key-per-request",
            detail="Nearly every event has a key of its own: no window fills.",
        )
    if largest > LARGEST_SHARE:
        yield KeyFinding(
            code="key-too-broad",
            detail=f"One key has {largest:.0%} of the events: a mitigation of it meets many.",
        )
    others = {each: figures.others_a_key(each) for each in shared_with}
    most = max(others, key=lambda each: others[each], default=None)
    if most is not None and others[most] > MOST_ACCOUNTS:
        yield KeyFinding(
            code="key-shared",
            detail=(
                f"One key in a hundred is seen with {others[most]} or more of {most}: challenge"
                " such a key, do not block it."
            ),
        )
    life = figures.life_seconds
    if window is not None and life is not None and life < window and per_event > 0.5:
        yield KeyFinding(
            code="key-short-lived",
            detail=(
                f"A key is seen for {life:.0f} s, and the widest window has {window} s: a client"
                " that changes its key empties the window."
            ),
        )
