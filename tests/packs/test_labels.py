"""The version of a pack that a document has, by the labels of its objects."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.packs import Pack, PackError, bundled_pack, load_pack
from tidegate.packs.adding import added, updated
from tidegate.packs.labels import definitions_in, version_in
from tidegate.packs.objects import by_slug

EMPTY = {"apiVersion": "tidegate/v1"}


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """A version of a pack after the bundled one, which has another threshold."""
    folder = tmp_path / "scraping"
    shutil.copytree(bundled_pack("scraping").folder, folder)
    (folder / "earlier").mkdir()
    definitions = folder / "definitions.yaml"
    shutil.copy(definitions, folder / "earlier" / "1.0.0.yaml")
    found: Any = yaml.safe_load(definitions.read_text())
    found["policies"][0]["clauses"][0]["window"]["threshold"] += 1
    definitions.write_text(yaml.safe_dump(found))
    text = (folder / "pack.yaml").read_text()
    (folder / "pack.yaml").write_text(text.replace("version: 1.0.0", "version: 1.1.0"))
    return load_pack(folder)


def test_a_document_alone_is_enough_for_an_update(pack: Pack) -> None:
    """The label names the version, and the pack still has its content."""
    before = added(bundled_pack("scraping"), EMPTY, {})
    assert version_in(pack, before) == "1.0.0"
    merged = updated(definitions_in(pack, before), pack, before)
    assert [each.place for each in merged.changes] == ["policies.scraping-pages"]
    assert merged.conflicts == ()
    assert version_in(pack, merged.document) == "1.1.0"
    assert merged.document == added(pack, EMPTY, {})


def test_an_object_of_an_earlier_version_is_updated_from_that_one(pack: Pack) -> None:
    """A policy that was restored gets the change of the pack again."""
    before = added(bundled_pack("scraping"), EMPTY, {})
    whole = added(pack, EMPTY, {})
    mixed = {**whole, "policies": before["policies"]}
    assert version_in(pack, mixed) == "1.0.0"
    merged = updated(definitions_in(pack, mixed), pack, mixed)
    assert merged.conflicts == ()
    assert merged.document == whole


@pytest.mark.parametrize("version", ["0.9.0", "", "../1.0.0", "9.9.9"])
def test_a_version_that_is_not_known_is_refused(pack: Pack, version: str) -> None:
    """Its content can't be told from changes of the site."""
    document = added(pack, EMPTY, {})
    first = document["policies"][0]
    first = {**first, "labels": {**first["labels"], "pack_version": version}}
    document["policies"] = [first, *document["policies"][1:]]
    assert version_in(pack, document) in (version, "1.1.0")
    with pytest.raises(PackError, match="isn't known here"):
        definitions_in(pack, document)


def test_slots_and_objects_without_labels_show_no_version() -> None:
    """The action of a slot is the site's."""
    scraping = bundled_pack("scraping")
    slot = by_slug(scraping.definitions, "actions")["product_page"]
    document = {**EMPTY, "actions": [{**slot, "labels": {"pack": "scraping"}}]}
    assert version_in(scraping, document) is None
    with pytest.raises(PackError, match="don't have the pack"):
        definitions_in(scraping, document)
