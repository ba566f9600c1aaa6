"""The kind of work of a route, which determines where it runs and for how long."""

from __future__ import annotations

from enum import Enum


class Crowd(Enum):
    """Requests that share slots."""

    LIGHT = "light"
    PUBLIC = "light, without an operator's token"
    LOGIN = "logins"
    HEAVY = "heavy"
    TRAFFIC = "looks at traffic"
    VISITORS = "visitors"


class Work(Enum):
    """The kinds of work."""

    LOOP = "answered on the event loop at once: no thread, no store"
    LOGIN = "a password is looked at, or a provider asked: a coroutine, which waits on the loop"
    FETCH = "a published list is fetched: a coroutine, which waits on the loop"
    LIGHT = "a few statements of the store, in a thread"
    VISIT = "the same for a visitor of a tenant's site, in a thread for visitors"
    CHECK = "an expression is parsed and checked"
    DOCUMENT = "a large document is read or written"
    COMPILE = "definitions are checked as a whole"
    EXPLAIN = "a decision is made again under observation"
    TRAFFIC = "recorded events are looked through, for a second at most"

    @property
    def crowd(self) -> Crowd:
        """The group of requests that a request shares its slots with."""
        if self in _CROWDS:
            return _CROWDS[self]
        return Crowd.HEAVY if self.is_heavy else Crowd.LIGHT

    @property
    def is_heavy(self) -> bool:
        """Whether the work blocks the interpreter for long, and so runs in its own process."""
        return self in SECONDS


_CROWDS = {
    Work.LOGIN: Crowd.LOGIN,
    Work.VISIT: Crowd.VISITORS,
    Work.TRAFFIC: Crowd.TRAFFIC,
    Work.FETCH: Crowd.HEAVY,
}
SECONDS = {
    Work.CHECK: 10.0,
    Work.DOCUMENT: 60.0,
    Work.COMPILE: 120.0,
    Work.EXPLAIN: 60.0,
    Work.TRAFFIC: 10.0,
}
"""The time limit of a worker process for each kind of work."""
