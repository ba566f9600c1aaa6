"""``tidegate serve``: the service on one machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
import uvloop

from tidegate.cli.output import console, errors, json_option, print_json, report_failure
from tidegate.errors import TidegateError
from tidegate_server import logging
from tidegate_server.cli.service.settings import SettingsCommand, settings_options, unusable
from tidegate_server.cli.service.signing_in import console_lines, console_of
from tidegate_server.cli.service.usable import need_usable
from tidegate_server.demo import Demo, make_demo, make_owner
from tidegate_server.demo_traffic import RATE, SEED, send_traffic
from tidegate_server.directory.opening import open_directory, own_directory
from tidegate_server.directory.partitions import claim_partition, need_partitions
from tidegate_server.logging import log
from tidegate_server.operators.keys import Keys
from tidegate_server.partitions.parent import Parent
from tidegate_server.partitions.slot import Slot, make_inboxes
from tidegate_server.process import load_program, loaded_program, reserve, run
from tidegate_server.settings.whole import Settings
from tidegate_server.stores import databases
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import open_store
from tidegate_server.stores.directory.lock import Lock
from tidegate_server.stores.index.catalog import Bounds
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.port import Store

if TYPE_CHECKING:
    from tidegate_server.stores.directory.claims import Claim
    from tidegate_server.stores.directory.lock import Holder
    from tidegate_server.workers.fork_server import ForkServer

NO_TENANT = "no tenant is here yet"
NEXT_STEPS = """\
In another terminal, with the same settings:
  tidegate operator create EMAIL
  export TIDEGATE_URL={url} TIDEGATE_TOKEN=$(tidegate operator token EMAIL)
  tidegate tenant create NAME
  tidegate api-key create NAME
or stop this server, and `tidegate init --server` does all of it, with a first policy."""


@click.command(cls=SettingsCommand)
@settings_options
@click.option(
    "--demo",
    is_flag=True,
    help="Serve a tenant with sample definitions from a temporary directory, and print an API "
    "key, an Owner's token and calls to try.",
)
@click.option(
    "--demo-traffic/--no-demo-traffic",
    default=None,
    help="Whether the demonstration sends itself generated traffic with attacks in it.",
    show_default="demo-traffic",
)
@json_option
def serve(settings: Settings, demo: bool, demo_traffic: bool | None, as_json: bool) -> None:
    """Serve decisions and their control plane over HTTP."""
    if demo_traffic is not None and not demo:
        raise click.UsageError("--demo-traffic and --no-demo-traffic need --demo")
    logging.configure(settings.log)
    if not demo:
        _serve(settings, as_json=as_json)
        return
    _need_own_data(settings)
    directory = tempfile.mkdtemp(prefix="tidegate-demo-")
    try:
        store = attrs.evolve(settings.store, directory=directory)
        made = attrs.evolve(settings, store=store)
        _serve(made, is_demo=True, has_traffic=demo_traffic is not False, as_json=as_json)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _need_own_data(settings: Settings) -> None:
    """Reject settings of a place that a demonstration wouldn't use."""
    default = Settings()
    for name, is_set in (
        ("store.directory", settings.store.directory != default.store.directory),
        ("store.url", settings.store.url != default.store.url),
        ("node.name", settings.node.name != default.node.name),
    ):
        if is_set:
            # Without its value, since that of the database may hold a password.
            reason = "a demonstration keeps its data in a temporary directory; unset it"
            raise unusable(name, None, reason)


def _serve(
    settings: Settings, *, as_json: bool, is_demo: bool = False, has_traffic: bool = False
) -> None:
    need_usable(settings)
    if settings.node.name:
        with loaded_program() as fork_server:
            _serve_node(settings, fork_server, as_json)
        return
    waits = _say_waiting if settings.store.wait_for_lock else None
    # Before anything in the directory is read, and before the port is opened.
    url = settings.store.url
    lock = own_directory(settings.directory, waits, url)
    try:
        keys = open_directory(settings.directory, lock, url)
        if url:
            _need_one_partition(settings)
        count = 1 if url else need_partitions(settings.directory, settings.server.workers)
        serving = _Serving(
            settings, keys, lock, is_demo=is_demo, has_traffic=has_traffic, as_json=as_json
        )
        try:
            if count == 1:
                with loaded_program() as fork_server:
                    _serve_all(serving, fork_server)
            else:
                _serve_partitions(serving, count)
        finally:
            serving.stopped.set()
    finally:
        lock.release()


def _need_one_partition(settings: Settings) -> None:
    """Reject a database with partitions that only nodes manage."""
    count = databases.need_partitions(settings.store.url, settings.store.partitions)
    if count > 1:
        reason = (
            f"the database has {count} partitions, which nodes decide for; give this one a name"
        )
        raise unusable("node.name", None, reason)


@attrs.frozen(kw_only=True)
class _Serving:
    """The service to run, and how to announce it."""

    settings: Settings = attrs.field(kw_only=False)
    keys: Keys = attrs.field(kw_only=False)
    lock: Lock | Claim = attrs.field(kw_only=False)
    is_demo: bool
    has_traffic: bool
    as_json: bool
    stopped: threading.Event = attrs.field(factory=threading.Event)
    """Set when the server has stopped, which ends the generated traffic."""

    def store(self, lock: Lock | Claim | None, **more: Any) -> Store:
        """Open the store."""
        catalog = self.settings.catalog
        return open_store(
            self.settings.database_url,
            lock=lock,
            catalog=Bounds(names=catalog.names, bytes=catalog.memory_mib * 1024 * 1024),
            standby=self.settings.store.standby,
            **more,
        )

    def greeting(self, store: Store) -> Callable[[str], None]:
        """Called once the address accepts connections."""
        token = make_owner(store, self.keys) if self.is_demo else ""
        is_empty = not self.is_demo and _has_no_tenant(store)

        def started(address: str) -> None:
            self.lock.describe(address)
            if is_empty:
                steps = NEXT_STEPS.format(url=address)
                if logging.is_text(self.settings.log):
                    errors.print(f"{NO_TENANT}. {steps}", markup=False)
                else:
                    log.info(NO_TENANT, next=steps.splitlines())
            if not self.is_demo:
                say_address(self.settings, address, as_json=self.as_json)
                return
            present = (self, address, token)
            threading.Thread(target=_present, args=present, daemon=True).start()

        return started


def _serve_all(serving: _Serving, fork_server: ForkServer) -> None:
    """Serve in this process."""
    ended: list[StoreUnavailableError] = []

    def end(error: StoreUnavailableError) -> None:
        # The store rejects work in progress; the next owner reads the log.
        ended.append(error)
        log.error("this process is no longer the owner, and stops", error=str(error))
        os.kill(os.getpid(), signal.SIGTERM)

    store = serving.store(serving.lock, ended=end)
    _run(serving, store, fork_server, serving.greeting(store))
    if ended:
        raise ended[0]


def _serve_node(settings: Settings, fork_server: ForkServer, as_json: bool) -> None:
    """Serve as one of several nodes that take turns owning the database."""
    keys = open_directory(settings.directory, None, settings.store.url)
    # Nodes need PostgreSQL's libraries.
    from tidegate_server.nodes.node import run_node

    def started(address: str) -> None:
        say_address(settings, address, as_json=as_json)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run_node(settings, keys, fork_server, started))


def _serve_partitions(serving: _Serving, count: int) -> None:
    """Serve in one process per partition."""
    settings, directory = serving.settings, serving.settings.directory
    lock = serving.lock
    assert isinstance(lock, Lock)
    lock.share()
    reserved = reserve(settings.server)
    paths, inboxes = make_inboxes(directory, count)
    # The partition with the demonstration is written; otherwise the first one is only read.
    first = claim_partition(directory, 0, lambda _: None) if serving.is_demo else None
    store = serving.store(first)
    started = serving.greeting(store)
    store.close()
    is_shared = bool(settings.server.unix_socket)
    port = 0 if is_shared else reserved.getsockname()[1]
    load_program()

    def work(number: int, fork_server: ForkServer, said: Callable[[str], None]) -> None:
        shared = reserved if is_shared else None
        slot = Slot(number, paths, inboxes[number], shared, port)
        try:
            owned = claim_partition(directory, number, lambda _: None)
            _run(serving, serving.store(owned, partition=number), fork_server, said, slot)
        except TidegateError as error:
            report_failure(error)
            sys.exit(1)

    code = Parent(count, work, started).run()
    reserved.close()
    for path in [*paths, *([settings.server.unix_socket] if is_shared else [])]:
        Path(path).unlink(missing_ok=True)
    if code:
        sys.exit(code)


def _run(
    serving: _Serving,
    store: Store,
    fork_server: ForkServer,
    started: Callable[[str], None],
    slot: Slot | None = None,
) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(serving.settings, store, serving.keys, fork_server, started, slot))


def _has_no_tenant(store: Store) -> bool:
    with store.read() as connection:
        return not tenants.page(connection, 1)


def _say_waiting(holder: Holder) -> None:
    log.info("waiting for the data directory", holder=str(holder))


def say_address(settings: Settings, address: str, *, as_json: bool) -> None:
    """Print where the service and its console are, and how to log in there."""
    document = {"base_url": address, "console": console_of(settings, address)}
    lines = [f"serving on {address}", *console_lines(settings, address)]
    _say(document, "\n".join(lines), as_json)


def _present(serving: _Serving, address: str, token: str) -> None:
    """Create the demonstration's tenant, print how to call the service, and send traffic."""
    try:
        demo = make_demo(address, token, has_traffic=serving.has_traffic)
    except (OSError, RuntimeError) as error:
        errors.print(f"error: the demonstration could not be made: {error}", markup=False)
        return
    page = console_of(serving.settings, address)
    printed = attrs.asdict(demo, filter=lambda member, _: member.name != "traffic_api_key")
    _say(printed, invitation(demo, console_page=page), serving.as_json)
    if demo.traffic_api_key:
        send_traffic(address, demo.traffic_api_key, SEED, serving.stopped)


def invitation(demo: Demo, *, console_page: str | None) -> str:
    """Say how to call the demonstration, and where its console is if one was built."""
    # Of six hours, the default, the first minutes would be a thin bar.
    time_range = "range=15m&" if demo.traffic_api_key else ""
    page = f"{console_page}#{time_range}access_token={demo.owner_token}"
    lines = [
        f"serving on {demo.base_url}, with data in a temporary directory; stop with Ctrl-C",
        "",
        f"tenant       {demo.tenant_id}",
        f"API key      {demo.api_key}",
        f"Owner token  {demo.owner_token}",
        f"console      {page if console_page else 'not built; in a checkout, run: make console'}",
        f"traffic      {_traffic(demo)}",
        "",
        "one event in, one decision out:",
        *("\n" + line for line in demo.curl_lines()),
    ]
    return "\n".join(lines)


def _traffic(demo: Demo) -> str:
    if not demo.traffic_api_key:
        return "only the events that you send"
    return f"generated, with attacks in it, {RATE}; --no-demo-traffic leaves it out"


def _say(document: object, text: str, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        console.print(text, markup=False)
    sys.stdout.flush()
