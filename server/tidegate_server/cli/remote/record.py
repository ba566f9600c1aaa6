"""``tidegate record``: a test of policies from a recorded decision."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import attrs
import click

from tidegate.cli.documents import read_definitions
from tidegate.cli.output import errors, write_file
from tidegate.cli.remote import Remote
from tidegate.definitions import parse_definitions
from tidegate.functions.time import timestamp_text
from tidegate.policy.document.yaml_text import write_yaml
from tidegate.values import Timestamp
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.records.recording import DAY_NS, MAX_EVENTS, test_of
from tidegate_server.settings.outbound import RemoteSettings

if TYPE_CHECKING:
    from uuid import UUID


@click.command()
@click.option("--decision", "decision_id", type=click.UUID, required=True, help="Its id.")
@click.option(
    "--definitions",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("definitions.yaml"),
    show_default=True,
    help="The file of the definitions under test; written from the tenant's if it doesn't exist.",
)
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file to write; standard output when left out.",
)
@remote_options
def record(remote: RemoteSettings, decision_id: UUID, definitions: Path, to: Path | None) -> None:
    """Write a test from a recorded decision, with the events that its windows needed.

    The test is run before it is written, and must come to the same decision.
    """
    if to is not None and to.exists():
        raise click.UsageError(f"`{to}` exists")
    service = Remote(remote)
    tenant = f"tenants/{service.tenant_id()}"
    log = _Log(service, tenant)
    decision = log.read(str(decision_id))
    exported = None
    if definitions.exists():
        source = read_definitions(str(definitions))
    else:
        exported = write_yaml(service.call("GET", f"{tenant}/definitions"))
        source = parse_definitions(exported)
    text = test_of(
        log,
        decision,
        source,
        Path(os.path.relpath(definitions, Path() if to is None else to.parent)).as_posix(),
        to or Path("recorded.yaml"),
    )
    if exported is not None:
        write_file(definitions, exported.encode())
        errors.print(f"wrote {definitions} from the tenant's definitions", markup=False)
    if to is None:
        click.echo(text, nl=False)
    else:
        write_file(to, text.encode())


@attrs.frozen
class _Log:
    """The recorded decisions of a tenant, by calls."""

    _service: Remote
    _tenant: str

    def read(self, decision_id: str) -> dict[str, Any]:
        decision: dict[str, Any] = self._service.call(
            "GET", f"{self._tenant}/decisions/{decision_id}"
        )
        return decision

    def of_entity(self, entity_id: str, since: int, until: int) -> list[dict[str, Any]]:
        query = {
            "entity_id": entity_id,
            "time": "received",
            "since": timestamp_text(Timestamp(since)),
            "until": timestamp_text(Timestamp(until)),
            "limit": 500,
        }
        path = f"{self._tenant}/decisions?{urlencode(query)}"
        return self._service.pages(path, most=MAX_EVENTS + 1)

    def kept_since(self) -> int:
        days = self._service.call("GET", self._tenant)["settings"]["retention_days"]
        return time.time_ns() - int(days) * DAY_NS
