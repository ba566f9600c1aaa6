"""Which member owns a partition: session locks say who does, and an order says who should.

Every member computes the same plan from the same view.  If two members see different views, both
may try to take a partition, and the lock lets one have it.  A member whose session ended has lost
its locks; one whose beat stands still has its session ended by another.  This finds the next owner
quickly; only the log's epochs guarantee that two owners never both have decisions acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from hashlib import sha256

import attrs

BEAT_SECONDS = 0.25
"""Between two beats of a member."""
SILENT_SECONDS = 2.0
"""After which a member whose beat was not seen to move has its session ended."""
_MARGIN_SECONDS = 0.2
"""A member stops answering this much earlier: clocks run at different speeds."""
_LOOK_AWAY_SECONDS = 1.0
"""Between two views after which a member judges nobody by what it saw before."""


@attrs.frozen
class Member:
    """A process that can own partitions.

    Attributes:
        name: unique, and the same after a restart.
        address: the address for batches.
        run: grows with each session of the member.
        beat: grows while the member lives.
        is_draining: it should own nothing.
        session: its session with the store; None if it has none.
    """

    name: str
    address: str
    run: int = 1
    beat: int = 0
    is_draining: bool = False
    session: int | None = None


@attrs.frozen
class Partition:
    """A partition, and who holds its locks.

    Attributes:
        number: the partition.
        owner: the member that holds its lock; None if nobody does.
        level: the members that have all states, ready to take over.
        term: grows whenever a member takes the lock.
        epoch: of its log.
        preferred: the member that an operator moved it to.
    """

    number: int
    owner: str | None = None
    level: frozenset[str] = frozenset()
    term: int = 0
    epoch: int = 0
    preferred: str | None = None


@attrs.frozen
class View:
    """The members and partitions as read from the store, by name and number."""

    members: Mapping[str, Member] = attrs.field(factory=dict)
    partitions: Mapping[int, Partition] = attrs.field(factory=dict)


@attrs.frozen
class Place:
    """The members that should own and follow a partition."""

    owner: str | None = None
    follower: str | None = None


@attrs.frozen
class Duties:
    """A member's tasks, by the view it saw last.

    Attributes:
        takes: free partitions that it should take.
        hands_over: its partitions whose next owner is ready: drain and release them.
        follows: the partitions whose log it should apply, to take over.
    """

    takes: frozenset[int] = frozenset()
    hands_over: frozenset[int] = frozenset()
    follows: frozenset[int] = frozenset()


class Ownership:
    """One member's view, and the partitions it owns.

    Args:
        name: the member's name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.view = View()
        """As seen last."""
        self.held: dict[int, int] = {}
        """The partitions whose lock this member's session holds, with their terms."""
        self.session: int | None = None
        self.alive_until = 0.0
        """Until then, in monotonic seconds, nobody can have ended the session for its silence."""
        self._seen_at = float("-inf")
        self._beat = -1
        self._beats: dict[str, tuple[int, int, float]] = {}
        """Session and beat of each other member, and when they were first seen."""

    def joined(self, session: int) -> None:
        """Handle a new session, which holds no partition yet."""
        self.lost()
        self.session = session

    def lost(self) -> None:
        """Handle the end of the session: its locks are free."""
        self.session = None
        self.held.clear()
        self.alive_until, self._beat = 0.0, -1

    def seen(self, view: View, sent_at: float, now: float) -> list[Member]:
        """Handle an accepted beat.

        Args:
            view: as read after the beat; one that arrives late is dropped.
            sent_at: when the beat was sent, in monotonic seconds.
            now: monotonic seconds.

        Returns:
            Silent members, whose sessions should be ended; each again after the same time.
        """
        me = view.members.get(self.name)
        if me is None or me.session != self.session or me.beat <= self._beat:
            return []
        self.view, self._beat = view, me.beat
        self.alive_until = max(self.alive_until, sent_at + SILENT_SECONDS - _MARGIN_SECONDS)
        return self._silent(now)

    def taken(self, session: int, partition: int, term: int) -> None:
        """Handle the lock of a partition, granted to a session of this member."""
        if session == self.session:
            self.held[partition] = term

    def released(self, partition: int) -> None:
        """Handle the release of a partition's lock."""
        self.held.pop(partition, None)

    def owns(self, partition: int, term: int, now: float) -> bool:
        """Whether the member owns a partition under a term, as far as it can know."""
        return self.held.get(partition) == term and self.is_alive(now)

    def is_alive(self, now: float) -> bool:
        """Whether nobody can have ended the session for its silence."""
        return now < self.alive_until

    def duties(self) -> Duties:
        """The member's tasks, by the view it saw last."""
        takes, hands_over, follows = set(), set(), set()
        for number, place in plan(self.view).items():
            partition = self.view.partitions[number]
            if number in self.held:
                if place.owner != self.name and place.owner in partition.level:
                    hands_over.add(number)
            elif place.owner == self.name and partition.owner is None:
                if self.session is not None:
                    takes.add(number)
            elif place.follower == self.name:
                follows.add(number)
        return Duties(frozenset(takes), frozenset(hands_over), frozenset(follows))

    def _silent(self, now: float) -> list[Member]:
        # While this member saw nothing, it could not see others beat either.
        if now > self._seen_at + _LOOK_AWAY_SECONDS:
            self._beats.clear()
        self._seen_at = now
        silent = []
        for member in self.view.members.values():
            if member.session is None or member.name == self.name:
                self._beats.pop(member.name, None)
                continue
            session, beat, since = self._beats.get(member.name, (None, None, now))
            if (session, beat) != (member.session, member.beat):
                self._beats[member.name] = (member.session, member.beat, now)
            elif now >= since + SILENT_SECONDS:
                silent.append(member)
                self._beats[member.name] = (member.session, member.beat, now)
        return silent


def plan(view: View) -> dict[int, Place]:
    """The owner and the follower that each partition should have.

    Each member that stays gets an equal number of partitions, plus or minus one.  Owners keep
    theirs up to that number.  A partition whose owner is gone goes to a member that has its
    states.  Where members are equal, rendezvous order decides.
    """
    names = [
        member.name
        for member in view.members.values()
        if member.session is not None and not member.is_draining
    ]
    if not names:
        return dict.fromkeys(view.partitions, Place())
    owners = _owners(view.partitions.values(), sorted(names))
    return {
        number: Place(owners[number], _follower(partition, owners[number], names))
        for number, partition in view.partitions.items()
    }


def _owners(partitions: Collection[Partition], names: list[str]) -> dict[int, str]:
    owners = {each.number: each.preferred for each in partitions if each.preferred in names}
    held = Counter(owners.get(each.number, each.owner) for each in partitions)
    least, more = divmod(len(partitions), len(names))
    names = sorted(names, key=held.__getitem__, reverse=True)
    room = {name: least + (at < more) for at, name in enumerate(names)}
    for owner in owners.values():
        room[owner] -= 1
    others = [each for each in partitions if each.number not in owners]
    for each in sorted(others, key=lambda each: _rank(each.number, each.owner), reverse=True):
        if each.owner in room and room[each.owner] > 0:
            owners[each.number] = each.owner
            room[each.owner] -= 1
    for each in others:
        if each.number not in owners:
            owner = max(
                names,
                key=lambda name, each=each: (  # type: ignore[misc]
                    each.owner not in names and name in each.level,
                    room[name] > 0,
                    _rank(each.number, name),
                ),
            )
            owners[each.number] = owner
            room[owner] -= 1
    return owners


def _follower(partition: Partition, owner: str, names: Collection[str]) -> str | None:
    if partition.owner not in (None, owner):
        return owner
    others = [name for name in names if name != owner]
    return max(
        others,
        key=lambda name: (name in partition.level, _rank(partition.number, name)),
        default=None,
    )


def _rank(partition: int, name: str | None) -> bytes:
    return sha256(f"{partition}/{name}".encode()).digest()
