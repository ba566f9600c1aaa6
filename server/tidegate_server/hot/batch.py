"""``beacon/events``: many events in one call, each with its own answer.

The body is a JSON array of events, or one event a line (``application/x-ndjson``). Each event
counts against the rate limit, has its own idempotency key, and is decided in order as if it had
come alone. The answer is an array with one object per event. Events past a limit are refused. If
none is admitted, the whole batch is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from uuid_utils import uuid7

from tidegate_server.hot.hot_path import BEACON, HotPath, problem_answer
from tidegate_server.http.answer import Answer
from tidegate_server.http.limits import MAX_BATCH_EVENTS, MAX_BODY_BYTES, too_large
from tidegate_server.http.problems import Problem, problem_of
from tidegate_server.telemetry.trace_context import trace_id_of

if TYPE_CHECKING:
    from tidegate_server.hot.given_id import GivenId
    from tidegate_server.http.answer import Outcome
    from tidegate_server.operators.key_ring import ApiKey

PATH = "/api/v1/beacon/events"
NDJSON = "application/x-ndjson"
AT_ONCE = 100
"""How many events a batch adds before other calls get their turn."""

_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


async def decide_batch(
    hot: HotPath,
    key: ApiKey,
    body: bytes,
    is_ndjson: bool,
    given: GivenId | None = None,
    traceparent: bytes | None = None,
) -> Answer:
    """Answer all events of a body, in order.

    Args:
        hot: the hot path.
        key: of the call.
        body: the events.
        is_ndjson: whether they are lines.
        given: the id of a call that a gateway forwarded.
        traceparent: of the call, for all of its events.

    Raises:
        Problem: the body isn't a batch, or has too many events.
    """
    async with hot.queue.room(key):
        events = split_lines(body) if is_ndjson else split_array(body)
    if len(events) > MAX_BATCH_EVENTS:
        raise Problem("body-too-large", f"a batch has at most {MAX_BATCH_EVENTS} events")
    items = _Items(hot, key, len(events), given, traceparent)
    if given is not None and given.is_repeated:
        await items.repeat(given)
    for start in range(0, len(events), AT_ONCE):
        async with hot.queue.room(key):
            over = items.begin(start, events[start : start + AT_ONCE])
        if over is not None:
            items.refuse_rest(over)
            break
        await asyncio.sleep(0)
    return hot.with_limit(key, Answer(b"[%b]" % b",".join(await items.answered())))


class _Items:
    """The answers of a batch, filled in as they come."""

    def __init__(
        self,
        hot: HotPath,
        key: ApiKey,
        count: int,
        given: GivenId | None,
        traceparent: bytes | None,
    ) -> None:
        self._traceparent = traceparent
        self._hot = hot
        self._key = key
        self._given = given
        self._answers = [b""] * count
        self._begun = 0
        self._missing = count
        self._whole: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def repeat(self, given: GivenId) -> None:
        """Fill in the answers of events that were decided when the batch was first forwarded."""
        ids = [given.of_event(number) for number in range(len(self._answers))]
        known = await self._hot.recorded(self._key, ids)
        for number, each in enumerate(ids):
            if each in known:
                self._place(number, known[each])

    def begin(self, start: int, events: Sequence[bytes]) -> Problem | None:
        """Start deciding on events, as many as the limits allow.

        Args:
            start: the index of the first event's answer.
            events: in order.

        Returns:
            The refusal of the others, if any.
        """
        new = [
            (number, event)
            for number, event in enumerate(events, start)
            if not self._answers[number]
        ]
        room, over = self._hot.admission.count_many(self._key, len(new)) if new else (0, None)
        for number, event in new[:room]:
            name = None if self._given is None else self._given.of_event(number)
            try:
                if len(event) > MAX_BODY_BYTES:
                    raise too_large(MAX_BODY_BYTES)
                done = partial(self._place, number)
                self._hot.begin(BEACON, self._key, event, done, name, self._traceparent)
            except Exception as error:
                self._place(number, error)
        self._begun = start + len(events) if room == len(new) else new[room][0]
        return over

    def refuse_rest(self, problem: Problem) -> None:
        """Refuse all events that weren't started, with one shared refusal.

        A refusal for each would cost as much as a decision.

        Raises:
            Problem: the refusal, if no event was started.
        """
        if not self._begun:
            raise problem
        refusal = self._item(problem)
        places = range(self._begun, len(self._answers))
        rest = [number for number in places if not self._answers[number]]
        self._hot.metrics.refused(problem.code, len(rest) - 1)
        for number in rest:
            self._put(number, refusal)

    async def answered(self) -> list[bytes]:
        """Return the answers once all are there."""
        if self._missing:
            await self._whole
        return self._answers

    def _place(self, number: int, outcome: Outcome) -> None:
        self._put(number, self._item(outcome))

    def _put(self, number: int, item: bytes) -> None:
        self._answers[number] = item
        self._missing -= 1
        if not self._missing and not self._whole.done():
            self._whole.set_result(None)

    def _item(self, outcome: Outcome) -> bytes:
        if isinstance(outcome, Answer):
            return b'{"status":200,%b' % outcome.body[1:]
        problem = problem_of(outcome)
        request_id = str(uuid7())
        trace_id = trace_id_of(self._traceparent)
        self._hot.failed(problem, outcome, BEACON, request_id, trace_id)
        refusal = problem_answer(problem, PATH, request_id)
        return b'{"status":%d,"problem":%b}' % (problem.status, refusal.body)


def split_array(body: bytes) -> list[bytes]:
    """Split a JSON array into its elements, as they were written; they are parsed later.

    Raises:
        Problem: ``invalid-json``; the body isn't an array.
    """
    try:
        return [bytes(element) for element in _ARRAY.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("invalid-json", f"send a JSON array of events: {error}") from None
    except RecursionError:
        raise Problem("invalid-json", "the array is nested too deeply") from None


def split_lines(body: bytes) -> list[bytes]:
    """Return the lines of a body that are not blank."""
    return [line for line in body.split(b"\n") if line.strip()]
