"""``tidegate init``: create a daemon's folder, or with ``--server`` a first server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import click
from click.core import ParameterSource

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate_server.cli.tenants.init import init_server, server_options
from tidegate_server.settings.environment import home
from tidegate_server.settings.sources import load_settings

API_KEY_VARIABLE = "TIDEGATE_API_KEY"
_TRY_SECONDS = 30
_TOO_MANY = 429


@click.command()
@click.option("--api-base", default="", help="Address of the service, without /api/v1.")
@click.option(
    "--api-key",
    default="",
    envvar=API_KEY_VARIABLE,
    show_envvar=True,
    help="API key of the tenant, made with `can_sync`; - reads it from standard input. Other users"
    " of this machine can read an argument.",
)
@click.option("--tenant-id", default="", help="Id of the tenant.")
@server_options
@json_option
@click.pass_context
def init(
    context: click.Context,
    /,
    api_base: str,
    api_key: str,
    tenant_id: str,
    server: bool,
    as_json: bool,
    **of_server: Any,
) -> None:
    """Make the folder of a daemon (~/.tidegate, or TIDEGATE_HOME); what is missing is asked for.

    The API key is taken from TIDEGATE_API_KEY, from the terminal or from standard input, and tried
    with the service before anything is written.

    With --server: make a data directory, an operator, a tenant, an API key and a first policy that
    only watches, and print how to go on.
    """
    if server:
        init_server(as_json=as_json, **of_server)
        return
    from tidegate_server.daemon.home import make

    is_argument = context.get_parameter_source("api_key") is ParameterSource.COMMANDLINE
    if is_argument and api_key not in ("", "-"):
        _warn(
            "other users of this machine can read the API key among the arguments of the command;"
            f" give it in {API_KEY_VARIABLE} or on standard input"
        )
    base = _url(api_base or _ask("Address of the service", "--api-base"))
    key = _key(api_key)
    tenant = _id(tenant_id or _ask("Tenant id", "--tenant-id"))
    public_key = _tried(base, key, tenant)
    made = make(home(), base, key, tenant)
    if public_key:
        made = made.pinned(public_key)
    if as_json:
        print_json(
            {
                "home": str(made.path),
                "daemon_id": str(made.daemon_id),
                "service_reached": bool(public_key),
            }
        )
        return
    console.print(_next_steps(made.path), markup=False)


def _warn(text: str) -> None:
    errors.print(f"warning: {text}", style="yellow", markup=False)


def _ask(what: str, option: str, *, is_secret: bool = False) -> str:
    if not sys.stdin.isatty():
        raise click.UsageError(f"{option} is missing, and there is no terminal to ask on")
    answer: str = click.prompt(what, hide_input=is_secret)
    return answer


def _key(given: str) -> str:
    """The API key: as given, else from the terminal or standard input."""
    if given not in ("", "-"):
        return given.strip()
    if not given and sys.stdin.isatty():
        return _ask("API key", "--api-key", is_secret=True).strip()
    read = sys.stdin.readline().strip()
    if not read:
        raise click.UsageError(
            f"the API key is missing: set {API_KEY_VARIABLE}, or write the key to standard input"
        )
    return read


def _tried(api_base: str, api_key: str, tenant_id: UUID) -> str:
    """Try the API key for the tenant; return the service's public signing key.

    Returns:
        The empty text, with a warning, if the service is unreachable.

    Raises:
        BadParameter: the API key is malformed.
        OriginError: the service rejects the API key, or the key belongs to another tenant.
    """
    from tidegate.client.transport import Transport
    from tidegate_server.daemon.origin import Origin, OriginError, UntrustedError

    try:
        transport = Transport(
            api_base, api_key, tls=None, allow_http=load_settings().daemon.allow_http
        )
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--api-key") from None

    async def ask() -> str:
        try:
            async with asyncio.timeout(_TRY_SECONDS):
                return (await Origin(transport, tenant_id).snapshot()).public_key
        finally:
            await transport.close()

    try:
        return asyncio.run(ask())
    except TimeoutError:
        reason = f"no answer in {_TRY_SECONDS} s"
    except OriginError as error:
        is_refusal = 400 <= error.status < 500 and error.status != _TOO_MANY
        if is_refusal or isinstance(error, UntrustedError):
            raise
        reason = str(error)
    _warn(f"the API key and the tenant could not be tried: {reason}")
    return ""


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
