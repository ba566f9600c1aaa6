"""The options that choose a tenant of a service instead of a document.

The service's distribution talks to services; this one finds it by its entry point.
"""

from __future__ import annotations

from functools import wraps
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs
import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidegate.packs.merging import Change, Conflict

    F = TypeVar("F", bound=Callable[..., Any])

PLUGIN = "tidegate.packs"
"""The entry points by which another distribution reaches the packs of a tenant."""


@attrs.frozen(kw_only=True)
class Taken:
    """A step of a pack in a tenant's definitions, made or only shown.

    Attributes:
        pack: the name of the pack.
        before: the version that the tenant had; None if it had none.
        after: the version after the step; None if the pack is removed.
        revision: the revision of the definitions.
        changes: the differences that it makes.
        yours: what the tenant changed in the pack.
        conflicts: the places at which the tenant's value stays.
    """

    pack: str
    before: str | None
    after: str | None
    revision: int
    changes: tuple[Change, ...]
    yours: tuple[Change, ...]
    conflicts: tuple[Conflict, ...]


class Tenant(Protocol):
    """The packs of a tenant of a running service."""

    def packs(self) -> list[dict[str, Any]]:
        """All packs with their notes, as the service answers them."""

    def pack(self, name: str) -> dict[str, Any]:
        """One pack."""

    def step(
        self,
        name: str,
        action: str,
        *,
        slots: Mapping[str, str] | None = None,
        dry_run: bool = False,
        revision: int | None = None,
    ) -> Taken:
        """Add, update or remove a pack.

        Args:
            name: the pack.
            action: ``add``, ``update`` or ``remove``.
            slots: expressions for slots.
            dry_run: whether to show the step only.
            revision: the revision that the step was shown at; refused for another.
        """


def tenant_options(*of_documents: str) -> Callable[[F], F]:
    """Give a command the flags that choose a tenant, passed as ``tenant``; None for a document.

    Args:
        of_documents: names of parameters that are refused with a tenant.
    """

    def decorate(command: F) -> F:
        @wraps(command)
        def called(
            *arguments: Any,
            server: str | None,
            token: str | None,
            tenant: str | None,
            **others: Any,
        ) -> Any:
            chosen = None
            if server is not None or tenant is not None:
                _refuse(of_documents)
                chosen = _open(server, token, tenant)
            elif token is not None:
                raise click.UsageError("`--token` needs `--server` or `--tenant`")
            return command(*arguments, tenant=chosen, **others)

        for option in (
            click.option(
                "--token",
                help="An operator's token; better in TIDEGATE_TOKEN than on the command line.",
            ),
            click.option(
                "--tenant", help="Slug or id of a tenant: its definitions instead of a document."
            ),
            click.option(
                "--server",
                metavar="URL",
                help="Address of a service: a tenant's definitions instead of a document.",
            ),
        ):
            called = option(called)
        return called  # type: ignore[return-value]

    return decorate


def only_name(name: str | None) -> str:
    """The name of a pack, which a command on a tenant needs.

    Raises:
        click.UsageError: it is left out.
    """
    if name is None:
        raise click.UsageError("name a pack")
    return name


def _refuse(of_documents: tuple[str, ...]) -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in of_documents and source is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"`{parameter.opts[0]}` is for documents, not for a tenant")


def _open(server: str | None, token: str | None, tenant: str | None) -> Tenant:
    found = entry_points(group=PLUGIN)
    if "tenant" not in found.names:
        raise click.UsageError(
            "`--server` and `--tenant` need tidegate-server: pip install 'tidegate[server]'"
        )
    opened: Tenant = found["tenant"].load()(server, token, tenant)
    return opened
