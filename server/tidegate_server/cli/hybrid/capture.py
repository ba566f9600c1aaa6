"""``tidegate capture``: read requests off the network, and drop packets."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from tidegate.cli.inputs import json_logs, text_logs
from tidegate.cli.inputs.errors import UnreadableLineError
from tidegate.cli.output import console, errors, json_option, print_json
from tidegate_server import logging
from tidegate_server.capture.bpf import watched_ports
from tidegate_server.capture.frames import with_checksum
from tidegate_server.capture.running import Capture
from tidegate_server.capture.sources import Interface, PcapWriter
from tidegate_server.cli.hybrid.enforcement import Enforcement
from tidegate_server.cli.hybrid.forwarding import Forwarding
from tidegate_server.daemon import private
from tidegate_server.daemon.home import load
from tidegate_server.enforcement.guard import Guard
from tidegate_server.logging import log
from tidegate_server.settings.environment import home
from tidegate_server.settings.sources import load_settings

if TYPE_CHECKING:
    from tidegate_server.settings.hybrid import CaptureSettings
    from tidegate_server.settings.whole import Settings

CLOSE_SECONDS = 5.0
WHOLE = 0x40000
NAMED_UNREADABLE = 5
"""Unreadable lines are counted; the first ones are shown."""
FORMS: dict[str, Callable[[str], bytes | None]] = {
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
@click.option(
    "--source",
    type=_SOURCES,
    help="Where requests come from: an interface (the default, with `--interface`), or with"
    " `--file` a pcap file or an access log that is followed.",
)
@click.option("--file", "file", help="The file of the source.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    help="How lines of an access log are written; combined without it.",
)
@click.option("--enforce", is_flag=True, help="Drop packets of blocked addresses in the kernel.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Forward nothing, and print each request; with --enforce change nothing, and print who "
    "would be dropped.",
)
@click.option("--stats", is_flag=True, help="Print counts at the end.")
@click.option("--test", "is_test", is_flag=True, help="Read the loopback interface.")
@json_option
def run(
    *,
    form: str | None,
    enforce: bool,
    dry_run: bool,
    stats: bool,
    is_test: bool,
    as_json: bool,
    **given: str | None,
) -> None:
    """Forward requests as events; whatever the service or the network does, capture goes on."""
    settings = _settings(load_settings(), given, is_test=is_test)
    own = settings.capture
    if own.source == "access-log" and given["filter_"] is not None:
        raise click.UsageError("--filter chooses packets, and an access log has none")
    if own.source != "access-log" and form is not None:
        raise click.UsageError("--format is of access logs; give --source access-log and --file")
    if enforce:
        _need_enforceable(settings)
    logging.configure(settings.log)
    if settings.capture.one_sided:
        log.warning("one side of connections is seen: any sender can make up requests of others")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    guard = Guard(settings.capture.guard_share)
    folder = None if dry_run and not enforce else load(home())
    client = None if dry_run or folder is None else Forwarding(settings, folder)
    sends: Any = _Printing() if dry_run and not enforce else client
    made = Capture(
        own,
        sends,
        guard.saw,
        _parser(form or "combined"),
        ended.is_set,
        missing=_say_missing,
        waits=lambda: _say_waiting(own),
    )
    enforcement = None
    if enforce and folder is not None:
        enforcement = Enforcement(settings, folder, guard, is_dry=dry_run)
    _say_source(own)
    try:
        made.run()
    finally:
        if enforcement is not None:
            enforcement.stop()
        if client is not None:
            client.close(CLOSE_SECONDS)
    if made.unreadable:
        errors.print(f"warning: {made.unreadable:,} lines were left out", markup=False)
    if stats:
        said = made.stats()
        if client is not None:
            said["delivery"] = client.counts()
        if enforcement is not None:
            said["enforcement"] = enforcement.said()
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
    source = Interface(settings.capture.interface or "lo", settings.capture.filter, WHOLE)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with open(path, "xb", opener=private.opener) as file:
        writer = PcapWriter(file)
        kept = (frame for frame in source.frames(ended.is_set) if frame is not None)
        written = sum(
            1 for frame in islice(kept, count) if writer.write(with_checksum(frame), time.time_ns())
        )
    errors.print(f"{written} packets", markup=False)


def _settings(settings: Settings, given: dict[str, str | None], *, is_test: bool = False) -> Any:
    changed: dict[str, Any] = {
        name.rstrip("_"): value for name, value in given.items() if value is not None
    }
    if is_test:
        changed |= {"source": "interface", "interface": "lo"}
    made = attrs.evolve(settings, capture=attrs.evolve(settings.capture, **changed))
    own = made.capture
    if own.source == "interface" and own.file:
        raise click.UsageError(
            f"`{own.file}` is not read from an interface: give --source access-log or --source pcap"
        )
    if own.source == "interface" and not own.interface:
        raise click.UsageError(
            "--interface is missing; --test takes the loopback interface, and --source access-log"
            " or pcap a file"
        )
    if own.source != "interface" and not own.file:
        raise click.UsageError(f"--file is missing, which `--source {own.source}` reads")
    if own.source != "interface" and not Path(own.file).is_file():
        raise click.UsageError(f"no such file: `{own.file}`")
    return made


def _need_enforceable(settings: Settings) -> None:
    """Make sure that no sender can get others dropped.

    Raises:
        UsageError: a sender could, or it is unknown what to drop.
    """
    own = settings.capture
    if own.one_sided:
        raise click.UsageError(
            "--enforce needs both sides of each connection, and `capture.one_sided` is set: any"
            " sender could have any address dropped"
        )
    if own.source == "pcap":
        raise click.UsageError("--enforce needs this machine's own traffic, not that of a file")
    if not watched_ports(own.filter):
        raise click.UsageError(
            "--enforce drops packets to the ports that the filter names as destinations, and"
            f" `{own.filter}` names none; write it as `tcp dst port 80`"
        )


def _parser(form: str) -> Callable[[str], bytes]:
    parse = FORMS[form]
    named = 0

    def read(line: str) -> bytes:
        nonlocal named
        try:
            event = parse(line)
            if event is None:
                raise UnreadableLineError("the line isn't about a request")
        except UnreadableLineError as error:
            named += 1
            if named <= NAMED_UNREADABLE:
                errors.print(f"warning: a line is left out: {error}", markup=False)
            raise ValueError(str(error)) from None
        return event

    return read


def _say_source(own: CaptureSettings) -> None:
    match own.source:
        case "interface":
            text = f"reading requests on {own.interface} that match `{own.filter}`"
        case "pcap":
            text = f"reading the requests in {own.file}"
        case "access-log":
            text = f"reading the lines that are added to {own.file}"
    errors.print(text, markup=False)


def _say_waiting(own: CaptureSettings) -> None:
    if own.source == "access-log":
        text = f"no request yet: nothing was added to {own.file} since the start"
    else:
        text = (
            f"no request yet on {own.interface}: requests count that match `{own.filter}`, in"
            " HTTP/1.1 without TLS, on connections that began after the start"
        )
    errors.print(f"warning: {text}", markup=False)


def _say_missing(reason: str) -> None:
    errors.print(f"warning: {reason}; it is read as soon as it can be", markup=False)


class _Printing:
    """Prints the events that would be forwarded."""

    def send(self, event: dict[str, Any]) -> bool:
        print_json(event)
        sys.stdout.flush()
        return True
