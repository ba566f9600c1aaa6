"""``tidegate serve``: the service on one machine."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import threading

import attrs
import click
import uvloop

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.cli.settings import settings_options
from tidegate.config import Settings
from tidegate.operators.keys import load_keys
from tidegate.server import logging
from tidegate.server.demo import Demo, make_demo, make_owner
from tidegate.server.process import run
from tidegate.stores import SqliteStore, migrate


@click.command()
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
        store = attrs.evolve(settings.store, directory=directory)
        _serve(attrs.evolve(settings, store=store), is_demo=True, as_json=as_json)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _serve(settings: Settings, *, is_demo: bool, as_json: bool) -> None:
    settings.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    keys = load_keys(settings.directory / "keys")
    migrate(settings.database_url)
    store = SqliteStore(settings.database_url)
    token = make_owner(store, keys) if is_demo else ""

    def started(address: str) -> None:
        if not is_demo:
            _say({"base_url": address}, f"serving on {address}", as_json)
            return
        threading.Thread(target=_present, args=(address, token, as_json), daemon=True).start()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, store, keys, started))


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
