"""Calls on their way to an owner, over real sockets, while owners come and go."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from structlog.testing import capture_logs
from tests.server.owners.scripted import (
    HOT,
    TERM,
    Caller,
    Owners,
    asked,
    callers,
    only,
    until_answered,
)

from tidegate_server.owners import forwarding
from tidegate_server.owners.forwarding import BLOCK_CALLS, Forwarding
from tidegate_server.owners.inbox import Inbox
from tidegate_server.owners.links import Link
from tidegate_server.owners.messages import Answered, Outcome, Outcomes


def handed_on(owners: Owners, calls: list[Caller]) -> None:
    for call in calls:
        owners.forwarding.hand_on(call)


def test_calls_of_one_turn_are_sent_together(tmp_path: Path) -> None:
    """A turn's calls are one block that names the owner's term, and each call has an id of its
    own."""

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(3)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, calls)
            owner, sent = await owners.next_calls()
            assert (sent.term, sent.is_repeated, sent.bodies) == (TERM, False, [b"0", b"1", b"2"])
            assert len({*sent.ids}) == 3
            owner.decide(sent, b"A", b"B")
            await until_answered(calls[:2])
            assert [each.made and each.made.body for each in calls] == [b"A", b"B", None]

    asyncio.run(run())


def test_a_block_left_by_a_dead_owner_is_asked_of_the_next_one_under_the_same_ids(
    tmp_path: Path,
) -> None:
    """The next owner gets the calls without an outcome, and hears that they were sent before; no
    call has two outcomes."""

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(3)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, calls)
            owner, first = await owners.next_calls()
            owner.decide(first, b"first")
            await until_answered(calls[:1])
            await owners.serve("b")
            owner.abort()
            other, again = await owners.next_calls()
            assert (owner.name, other.name) == ("a", "b")
            assert (again.is_repeated, again.ids, again.bodies) == (
                True, first.ids[1:], first.bodies[1:],
            )  # fmt: skip
            other.decide(first, b"other", b"B", b"C")
            await until_answered(calls)
        assert [each.made and each.made.body for each in calls] == [b"first", b"B", b"C"]

    asyncio.run(run())


def test_a_block_that_its_owner_gives_back_is_asked_again(tmp_path: Path) -> None:
    """A call that a closing owner didn't decide isn't refused."""

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(2)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, calls)
            owner, sent = await owners.next_calls()
            owner.refuse(sent, "given-up")
            owner, again = await owners.next_calls()
            assert (again.is_repeated, again.ids) == (True, sent.ids)
            owner.decide(again, b"A", b"B")
            await until_answered(calls)

    asyncio.run(run())


def test_a_call_gets_a_complete_answer(tmp_path: Path) -> None:
    """An answer other than a decision's body arrives with its status and headers."""

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(1)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, calls)
            owner, sent = await owners.next_calls()
            made = Answered(429, [(b"content-type", b"a/b"), (b"retry-after", b"1")], b"{}")
            owner.send(Outcomes("hot", sent.number, [Outcome(sent.ids[0], "", made)]))
            await until_answered(calls)
        assert calls[0].made == (b"{}", 429, ((b"retry-after", b"1"),), b"a/b")

    asyncio.run(run())


def test_an_owner_that_has_not_greeted_gets_no_calls(tmp_path: Path) -> None:
    """A process that doesn't read may be a dead one, which the next replaces."""

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(1)
        async with owners.running():
            await owners.serve("a", greets=False)
            handed_on(owners, calls)
            await asyncio.sleep(0.1)
            assert owners.taken.empty()
            assert not owners.forwarding.can_reach_owner
            await owners.serve("b")
            owner, sent = await owners.next_calls()
            assert (owner.name, sent.is_repeated) == ("b", False)

    asyncio.run(run())


def test_an_owner_that_ends_a_link_as_it_is_given_up_is_nobodys_error(tmp_path: Path) -> None:
    """A link that is being made to an owner which is replaced ends without a word."""

    async def run() -> None:
        owners = Owners(tmp_path)
        made, errors = asyncio.Event(), list[dict[str, Any]]()

        async def connect(_address: str, end: Callable[[], Link]) -> None:
            link = end()
            made.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                link.connection_lost(None)
                raise

        asyncio.get_running_loop().set_exception_handler(lambda _, found: errors.append(found))
        forwarding = Forwarding("gateway", 1, Inbox(), connect)
        forwarding.place("owner", str(owners.path), TERM, 1)
        forwarding.tick(0.0)
        await asyncio.wait_for(made.wait(), 10)
        forwarding.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        del forwarding
        gc.collect()
        assert errors == []

    asyncio.run(run())


def test_an_owner_that_can_not_be_reached_is_written_once(tmp_path: Path) -> None:
    """Calls are refused meanwhile, and the log says why, for each reason anew."""
    reasons = ["certificate verify failed"] * 3 + ["connection refused"] * 2

    async def run() -> None:
        attempts = 0

        async def connect(_address: str, _end: Callable[[], Link]) -> None:
            nonlocal attempts
            attempts += 1
            raise OSError(reasons[attempts - 1])

        made = Forwarding("gateway", 1, Inbox(), connect)
        made.place("owner", str(tmp_path), TERM, 1)
        async with asyncio.timeout(60):
            while attempts < len(reasons):
                made.tick(0.0)
                await asyncio.sleep(0.01)
        made.close()

    with capture_logs() as lines:
        asyncio.run(run())
    warned = [each["reason"] for each in lines if each["log_level"] == "warning"]
    assert warned == ["certificate verify failed", "connection refused"]


def test_a_call_waits_for_an_owner_for_a_while(tmp_path: Path) -> None:
    """Without an owner a call is held, then refused and counted; an owner in time has
    it."""

    async def run() -> None:
        owners, early, late = Owners(tmp_path, attrs.evolve(HOT, hold=0.3)), *map(callers, (1, 1))
        async with owners.running():
            handed_on(owners, early)
            await until_answered(early)
            assert early[0].is_refused
            assert owners.refused == [("no-owner", 1)]
            handed_on(owners, late)
            await owners.serve("a")
            owner, sent = await owners.next_calls()
            owner.decide(sent, b"yes")
            await until_answered(late)
        assert late[0].made is not None
        assert late[0].made.body == b"yes"

    asyncio.run(run())


def test_a_silent_owner_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link on which nothing comes while a call waits is replaced, and the call is asked again;
    an answer of the silent owner has no effect."""
    monkeypatch.setattr(forwarding, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(forwarding, "SILENT_SECONDS", 0.2)

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(1)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, calls)
            owner, sent = await owners.next_calls()
            owner.transport.pause_reading()  # type: ignore[union-attr]
            await owners.serve("b")
            other, again = await owners.next_calls()
            assert (other.name, again.is_repeated, again.ids) == ("b", True, sent.ids)
            owner.decide(sent, b"late")
            other.decide(again, b"once")
            await until_answered(calls)
        assert calls[0].made is not None
        assert calls[0].made.body == b"once"

    asyncio.run(run())


def test_an_owner_that_works_long_is_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner that says it is there keeps its calls."""
    monkeypatch.setattr(forwarding, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(forwarding, "SILENT_SECONDS", 0.2)

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(1)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, calls)
            owner, sent = await owners.next_calls()
            await asyncio.sleep(0.6)
            owner.decide(sent, b"yes")
            await until_answered(calls)
            assert owners.taken.empty()

    asyncio.run(run())


def test_calls_are_bounded(tmp_path: Path) -> None:
    """Beyond the bound calls are refused, large turns go in several blocks, and outcomes make
    room again."""
    most = 2 * BLOCK_CALLS + 1

    async def run() -> None:
        owners, calls = Owners(tmp_path, attrs.evolve(HOT, calls=most)), callers(most)
        (over,), (last,) = callers(1), callers(1)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, [*calls, over])
            owner, sent = await owners.next_calls()
            sizes = [len(sent.ids), *[len((await owners.next_calls())[1].ids) for _ in range(1)]]
            assert sizes == [BLOCK_CALLS, BLOCK_CALLS]
            assert over.is_refused
            owner.decide(sent, b"A")
            await until_answered(calls[:1])
            owners.forwarding.hand_on(last)
            assert (await owners.next_calls())[1].bodies == [last.body]

    asyncio.run(run())


def test_the_end_refuses_what_is_under_way(tmp_path: Path) -> None:
    """Every call has an outcome when the process ends, sent or waiting."""

    async def run() -> None:
        owners, calls = Owners(tmp_path), callers(2)
        async with owners.running():
            await owners.serve("a")
            handed_on(owners, calls[:1])
            await owners.next_calls()
            handed_on(owners, calls[1:])
            owners.forwarding.close()
        assert all(each.is_refused for each in calls)

    asyncio.run(run())


KEYED = {"idempotency_key": "key"}
BATCH = "/api/v1/beacon/events"
REPEATABLE = {
    "batch": asked("POST", BATCH),
    "proxy": asked("GET", "/authz"),
    "read": asked("GET", "/tenants"),
    "keyed change": asked("POST", "/api/v1/tenants", **KEYED),
}
NOT_REPEATABLE = {
    "change": asked("POST", "/api/v1/tenants"),
    "change that takes no key": asked("POST", "/api/v1/sync/events", **KEYED),
}


def forwarded(
    place: Path, do: Callable[[Owners], Coroutine[Any, Any, None]], what: str
) -> Answered:
    """The answer to a request, while something happens at the owners."""

    async def run() -> Answered:
        owners = Owners(place)
        async with owners.running():
            await owners.serve("a")
            request = {**REPEATABLE, **NOT_REPEATABLE}[what]
            answering = asyncio.create_task(owners.forwarding.ask(request))
            await do(owners)
            return await answering

    return asyncio.run(run())


@pytest.mark.parametrize("what", REPEATABLE)
def test_a_request_in_flight_at_a_death_is_asked_of_the_next_owner(
    tmp_path: Path, what: str
) -> None:
    """The next process gets the request under the same id, and its answer is the caller's."""

    async def die(owners: Owners) -> None:
        owner, sent = await owners.next_batch()
        await owners.serve("b")
        owner.abort()
        other, again = await owners.next_batch()
        assert (owner.name, other.name) == ("a", "b")
        assert attrs_of(sent) == (only(again).id, False, only(again).asked)
        assert only(again).is_repeated
        other.answer(again, b"once")

    answer = forwarded(tmp_path, die, what)
    assert (answer.status, answer.body) == (200, b"once")


def attrs_of(sent: Any) -> tuple[bytes, bool, object]:
    """The members of the only request of a batch."""
    found = only(sent)
    return found.id, found.is_repeated, found.asked


@pytest.mark.parametrize("what", NOT_REPEATABLE)
def test_a_change_that_may_have_been_made_is_refused(tmp_path: Path, what: str) -> None:
    """Where no kept answer names the change, nobody is asked again: the refusal says what to do."""

    async def die(owners: Owners) -> None:
        owner, _ = await owners.next_batch()
        await owners.serve("b")
        owner.abort()
        following = asyncio.create_task(owners.forwarding.ask(asked("GET", "/tenants")))
        other, next_ = await owners.next_batch()
        assert (other.name, only(next_).asked.method) == ("b", "GET")
        other.answer(next_, b"[]")
        await following

    answer = forwarded(tmp_path, die, what)
    problem = orjson.loads(answer.body)
    assert (answer.status, problem["code"]) == (503, "not-ready")
    assert "may have been made" in problem["detail"]
    assert (b"retry-after", b"1") in answer.headers
