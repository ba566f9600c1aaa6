"""``tidegate play``: definitions and events on a local page."""

from __future__ import annotations

import gzip
import secrets
import socket
from contextlib import suppress
from importlib import resources
from itertools import islice
from pathlib import Path

import click
import uvicorn

from tidegate.cli.inputs.events import Source, read_events
from tidegate.cli.output import console, errors
from tidegate.policy.document.tree import MAX_BYTES
from tidegate_server.console.files import Asset, built, load
from tidegate_server.play.application import Play
from tidegate_server.play.evaluation import Question

SHOWN_EVENTS, SHOWN_BYTES = 1_000, 1024 * 1024
"""Most events of a file that the page begins with, and their size."""


@click.command()
@click.argument("definitions", metavar="[FILE]", type=click.Path(path_type=Path), required=False)
@click.argument("events", required=False)
@click.option("--port", default=0, type=click.IntRange(0, 65_535), help="By default a free one.")
def play(definitions: Path | None, events: str | None, port: int) -> None:
    """Try definitions on events on a page of this machine, as you type.

    FILE is a definitions document, EVENTS events or an access log; without them the page begins
    with samples. Nothing is stored or sent: the page listens on 127.0.0.1 alone.
    """
    assets = load(built())
    page = built() / "play.html"
    if assets is None or not page.exists():
        raise click.ClickException("the page isn't built; in a checkout, run: make console")
    start = Question(_definitions(definitions), _events(events))
    with socket.create_server(("127.0.0.1", port)) as listener:
        bound = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        hosts = [f"127.0.0.1:{bound}", f"localhost:{bound}"]
        application = Play(assets, Asset.read(page), hosts, token, start).application()
        address = f"http://127.0.0.1:{bound}/#token={token}"
        console.print(f"{address}\nstop with Ctrl-C", markup=False, soft_wrap=True)
        config = uvicorn.Config(application, log_level="error", timeout_graceful_shutdown=1)
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has stopped
            uvicorn.Server(config).run(sockets=[listener])


def _definitions(path: Path | None) -> str:
    if path is None:
        return resources.files("tidegate.samples").joinpath("definitions.yaml").read_text()
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise click.ClickException(f"{path} has more than {MAX_BYTES:,} bytes")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path} can't be read: {error}") from None


def _events(name: str | None) -> str:
    if name is None:
        packed = resources.files("tidegate.samples").joinpath("traffic.jsonl.gz").read_bytes()
        return "\n".join(gzip.decompress(packed).decode().splitlines()[:SHOWN_EVENTS])
    lines: list[str] = []
    size = refused = 0
    for line in islice(read_events(Source(name)), SHOWN_EVENTS + 1):
        size += len(line.text)
        if len(lines) == SHOWN_EVENTS or size > SHOWN_BYTES:
            errors.print(f"the page has the first {len(lines):,} events of {name}", markup=False)
            break
        if line.error is None:
            lines.append(line.text.decode())
        else:
            refused += 1
    if refused:
        errors.print(f"{refused:,} lines of {name} were refused and left out", markup=False)
    return "\n".join(lines)
