"""Events in the background: when they leave, what is tried again, and what became of each."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.client.scripted import (
    BATCH,
    ScriptedServer,
    cut,
    cut_midway,
    hang,
    items,
    problem,
    reply,
)
from tests.client.worlds import QuickTime, StandingTime, world
from tests.waiting import eventually

from tidegate import AsyncClient, Client
from tidegate.client import Backoff, Batching, DeliveryCounts, FailedEvent
from tidegate.client.errors import (
    AuthenticationError,
    BadRequestError,
    ClientClosedError,
    PayloadTooLargeError,
    QueueFullError,
    RateLimitedError,
    TimedOutError,
    UnavailableError,
    UnexpectedAnswerError,
)
from tidegate.errors import EventError

KEY = "tg_test_key"


def event(number: int) -> Any:
    return {"fields": {"number": str(number)}}


def numbers(events: list[dict[str, Any]]) -> list[int]:
    return [int(each["fields"]["number"]) for each in events]


def run(
    server: ScriptedServer,
    scene: Callable[[AsyncClient], Awaitable[None]],
    time: QuickTime | StandingTime | None = None,
    **options: Any,
) -> DeliveryCounts:
    """Play a scene with a client, and say how its events stood at the end."""

    async def played() -> DeliveryCounts:
        calls = AsyncClient(server.base_url, KEY, world=world(time or QuickTime()), **options)
        try:
            await scene(calls)
        finally:
            counts = await calls.close()
        return counts

    return asyncio.run(played())


def test_events_leave_together_and_in_order(server: ScriptedServer) -> None:
    """Events that come close together leave in one request, a line each, each with its own key."""

    async def scene(calls: AsyncClient) -> None:
        for number in range(5):
            assert await calls.send(event(number))

    counts = run(server, scene, StandingTime())
    assert counts == DeliveryCounts(accepted=5, delivered=5)
    [received] = server.received
    assert received.path == BATCH
    assert received.headers["content-type"] == "application/x-ndjson"
    assert numbers(received.events) == [0, 1, 2, 3, 4]
    assert len({each["idempotency_key"] for each in received.events}) == 5


def test_a_batch_leaves_when_its_oldest_event_is_old_enough(server: ScriptedServer) -> None:
    """A batch leaves at the age of its oldest event, without a further event."""
    time = StandingTime()

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        time.pass_by(1.9)
        await calls.send(event(2))
        await asyncio.sleep(0)
        assert not server.received
        time.pass_by(0.1)
        await eventually(lambda: calls.counts.delivered == 2)

    run(server, scene, time, batching=Batching(max_age=2))
    assert [numbers(each.events) for each in server.received] == [[1, 2]]


def test_a_full_batch_does_not_wait(server: ScriptedServer) -> None:
    """A batch that is full, by number or by size, leaves at once."""

    async def by_number(calls: AsyncClient) -> None:
        for number in range(7):
            await calls.send(event(number))
        await eventually(lambda: calls.counts.delivered == 6)

    run(server, by_number, StandingTime(), batching=Batching(max_events=3))
    assert [len(each.events) for each in server.received] == [3, 3, 1]
    server.received.clear()

    async def by_size(calls: AsyncClient) -> None:
        for number in range(4):
            await calls.send({"fields": {"number": str(number), "text": "x" * 500}})
        await eventually(lambda: calls.counts.delivered >= 2)

    run(server, by_size, StandingTime(), batching=Batching(max_bytes=1_000))
    assert numbers(server.events) == [0, 1, 2, 3]
    assert all(len(each.body) <= 1_000 for each in server.received)


def test_flush_waits_for_what_was_sent_before_it(server: ScriptedServer) -> None:
    """Afterwards nothing of it waits, although no event is old enough."""

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        assert await calls.flush() == DeliveryCounts(accepted=1, delivered=1)
        assert await calls.flush() == DeliveryCounts(accepted=1, delivered=1)

    run(server, scene, StandingTime())


def test_flush_gives_up_when_its_time_is_up(server: ScriptedServer) -> None:
    """A flush ends at its timeout; the remaining events keep waiting and are delivered later."""
    server.script.append(hang)

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        assert (await calls.flush(timeout=0.05)).waiting == 1
        await eventually(lambda: calls.counts.delivered == 1)

    run(server, scene, QuickTime(), batching=Batching(timeout=0.2))


@pytest.mark.parametrize(
    "failure", [cut, cut_midway, problem(503, "overloaded"), reply(200, []), reply(302, {})]
)
def test_a_batch_that_fails_is_sent_again_as_it_was(
    server: ScriptedServer, failure: object
) -> None:
    """Equal bytes and keys: whatever the first attempt did, each event counts once."""
    server.script.extend([failure, failure])  # type: ignore[list-item]
    time = QuickTime()

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        await calls.send(event(2))

    assert run(server, scene, time).delivered == 2
    first, second, third = server.received
    assert first.body == second.body == third.body
    assert time.sleeps[-2:] == [0.5, 1.0]


def test_only_the_items_that_failed_are_sent_again(server: ScriptedServer) -> None:
    """Passing failures of items are retried, lasting ones reported, the rest is left alone."""
    server.script.append(items(200, 429, 422, 503))
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        for number in range(4):
            await calls.send(event(number))

    counts = run(server, scene, on_error=failed.append)
    assert counts == DeliveryCounts(accepted=4, delivered=3, failed=1)
    assert [numbers(each.events) for each in server.received] == [[0, 1, 2, 3], [1, 3]]
    [refused] = failed
    assert numbers([dict(refused.event)]) == [2]
    assert (refused.error.code, refused.attempts) == ("c-422", 1)


def test_attempts_count_anew_when_something_gets_through(server: ScriptedServer) -> None:
    """A batch larger than the rate limit passes in parts, however many they are."""
    server.script.extend([items(200, 429, 429, 429), items(200, 429, 429), items(200, 429)])

    async def scene(calls: AsyncClient) -> None:
        for number in range(4):
            await calls.send(event(number))

    backoff = Backoff(attempts=2, base=1)
    assert run(server, scene, batching=Batching(backoff=backoff)).delivered == 4


def test_an_event_is_given_up_after_its_attempts(server: ScriptedServer) -> None:
    """After its last attempt an event is counted as failed and handed back with the error."""
    server.always = items(429)
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))

    batching = Batching(backoff=Backoff(attempts=3))
    counts = run(server, scene, batching=batching, on_error=failed.append)
    assert counts == DeliveryCounts(accepted=1, failed=1)
    assert isinstance(failed[0].error, RateLimitedError)
    assert failed[0].attempts == len(server.received) == 3


def test_retry_after_of_a_batch_is_waited_for(server: ScriptedServer) -> None:
    """A batch waits for Retry-After, also when a success holds refused items."""
    server.script.append(problem(503, "overloaded", retry_after="7"))
    time = QuickTime()

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))

    run(server, scene, time)
    assert time.sleeps[-1] == 7.5


def test_a_refused_batch_fails_at_once(server: ScriptedServer) -> None:
    """A batch refused for its key is not tried again."""
    server.always = problem(401, "unauthenticated")
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        await calls.send(event(2))

    counts = run(server, scene, StandingTime(), on_error=failed.append)
    assert (counts.failed, len(server.received)) == (2, 1)
    assert {type(each.error) for each in failed} == {AuthenticationError}


def test_a_batch_too_large_for_a_proxy_is_halved(server: ScriptedServer) -> None:
    """Proxies often take less than the service; later batches are smaller from the start."""
    server.script.extend([problem(413, "x"), problem(413, "x")])

    async def scene(calls: AsyncClient) -> None:
        for number in range(8):
            await calls.send(event(number))
        await calls.flush()
        for number in range(8, 16):
            await calls.send(event(number))

    assert run(server, scene, StandingTime()).delivered == 16
    sizes = [len(each.events) for each in server.received]
    assert sizes[:5] == [8, 4, 2, 2, 4]
    assert max(sizes[5:]) <= 2
    assert numbers(server.events)[-8:] == list(range(8, 16))


def test_a_single_event_that_is_too_large_fails(server: ScriptedServer) -> None:
    """Halving ends at one event, which then fails."""
    server.always = problem(413, "body-too-large")
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        for number in range(3):
            await calls.send(event(number))

    assert run(server, scene, on_error=failed.append).failed == 3
    assert {type(each.error) for each in failed} == {PayloadTooLargeError}


def test_silence_ends_an_attempt(server: ScriptedServer) -> None:
    """A batch is not left hanging on one connection."""
    server.script.append(hang)

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))

    assert run(server, scene, batching=Batching(timeout=0.05)).delivered == 1
    server.always = hang
    failed: list[FailedEvent] = []
    backoff = Backoff(attempts=2)
    run(server, scene, batching=Batching(timeout=0.05, backoff=backoff), on_error=failed.append)
    assert isinstance(failed[0].error, TimedOutError)


def test_items_of_another_shape_are_no_delivery(server: ScriptedServer) -> None:
    """An item that does not say that its event is recorded does not count as delivered."""
    server.always = reply(200, [{"status": 200}])
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))

    batching = Batching(backoff=Backoff(attempts=2))
    assert run(server, scene, batching=batching, on_error=failed.append).failed == 1
    assert isinstance(failed[0].error, UnexpectedAnswerError)


def test_a_full_queue_drops_the_newest_and_says_so(server: ScriptedServer) -> None:
    """A queue full by number or size drops the new event, and keeps those accepted before."""
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        assert await calls.send(event(1))
        assert await calls.send(event(2))
        assert not await calls.send(event(3))

    batching = Batching(queue_events=2)
    counts = run(server, scene, StandingTime(), batching=batching, on_error=failed.append)
    assert counts == DeliveryCounts(accepted=2, delivered=2, dropped=1)
    assert isinstance(failed[0].error, QueueFullError)
    assert numbers([dict(failed[0].event)]) == [3]

    async def by_size(calls: AsyncClient) -> None:
        large = {"x": "x" * 40_000}
        assert await calls.send({"fields": large})
        assert not await calls.send({"fields": large})

    batching = Batching(queue_bytes=64 * 1024)
    assert run(server, by_size, StandingTime(), batching=batching).dropped == 1


def test_a_full_queue_can_make_the_sender_wait(server: ScriptedServer) -> None:
    """The event is taken as soon as there is room, and none is lost."""

    async def scene(calls: AsyncClient) -> None:
        for number in range(20):
            assert await calls.send(event(number))

    batching = Batching(queue_events=2, when_full="block")
    counts = run(server, scene, QuickTime(), batching=batching)
    assert counts == DeliveryCounts(accepted=20, delivered=20)
    assert numbers(server.events) == list(range(20))


def test_closing_frees_a_sender_that_waits(server: ScriptedServer) -> None:
    """Closing wakes a waiting sender, which learns that its event was not taken."""

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        waiting = asyncio.create_task(calls.send(event(2)))
        await asyncio.sleep(0)
        await calls.close()
        with pytest.raises(ClientClosedError):
            await waiting

    batching = Batching(queue_events=1, when_full="block")
    run(server, scene, StandingTime(), batching=batching)


def test_what_is_left_at_the_end_is_handed_back(server: ScriptedServer) -> None:
    """Closing waits only so long; the batch under way and the queue are both accounted for."""
    server.always = hang
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        for number in range(3):
            await calls.send(event(number))
        counts = await calls.close(timeout=0.05)
        assert counts == DeliveryCounts(accepted=3, failed=3)

    run(server, scene, batching=Batching(max_events=2), on_error=failed.append)
    assert numbers([dict(each.event) for each in failed]) == [0, 1, 2]
    assert [each.attempts for each in failed] == [1, 1, 0]
    assert {type(each.error) for each in failed} == {ClientClosedError}


def test_delivered_events_are_handed_on_with_their_answer(server: ScriptedServer) -> None:
    """`on_delivered` gets each delivered event with its answer."""
    delivered: dict[str, str] = {}

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))

    run(
        server,
        scene,
        on_delivered=lambda sent, response: delivered.update(
            {sent.idempotency_key: response.item_id}
        ),
    )
    assert delivered == {"key-1": "i"}


def test_a_callback_that_fails_stops_nothing(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A failing callback is logged, and the other events are delivered."""

    def fail(*_arguments: object) -> None:
        raise RuntimeError("oh")

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        await calls.send(event(2))

    assert run(server, scene, on_delivered=fail).delivered == 2
    assert caplog.messages == ["a callback failed"] * 2


def test_failures_that_nobody_asked_for_are_logged(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Without ``on_error`` a failed event is logged, without its content."""
    caplog.set_level(logging.WARNING, "tidegate.client")
    server.always = items(400)

    async def scene(calls: AsyncClient) -> None:
        await calls.send({"fields": {"secret": "hush"}})

    run(server, scene)
    [message] = caplog.messages
    assert "not delivered after 1 attempts: 400 c-400" in message
    assert "hush" not in caplog.text


def test_an_event_that_waits_is_stamped_with_its_time(server: ScriptedServer) -> None:
    """Windows count events when they happened, not when their batch arrived."""
    time = StandingTime()

    async def scene(calls: AsyncClient) -> None:
        await calls.send({"fields": {"a": "1"}})
        time.pass_by(60)
        await calls.send({"fields": {"a": "2"}, "observed_at": "2026-01-01T00:00:00Z"})
        await calls.send({"fields": {"a": "3"}, "idempotency_key": "mine"})

    run(server, scene, time)
    assert [each.get("observed_at") for each in server.events] == [
        "2026-03-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
        None,  # under a key of the caller's the event must be the same when it is sent again
    ]


def test_what_cannot_be_sent_is_refused_at_once(server: ScriptedServer) -> None:
    """The caller learns it where the event was made."""

    async def scene(calls: AsyncClient) -> None:
        with pytest.raises(PayloadTooLargeError):
            await calls.send({"fields": {"a": "x" * 70_000}})
        with pytest.raises(EventError):
            await calls.send({"fields": {"a": object()}})

    assert run(server, scene) == DeliveryCounts()


def test_many_threads_send_and_every_event_arrives_once(server: ScriptedServer) -> None:
    """No event is lost or doubled between threads, whatever way they find the queue."""
    batching = Batching(max_events=50, queue_events=100, when_full="block")
    with Client(server.base_url, KEY, batching=batching) as calls:

        def work(start: int) -> None:
            for number in range(start, start + 200):
                calls.send(event(number))

        threads = [threading.Thread(target=work, args=(at * 200,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = calls.flush()
    assert counts == DeliveryCounts(accepted=1_600, delivered=1_600)
    assert sorted(numbers(server.events)) == list(range(1_600))


def test_other_refusals_keep_their_family(server: ScriptedServer) -> None:
    """An item's problem becomes the same error as a call's problem."""
    failed: list[FailedEvent] = []

    async def scene(calls: AsyncClient) -> None:
        await calls.send(event(1))
        await calls.send(event(2))

    server.script.extend([items(400, 500), items(500)])
    batching = Batching(backoff=Backoff(attempts=2))
    run(server, scene, QuickTime(), batching=batching, on_error=failed.append)
    assert [type(each.error) for each in failed] == [BadRequestError, UnavailableError]
