"""The modules under simulation: what a service loads, with the world's clocks and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from uuid import UUID

from tidegate_server import asgi, framing
from tidegate_server.cluster import follower, gateway, ownership
from tidegate_server.hot import (
    admission,
    call_queue,
    given_id,
    hot_path,
    idempotency,
    rate_limit,
    recorder,
    seen_keys,
)
from tidegate_server.http import access_log
from tidegate_server.nodes import core, following, membership, partition, term
from tidegate_server.owners import (
    answers,
    application,
    forwarding,
    hot_paths,
    inbox,
    inboxes,
    links,
    peers,
    route_lookup,
    transports,
)
from tidegate_server.turns import account, call, gate, lane, lanes, line

MODULES: tuple[ModuleType, ...] = (
    access_log,
    account,
    admission,
    answers,
    application,
    asgi,
    call,
    call_queue,
    core,
    follower,
    following,
    forwarding,
    framing,
    gate,
    gateway,
    given_id,
    hot_path,
    hot_paths,
    idempotency,
    inbox,
    inboxes,
    lane,
    lanes,
    line,
    links,
    membership,
    ownership,
    partition,
    peers,
    rate_limit,
    recorder,
    route_lookup,
    seen_keys,
    term,
    transports,
)
"""The modules that seeds run."""
TICK_SECONDS = 0.04
"""Between two ticks of a gateway: fewer than a service has, as most of them do nothing."""


@contextmanager
def installed(clock: object, new_id: Callable[[], UUID], log: object) -> Iterator[None]:
    """Give the modules another clock, other ids and another log for the block.

    Args:
        clock: in place of the module ``time``.
        new_id: makes the ids of version 7.
        log: takes the lines of the service's log.
    """
    given = {
        "time": clock,
        "uuid7": new_id,
        "log": log,
        "thread_time_ns": getattr(clock, "thread_time_ns", None),
        "TICK_SECONDS": TICK_SECONDS,
    }
    before = [
        (module, name, vars(module)[name])
        for module in MODULES
        for name in given
        if name in vars(module)
    ]
    try:
        for module, name, _ in before:
            setattr(module, name, given[name])
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
