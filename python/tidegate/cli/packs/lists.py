"""``tidegate lists``: the lists of a document that are published elsewhere."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.cli.packs.rewriting import checked, read_text, refused, replace
from tidegate.functions.addresses import parse_range
from tidegate.language.tree.diagnostics import nearest, quote
from tidegate.packs.editing import edit
from tidegate.packs.objects import slug_of
from tidegate.policy.document import read_document
from tidegate.policy.published import (
    MAX_BYTES,
    RefreshRefusedError,
    is_list_type,
    read_published,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.fetching import Fetcher
    from tidegate.policy.definitions.model import NamedList
    from tidegate.values import Network


@attrs.frozen
class _Refreshed:
    """The outcome of a refresh: the entries, or why it was refused."""

    before: NamedList
    entries: tuple[str, ...]
    refusal: tuple[str, str] | None = None

    @property
    def outcome(self) -> str:
        if self.refusal is not None:
            return "refused"
        return "unchanged" if self.entries == self.before.entries else "changed"

    def to_dict(self) -> dict[str, Any]:
        added, removed = self.added, self.removed
        code, detail = self.refusal or (None, None)
        return {
            "list": self.before.slug,
            "outcome": self.outcome,
            "entries": len(self.entries),
            "added": added,
            "removed": removed,
            "code": code,
            "detail": detail,
        }

    @property
    def added(self) -> int:
        return len(set(self.entries).difference(self.before.entries))

    @property
    def removed(self) -> int:
        return len(set(self.before.entries).difference(self.entries))


def _networks(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[Network, ...]:
    found = []
    for each in given:
        network = parse_range(each)
        if network is None:
            raise click.BadParameter(f"`{each}` is neither an address nor a network")
        found.append(network)
    return tuple(found)


@click.group()
def lists() -> None:
    """Refresh the lists of a definitions document that are published elsewhere."""


@lists.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("names", metavar="[LIST]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option(
    "--allow-network",
    "allowed",
    multiple=True,
    metavar="NETWORK",
    callback=_networks,
    help="Also fetch from addresses in this network, which aren't public; such as a mirror's.",
)
@click.option(
    "--drop-comments", is_flag=True, help="Lose comments in lists that are written again."
)
@json_option
def refresh(
    file: Path,
    names: tuple[str, ...],
    dry_run: bool,
    allowed: tuple[Network, ...],
    drop_comments: bool,
    as_json: bool,
) -> None:
    """Fetch lists of FILE from their sources, and write their new entries into it.

    LIST is the slug of a list; all lists with a source are refreshed by default. If a refresh is
    refused, the list stays as it is, and the exit code is 1.
    """
    text = read_text(file) or ""
    plain = checked(file, text)
    wanted = _wanted(read_document(text).compiled.source.lists, names)
    done = asyncio.run(_refresh_all(_fetcher(allowed), wanted))
    if not dry_run and any(each.outcome == "changed" for each in done):
        with refused():
            after = edit(text, _with_entries(plain, done), drop_comments=drop_comments)
            checked(file, after)
            replace(file, after.encode())
    if as_json:
        print_json([each.to_dict() for each in done])
    else:
        _print(done)
    sys.exit(1 if any(each.refusal for each in done) else 0)


def _wanted(present: Sequence[NamedList], names: Sequence[str]) -> list[NamedList]:
    known = {each.slug: each for each in present}
    for name in names:
        if name not in known:
            meant = nearest(name, known)
            hint = f"; did you mean `{meant}`?" if meant else ""
            raise click.UsageError(f"there is no list {quote(name)}{hint}")
        if known[name].source is None:
            raise click.UsageError(f"the list `{name}` has no source")
    found = [known[name] for name in dict.fromkeys(names)] or [
        each for each in present if each.source is not None
    ]
    if not found:
        raise click.UsageError("no list of the document has a source")
    return found


def _fetcher(allowed: Sequence[Network]) -> Fetcher:
    try:
        from tidegate.fetching import Fetcher
    except ModuleNotFoundError as error:
        hint = "fetching needs the HTTP library: pip install 'tidegate[client]'"
        raise click.UsageError(hint) from error
    return Fetcher(max_bytes=MAX_BYTES, allowed=allowed)


async def _refresh_all(fetcher: Fetcher, wanted: Sequence[NamedList]) -> list[_Refreshed]:
    return [await _refresh(fetcher, each) for each in wanted]


async def _refresh(fetcher: Fetcher, named: NamedList) -> _Refreshed:
    from tidegate.fetching import FetchError

    source = named.source
    assert source is not None
    try:
        content = await fetcher.fetch(source.url, partial(is_list_type, source=source))
        return _Refreshed(named, read_published(content, named))
    except (FetchError, RefreshRefusedError) as error:
        return _Refreshed(named, named.entries, (error.code, error.detail))


def _with_entries(plain: Mapping[str, Any], done: Sequence[_Refreshed]) -> dict[str, Any]:
    new = {each.before.slug: list(each.entries) for each in done if each.outcome == "changed"}
    items = [
        {**each, "entries": new[slug]} if (slug := slug_of("lists", each)) in new else each
        for each in plain["lists"]
    ]
    return {**plain, "lists": items}


def _print(done: Sequence[_Refreshed]) -> None:
    for each in done:
        name = each.before.slug
        if each.refusal is not None:
            code, detail = each.refusal
            errors.print(f"{name}: refused: {detail} [{code}]", style="red", markup=False)
        elif each.outcome == "unchanged":
            console.print(f"{name}: unchanged, {len(each.entries):,} entries", markup=False)
        else:
            console.print(
                f"{name}: {len(each.entries):,} entries, {each.added:,} added,"
                f" {each.removed:,} removed",
                markup=False,
            )
