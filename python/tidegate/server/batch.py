"""``beacon/events``: many events in one call, each answered for itself.

The body is a JSON array of events, or one event a line (``application/x-ndjson``).  Each counts
against the rate limit, has its own idempotency key, and is decided in order as if it had come
alone; the answer is an array with one object an event.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from uuid_utils import uuid7

from tidegate.server.answer import Answer
from tidegate.server.hot import BEACON, HotPath, problem_answer
from tidegate.server.limits import MAX_BATCH_EVENTS, MAX_BODY_BYTES, too_large
from tidegate.server.problems import Problem, problem_of

if TYPE_CHECKING:
    from tidegate.server.api_keys import ApiKey

PATH = "/api/v1/beacon/events"
NDJSON = b"application/x-ndjson"
AT_ONCE = 100
"""Events decided before other requests have their turn: about 2 ms."""

_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


async def decide_batch(hot: HotPath, key: ApiKey, body: bytes, is_ndjson: bool) -> Answer:
    """The answers of all events of a body, in order.

    Raises:
        Problem: the body is no batch, or holds too many events.
    """
    events = split_lines(body) if is_ndjson else split_array(body)
    if len(events) > MAX_BATCH_EVENTS:
        raise Problem("body-too-large", f"a batch has at most {MAX_BATCH_EVENTS} events")
    tasks: list[asyncio.Task[bytes]] = []
    for start in range(0, len(events), AT_ONCE):
        part = events[start : start + AT_ONCE]
        tasks += [asyncio.create_task(_item(hot, key, event)) for event in part]
        await asyncio.sleep(0)
    return Answer(b"[%b]" % b",".join([await task for task in tasks]))


async def _item(hot: HotPath, key: ApiKey, event: bytes) -> bytes:
    try:
        hot.count(key)
        if len(event) > MAX_BODY_BYTES:
            raise too_large(MAX_BODY_BYTES)
        answer = await hot.decide(BEACON, key, event)
    except Exception as error:
        problem = problem_of(error)
        hot.failed(problem, error, BEACON)
        refusal = problem_answer(problem, PATH, str(uuid7()))
        return b'{"status":%d,"problem":%b}' % (problem.status, refusal.body)
    return b'{"status":200,%b' % answer.body[1:]


def split_array(body: bytes) -> list[bytes]:
    """The elements of a JSON array, each as it was written; what is in them is read later.

    Raises:
        Problem: ``invalid-json``; it is no array.
    """
    try:
        return [bytes(element) for element in _ARRAY.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("invalid-json", f"send a JSON array of events: {error}") from None


def split_lines(body: bytes) -> list[bytes]:
    """The lines of a body that are not blank."""
    return [line for line in body.split(b"\n") if line.strip()]
