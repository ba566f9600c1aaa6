"""``tidegate serve``: the service on one machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import threading
from typing import TYPE_CHECKING

import attrs
import click
import uvloop

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.cli.service.settings import SettingsCommand, settings_options
from tidegate.cli.service.usable import need_usable
from tidegate.config import Settings
from tidegate.operators.keys import Keys
from tidegate.server import logging
from tidegate.server.demo import Demo, make_demo, make_owner
from tidegate.server.directory.opening import open_directory, own_directory
from tidegate.server.logging import log
from tidegate.server.process import run
from tidegate.stores import Store, StoreUnavailableError, open_store
from tidegate.stores.index.catalog import Bounds
from tidegate.stores.objects import tenants

if TYPE_CHECKING:
    from tidegate.stores.directory.claims import Claim
    from tidegate.stores.directory.lock import Holder, Lock

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
@json_option
def serve(settings: Settings, demo: bool, as_json: bool) -> None:
    """Serve decisions and their control plane over HTTP."""
    logging.configure(settings.log)
    if not demo:
        _serve(settings, is_demo=False, as_json=as_json)
        return
    directory = tempfile.mkdtemp(prefix="tidegate-demo-")
    try:
        store = attrs.evolve(settings.store, directory=directory, url="")
        _serve(attrs.evolve(settings, store=store), is_demo=True, as_json=as_json)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _serve(settings: Settings, *, is_demo: bool, as_json: bool) -> None:
    need_usable(settings)
    if settings.node.name:
        _serve_node(settings, as_json)
        return
    waits = _say_waiting if settings.store.wait_for_lock else None
    # Before anything of the directory is read, and before the port is opened.
    url = settings.store.url
    lock = own_directory(settings.directory, waits, url)
    ended: list[StoreUnavailableError] = []

    def end(error: StoreUnavailableError) -> None:
        # What is under way is refused by the store; the next owner reads the log.
        ended.append(error)
        log.error("this process is the owner no more, and stops", error=str(error))
        os.kill(os.getpid(), signal.SIGTERM)

    try:
        keys = open_directory(settings.directory, lock, url)
        catalog = Bounds(
            names=settings.catalog.names, bytes=settings.catalog.memory_mib * 1024 * 1024
        )
        store = open_store(
            settings.database_url,
            lock=lock,
            catalog=catalog,
            standby=settings.store.standby,
            ended=end,
        )
        _run(settings, store, keys, lock, is_demo=is_demo, as_json=as_json)
    finally:
        lock.release()
    if ended:
        raise ended[0]


def _serve_node(settings: Settings, as_json: bool) -> None:
    """Serve as one of several nodes, which own the database alternately."""
    keys = open_directory(settings.directory, None, settings.store.url)
    # The libraries of nodes are those of PostgreSQL.
    from tidegate.server.nodes.node import run_node

    def started(address: str) -> None:
        _say({"base_url": address}, f"serving on {address}", as_json)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run_node(settings, keys, started))


def _run(
    settings: Settings,
    store: Store,
    keys: Keys,
    lock: Lock | Claim,
    *,
    is_demo: bool,
    as_json: bool,
) -> None:
    token = make_owner(store, keys) if is_demo else ""

    is_empty = not is_demo and _has_no_tenant(store)

    def started(address: str) -> None:
        lock.describe(address)
        if is_empty:
            steps = NEXT_STEPS.format(url=address)
            if logging.is_text(settings.log):
                errors.print(f"{NO_TENANT}. {steps}", markup=False)
            else:
                log.info(NO_TENANT, next=steps.splitlines())
        if not is_demo:
            _say({"base_url": address}, f"serving on {address}", as_json)
            return
        threading.Thread(target=_present, args=(address, token, as_json), daemon=True).start()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, store, keys, started))


def _has_no_tenant(store: Store) -> bool:
    with store.read() as connection:
        return not tenants.page(connection, 1)


def _say_waiting(holder: Holder) -> None:
    log.info("waiting for the data directory", holder=str(holder))


def _present(address: str, token: str, as_json: bool) -> None:
    """Make the demonstration's tenant and print how to call the service."""
    try:
        demo = make_demo(address, token)
    except (OSError, RuntimeError) as error:
        errors.print(f"error: the demonstration could not be made: {error}", markup=False)
        return
    _say(attrs.asdict(demo), _invitation(demo), as_json)


def _invitation(demo: Demo) -> str:
    lines = [
        f"serving on {demo.base_url}, with data in a temporary directory; stop with Ctrl-C",
        "",
        f"tenant       {demo.tenant_id}",
        f"API key      {demo.api_key}",
        f"Owner token  {demo.owner_token}",
        f"console      {demo.base_url}/console/#access_token={demo.owner_token}",
        "",
        "one event in, one decision out:",
        *("\n" + line for line in demo.curl_lines()),
    ]
    return "\n".join(lines)


def _say(document: object, text: str, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        console.print(text, markup=False)
    sys.stdout.flush()
