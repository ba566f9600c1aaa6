"""``tidegate init``: the folder of a daemon, or with ``--server`` a first server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.tenants.init import init_server, server_options
from tidegate.settings import home, load_settings


@click.command()
@click.option("--api-base", default="", help="Address of the service, without /api/v1.")
@click.option("--api-key", default="", help="API key of the tenant, made with `can_sync`.")
@click.option("--tenant-id", default="", help="Id of the tenant.")
@server_options
@json_option
def init(
    api_base: str, api_key: str, tenant_id: str, server: bool, as_json: bool, **of_server: Any
) -> None:
    """Make the folder of a daemon (~/.tidegate, or TIDEGATE_HOME); what is missing is asked for.

    With --server: make a data directory, an operator, a tenant, an API key and a first policy that
    only watches, and print how to go on.
    """
    if server:
        init_server(as_json=as_json, **of_server)
        return
    from tidegate.daemon.home import make

    api_base = api_base or _ask("Address of the service", "--api-base")
    api_key = api_key or _ask("API key", "--api-key", is_secret=True)
    tenant_id = tenant_id or _ask("Tenant id", "--tenant-id")
    made = make(home(), _url(api_base), api_key.strip(), _id(tenant_id))
    if as_json:
        print_json({"home": str(made.path), "daemon_id": str(made.daemon_id)})
        return
    console.print(_next_steps(made.path), markup=False)


def _ask(what: str, option: str, *, is_secret: bool = False) -> str:
    if not sys.stdin.isatty():
        raise click.UsageError(f"{option} is missing, and there is no terminal to ask on")
    answer: str = click.prompt(what, hide_input=is_secret)
    return answer


def _url(text: str) -> str:
    from tidegate.client.transport import checked_url

    allow_http = load_settings().daemon.allow_http
    try:
        return checked_url(text.strip(), allow_http)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--api-base") from None


def _id(text: str) -> UUID:
    try:
        return UUID(text.strip())
    except ValueError:
        raise click.BadParameter("this is no tenant id", param_hint="--tenant-id") from None


def _next_steps(folder: Path) -> str:
    return f"""\
folder  {folder}

bring the definitions here:
  tidegate sync

decide on this machine:
  tidegate run"""
