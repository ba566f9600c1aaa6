"""``tidegate init --server``: everything a first server needs, in an empty directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click

from tidegate.cli.output import console, print_json
from tidegate.cli.remote import Remote
from tidegate.errors import TidegateError
from tidegate.policy.document.forms import origin_problem
from tidegate_server.cli.service.signing_in import console_of
from tidegate_server.cli.tenants.operator import (
    directory_option,
    load,
    make_operator,
    make_token,
    need_address,
    password_option,
    read_password,
)
from tidegate_server.operators.passwords import hash_password
from tidegate_server.settings.outbound import RemoteSettings
from tidegate_server.settings.whole import Settings

F = TypeVar("F", bound=Callable[..., Any])
ENTITY = {
    "name": "Client address",
    "description": "Everybody by client address alone, and of IPv6 by its /64.",
    "priority": 90,
    "key_fields": ["derived.client_network"],
}
POLICY: dict[str, Any] = {
    "name": "Many requests of one address",
    "description": "Watches only, until its clause names a mitigation that challenges or blocks.",
    "status": "active",
    "clauses": [
        {
            "name": "300 in a minute",
            "mitigation_id": None,
            "window": {"duration_seconds": 60, "threshold": 300},
        }
    ],
}


class InitError(TidegateError):
    """Setting up a first server failed."""

    code = "init-failed"


@attrs.frozen
class Made:
    """The objects that the command created."""

    directory: str
    operator: str
    has_password: bool
    tenant: str
    tenant_id: str
    api_key: str


def server_options(command: F) -> F:
    """Give a command the flags of :func:`init_server`, all optional."""
    options: tuple[Callable[[F], F], ...] = (
        directory_option,
        password_option,
        click.option("--no-password", is_flag=True, help="No login with a password; only tokens."),
        click.option(
            "--site",
            default="",
            help="With --server: origin of the site, such as https://shop.example, to which a"
            " solved challenge may send a browser.",
        ),
        click.option("--tenant", default="", help="With --server: name of the first tenant."),
        click.option("--email", default="", help="With --server: first operator."),
        click.option("--server", is_flag=True, help="Set up a server on this machine."),
    )
    for option in options:
        command = option(command)
    return command


def init_server(
    *,
    email: str,
    tenant: str,
    site: str,
    no_password: bool,
    password_stdin: bool,
    store_directory: Path | None,
    as_json: bool,
) -> None:
    """Create a data directory, operator, tenant, API key and first policy that only watches.

    Then print the next steps.
    """
    email = email or click.prompt("Email address of the first operator")
    tenant = tenant or click.prompt("Name of the tenant")
    need_address(email)
    wrong = origin_problem(site) if site else None
    if wrong is not None:
        raise click.BadParameter(wrong, param_hint="--site")
    settings = load(store_directory)
    if (settings.directory / "tidegate.db").exists():
        raise click.UsageError(
            f"`{settings.directory}` is in use already; `tidegate operator`, `tenant` and"
            " `api-key` add to it"
        )
    kept = None if no_password else hash_password(read_password(password_stdin))
    make_operator(settings, email, password_hash=kept)
    token = make_token(settings, email)[0]
    with _serving(settings) as url:
        service = Remote(RemoteSettings(url=url, token=token))
        tenant_id, slug, key = _make(service, tenant, site)
    directory = str(settings.directory)
    made = Made(directory, email, kept is not None, slug, tenant_id, key)
    if as_json:
        print_json(attrs.asdict(made))
    else:
        console.print(next_steps(made, settings), markup=False)


@contextmanager
def _serving(settings: Settings) -> Iterator[str]:
    """Run a server on the directory, for this machine only; return its address."""
    command = [
        *(sys.executable, "-m", "tidegate", "serve", "--json", "--host", "127.0.0.1"),
        *("--port", "0", "--store-directory", str(settings.directory)),
        *("--server-public-url", "", "--server-unix-socket", ""),
        *("--server-tls-certificate", "", "--server-tls-key", "", "--log-level", "error"),
    ]
    with subprocess.Popen(  # noqa: S603 - this program itself
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TIDEGATE_STORE_URL": settings.store.url},
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                assert process.stderr is not None
                raise InitError(f"the server did not start: {process.stderr.read().strip()}")
            yield json.loads(line)["base_url"]
        finally:
            process.terminate()
            process.communicate()


def _make(service: Remote, name: str, site: str) -> tuple[str, str, str]:
    """Create the tenant with its objects; return its id, its slug and the text of the key."""

    def post(path: str, body: dict[str, Any]) -> Any:
        return service.call("POST", path, json.dumps(body).encode())

    settings = {"return_url_origins": [site]} if site else {}
    tenant = post("tenants", {"name": name, "settings": settings})
    path = f"tenants/{tenant['tenant_id']}"
    entity = post(f"{path}/entity-definitions", ENTITY)
    clauses = [
        {**clause, "entity_definition_id": entity["entity_definition_id"]}
        for clause in POLICY["clauses"]
    ]
    post(f"{path}/policies", {**POLICY, "clauses": clauses})
    key = post(f"{path}/api-keys", {"name": "first"})
    return str(tenant["tenant_id"]), str(tenant["slug"]), str(key["key"])


def _console(made: Made, page: str | None) -> str:
    if page is None:
        return ""
    if made.has_password:
        return f"log in to the console as {made.operator}, with the password:\n  {page}\n"
    return f"""\
log in to the console as {made.operator}, once there is a password:
  tidegate operator password {made.operator} --store-directory {made.directory}
  {page}
"""


def next_steps(made: Made, settings: Settings) -> str:
    """The created objects, and the next steps."""
    server = settings.server
    event = {"request": {"method": "GET", "path": "/", "client_ip": "192.0.2.7"}}
    address = f"{server.host}:{server.port}"
    is_default = f"http://{address}" == RemoteSettings().url
    page = console_of(settings, server.public_url.rstrip("/") or f"http://{address}")
    where = "" if is_default else f"  export TIDEGATE_URL=http://{address}\n"
    return f"""\
directory  {made.directory}
operator   {made.operator}
tenant     {made.tenant} ({made.tenant_id})
API key    {made.api_key}   (not shown again)
policy     {POLICY["name"]}: watches only

start it:
  tidegate serve --store-directory {made.directory}

{_console(made, page)}
ask it for a decision:
  curl -s http://{address}/api/v1/runtime/mitigation -H 'x-service-api-key: {made.api_key}' \\
    -H 'content-type: application/json' -d '{json.dumps(event)}'

see and change the definitions:
{where}  export TIDEGATE_TOKEN=$(tidegate operator token {made.operator} \\
    --store-directory {made.directory})
  tidegate export -o definitions.yaml
  tidegate apply definitions.yaml --dry-run

a proxy with TLS in front, as a Caddyfile:
  tidegate.example.com {{
      reverse_proxy {address}
  }}"""
