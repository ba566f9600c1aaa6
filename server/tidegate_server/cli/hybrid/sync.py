"""``tidegate sync``: fetch the service's definitions to this machine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.client.transport import Transport
from tidegate.errors import DefinitionsError, SettingsError
from tidegate_server.daemon.definitions import KINDS, Definitions, DefinitionSet, Kind
from tidegate_server.daemon.home import load
from tidegate_server.daemon.origin import Origin
from tidegate_server.settings.environment import home
from tidegate_server.settings.sources import load_settings

if TYPE_CHECKING:
    from tidegate_server.sync.messages import Snapshot


@click.command()
@click.argument("kind", type=click.Choice(KINDS), required=False)
@json_option
def sync(kind: Kind | None, as_json: bool) -> None:
    """Bring definitions of one KIND, or of all, to this machine.

    They are written under data/. The daemon takes them once all kinds together
    compile; else it goes on with the ones before.
    """
    kinds = KINDS if kind is None else (kind,)
    settings, folder = load_settings(), load(home())
    url = settings.remote.url
    try:
        transport = Transport(url, folder.api_key, tls=None, allow_http=settings.daemon.allow_http)
    except ValueError as error:
        raise SettingsError(str(error), "remote.url", url, "") from None
    origin = Origin(transport, folder.tenant_id, folder.public_key)
    snapshot = asyncio.run(_fetch(origin, transport))
    if snapshot.public_key != folder.public_key:
        folder = folder.pinned(snapshot.public_key)
    newest, files = DefinitionSet.of(snapshot), Definitions.of(folder)
    files.write(kinds, newest)
    whole = files.assembled(newest)
    said: dict[str, Any] = {
        "revision": newest.revision,
        **{each: len(newest.document.get(each, [])) for each in kinds},
        "in_use": True,
    }
    try:
        whole.compiled()
    except DefinitionsError as error:
        said |= {"in_use": False, "reason": str(error)}
    else:
        files.use(whole)
    if as_json:
        print_json(said)
    else:
        for name, value in said.items():
            console.print(f"{name}: {value}", markup=False)
    if not said["in_use"]:
        raise SystemExit(1)


async def _fetch(origin: Origin, transport: Transport) -> Snapshot:
    try:
        return await origin.snapshot()
    finally:
        await transport.close()
