"""Packs as they are read: their members, prefixes and slots."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tidegate.definitions import load_definitions
from tidegate.packs import (
    BUNDLED,
    PackError,
    bundled_pack,
    bundled_packs,
    load_pack,
    whole_document,
)
from tidegate.packs.objects import SECTIONS, by_slug

FOLDER = bundled_pack("scraping").folder
WRONG = {
    "pack.yaml": [
        ("name: scraping", "name: Scraping", "lower-case words"),
        ("version: 1.0.0", "version: 1", "`version` is missing, or has the wrong type"),
        ("version: 1.0.0", 'version: "1"', "a version is three numbers"),
        ("misses:", "missed:", "unknown member `missed`"),
        ("apiVersion: tidegate.pack/v1", "", "lacks `apiVersion"),
        ("product_page: A page", "page: A page", "no action for its slot `page`"),
        ("name: scraping", "name: [", "isn't YAML"),
    ],
    "definitions.yaml": [
        (
            "policies:",
            "  - {name: Other, mode: Block}\npolicies:",
            "`other`, without its own prefix",
        ),
        (
            "entities:",
            '  - {name: A, expression: "true"}\nentities:',
            "`a`, without its own prefix",
        ),
        (
            "policies:",
            "settings: {retention_days: 3}\npolicies:",
            "`settings`, which is the site's",
        ),
        ("request.path.matches", "request.pth.matches", "is refused"),
    ],
}


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_pack_has_everything(name: str) -> None:
    """Its folder has its name, tests and a README with its notes, and nothing warns."""
    pack = bundled_pack(name)
    assert pack.name == name == pack.folder.name
    assert list((pack.folder / "tests").glob("*.tidegate-test.yaml"))
    readme = (pack.folder / "README.md").read_text()
    for note in (*pack.catches, *pack.misses, *pack.hurts):
        assert note in readme
    compilation = load_definitions(pack.folder / "definitions.yaml").compilation
    assert compilation.findings == ()


def test_packs_fit_together() -> None:
    """All packs are one valid document without a warning, in which no object is lost."""
    document = whole_document(bundled_packs())
    assert load_definitions(document).compilation.findings == ()
    for section in SECTIONS:
        assert by_slug(document, section).keys() == {
            slug for pack in bundled_packs() for slug in by_slug(pack.definitions, section)
        }


def test_the_order_of_packs_is_the_order_in_which_they_decide() -> None:
    """No pack's first policy comes before that of an earlier pack, except where it says so."""
    first = [
        min(each["priority"] for each in pack.definitions["policies"]) for pack in bundled_packs()
    ]
    assert first == sorted(first)


@pytest.mark.parametrize(
    ("file", "text", "other", "message"),
    [(file, *each) for file, changes in WRONG.items() for each in changes],
)
def test_a_pack_that_is_wrong_is_refused(
    tmp_path: Path, file: str, text: str, other: str, message: str
) -> None:
    """The message says which file is wrong, and what about it."""
    folder = tmp_path / "pack"
    shutil.copytree(FOLDER, folder)
    before = (folder / file).read_text()
    assert text in before
    (folder / file).write_text(before.replace(text, other))
    with pytest.raises(PackError) as refused:
        load_pack(folder)
    assert message in str(refused.value)


def test_a_folder_without_a_pack_is_refused(tmp_path: Path) -> None:
    """The message names the file that is missing."""
    with pytest.raises(PackError, match=r"pack\.yaml` cannot be read"):
        load_pack(tmp_path)
