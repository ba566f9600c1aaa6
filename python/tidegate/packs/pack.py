"""Reads packs: a folder with ``pack.yaml``, ``definitions.yaml``, ``README.md`` and ``tests``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import yaml

from tidegate.errors import DefinitionsError, TidegateError
from tidegate.language.tree.diagnostics import nearest
from tidegate.packs.objects import SECTIONS, slug_of, without_id
from tidegate.policy.document import parse_document, to_members
from tidegate.policy.document.plain_data import to_python
from tidegate.policy.document.tree import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION = "tidegate.pack/v1"
BUNDLED = (
    "baseline",
    "ai-crawlers",
    "verified-bots",
    "vulnerability-probing",
    "credential-stuffing",
    "card-testing",
    "signup-abuse",
    "scraping",
    "api-abuse",
)
"""The packs that come with Tidegate, in the order in which they decide."""
_FOLDER = Path(__file__).parent
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*", re.ASCII)
_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}", re.ASCII)
_TEXTS = ("name", "version", "summary", "measured")
_LISTS = ("needs", "catches", "misses", "hurts")
_MEMBERS = ("apiVersion", *_TEXTS, *_LISTS, "slots")


class PackError(TidegateError):
    """A pack cannot be used."""

    code = "invalid-pack"


@attrs.frozen
class Pack:
    """A pack.

    Attributes:
        name: its name, the prefix of its slugs.
        version: its version, three numbers.
        summary: what it is about, in a sentence.
        needs: the events and fields that its policies need.
        catches: the behaviour that they recognise.
        misses: the behaviour that they don't recognise.
        hurts: visitors that they may hurt.
        measured: how the figures of its README were measured.
        slots: the actions that the site defines, with their meanings.
        definitions: the definitions document, as plain data.
        folder: its folder.
    """

    name: str
    version: str
    summary: str
    needs: tuple[str, ...]
    catches: tuple[str, ...]
    misses: tuple[str, ...]
    hurts: tuple[str, ...]
    measured: str
    slots: Mapping[str, str]
    definitions: Mapping[str, Any]
    folder: Path

    def is_slot(self, section: str, slug: str) -> bool:
        """Whether an object is a slot."""
        return section == "actions" and slug in self.slots

    def is_newer_than(self, version: str) -> bool:
        """Whether this version follows another; false if that text isn't a version.

        Args:
            version: the other version.
        """
        return is_version(version) and order_of(version) < order_of(self.version)

    def definitions_of(self, version: str) -> Mapping[str, Any]:
        """The definitions of this version, or of an earlier one that the pack still has.

        Args:
            version: the version.

        Raises:
            PackError: the pack doesn't have this version, or its file can't be read.
        """
        if version == self.version:
            return self.definitions
        path = self.folder / "earlier" / f"{version}.yaml"
        if not is_version(version) or not path.is_file():
            raise PackError(
                f"version `{version[:20]}` of the pack `{self.name}` isn't known here, so its"
                " changes can't be told from yours"
            )
        return _definitions(path)

    def to_dict(self) -> dict[str, Any]:
        """Its name, notes and slots for JSON output."""
        shown = attrs.asdict(self, filter=attrs.filters.exclude("definitions", "folder"))
        return {**shown, "slots": dict(self.slots)}


@cache
def bundled_pack(name: str) -> Pack:
    """A pack that comes with Tidegate.

    Raises:
        PackError: the pack doesn't exist.
    """
    if name not in BUNDLED:
        meant = nearest(name, BUNDLED)
        hint = f"did you mean `{meant}`?" if meant else "`tidegate packs list` lists them"
        raise PackError(f"there is no pack `{name[:60]}`; {hint}")
    return load_pack(_FOLDER / name)


def bundled_packs() -> list[Pack]:
    """Every pack that comes with Tidegate, in the order in which they decide."""
    return [bundled_pack(name) for name in BUNDLED]


def load_pack(folder: Path) -> Pack:
    """The pack in a folder.

    Args:
        folder: the folder.

    Raises:
        PackError: a file is missing, or has something that a pack can't have.
    """
    members = _members(folder / "pack.yaml")
    pack = Pack(**members, definitions=_definitions(folder / "definitions.yaml"), folder=folder)
    _check(pack)
    return pack


def is_version(text: str) -> bool:
    """Whether a text is the version of a pack: three numbers.

    Args:
        text: the text.
    """
    return _VERSION.fullmatch(text) is not None


def order_of(version: str) -> tuple[int, ...]:
    """The place of a version among others; a text that isn't a version comes first.

    Args:
        version: the version.
    """
    return tuple(map(int, version.split("."))) if is_version(version) else ()


def _definitions(path: Path) -> dict[str, Any]:
    """The definitions in a file, as plain data: as a service keeps them, without ids."""
    try:
        parsed = parse_document(_text(path))
        source = parsed.read().compiled.source
    except DefinitionsError as error:
        raise PackError(f"`{path}` is refused: {error}") from None
    written: dict[str, Any] = to_python(parsed.root)
    objects = {
        section: [without_id(to_members(each)) for each in getattr(source, section)]
        for section in SECTIONS
        if section in written
    }
    return {**written, **objects}


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1).decode()
    except OSError as error:
        raise PackError(f"`{path}` cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PackError(f"`{path}` isn't UTF-8") from None


def _members(path: Path) -> dict[str, Any]:
    """The members of a ``pack.yaml``, checked."""
    try:
        found = yaml.safe_load(_text(path))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PackError(f"`{path}` isn't YAML: {error}") from None
    if not isinstance(found, dict):
        raise PackError(f"`{path}` isn't an object")
    if found.pop("apiVersion", None) != API_VERSION:
        raise PackError(f"`{path}` lacks `apiVersion: {API_VERSION}`")
    for name in found:
        if name not in _MEMBERS:
            raise PackError(f"`{path}` has an unknown member `{str(name)[:60]}`")
    wrong = [name for name in _TEXTS if not _is_text(found.get(name))]
    wrong += [name for name in _LISTS if not _is_list(found.get(name))]
    slots = found.setdefault("slots", {})
    if not (isinstance(slots, dict) and all(map(_is_text, (*slots, *slots.values())))):
        wrong.append("slots")
    if wrong:
        raise PackError(f"`{path}`: `{wrong[0]}` is missing, or has the wrong type")
    if _NAME.fullmatch(found["name"]) is None:
        raise PackError(f"`{path}`: a name is lower-case words joined by hyphens")
    if not is_version(found["version"]):
        raise PackError(f'`{path}`: a version is three numbers, such as "1.0.0"')
    return found | {name: tuple(found[name]) for name in _LISTS}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _check(pack: Pack) -> None:
    """Refuse objects that aren't a pack's: settings, a tenant, slugs of others."""
    for name in pack.definitions:
        if name not in ("apiVersion", *SECTIONS):
            raise PackError(f"the pack `{pack.name}` has `{name}`, which is the site's")
    for slot in pack.slots:
        if slot not in {slug_of("actions", each) for each in pack.definitions.get("actions") or ()}:
            raise PackError(f"the pack `{pack.name}` has no action for its slot `{slot}`")
    for section in SECTIONS:
        for each in pack.definitions.get(section) or ():
            slug = slug_of(section, each)
            prefix = pack.name.replace("-", "_") if section == "actions" else pack.name
            separator = "_" if section == "actions" else "-"
            is_own = slug == prefix or slug.startswith(prefix + separator)
            if not (is_own or pack.is_slot(section, slug)):
                raise PackError(f"the pack `{pack.name}` has `{slug}`, without its own prefix")
