"""``tidegate packs``: packs of a definitions document."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import attrs
import click
import orjson
from rich.table import Table

from tidegate.cli.findings.report import refused_document
from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.errors import DefinitionsError
from tidegate.packs import Pack, PackError, bundled_pack, bundled_packs, load_pack
from tidegate.packs.adding import added, as_added, own, removed, updated
from tidegate.packs.editing import edit
from tidegate.packs.merging import ABSENT, differences
from tidegate.packs.objects import by_slug
from tidegate.packs.record import Record
from tidegate.policy.definitions.model import API_VERSION
from tidegate.policy.document import parse_document
from tidegate.policy.document.plain_data import to_python
from tidegate.policy.document.tree import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidegate.packs.merging import Change, Conflict

_NEW = f"apiVersion: {API_VERSION}\n"
_SHOWN = 100
"""Characters of a value."""

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
    """Add ready policies to a definitions document, and keep them up to date."""


@packs.command("list")
@to_option
@json_option
def list_(document: Path, as_json: bool) -> None:
    """List the packs that come with Tidegate, and the versions that a document has."""
    with _refused():
        record = Record.of(document)
        found = bundled_packs()
    if as_json:
        print_json([{**each.to_dict(), "added": record.version_of(each.name)} for each in found])
        return
    table = Table("pack", "version", "added", "about")
    for each in found:
        table.add_row(each.name, each.version, record.version_of(each.name) or "", each.summary)
    console.print(table)


@packs.command()
@name_argument
@from_option
@json_option
def show(name: str | None, folder: Path | None, as_json: bool) -> None:
    """Show what a pack needs, catches and misses, whom it can hurt, and its figures."""
    pack = _pack(name, folder)
    if as_json:
        print_json(pack.to_dict())
        return
    with _refused():
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
@json_option
def add(
    name: str | None,
    document: Path,
    folder: Path | None,
    slots: dict[str, str],
    enforce: bool,
    drop_comments: bool,
    as_json: bool,
) -> None:
    """Add the pack NAME to a document, which is made if it isn't there.

    Its mitigations are disabled, and its policies that let requests pass are drafts, until you
    change that.
    """
    pack = _pack(name, folder)
    with _refused():
        opened = _Document.read(document, may_be_new=True)
        if opened.record.version_of(pack.name):
            raise PackError(f"`{document}` has the pack `{pack.name}` already; update it")
        after = added(pack, opened.plain, slots, enforce=enforce)
        changes = differences(opened.plain, after)
        opened.record.put(pack)
        opened.write(after, drop_comments)
    if as_json:
        print_json({"pack": pack.name, "version": pack.version, "changes": _changes(changes)})
        return
    for each in changes:
        console.print(f"+ {each.place}", markup=False)
    for slot, meaning in pack.slots.items():
        kind = "given" if slot in slots else "a guess, check it"
        if slot in by_slug(opened.plain, "actions"):
            kind = "yours"
        console.print(f"slot {slot} ({kind}): {meaning}", markup=False)
    if not enforce:
        console.print(
            "It only monitors. To let it answer, set `enabled: true` in its mitigations, and"
            " `status: active` in policies that are drafts."
        )


@packs.command()
@name_argument
@to_option
@from_option
@json_option
def diff(name: str | None, document: Path, folder: Path | None, as_json: bool) -> None:
    """Show what the site changed in a pack, and what an update would change."""
    pack = _pack(name, folder)
    with _refused():
        opened = _Document.read(document)
        old = opened.record.definitions_of(pack.name)
        yours = differences(as_added(old), own(old, pack, opened.plain))
        merged = updated(old, pack, opened.plain)
    before = opened.record.version_of(pack.name)
    if as_json:
        print_json(
            {
                "pack": pack.name,
                "from": before,
                "to": pack.version,
                "yours": _changes(yours),
                "changes": _changes(merged.changes),
                "conflicts": _conflicts(merged.conflicts),
            }
        )
        return
    console.print(f"{pack.name} {before}, you changed {len(yours)} places", markup=False)
    _print_changes(yours)
    console.print(f"an update to {pack.version} changes {len(merged.changes)}", markup=False)
    _print_changes(merged.changes)
    _print_conflicts(merged.conflicts)


@packs.command()
@name_argument
@to_option
@from_option
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@drop_option
@json_option
def update(
    name: str | None,
    document: Path,
    folder: Path | None,
    dry_run: bool,
    drop_comments: bool,
    as_json: bool,
) -> None:
    """Bring a pack in a document to the version at hand, and keep the site's changes.

    Where both changed the same place, the site's value stays, and the exit code is 1.
    """
    pack = _pack(name, folder)
    with _refused():
        opened = _Document.read(document)
        merged = updated(opened.record.definitions_of(pack.name), pack, opened.plain)
        before = opened.record.version_of(pack.name)
        opened.record.put(pack)
        if not dry_run:
            opened.write(merged.document, drop_comments)
    if as_json:
        print_json(
            {
                "pack": pack.name,
                "from": before,
                "to": pack.version,
                "changes": _changes(merged.changes),
                "conflicts": _conflicts(merged.conflicts),
            }
        )
    else:
        console.print(f"{pack.name} {before} to {pack.version}", markup=False)
        _print_changes(merged.changes)
        _print_conflicts(merged.conflicts)
    sys.exit(1 if merged.conflicts else 0)


@packs.command()
@name_argument
@to_option
@from_option
@click.option("--yes", is_flag=True, help="Remove objects that you changed without asking.")
@drop_option
def remove(
    name: str | None, document: Path, folder: Path | None, yes: bool, drop_comments: bool
) -> None:
    """Remove a pack from a document; the actions of its slots stay."""
    pack = _pack(name, folder)
    with _refused():
        opened = _Document.read(document)
        old = opened.record.definitions_of(pack.name)
        yours = differences(as_added(old), own(old, pack, opened.plain))
        after = removed(pack, old, opened.plain)
        slots = tuple(f"actions.{slot}." for slot in pack.slots)
        yours = [each for each in yours if not each.place.startswith(slots)]
        if yours and not yes:
            console.print("you changed:")
            _print_changes(yours)
            if not sys.stdin.isatty() or not click.confirm("Remove them?", err=True):
                raise PackError("nothing is removed; --yes removes what you changed too")
        del opened.record.packs[pack.name]
        opened.write(after, drop_comments)
    for each in differences(opened.plain, after):
        console.print(f"- {each.place}", markup=False)


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


@contextmanager
def _refused() -> Iterator[None]:
    """Report a pack that can't be used, and exit with 1."""
    try:
        yield
    except PackError as error:
        errors.print(f"error: {error}", style="red", markup=False)
        sys.exit(1)


@attrs.define
class _Document:
    """A document on its way to another version of itself.

    Attributes:
        path: its file.
        text: its text.
        plain: the text as plain data.
        record: the packs that it has.
    """

    path: Path
    text: str
    plain: dict[str, Any]
    record: Record

    @classmethod
    def read(cls, path: Path, *, may_be_new: bool = False) -> _Document:
        """A valid document, with its packs."""
        try:
            with path.open("rb") as file:
                text = file.read(MAX_BYTES + 1).decode()
        except FileNotFoundError:
            if not may_be_new:
                raise click.UsageError(f"there is no file `{path}`") from None
            text = _NEW
        except OSError as error:
            raise click.UsageError(f"`{path}` cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise click.UsageError(f"`{path}` isn't UTF-8") from None
        plain = _checked(path, text)
        return cls(path, text, plain, Record.of(path))

    def write(self, after: dict[str, Any], drop_comments: bool) -> None:
        """Replace the document and the record of its packs, if the document is valid."""
        if after == self.plain:
            text = self.text
        else:
            text = edit(self.text, after, drop_comments=drop_comments)
        _checked(self.path, text)
        _replace(self.path, text.encode())
        if self.record.packs:
            _replace(self.record.path, self.record.text())
        else:
            self.record.path.unlink(missing_ok=True)


def _checked(path: Path, text: str) -> dict[str, Any]:
    """The plain data of a document that is valid."""
    try:
        parsed = parse_document(text)
        parsed.read()
    except DefinitionsError as error:
        raise refused_document(str(path), error) from None
    plain: dict[str, Any] = to_python(parsed.root)
    return plain


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that it is either as before or whole."""
    target = path.resolve()
    try:
        with NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            if target.exists():
                shutil.copymode(target, file.name)
            else:
                Path(file.name).chmod(0o644)
            Path(file.name).replace(target)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise click.UsageError(f"`{path}` cannot be written: {error.strerror}") from None


def _print_changes(changes: Iterable[Change]) -> None:
    for each in changes:
        text = f"  {each.place}: {_shown(each.before)} -> {_shown(each.after)}"
        console.print(text, markup=False)


def _print_conflicts(conflicts: Iterable[Conflict]) -> None:
    for each in conflicts:
        text = (
            f"conflict: {each.place}: yours stays: {_shown(each.site)}; pack: {_shown(each.pack)}"
        )
        console.print(text, style="yellow", markup=False)


def _shown(value: object) -> str:
    if value is ABSENT:
        return "absent"
    text = orjson.dumps(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _changes(changes: Iterable[Change]) -> list[dict[str, Any]]:
    return [
        {"place": each.place, "before": _plain(each.before), "after": _plain(each.after)}
        for each in changes
    ]


def _conflicts(conflicts: Iterable[Conflict]) -> list[dict[str, Any]]:
    return [
        {"place": each.place, "site": _plain(each.site), "pack": _plain(each.pack)}
        for each in conflicts
    ]


def _plain(value: Any) -> Any:
    """A value for JSON; null if it is absent."""
    return None if value is ABSENT else value
