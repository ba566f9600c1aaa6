"""``tidegate capture``: requests off the network, and packets refused."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from tidegate.capture.running import Capture
from tidegate.capture.sources import Interface, PcapWriter
from tidegate.cli.inputs import json_logs, text_logs
from tidegate.cli.inputs.event import UnreadableLineError
from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.client import Batching, Client
from tidegate.client.transport import Transport
from tidegate.daemon.home import load
from tidegate.daemon.origin import Origin
from tidegate.enforcement.enforcing import Enforcing
from tidegate.enforcement.guard import Guard
from tidegate.enforcement.nftables import Firewall, FirewallError
from tidegate.server import logging
from tidegate.settings import home, load_settings

if TYPE_CHECKING:
    from tidegate.daemon.home import Home
    from tidegate.settings import Settings

CLOSE_SECONDS = 5.0
FORMS: dict[str, Callable[[str], bytes]] = {
    "combined": text_logs.nginx,
    "caddy": json_logs.caddy,
}
_SOURCES = click.Choice(["interface", "pcap", "access-log"])


@click.group()
def capture() -> None:
    """Read requests off the network or out of access logs."""


@capture.command()
@click.option("--interface", help="Interface to read from.")
@click.option("--filter", "filter_", help="Which packets to look at, as `tcp dst port 80`.")
@click.option("--source", type=_SOURCES, help="Where requests come from.")
@click.option("--file", "file", help="The file of the source.")
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="combined")
@click.option("--enforce", is_flag=True, help="Drop packets of blocked addresses in the kernel.")
@click.option("--dry-run", is_flag=True, help="Forward nothing, and print each request.")
@click.option("--stats", is_flag=True, help="Print counts at the end.")
@click.option("--test", "is_test", is_flag=True, help="Read the loopback interface.")
@json_option
def run(
    *,
    form: str,
    enforce: bool,
    dry_run: bool,
    stats: bool,
    is_test: bool,
    as_json: bool,
    **given: str | None,
) -> None:
    """Forward requests as events; whatever the service or the network does, capture goes on."""
    settings = _settings(load_settings(), given, is_test=is_test)
    logging.configure(settings.log)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    guard = Guard(settings.capture.guard_share)
    folder = None if dry_run and not enforce else load(home())
    client = None if dry_run or folder is None else _client(settings, folder)
    sends: Any = _Printing() if dry_run else client
    made = Capture(settings.capture, sends, guard.saw, _parser(form), ended.is_set)
    following = _enforce(settings, folder, guard) if enforce and folder is not None else None
    try:
        made.run()
    finally:
        if following is not None:
            following.stop(keep=settings.capture.keep_set)
        if client is not None:
            client.close(CLOSE_SECONDS)
    if stats:
        said = made.stats()
        if client is not None:
            said["delivery"] = attrs.asdict(client.counts)
        if as_json:
            print_json(said)
        else:
            for name, value in said.items():
                console.print(f"{name}: {value}", markup=False)


@capture.command()
@click.option("--interface", help="Interface to read from.")
@click.option("--filter", "filter_", help="Which packets to keep, as `tcp dst port 80`.")
@click.option("--count", type=click.IntRange(1), help="End after as many packets.")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
def record(path: Path, interface: str | None, filter_: str | None, count: int | None) -> None:
    """Write packets to PATH as a pcap file, until Ctrl-C."""
    settings = _settings(load_settings(), {"interface": interface, "filter_": filter_})
    source = Interface(settings.capture.interface or "lo", settings.capture.filter)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with path.open("xb") as file:
        path.chmod(0o600)
        writer = PcapWriter(file)
        kept = (frame for frame in source.frames(ended.is_set) if frame is not None)
        written = sum(1 for frame in islice(kept, count) if writer.write(frame, time.time_ns()))
    errors.print(f"{written} packets", markup=False)


def _settings(settings: Settings, given: dict[str, str | None], *, is_test: bool = False) -> Any:
    changed: dict[str, Any] = {
        name.rstrip("_"): value for name, value in given.items() if value is not None
    }
    if is_test:
        changed |= {"source": "interface", "interface": "lo"}
    made = attrs.evolve(settings, capture=attrs.evolve(settings.capture, **changed))
    own = made.capture
    if own.source == "interface" and not own.interface:
        raise click.UsageError("--interface is missing; --test takes the loopback interface")
    if own.source != "interface" and not own.file:
        raise click.UsageError(f"--file is missing, which `--source {own.source}` reads")
    return made


def _parser(form: str) -> Callable[[str], bytes]:
    parse = FORMS[form]

    def read(line: str) -> bytes:
        try:
            return parse(line)
        except UnreadableLineError as error:
            raise ValueError(str(error)) from None

    return read


def _client(settings: Settings, folder: Home) -> Client:
    return Client(
        settings.remote.url,
        folder.api_key,
        allow_http=settings.daemon.allow_http,
        batching=Batching(queue_events=settings.capture.queue),
    )


class _Printing:
    """Prints the events that would be forwarded."""

    def send(self, event: dict[str, Any]) -> bool:
        print_json(event)
        sys.stdout.flush()
        return True


class _Following:
    """The enforcement, on a thread of its own."""

    def __init__(self, settings: Settings, folder: Home, guard: Guard) -> None:
        self._settings, self._folder = settings, folder
        self._firewall = Firewall()
        self._firewall.set_up()
        self._guard = guard
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tidegate-enforce", daemon=True)
        self._thread.start()

    def stop(self, *, keep: bool) -> None:
        """Follow no more; remove the sets unless they are kept."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(CLOSE_SECONDS)
        if keep:
            return
        try:
            self._firewall.remove()
        except FirewallError as error:
            errors.print(f"error: {error}", markup=False)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(self._follow())
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)

    async def _follow(self) -> None:
        remote = self._settings.remote
        transport = Transport(
            remote.url,
            self._folder.api_key,
            tls=None,
            allow_http=self._settings.daemon.allow_http,
        )
        try:
            origin = Origin(transport, self._folder.tenant_id, self._folder.public_key)
            await Enforcing(origin, self._firewall, self._guard).run()
        finally:
            await transport.close()


def _enforce(settings: Settings, folder: Home, guard: Guard) -> _Following:
    return _Following(settings, folder, guard)
