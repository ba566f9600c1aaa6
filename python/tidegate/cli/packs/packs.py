"""``tidegate packs``: packs of a definitions document, or of a tenant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
from rich.table import Table

from tidegate.cli.output import console, counted, json_option, print_json
from tidegate.cli.packs.document import Document
from tidegate.cli.packs.rewriting import refused
from tidegate.cli.packs.shown import (
    changes_of,
    conflicts_of,
    print_changes,
    print_conflicts,
    print_notes,
)
from tidegate.cli.packs.tenant import Tenant, only_name, tenant_options
from tidegate.packs import Pack, PackError, bundled_pack, bundled_packs, load_pack
from tidegate.packs.adding import added, as_added, own, removed, updated
from tidegate.packs.merging import differences
from tidegate.packs.objects import by_slug
from tidegate.packs.planning import changed_by_site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.cli.packs.tenant import Taken
    from tidegate.packs.merging import Change, Conflict

MONITORS = (
    "It only monitors. To let it answer, set `enabled: true` in its mitigations, and"
    " `status: active` in policies that are drafts."
)

name_argument = click.argument("name", required=False)
to_option = click.option(
    "--to",
    "document",
    type=click.Path(dir_okay=False, path_type=Path),
    default="definitions.yaml",
    show_default=True,
    help="The definitions document.",
)
from_option = click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of a pack of your own.",
)
drop_option = click.option(
    "--drop-comments", is_flag=True, help="Lose comments in lines that are written again."
)


@click.group()
def packs() -> None:
    """Add ready policies to a definitions document or a tenant, and keep them up to date."""


@packs.command("list")
@to_option
@tenant_options("document")
@json_option
def list_(document: Path, tenant: Tenant | None, as_json: bool) -> None:
    """List the packs that come with Tidegate, and the versions that a document or tenant has."""
    found: list[dict[str, Any]]
    if tenant is not None:
        found = [{**each, "added": each["installed_version"]} for each in tenant.packs()]
    else:
        with refused():
            opened = Document.read(document, may_be_new=True)
            found = [
                {**each.to_dict(), "added": opened.version_of(each)} for each in bundled_packs()
            ]
    if as_json:
        print_json(found)
        return
    table = Table("pack", "version", "added", "about")
    for each in found:
        table.add_row(each["name"], each["version"], each["added"] or "", each["summary"])
    console.print(table)


@packs.command()
@name_argument
@from_option
@tenant_options("folder")
@json_option
def show(name: str | None, folder: Path | None, tenant: Tenant | None, as_json: bool) -> None:
    """Show what a pack needs, catches and misses, whom it can hurt, and its figures."""
    if tenant is not None:
        found = tenant.pack(only_name(name))
        if as_json:
            print_json(found)
        else:
            print_notes(found)
        return
    pack = _pack(name, folder)
    if as_json:
        print_json(pack.to_dict())
        return
    with refused():
        console.print(_readme(pack), markup=False)
    actions = by_slug(pack.definitions, "actions")
    for slot in pack.slots:
        console.print(f"--slot {slot}='{actions[slot]['expression']}'", markup=False)


def _readme(pack: Pack) -> str:
    try:
        return (pack.folder / "README.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PackError(f"`{pack.folder / 'README.md'}` cannot be read: {error}") from None


def _slots(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        slot, sign, expression = each.partition("=")
        if not sign or not expression.strip() or slot in found:
            raise click.BadParameter(f"`{each}` isn't `slot=expression`, each slot once")
        found[slot] = expression
    return found


@packs.command()
@name_argument
@to_option
@from_option
@click.option(
    "--slot",
    "slots",
    multiple=True,
    metavar="SLOT=EXPR",
    callback=_slots,
    help="The expression that recognises an action on your site; may be given several times.",
)
@click.option(
    "--enforce", is_flag=True, help="Let the pack answer at once. Without it, it only monitors."
)
@drop_option
@tenant_options("document", "folder", "enforce", "drop_comments")
@json_option
def add(
    name: str | None,
    document: Path,
    folder: Path | None,
    slots: dict[str, str],
    enforce: bool,
    drop_comments: bool,
    tenant: Tenant | None,
    as_json: bool,
) -> None:
    """Add the pack NAME to a document, which is made if it isn't there, or to a tenant.

    Its mitigations are disabled, and its policies that let requests pass are drafts, until you
    change that.
    """
    if tenant is not None:
        _add_to_tenant(tenant, only_name(name), slots, as_json=as_json)
        return
    pack = _pack(name, folder)
    with refused():
        opened = Document.read(document, may_be_new=True)
        if opened.version_of(pack):
            raise PackError(
                f"`{document}` has the pack `{pack.name}` already;"
                f" `tidegate packs update {pack.name} --to {document}` brings it up to date"
            )
        after = added(pack, opened.plain, slots, enforce=enforce)
        changes = differences(opened.plain, after)
        opened.record.put(pack)
        opened.write(after, drop_comments)
    if as_json:
        print_json({"pack": pack.name, "version": pack.version, "changes": changes_of(changes)})
        return
    for each in changes:
        console.print(f"+ {each.place}", markup=False)
    for slot, meaning in pack.slots.items():
        kind = "given" if slot in slots else "a guess, check it"
        if slot in by_slug(opened.plain, "actions"):
            kind = "yours"
        console.print(f"slot {slot} ({kind}): {meaning}", markup=False)
    console.print(f"wrote {document} and {opened.record.path}", markup=False)
    if not enforce:
        console.print(MONITORS)


def _add_to_tenant(tenant: Tenant, name: str, slots: dict[str, str], *, as_json: bool) -> None:
    before = tenant.pack(name)
    done = tenant.step(name, "add", slots=slots)
    changes = changes_of(done.changes)
    if as_json:
        print_json({"pack": done.pack, "version": done.after, "changes": changes})
        return
    for each in done.changes:
        console.print(f"+ {each.place}", markup=False)
    for slot in before["slots"]:
        kind = "given" if slot["slug"] in slots else "a guess, check it"
        if slot["expression"] is not None:
            kind = "yours"
        console.print(f"slot {slot['slug']} ({kind}): {slot['meaning']}", markup=False)
    console.print(MONITORS)


@packs.command()
@name_argument
@to_option
@from_option
@tenant_options("document", "folder")
@json_option
def diff(
    name: str | None,
    document: Path,
    folder: Path | None,
    tenant: Tenant | None,
    as_json: bool,
) -> None:
    """Show what the site changed in a pack, and what an update would change."""
    if tenant is not None:
        found = _Step.of(tenant.step(only_name(name), "update", dry_run=True))
    else:
        pack = _pack(name, folder)
        with refused():
            opened = Document.read(document)
            old = opened.definitions_of(pack)
            merged = updated(old, pack, opened.plain)
            found = _Step(
                pack.name,
                opened.version_of(pack),
                pack.version,
                tuple(differences(as_added(old), own(old, pack, opened.plain))),
                merged.changes,
                merged.conflicts,
            )
    if as_json:
        print_json({**found.to_dict(), "yours": changes_of(found.yours)})
        return
    console.print(
        f"{found.pack} {found.before}, you changed {counted(len(found.yours), 'place')}",
        markup=False,
    )
    print_changes(found.yours)
    console.print(
        f"an update to {found.after} changes {counted(len(found.changes), 'place')}", markup=False
    )
    print_changes(found.changes)
    print_conflicts(found.conflicts)


@packs.command()
@name_argument
@to_option
@from_option
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@drop_option
@tenant_options("document", "folder", "drop_comments")
@json_option
def update(
    name: str | None,
    document: Path,
    folder: Path | None,
    dry_run: bool,
    drop_comments: bool,
    tenant: Tenant | None,
    as_json: bool,
) -> None:
    """Bring a pack to the version at hand, and keep the site's changes.

    For a tenant that is the version of the service. Where both changed the same place, the site's
    value stays, and the exit code is 1.
    """
    if tenant is not None:
        found = _Step.of(tenant.step(only_name(name), "update", dry_run=dry_run))
    else:
        pack = _pack(name, folder)
        with refused():
            opened = Document.read(document)
            merged = updated(opened.definitions_of(pack), pack, opened.plain)
            before = opened.version_of(pack)
            opened.record.put(pack)
            if not dry_run:
                opened.write(merged.document, drop_comments)
        found = _Step(pack.name, before, pack.version, (), merged.changes, merged.conflicts)
    if as_json:
        print_json(found.to_dict())
    else:
        console.print(f"{found.pack} {found.before} to {found.after}", markup=False)
        print_changes(found.changes)
        print_conflicts(found.conflicts)
    sys.exit(1 if found.conflicts else 0)


@packs.command()
@name_argument
@to_option
@from_option
@click.option("--yes", is_flag=True, help="Remove objects that you changed without asking.")
@drop_option
@tenant_options("document", "folder", "drop_comments")
def remove(
    name: str | None,
    document: Path,
    folder: Path | None,
    yes: bool,
    drop_comments: bool,
    tenant: Tenant | None,
) -> None:
    """Remove a pack; the actions of its slots stay."""
    if tenant is not None:
        shown = tenant.step(only_name(name), "remove", dry_run=True)
        with refused():
            _ask(shown.yours, yes=yes)
        changes = tenant.step(shown.pack, "remove", revision=shown.revision).changes
    else:
        pack = _pack(name, folder)
        with refused():
            opened = Document.read(document)
            old = opened.definitions_of(pack)
            after = removed(pack, old, opened.plain)
            _ask(changed_by_site(pack, old, opened.plain), yes=yes)
            opened.record.packs.pop(pack.name, None)
            opened.write(after, drop_comments)
        changes = tuple(differences(opened.plain, after))
    for each in changes:
        console.print(f"- {each.place}", markup=False)


def _ask(yours: Sequence[Change], *, yes: bool) -> None:
    """Ask whether to remove what the site changed.

    Raises:
        PackError: it is to stay.
    """
    if not yours or yes:
        return
    console.print("you changed:")
    print_changes(yours)
    if not sys.stdin.isatty() or not click.confirm("Remove them?", err=True):
        raise PackError("nothing is removed; --yes removes what you changed too")


@attrs.frozen
class _Step:
    """An update of a document or a tenant."""

    pack: str
    before: str | None
    after: str | None
    yours: tuple[Change, ...]
    changes: tuple[Change, ...]
    conflicts: tuple[Conflict, ...]

    @classmethod
    def of(cls, taken: Taken) -> _Step:
        return cls(
            taken.pack, taken.before, taken.after, taken.yours, taken.changes, taken.conflicts
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "pack": self.pack,
            "from": self.before,
            "to": self.after,
            "changes": changes_of(self.changes),
            "conflicts": conflicts_of(self.conflicts),
        }


def _pack(name: str | None, folder: Path | None) -> Pack:
    """The pack that a command is about."""
    try:
        if folder is None:
            if name is None:
                raise click.UsageError("name a pack, or give the folder of one with --from")
            return bundled_pack(name)
        pack = load_pack(folder)
    except PackError as error:
        raise click.UsageError(str(error)) from None
    if name not in (None, pack.name):
        raise click.UsageError(f"the pack in `{folder}` is `{pack.name}`")
    return pack
