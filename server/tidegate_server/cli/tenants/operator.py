"""``tidegate operator``: operators of tenants, in this machine's database."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import attrs
import click

from tidegate.cli.output import console, json_option, print_json
from tidegate_server.cli.service.usable import need_directory
from tidegate_server.directory.opening import open_directory
from tidegate_server.http.ids import new_id
from tidegate_server.operators.passwords import MIN_CHARACTERS, hash_password
from tidegate_server.operators.permissions import Role
from tidegate_server.operators.tokens import Tokens
from tidegate_server.settings.sources import load_settings
from tidegate_server.settings.whole import Settings
from tidegate_server.stores.databases import open_store
from tidegate_server.stores.objects import (
    audit,
    memberships,
    operator_sessions,
    operators,
    second_factors,
    tenants,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

SECOND = 1_000_000_000
_PAGE = 500
T = TypeVar("T")

directory_option = click.option(
    "--store-directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the database; by default the one in the settings.",
)
password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input."
)


@click.group()
def operator() -> None:
    """Make and end the people who operate tenants, in this machine's database."""


@operator.command()
@click.argument("email")
@click.option("--name", help="What to call them; the address when left out.")
@click.option("--owner-of", "tenant", help="Slug or id of a tenant to make them an Owner of.")
@click.option("--no-password", is_flag=True, help="No login with a password; only tokens.")
@password_option
@directory_option
@json_option
def create(
    store_directory: Path | None,
    email: str,
    name: str | None,
    tenant: str | None,
    no_password: bool,
    password_stdin: bool,
    as_json: bool,
) -> None:
    """Make an operator known as EMAIL."""
    need_address(email)
    kept = None if no_password else hash_password(read_password(password_stdin))
    made = make_operator(load(store_directory), email, password_hash=kept, name=name, tenant=tenant)
    if as_json:
        print_json(_shown(made))
    else:
        console.print(f"made operator {made.email} ({made.operator_id})", markup=False)


@operator.command()
@click.argument("email")
@click.option(
    "--lifetime-seconds", type=click.IntRange(60, 30 * 86_400), help="How long it counts."
)
@directory_option
@json_option
def token(
    store_directory: Path | None, email: str, lifetime_seconds: int | None, as_json: bool
) -> None:
    """Print a token for the operator known as EMAIL."""
    text, lifetime = make_token(load(store_directory), email, lifetime_seconds)
    if as_json:
        print_json({"access_token": text, "token_type": "Bearer", "expires_in": lifetime})
    else:
        click.echo(text)


@operator.command("list")
@directory_option
@json_option
def list_(store_directory: Path | None, as_json: bool) -> None:
    """Print all operators."""
    with _store(load(store_directory)) as write:
        found = write(lambda connection: list(_all(connection)))
    if as_json:
        print_json([_shown(each) for each in found])
        return
    for each in found:
        state = "  disabled" if each.disabled else ""
        console.print(f"{each.operator_id}  {each.email}  {each.name}{state}", markup=False)


@operator.command()
@click.argument("email")
@directory_option
def disable(store_directory: Path | None, email: str) -> None:
    """End the operator known as EMAIL: no login, and no token counts any more."""
    now = time.time_ns()

    def work(connection: Connection) -> None:
        found = operators.find_by_email(connection, email)
        end = (now // SECOND + 1) * SECOND
        operators.change(
            connection, found.operator_id, now, disabled=True, tokens_valid_from_ns=end
        )
        _audit(connection, "disable", found, now)

    with _store(load(store_directory)) as write:
        write(work)
    console.print(f"disabled operator {email}", markup=False)


@operator.command()
@click.argument("email")
@password_option
@directory_option
def password(store_directory: Path | None, email: str, password_stdin: bool) -> None:
    """Give the operator known as EMAIL another password; tokens made before end."""
    kept = hash_password(read_password(password_stdin))
    now = time.time_ns()

    def work(connection: Connection) -> None:
        found = operators.find_by_email(connection, email)
        end = (now // SECOND + 1) * SECOND
        operators.change(
            connection, found.operator_id, now, password_hash=kept, tokens_valid_from_ns=end
        )
        _audit(connection, "change-password", found, now)

    with _store(load(store_directory)) as write:
        write(work)
    console.print(f"changed the password of {email}", markup=False)


@operator.command("remove-second-factor")
@click.argument("email")
@directory_option
def remove_second_factor(store_directory: Path | None, email: str) -> None:
    """Let the operator known as EMAIL log in with the password alone."""
    now = time.time_ns()

    def work(connection: Connection) -> bool:
        found = operators.find_by_email(connection, email)
        is_removed = second_factors.remove(connection, found.operator_id)
        if is_removed:
            _audit(connection, "delete", found, now, kind="second-factor")
        return is_removed

    with _store(load(store_directory)) as write:
        if not write(work):
            raise click.ClickException(f"the operator {email} has no second factor")
    console.print(f"removed the second factor of {email}", markup=False)


def need_address(email: str) -> None:
    """Reject a text that isn't an email address.

    Raises:
        click.UsageError: it isn't one.
    """
    if email.count("@") != 1 or email != email.strip() or not email.isprintable():
        raise click.UsageError(f"`{email}` is no email address")


def make_operator(
    settings: Settings,
    email: str,
    *,
    password_hash: str | None,
    name: str | None = None,
    tenant: str | None = None,
) -> operators.Operator:
    """Create an operator in the configured database.

    Args:
        settings: the server's settings.
        email: the operator's address.
        password_hash: None for an operator who only uses tokens.
        name: display name; the address if left out.
        tenant: slug or id of a tenant to make them an Owner of.
    """
    now = time.time_ns()
    made = operators.Operator(
        operator_id=new_id(),
        name=name or email,
        email=operators.address_key(email),
        password_hash=password_hash,
        created_at_ns=now,
        updated_at_ns=now,
    )

    def work(connection: Connection) -> None:
        operators.create(connection, made)
        _audit(connection, "create", made, now)
        if tenant is not None:
            owned = _tenant(connection, tenant)
            owner = Role.OWNER.value
            memberships.put(connection, owned, made.operator_id, owner, now, accepted_at_ns=now)
            _audit(connection, "create", made, now, tenant_id=owned, kind="membership")

    with _store(settings) as write:
        write(work)
    return made


def make_token(
    settings: Settings, email: str, lifetime_seconds: int | None = None
) -> tuple[str, int]:
    """A token for the operator with an address, and its lifetime in seconds.

    Raises:
        click.ClickException: the operator is disabled.
        NotFoundError: the operator doesn't exist.
    """
    keys = open_directory(settings.directory, url=settings.store.url)
    with _store(settings) as write:
        found = write(lambda connection: operators.find_by_email(connection, email))
    if found.disabled:
        raise click.ClickException(f"the operator {found.email} is disabled")
    now = max(time.time_ns(), found.tokens_valid_from_ns) // SECOND
    lifetime = lifetime_seconds or settings.token.lifetime_seconds
    session = operator_sessions.OperatorSession(
        session_id=new_id(),
        operator_id=found.operator_id,
        provider=operator_sessions.COMMAND_LINE,
        address="",
        user_agent="",
        issued_at_ns=now * SECOND,
        expires_at_ns=(now + lifetime) * SECOND,
    )
    with _store(settings) as write:
        write(lambda connection: operator_sessions.add(connection, session))
    tokens = Tokens(keys.signing, "tidegate")
    return tokens.issue(found.operator_id, now, lifetime, session.session_id), lifetime


@contextmanager
def _store(settings: Settings) -> Iterator[Callable[[Callable[[Connection], T]], T]]:
    """Runs functions in transactions of the configured database, which is created at first use."""
    open_directory(settings.directory, url=settings.store.url)
    store = open_store(settings.database_url, standby=settings.store.standby)
    try:
        yield lambda work: store.write(work).result()
    finally:
        store.close()


def load(store_directory: Path | None) -> Settings:
    """The settings, with another directory if one is given.

    Raises:
        SettingsError: the settings from the file or environment are invalid.
    """
    settings = load_settings()
    if store_directory is not None:
        store = attrs.evolve(settings.store, directory=str(store_directory))
        settings = attrs.evolve(settings, store=store)
    need_directory(settings)
    return settings


def read_password(from_stdin: bool) -> str:
    """Read a password, from standard input or the terminal."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    text: str = click.prompt(
        f"Password (at least {MIN_CHARACTERS} characters)",
        hide_input=True,
        confirmation_prompt=True,
        err=True,
    )
    return text


def _tenant(connection: Connection, named: str) -> UUID:
    """The tenant with a slug or id.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    try:
        return tenants.find(connection, UUID(named)).tenant_id
    except ValueError:
        return tenants.find_by_slug(connection, named).tenant_id


def _all(connection: Connection) -> Iterator[operators.Operator]:
    after: UUID | None = None
    while found := operators.page(connection, _PAGE, after):
        yield from found
        after = found[-1].operator_id


def _shown(of: operators.Operator) -> dict[str, Any]:
    return {
        "operator_id": str(of.operator_id),
        "email": of.email,
        "name": of.name,
        "has_password": of.password_hash is not None,
        "disabled": of.disabled,
    }


def _audit(
    connection: Connection,
    action: str,
    of: operators.Operator,
    now: int,
    *,
    tenant_id: UUID | None = None,
    kind: str = "operator",
) -> None:
    entry = audit.AuditEntry(
        audit_id=new_id(),
        tenant_id=tenant_id,
        at_ns=now,
        actor="command-line",
        action=action,
        kind=kind,
        object_id=str(of.operator_id),
        after={"role": Role.OWNER.value} if kind == "membership" else None,
    )
    audit.add(connection, entry)
