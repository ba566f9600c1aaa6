"""A node's membership, over sessions that a test makes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any, ClassVar, cast

import pytest

from tidegate_server.cluster.ownership import Member, Partition, View
from tidegate_server.nodes.membership import Membership
from tidegate_server.stores.base import StoreUnavailableError

WAIT_SECONDS = 30


class Session:
    """A session with a database of one member."""

    made: ClassVar[list[Session]] = []
    """All of a test, in order."""

    def __init__(self) -> None:
        self.made.append(self)
        self.number = len(self.made)
        self.beats = self.confirmed = 0
        self.is_ended = False
        self.goes_on = threading.Event()

    def beat(self, level: Collection[int]) -> View:
        """The view of the member."""
        assert not level
        self._check()
        self.beats += 1
        me = Member("a", "a:1", beat=self.beats, session=self.number)
        return View({"a": me}, {0: Partition(0, "another")})

    def confirm(self) -> None:
        """Take a while to answer."""
        self.confirmed += 1
        assert self.goes_on.wait(WAIT_SECONDS)
        self._check()

    def close(self) -> None:
        """Nothing is open."""

    def _check(self) -> None:
        if self.is_ended:
            raise StoreUnavailableError("the session ended")


class Members:
    """A cluster of one member, which nothing is told to."""

    def join(self, _name: str, _address: str, *, is_draining: bool) -> Session:
        """Begin a session that a test ends."""
        assert not is_draining
        return Session()

    def listen(self, _changed: object) -> Callable[[], None]:
        """Listen to nothing."""
        return lambda: None


@pytest.fixture(autouse=True)
def sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the sessions of other tests."""
    monkeypatch.setattr(Session, "made", [])


def is_alive(made: Membership) -> bool:
    """Whether a beat was taken."""
    return made.ownership.is_alive(time.monotonic())


async def until(is_so: Callable[[], bool]) -> None:
    """Return when something is so."""
    end = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def running(check: Callable[[Membership], Awaitable[None]]) -> None:
    """Check a member that beats."""

    async def run() -> None:
        made = Membership(cast("Any", Members()), "a", "a:1", lambda: None)
        task = asyncio.create_task(made.run())
        await until(lambda: is_alive(made))
        await check(made)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def test_all_reads_of_a_turn_share_one_statement() -> None:
    """Those that come while it runs share the next one: it began before they asked."""

    async def check(made: Membership) -> None:
        (session,) = Session.made
        first = [made.confirm() for _ in range(5)]
        await until(lambda: session.confirmed == 1)
        later = [made.confirm() for _ in range(5)]
        later[0].cancel()
        session.goes_on.set()
        assert await asyncio.gather(*first, *later[1:]) == [True] * 9
        assert session.confirmed == 2

    running(check)


def test_a_read_is_not_confirmed_by_a_session_that_came_later() -> None:
    """The locks that the read relied on went with the session before."""

    async def check(made: Membership) -> None:
        (session,) = Session.made
        made.ownership.taken(session.number, 0, 1)
        under_way = made.confirm()
        await until(lambda: session.confirmed == 1)
        waiting = made.confirm()
        session.is_ended = True
        session.goes_on.set()
        assert await asyncio.gather(under_way, waiting) == [False, False]
        assert made.ownership.held == {}
        await until(lambda: len(Session.made) == 2 and is_alive(made))

    running(check)


def test_a_read_has_an_outcome_whatever_the_confirmation_raises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It isn't confirmed, and nobody waits for ever, nor does whoever asks next."""

    def fail(_session: Session) -> None:
        raise ValueError("an answer of another form")

    async def check(made: Membership) -> None:
        assert not await asyncio.wait_for(made.confirm(), WAIT_SECONDS)
        assert not await asyncio.wait_for(made.confirm(), WAIT_SECONDS)

    monkeypatch.setattr(Session, "confirm", fail)
    running(check)
