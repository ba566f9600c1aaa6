"""The server process: sockets, uvicorn, and a stop that finishes what was accepted."""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import uvicorn

from tidegate.edge.addresses import TrustedProxies
from tidegate.errors import TidegateError
from tidegate_server.asgi import hot_handlers
from tidegate_server.connection.bounds import Bounds, room_for
from tidegate_server.connection.handshakes import Handshakes
from tidegate_server.connection.protocol import Protocol, Shared, close_late_connections
from tidegate_server.connection.traced import TracedApplication
from tidegate_server.hot.metrics import add_to_process
from tidegate_server.http.application import HttpApplication
from tidegate_server.logging import log
from tidegate_server.workers.tidying import give_back_memory

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.application import Handler
    from tidegate_server.operators.keys import Keys
    from tidegate_server.partitions.slot import Slot
    from tidegate_server.service import Service
    from tidegate_server.settings.service import ServerSettings
    from tidegate_server.settings.whole import Settings
    from tidegate_server.stores.port import Store
    from tidegate_server.telemetry.trace_context import Tracer
    from tidegate_server.workers.fork_server import ForkServer

BACKLOG = 2_048
ACCEPTED_AT_ONCE = 64
"""Connections accepted in one turn of the loop: libuv accepts one per listening socket."""
SWITCH_SECONDS = 0.0005
"""How long a thread may run Python while the loop waits for the interpreter."""
MOST_HANDSHAKES, TLS_SECONDS = 1_024, 10.0
"""Limits on connections before TLS, and on the time for it: distant visitors need some."""
KEEP_ALIVE_SECONDS = 20
"""How long an idle connection is kept; proxies in front keep theirs for a shorter time."""


class ListenError(TidegateError):
    """The server can't listen on its address."""

    code = "cannot-listen"


class Server(uvicorn.Server):
    """Uvicorn's server, with callbacks when it accepts connections, and when it ends."""

    def __init__(
        self,
        config: uvicorn.Config,
        started: Callable[[], None],
        stopping: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._started = started
        self._stopping = stopping
        self._handshakes: Handshakes | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replace uvicorn's handling, which raises the signal again afterwards.

        That would end the process before the states are saved.
        """
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self.config.ssl is None or not sockets:
            await super().startup(sockets)
        else:
            await super().startup([])
            self._handshakes = Handshakes(
                sockets[0], self.config.ssl, self._connection, MOST_HANDSHAKES, TLS_SECONDS
            )
            self._handshakes.start()
        self._started()

    def end(self) -> None:
        """End the serving soon."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        if self._handshakes is not None:
            self._handshakes.close()
        await super().shutdown(sockets)

    def _connection(self) -> Protocol:
        make: Any = self.config.http_protocol_class
        made: Protocol = make(config=self.config, server_state=self.server_state, app_state={})
        return made


async def run(
    settings: Settings,
    store: Store,
    keys: Keys,
    fork_server: ForkServer,
    started: Callable[[str], None],
    slot: Slot | None = None,
) -> None:
    """Serve until the process gets a stop signal.

    Args:
        settings: of the process.
        store: open and migrated; closed at the end.
        keys: the key material.
        fork_server: of the worker processes.
        started: called with the address once connections are accepted.
        slot: a server worker's; None if this process is the only one.

    Raises:
        ListenError: it can't listen on the address.
    """
    from tidegate_server.telemetry.exporting import exporting

    instance = "0" if slot is None else str(slot.number)
    async with exporting(settings.telemetry, instance, add_to_process) as tracer:
        await _serve(settings, store, keys, fork_server, started, slot, tracer)


async def _serve(
    settings: Settings,
    store: Store,
    keys: Keys,
    fork_server: ForkServer,
    started: Callable[[str], None],
    slot: Slot | None,
    tracer: Tracer | None,
) -> None:
    # A daemon listens as the service does, but should not hold the service in memory.
    from tidegate_server.partitions.worker import Worker
    from tidegate_server.service import Service
    from tidegate_server.workers.pools import WorkerPools

    listening = listen(settings.server) if slot is None else take_seat(settings.server, slot)
    address = address_of(settings.server, listening)
    worker = None if slot is None else Worker(slot, settings.database_url)
    pools = WorkerPools(settings, keys, address, fork_server, store.partition)
    peers = None if worker is None else worker.peers
    service = Service(settings, store, keys, address, pools, peers)
    try:
        hot = await service.start()
        shared = Shared(
            hot if worker is None else worker.hot_paths(hot),
            bounds_of(settings.server),
            proxies_of(settings.server),
            service.application.accept_limit,
            tracer,
        )
        application: ASGIApp = application_of(hot, service, behind(settings, service))
        if worker is not None:
            application = await worker.open(service, application, hot)

        def stopping() -> None:
            service.feed.answer_now()
            if worker is not None:
                worker.answer_now()

        server = Server(
            configuration(settings.server, application, shared),
            lambda: started(address),
            stopping,
        )
        service.watch(close_late_connections(server.server_state.connections))
        if worker is not None:
            # Without it calls would wait for ever; the parent starts another worker.
            service.watch(worker.run()).add_done_callback(lambda _: server.end())
        settle_interpreter()
        await server.serve(sockets=accepting(listening))
        if worker is not None:
            await worker.drain(settings.server.drain_seconds)
    finally:
        await service.stop()
        if worker is not None:
            await worker.close()
        listening.close()
        if settings.server.unix_socket and slot is None:
            with suppress(OSError):
                Path(settings.server.unix_socket).unlink()


@contextmanager
def loaded_program() -> Iterator[ForkServer]:
    """Load the program and fork the fork server of its workers, which ends with the context.

    Call this before the process has a second thread.
    """
    from tidegate_server.workers.fork_server import ForkServer

    load_program()
    with closing(ForkServer()) as fork_server:
        yield fork_server


def load_program() -> None:
    """Load everything that serving needs, and create state common to all processes forked later."""
    from tidegate_server import service
    from tidegate_server.console import pages
    from tidegate_server.partitions import worker
    from tidegate_server.routing import dispatch

    _ = service, pages, worker, dispatch
    # The parent's memory stays shared only as long as no collection touches it.
    gc.collect()
    gc.freeze()


def behind(settings: Settings, service: Service) -> dict[str, Handler]:
    """Return the handlers of the control plane and the console, by their paths."""
    from tidegate_server.console.files import built, load
    from tidegate_server.console.pages import console_handlers
    from tidegate_server.routing.dispatch import control_plane, nothing

    found = control_plane(service.application)
    if settings.console.enabled:
        found |= console_handlers(load(built()), nothing(service.application))
    return found


def application_of(
    hot: HotPath, service: Service, handlers: Mapping[str, Handler]
) -> HttpApplication:
    """Return the application that answers all requests of a service.

    Args:
        hot: the hot path of the service.
        service: started.
        handlers: of :func:`behind`.
    """
    from tidegate_server.routing.dispatch import nothing

    every = {**handlers, **service.handlers(), **hot_handlers(hot)}
    return HttpApplication(every, nothing(service.application))


def accepting(listening: socket.socket) -> list[socket.socket]:
    """Duplicate a bound socket's descriptor; each accepts one connection a turn.

    With one descriptor a caller who opens 700 connections at once keeps all others from theirs for
    as many turns.
    """
    return [listening, *(listening.dup() for _ in range(ACCEPTED_AT_ONCE - 1))]


def settle_interpreter() -> None:
    """Set up the interpreter for a loop on which many calls wait."""
    settle_garbage()
    # Each time the loop releases the interpreter, a thread that takes it keeps it this long.
    sys.setswitchinterval(SWITCH_SECONDS)


def settle_garbage() -> None:
    """Exclude the present objects from cyclic collection, and collect less often.

    A request creates hardly any cycles; definitions are large, and a collection that visits them
    delays every waiting request. So does a collection of many new objects: 10,000 take some 4 ms.
    """
    gc.collect()
    give_back_memory()
    gc.freeze()
    gc.set_threshold(10_000, 100, 50)


def bounds_of(settings: ServerSettings) -> Bounds:
    """Return the bounds of connections, as far as the process can open them."""
    most = room_for(settings.max_connections)
    return Bounds(most, min(most, settings.max_connections_per_address))


def proxies_of(settings: ServerSettings) -> TrustedProxies:
    """Return the trusted proxies; the log reports a proxy in front that isn't among them."""
    if settings.behind_proxy and not settings.proxies:
        log.warning(
            "all callers behind the proxy count as one: name it in `server.trusted_proxies`"
        )
    return TrustedProxies.of(settings.proxies)


def configuration(settings: ServerSettings, application: Any, shared: Shared) -> uvicorn.Config:
    """Return uvicorn's settings.

    Args:
        settings: the server's.
        application: answers all but hot calls.
        shared: the state shared by the connections.
    """
    return uvicorn.Config(
        TracedApplication(application, shared.tracer),
        http=cast("type[Protocol]", partial(Protocol, shared)),
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(settings.drain_seconds)),
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
    )


def listen(settings: ServerSettings) -> socket.socket:
    """Return the bound socket.

    Raises:
        ListenError: it can't be bound.
    """
    try:
        if settings.unix_socket:
            path = Path(settings.unix_socket)
            if path.is_socket():
                path.unlink()
            made = socket.socket(socket.AF_UNIX)
            made.bind(str(path))
            path.chmod(0o600)
        else:
            family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
            made = socket.socket(family)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((settings.host, settings.port))
    except OSError as error:
        place = settings.unix_socket or f"{settings.host}:{settings.port}"
        raise ListenError(
            f"cannot listen on {place}: {error.strerror or error}; choose another with"
            " --host and --port"
        ) from None
    made.listen(BACKLOG)
    made.setblocking(False)
    return made


def reserve(settings: ServerSettings) -> socket.socket:
    """Reserve the address for server workers, with a socket in their parent.

    On a port it doesn't listen: each worker has its own socket there, and the kernel distributes
    connections among those that listen. A Unix socket listens, and all workers share it.

    Raises:
        ListenError: it can't be bound.
    """
    if settings.unix_socket:
        return listen(settings)
    # Otherwise it would share a port with another server of the same user, unnoticed.
    alone = listen(settings)
    port = alone.getsockname()[1]
    alone.close()
    return _bound(settings, port)


def take_seat(settings: ServerSettings, slot: Slot) -> socket.socket:
    """Return the socket on which a server worker will accept connections."""
    return _bound(settings, slot.port) if slot.shared is None else slot.shared


def _bound(settings: ServerSettings, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((settings.host, port))
    made.setblocking(False)
    return made


def address_of(settings: ServerSettings, listening: socket.socket) -> str:
    """Return the address that the server is reached by, without a trailing slash."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    if settings.unix_socket:
        return "http://localhost"
    scheme = "https" if settings.tls_certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{listening.getsockname()[1]}"
