"""A gateway: accepts calls for one partition and has its owner decide them.

A driver passes calls in by their ids, calls :meth:`Gateway.turn` once in each turn of its loop,
sends what is named there, and calls :meth:`Gateway.tick` often.  Each call gets exactly one
outcome, within ``Bounds.time``.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from tidegate_server.cluster.messages import ASK_AGAIN, Reason


@attrs.frozen
class Bounds:
    """Limits of a gateway; times are in seconds.

    Attributes:
        time: when a call is rejected, whatever its state.
        hold: how long a call waits for an owner to ask.
        ask_again: how long an owner may leave calls without an outcome.
        backoff: wait between two attempts at an owner that rejects calls.
        calls: most calls held at once; further ones are rejected.
        size: most bytes of bodies held at once.
        batch: most calls sent at once.
    """

    time: float = 5.0
    hold: float = 2.0
    ask_again: float = 1.0
    backoff: float = 0.05
    calls: int = 65_536
    size: int = 64 * 1024 * 1024
    batch: int = 256


@attrs.frozen
class Send:
    """Calls to send to a member.

    Attributes:
        member: the member.
        number: of this sending, from 1; their outcomes repeat it.
        ids: the calls, in order of arrival.
    """

    member: str
    number: int
    ids: tuple[bytes, ...]


@attrs.define(eq=False)
class _Held:
    """A call without an outcome so far."""

    id: bytes
    size: int
    ends: float
    """When it is rejected at the latest."""
    homeless_since: float | None = None
    """When there was first no owner to ask."""
    not_before: float = 0.0
    """When it may be sent again."""
    flight: int = 0
    """The number of its sending; 0 while it waits here."""


@attrs.define(eq=False)
class _Flight:
    """Calls that were sent together."""

    member: str
    sent_at: float
    ids: dict[bytes, None]
    """Those without an outcome, in order."""


class Gateway:
    """A process's calls for a partition without an outcome, and the members they were sent to.

    Args:
        bounds: limits of times and sizes.
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._owner: str | None = None
        self._held: dict[bytes, _Held] = {}  # in order of their ends
        self._ready: list[_Held] = []
        self._waiting: dict[bytes, _Held] = {}
        self._flights: dict[int, _Flight] = {}  # in order of sending
        self._size = 0
        self._number = 0

    def __len__(self) -> int:
        """Number of calls without an outcome."""
        return len(self._held)

    def hold(self, call_id: bytes, size: int, now: float) -> bool:
        """Accept a call, unless the gateway is full.

        Args:
            call_id: its unique id, under which its outcome will arrive.
            size: of its body, in bytes.
            now: monotonic seconds.

        Returns:
            Whether it was accepted.
        """
        bounds = self._bounds
        if len(self._held) >= bounds.calls or self._size + size > bounds.size:
            return False
        held = _Held(call_id, size, now + bounds.time)
        self._held[call_id] = held
        self._ready.append(held)
        self._size += size
        return True

    def place(self, owner: str | None) -> None:
        """Set the owner; if it has changed, the next turn sends the calls that wait.

        Args:
            owner: the member; None while there isn't one.
        """
        if owner != self._owner:
            for held in self._waiting.values():
                held.not_before = 0.0
            self._ready += self._waiting.values()
            self._waiting.clear()
        self._owner = owner

    def turn(self, now: float) -> list[Send]:
        """The calls to send now: those since the last turn, and those that waited.

        Args:
            now: monotonic seconds.

        Returns:
            One sending, or more if one would be too large.
        """
        ready = [held for held in self._ready if held.id in self._held]
        self._ready = []
        if self._owner is None:
            for held in ready:
                self._wait(held, now)
            return []
        size = self._bounds.batch
        return [
            self._send(self._owner, ready[first : first + size], now)
            for first in range(0, len(ready), size)
        ]

    def answered(self, call_id: bytes) -> bool:
        """End a call that has its answer; return whether it was still without an outcome.

        An answer counts from any member, since it is durable.
        """
        held = self._held.get(call_id)
        if held is None:
            return False
        self._end(held)
        return True

    def refused(self, call_id: bytes, reason: str, number: int, now: float) -> bool:
        """Take a member's refusal of a call; it counts only from the last one that was asked.

        Args:
            call_id: the call's id.
            reason: why, as a :data:`~tidegate_server.cluster.messages.Reason`.
            number: of the sending.
            now: monotonic seconds.

        Returns:
            Whether the refusal ends the call; otherwise it is asked again.
        """
        held = self._held.get(call_id)
        if held is None or held.flight != number:
            return False
        if reason not in ASK_AGAIN:
            self._end(held)
            return True
        self._wait(held, now)
        return False

    def lost(self, member: str, now: float) -> None:
        """Handle a lost connection to a member: everything it was asked is asked again."""
        for number in [n for n, flight in self._flights.items() if flight.member == member]:
            for held in self._returned(number):
                self._wait(held, now)

    def tick(self, now: float) -> list[tuple[bytes, Reason]]:
        """Reject calls past their time, and resend those that waited long enough.

        Args:
            now: monotonic seconds.

        Returns:
            The rejected calls.
        """
        refused: list[tuple[bytes, Reason]] = []
        for held in self._past(now):
            self._end(held)
            refused.append((held.id, "unanswered"))
        for number in self._unanswered(now):
            self._ready += self._returned(number)
        for held in list(self._waiting.values()):
            since = held.homeless_since
            if since is not None and since + self._bounds.hold <= now:
                self._end(held)
                refused.append((held.id, "no-owner"))
            elif held.not_before <= now:
                del self._waiting[held.id]
                self._ready.append(held)
        return refused

    @property
    def has_ready(self) -> bool:
        """Whether the next turn has something to send."""
        return bool(self._ready)

    # --- one call -------------------------------------------------------------------------

    def _wait(self, held: _Held, now: float) -> None:
        """Hold a call until there is an owner to ask."""
        self._leave(held)
        held.not_before = now + self._bounds.backoff
        if held.homeless_since is None:
            held.homeless_since = now
        self._waiting[held.id] = held

    def _end(self, held: _Held) -> None:
        del self._held[held.id]
        self._waiting.pop(held.id, None)
        self._size -= held.size
        self._leave(held)

    def _leave(self, held: _Held) -> None:
        """Take a call out of the sending it is part of."""
        flight = self._flights.get(held.flight)
        if flight is not None:
            flight.ids.pop(held.id, None)
            if not flight.ids:
                del self._flights[held.flight]
        held.flight = 0

    # --- calls that were sent together ----------------------------------------------------

    def _send(self, member: str, group: Iterable[_Held], now: float) -> Send:
        self._number += 1
        for held in group:
            held.flight = self._number
        ids = tuple([held.id for held in group])
        self._flights[self._number] = _Flight(member, now, dict.fromkeys(ids))
        return Send(member, self._number, ids)

    def _returned(self, number: int) -> list[_Held]:
        """The calls of a sending that is given up, except those already sent elsewhere."""
        found = [self._held.get(each) for each in self._flights.pop(number).ids]
        returned = [held for held in found if held is not None and held.flight == number]
        for held in returned:
            held.flight = 0
        return returned

    def _past(self, now: float) -> list[_Held]:
        past = []
        for held in self._held.values():
            if held.ends > now:
                break
            past.append(held)
        return past

    def _unanswered(self, now: float) -> list[int]:
        """Sendings that their owner has not answered in time."""
        numbers = []
        for number, flight in self._flights.items():
            if flight.sent_at + self._bounds.ask_again > now:
                break
            numbers.append(number)
        return numbers
