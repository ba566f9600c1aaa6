"""Periods in queries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import attrs
from msgspec import Meta

Moment: TypeAlias = Annotated[datetime, Meta(tz=True, description="RFC 3339")]
Clock: TypeAlias = Annotated[
    Literal["observed", "received"],
    Meta(
        description="which time of a decision counts: `observed`, when its event happened, or"
        " `received`, when the service got it"
    ),
]


def nanoseconds(moment: datetime) -> int:
    """Return a time in nanoseconds since 1970; a distant one as the nearest the store can hold."""
    found = round(moment.timestamp() * 1_000_000) * 1_000
    return min(max(found, -(2**63)), 2**63 - 1)


@attrs.frozen(kw_only=True, slots=False)
class Span:
    """A period in a query; without slots, as list queries also inherit from their paging class."""

    since: Annotated[Moment | None, Meta(description="from this time on")] = None
    until: Annotated[Moment | None, Meta(description="before this time")] = None

    @property
    def from_ns(self) -> int | None:
        """Its start, in nanoseconds since 1970."""
        return None if self.since is None else nanoseconds(self.since)

    @property
    def to_ns(self) -> int | None:
        """Its end, in nanoseconds since 1970."""
        return None if self.until is None else nanoseconds(self.until)


@attrs.frozen(kw_only=True, slots=False)
class Period(Span):
    """A period, by one of the two times of a decision."""

    time: Clock = "observed"
