"""The main loop of a worker process: one job after another, until the service ends.

It has the parts of the service that handlers use. It reads the store itself; for work that only the
service can do, writes and the engines, it asks over the pipe.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from tidegate.edge.addresses import TrustedProxies
from tidegate_server import logging
from tidegate_server.control.app import Application
from tidegate_server.control.runtime import NoRuntime
from tidegate_server.offload.inbox import A
from tidegate_server.routing import dispatch
from tidegate_server.stores.databases import reading_engine
from tidegate_server.stores.niceness import be_nice
from tidegate_server.stores.rows.errors import translated
from tidegate_server.workers.messages import Kind, receive, send, send_error
from tidegate_server.workers.tidying import Tidying

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as Pipe
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.policy.key_forms import KeyForms
    from tidegate_server.engines.replay import Draft
    from tidegate_server.operators.keys import Keys
    from tidegate_server.settings.service import LogSettings

T = TypeVar("T")

LONG_SECONDS = 0.1
"""A job that takes more CPU time may have left much memory."""
NICENESS = 5
"""This gives a third of the weight of the threads that decide."""
_ = dispatch  # It imports every handler: workers are forked with the whole program in memory.


@attrs.frozen(kw_only=True)
class Setup:
    """The setup of a worker."""

    database_url: str = attrs.field(repr=False)
    partition: int = 0
    keys: Keys
    log: LogSettings
    token_lifetime_seconds: int
    base_url: str
    proxies: TrustedProxies = attrs.field(factory=lambda: TrustedProxies((), unix=False))


@attrs.frozen
class OfPartition(Generic[A]):
    """Work that reads the log of another partition than the worker's own."""

    partition: int
    job: Callable[[A], Any]

    def __call__(self, application: A) -> Any:
        """Do the work."""
        return self.job(application)


def main(pipe: Pipe, alive: int) -> None:
    """Work until the pipe is closed.

    Args:
        pipe: the pipe to the service, which sends a :class:`Setup` before any work.
        alive: a descriptor that reaches end of file when the fork server ends.
    """
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    be_nice(NICENESS)
    with suppress(EOFError, OSError):
        setup = pickle.loads(pipe.recv_bytes())  # noqa: S301 - the service's
        logging.configure(setup.log)
        applications = _Applications(setup, _Asking(pipe))
        tidying = Tidying()
        while True:
            started = time.process_time()
            _work(pipe, applications, pickle.loads(pipe.recv_bytes()))  # noqa: S301 - the service's
            if time.process_time() - started > LONG_SECONDS:
                tidying.tidy()


def _end_with(alive: int) -> None:
    """End this process when the fork server ends, even in the middle of a job."""
    os.read(alive, 1)
    os._exit(1)


def _work(pipe: Pipe, applications: _Applications, job: Callable[[Application], Any]) -> None:
    try:
        result = job(applications.of(job))
    except Exception as error:
        # Don't keep the traceback's frames alive.
        error.__traceback__ = error.__context__ = None
        send_error(pipe, error)
    else:
        send(pipe, Kind.RETURNED, result)


@attrs.frozen
class _Applications:
    """The parts of the service, for each partition with a log that is read here."""

    _setup: Setup
    _asking: _Asking
    _made: dict[int, Application] = attrs.field(factory=dict)

    def of(self, job: Callable[[Application], Any]) -> Application:
        """Return the parts that a job needs."""
        number = job.partition if isinstance(job, OfPartition) else self._setup.partition
        if number not in self._made:
            setup = attrs.evolve(self._setup, partition=number)
            self._made[number] = _application(setup, self._asking)
        return self._made[number]


def _application(setup: Setup, asking: _Asking) -> Application:
    return Application(
        store=_Store(setup.database_url, setup.partition, asking),
        keys=setup.keys,
        base_url=lambda: setup.base_url,
        token_lifetime_seconds=setup.token_lifetime_seconds,
        proxies=setup.proxies,
        definitions_changed=lambda tenant_id: asking("definitions_changed", tenant_id),
        runtime=_Runtime(asking),
        replays=_Replays(asking),
    )


@attrs.frozen
class _Asking:
    """The service's inbox, reached over the pipe."""

    _pipe: Pipe
    _turn: threading.Lock = attrs.field(factory=threading.Lock)

    def __call__(self, name: str, *arguments: Any) -> Any:
        with self._turn:
            send(self._pipe, Kind.ASKED, (name, arguments))
            kind, content = receive(self._pipe)
        if kind is Kind.RAISED:
            raise content
        return content


class _Store:
    """The store, read here and written by the service."""

    def __init__(self, url: str, partition: int, asking: _Asking) -> None:
        self._engine = reading_engine(url, partition)
        self._asking = asking

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See :meth:`Store.read <tidegate_server.stores.port.Store.read>`."""
        with translated(), self._engine.connect() as connection:
            yield connection

    def index_now(self) -> None:
        """See :meth:`Store.index_now <tidegate_server.stores.port.Store.index_now>`."""
        self._asking("index_now")

    def learn_now(self) -> None:
        """See :meth:`Store.learn_now <tidegate_server.stores.port.Store.learn_now>`."""
        self._asking("learn_now")

    def write(self, work: Callable[[Connection], T], *, quietly: bool = False) -> Future[T]:
        """See ``Store.write``; done when this returns."""
        done: Future[T] = Future()
        try:
            done.set_result(self._asking("write", work, quietly))
        except Exception as error:
            done.set_exception(error)
        return done


@attrs.frozen
class _Runtime(NoRuntime):
    _asking: _Asking

    def key_forms(self, tenant_id: UUID) -> KeyForms | None:
        found: KeyForms | None = self._asking("key_forms", tenant_id)
        return found

    def state_of(self, tenant_id: UUID, event: bytes, at: int) -> bytes | None:
        state: bytes | None = self._asking("state_of", tenant_id, event, at)
        return state

    def located(self, tenant_id: UUID, event: bytes) -> bytes:
        located: bytes = self._asking("located", tenant_id, event)
        return located

    def located_fields(self) -> frozenset[str]:
        found: frozenset[str] = self._asking("located_fields")
        return found

    def evictions(self, tenant_id: UUID) -> int:
        return int(self._asking("evictions", tenant_id))


@attrs.frozen
class _Replays:
    _asking: _Asking

    def has_room(self) -> bool:
        return bool(self._asking("has_room"))

    def submit(self, job_id: UUID, draft: Draft) -> None:
        self._asking("submit", job_id, draft)
